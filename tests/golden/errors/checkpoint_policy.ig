// What a checkpoint keeps is one of a few words.
// RUN: not %intaglio show - < %s 2>&1 | FileCheck --match-full-lines --strict-whitespace %s

graph @main(%x: f32[]) {
  %y = checkpoint(%x) {saves = "budget:many"} : f32[] {
    ^(%a: f32[]) {
      return %a
    }
  }
  return %y
}

// CHECK:error: <stdin>:5:8: checkpoint: saves is "budget:many", which is no policy
// CHECK-NEXT:  why: it says what the derivative keeps of the values on the way
// CHECK-NEXT:      %y = checkpoint(%x) {saves = "budget:many"} : f32[] {
// CHECK-NEXT:           ^
// CHECK-NEXT:  hint: write nothing, everything, dots, dots_without_batch, names:a,b, all_but:a,b or budget:N/POLICY
