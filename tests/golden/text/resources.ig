// Literals above 64 elements stand at the end, by their hash.
// RUN: %intaglio show %s | FileCheck --match-full-lines %s
// RUN: %intaglio show %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio opt --pipeline none --binary %s | %intaglio show - | FileCheck --match-full-lines %s
// RUN: %intaglio run %s --compare --tolerance exact

graph @main() {
  %c = constant() {value = #55345ed15469e28fa337894ece921c44} : u8[65]
  return %c
}
resources {
  #55345ed15469e28fa337894ece921c44 = u8[65] base64:"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0A="
}

// CHECK:      graph @main() {
// CHECK-NEXT:   %c = constant() {value = #55345ed15469e28fa337894ece921c44} : u8[65]
// CHECK-NEXT:   return %c
// CHECK-NEXT: }
// CHECK-NEXT: resources {
// CHECK-NEXT:   #55345ed15469e28fa337894ece921c44 = u8[65] base64:"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0A="
// CHECK-NEXT: }
