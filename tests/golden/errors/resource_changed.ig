// A resource whose bytes are not those of its hash.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main() {
  %a = constant() {value = #55345ed15469e28fa337894ece921c44} : u8[2]
  return %a
}
resources {
  #55345ed15469e28fa337894ece921c44 = u8[2] base64:"AAE="
}

// CHECK:error: <stdin>:9:3: the resource's bytes do not have its hash
// CHECK-NEXT:  why: the text does not follow the grammar here:
// CHECK-NEXT:      #55345ed15469e28fa337894ece921c44 = u8[2] base64:"AAE="
// CHECK-NEXT:      ^
// CHECK-NEXT:  hint: the file was changed or damaged
