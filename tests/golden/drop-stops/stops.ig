// Stops go, also in a loop's body and one behind another; what they held back is read itself.
// RUN: %intaglio opt --passes=drop-stops --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=drop-stops %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[4]) {
  %s = stop_gradient(%x) : f32[4]
  %t = stop_gradient(%s) : f32[4]
  %zero = constant() {value = f32[] {0x0p+0}} : f32[]
  %sum, %all = scan( | %zero | %t) {length = <>, reverse = false} : f32[], f32[4] {
    ^(%carry: f32[], %item: f32[]) {
      %held = stop_gradient(%item) : f32[]
      %next = add(%carry, %held) : f32[]
      return %next, %next
    }
  }
  %y = multiply(%t, %all) : f32[4]
  return %y, %t
}

// CHECK:      graph @main(%x: f32[4]) {
// CHECK-NEXT:   %zero = constant() {value = f32[] {0x0p+0}} : f32[]
// CHECK-NEXT:   %sum, %all = scan( | %zero | %x) {length = <>, reverse = false} : f32[], f32[4] {
// CHECK-NEXT:     ^(%carry: f32[], %item: f32[]) {
// CHECK-NEXT:       %next = add(%carry, %item) : f32[]
// CHECK-NEXT:       return %next, %next
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   %y = multiply(%x, %all) : f32[4]
// CHECK-NEXT:   return %y, %x
// CHECK-NEXT: }
