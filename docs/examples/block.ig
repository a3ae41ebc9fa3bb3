// The second half of a transformer block, for any number of rows.
graph @block(%x: f32[b, 64], %w: f32[64, 256], %bias: f32[256], %v: f32[256, 64]) where b in [1, 4096] {
  %m = matmul(%x, %w) : f32[b, 256] scope("mlp.up")
  %bs = broadcast_in_dim(%bias) {shape = <b, 256>, broadcast_dimensions = [1]} : f32[b, 256] scope("mlp.up")
  %a = add(%m, %bs) : f32[b, 256] scope("mlp.up")
  %g = gelu(%a) {approximate = "none"} : f32[b, 256] scope("mlp.act")
  %d = matmul(%g, %v) : f32[b, 64] scope("mlp.down")
  %r = add(%d, %x) : f32[b, 64] scope("mlp")
  %n = layer_norm(%r) {normalized_rank = 1, eps = 0x1p-20} : f32[b, 64] scope("norm")
  return %n
}
