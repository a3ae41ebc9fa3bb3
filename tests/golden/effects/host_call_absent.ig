// A graph whose functions this process has not is refused when it runs, with the function's name.
// RUN: not %intaglio run %s --inputs random:1 2>&1 | FileCheck %s

graph @main(%x: f32[]) {
  %y = pure_callback(%x) {function = "nowhere.f", dtypes = "f32", ranks = [0], sizes = <>, structure = "", vmap_method = "none", kept = u8[0] {}} : f32[]
  return %y
}

// CHECK: the host function 'nowhere.f' is not there
// CHECK: why: the graph names it and does not hold it: it was read from text or from a file, and this process has registered no function of that name
// CHECK: hint: register it before the run: register_host_function("nowhere.f", f)
