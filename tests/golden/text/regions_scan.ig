// A scan that carries and stacks, from the last slice on.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --inputs random:1 --size n=4

graph @main(%w: f32[2], %x: f32[n, 2]) where n {
  %zero = constant() {value = f32[2] {0x0p+0, 0x0p+0}} : f32[2]
  %last, %all = scan(%w | %zero | %x) {length = <>, reverse = true} : f32[2], f32[n, 2] {
    ^(%c: f32[2], %carry: f32[2], %item: f32[2]) {
      %a = multiply(%carry, %c) : f32[2]
      %b = add(%a, %item) : f32[2]
      return %b, %b
    }
  }
  return %last, %all
}

// CHECK:      graph @main(%w: f32[2], %x: f32[n, 2]) where n {
// CHECK-NEXT:   %zero = constant() {value = f32[2] {0x0p+0, 0x0p+0}} : f32[2]
// CHECK-NEXT:   %last, %all = scan(%w | %zero | %x) {length = <>, reverse = true} : f32[2], f32[n, 2] {
// CHECK-NEXT:     ^(%c: f32[2], %carry: f32[2], %item: f32[2]) {
// CHECK-NEXT:       %a = multiply(%carry, %c) : f32[2]
// CHECK-NEXT:       %b = add(%a, %item) : f32[2]
// CHECK-NEXT:       return %b, %b
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   return %last, %all
// CHECK-NEXT: }
