// The pipeline drops no effect, merges none and moves none, though nobody reads their tokens.
// RUN: %intaglio opt --verify %s | FileCheck %s
// RUN: %intaglio run %s --inputs random:1 | FileCheck --check-prefix=OUT %s

graph @main(%x: f32[]) {
  %t = create_token() : token
  %a = print(%t) {text = "one", repeat = 0} : token
  %b = print(%a) {text = "one", repeat = 0} : token
  %zero = constant() {value = f32[] {0x0p+0}} : f32[]
  %p = less(%zero, %zero) : bool[]
  %y = cond(%p, %x) : f32[] {
    ^(%v: f32[]) {
      return %v
    }
    ^(%v: f32[]) {
      %u = create_token() : token
      %w = print(%u) {text = "in the branch", repeat = 0} : token
      return %v
    }
  }
  %c = print(%b) {text = "two", repeat = 0} : token
  return %x
}

// CHECK: print
// CHECK-SAME: "one"
// CHECK: print
// CHECK-SAME: "one"
// CHECK: "in the branch"
// CHECK: "two"
// OUT: one
// OUT-NEXT: one
// OUT-NEXT: in the branch
// OUT-NEXT: two
