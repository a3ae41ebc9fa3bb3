// Two symbols are two sizes, unless a fact says otherwise.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[a], %y: f32[b]) where a, b {
  %z = add(%x, %y) : f32[a]
  return %z
}

// CHECK:error: <stdin>:5:8: add: it is not known whether a == b
// CHECK-NEXT:  why: the program depends on a comparison of sizes that are not fixed
// CHECK-NEXT:      %z = add(%x, %y) : f32[a]
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: give the sizes the same name or a range that settles it, or make them constant
