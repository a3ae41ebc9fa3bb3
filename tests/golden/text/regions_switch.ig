// Any number of branches, and a region inside a region.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --input i=1 --input x=3

graph @main(%i: i32[], %x: f32[]) {
  %y = switch(%i, %x) : f32[] {
    ^(%a: f32[]) {
      return %a
    }
    ^(%b: f32[]) {
      %c = call(%b) : f32[] {
        ^(%d: f32[]) {
          %e = square(%d) : f32[]
          return %e
        }
      }
      return %c
    }
    ^(%f: f32[]) {
      %g = negate(%f) : f32[]
      return %g
    }
  }
  return %y
}

// CHECK:      graph @main(%i: i32[], %x: f32[]) {
// CHECK-NEXT:   %y = switch(%i, %x) : f32[] {
// CHECK-NEXT:     ^(%a: f32[]) {
// CHECK-NEXT:       return %a
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%b: f32[]) {
// CHECK-NEXT:       %c = call(%b) : f32[] {
// CHECK-NEXT:         ^(%d: f32[]) {
// CHECK-NEXT:           %e = square(%d) : f32[]
// CHECK-NEXT:           return %e
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:       return %c
// CHECK-NEXT:     }
// CHECK-NEXT:     ^(%f: f32[]) {
// CHECK-NEXT:       %g = negate(%f) : f32[]
// CHECK-NEXT:       return %g
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
