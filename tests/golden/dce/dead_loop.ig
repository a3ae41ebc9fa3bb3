// A loop that nobody reads goes, regions and all.
// RUN: %intaglio opt --passes=dce --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=dce %s | %intaglio run - --compare-with %s --reference --tolerance exact --inputs special:1
// RUN: %intaglio run %s --compare --inputs special:1

graph @main(%x: f32[4]) {
  %zero = constant() {value = f32[] {0x0p+0}} : f32[]
  %sum, %all = scan( | %zero | %x) {length = <>, reverse = false} : f32[], f32[4] {
    ^(%carry: f32[], %item: f32[]) {
      %next = add(%carry, %item) : f32[]
      return %next, %next
    }
  }
  %y = negate(%x) : f32[4]
  return %y
}

// CHECK:      graph @main(%x: f32[4]) {
// CHECK-NEXT:   %y = negate(%x) : f32[4]
// CHECK-NEXT:   return %y
// CHECK-NEXT: }
