// RUN: not %intaglio run %s --inputs ones --size n=4 2>&1 | FileCheck --match-full-lines %s
// A size that types name, and the graph does not list.

graph @main(%x: f32[n]) {
  %y = negate(%x) : f32[n]
  return %y
}

// CHECK:      error: the size n is not declared
// CHECK-NEXT:   why: types of the graph name it, and the graph does not list it
// CHECK-NEXT:   hint: declare it behind the arguments: ) where n {
