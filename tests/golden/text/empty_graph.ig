// A graph that takes and gives nothing.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s

graph @main() {
  return
}

// CHECK:      graph @main() {
// CHECK-NEXT:   return
// CHECK-NEXT: }
