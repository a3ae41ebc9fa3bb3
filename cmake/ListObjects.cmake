# Run as a script: writes DIR/objects.rsp, the object files in DIR in a fixed order.
file(GLOB_RECURSE objects ${DIR}/*.o)
list(SORT objects)
list(JOIN objects "\n" text)
file(WRITE ${DIR}/objects.rsp "${text}\n")
