// A convolution by one number that is spread over its taps reads that number from memory, as its kernel reads all
// weights; an image of one number is
// read the same way.
// RUN: %intaglio opt --verify %s | FileCheck %s
// RUN: %intaglio opt %s | %intaglio run - --compare-with %s --reference --inputs random:1
// RUN: %intaglio run %s --compare --inputs random:1

graph @main(%x: f32[2, 4, 9, 9], %v: f32[3, 4, 3, 3]) {
  %ninth = constant() {value = f32[] {0x1.c71c72p-4}} : f32[]
  %box = broadcast_in_dim(%ninth) {shape = <4, 4, 3, 3>, broadcast_dimensions = []} : f32[4, 4, 3, 3]
  %blurred = conv(%x, %box) {stride = [1, 1], padding = [1, 1], dilation = [1, 1], groups = 1} : f32[2, 4, 9, 9]
  %flat = broadcast_in_dim(%ninth) {shape = <2, 4, 9, 9>, broadcast_dimensions = []} : f32[2, 4, 9, 9]
  %again = multiply(%blurred, %flat) : f32[2, 4, 9, 9]
  %weights = conv(%flat, %v) {stride = [1, 1], padding = [1, 1], dilation = [1, 1], groups = 1} : f32[2, 3, 9, 9]
  return %again, %weights
}

// CHECK:      fusion(%ninth{{[^,]*}}, %x{{[^,]*}}) {kind = "contraction"}
// CHECK-NEXT:   ^(%[[N:.*]]: f32[], %{{.*}}
// CHECK-NEXT:   %box = broadcast_in_dim(%[[N]])
// CHECK:      fusion(%ninth{{[^,]*}}, %v{{[^,]*}}) {kind = "contraction"}
