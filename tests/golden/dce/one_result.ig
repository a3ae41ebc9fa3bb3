// Of an op with several results one is read: the op that gives it alone takes the place, unless an attribute asks for
// another form of it.
// RUN: %intaglio opt --passes=dce --verify %s | FileCheck --match-full-lines %s
// RUN: %intaglio opt --passes=dce %s | %intaglio run - --compare-with %s --reference --tolerance 64 --inputs random:1
// RUN: %intaglio run %s --compare --tolerance 256 --inputs random:1

graph @main(%x: f32[3, 3], %tall: f32[4, 2]) {
  %q, %r = qr(%x) {complete = false} : f32[3, 3], f32[3, 3]
  %w, %v = eigh(%x) : f32[3], f32[3, 3]
  %u, %s, %vh = svd(%x) {full_matrices = true} : f32[3, 3], f32[3], f32[3, 3]
  %a, %b = qr(%tall) {complete = true} : f32[4, 4], f32[4, 2]
  %c, %d = qr(%tall) {complete = false} : f32[4, 2], f32[2, 2]
  return %r, %w, %s, %b, %c, %d
}

// CHECK:      graph @main(%x: f32[3, 3], %tall: f32[4, 2]) {
// CHECK-NEXT:   %r = qr_triangle(%x) : f32[3, 3]
// CHECK-NEXT:   %w = eigvalsh(%x) : f32[3]
// CHECK-NEXT:   %s = svdvals(%x) : f32[3]
// CHECK-NEXT:   %a, %b = qr(%tall) {complete = true} : f32[4, 4], f32[4, 2]
// CHECK-NEXT:   %c, %d = qr(%tall) {complete = false} : f32[4, 2], f32[2, 2]
// CHECK-NEXT:   return %r, %w, %s, %b, %c, %d
// CHECK-NEXT: }
