// BLAKE3, plain and keyed, written down from its specification: chunks of 1024 bytes, each a chain of blocks
// of 64, are the leaves of a binary tree.
#include "codegen/digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace ig::codegen {
namespace {

static_assert(std::endian::native == std::endian::little);

using Words = std::array<uint32_t, 8>;
constexpr Words kStart = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                          0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
constexpr size_t kBlock = 64, kChunk = 1024;
constexpr uint32_t kChunkStart = 1, kChunkEnd = 2, kParent = 4, kRoot = 8, kKeyed = 16;

// One application of the compression function that is still to be made: what comes out depends on whether it
// is the root's.
struct Node {
  Words chain;
  std::array<uint32_t, 16> block{};
  uint64_t counter = 0;
  uint32_t length = kBlock, flags = 0;

  Words compress(uint32_t more_flags = 0) const;
};

Words Node::compress(uint32_t more_flags) const {
  constexpr uint8_t kOrder[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};
  std::array<uint32_t, 16> v{}, m = block;
  std::copy(chain.begin(), chain.end(), v.begin());
  std::copy_n(kStart.begin(), 4, v.begin() + 8);
  v[12] = static_cast<uint32_t>(counter);
  v[13] = static_cast<uint32_t>(counter >> 32);
  v[14] = length;
  v[15] = flags | more_flags;
  auto mix = [&](size_t a, size_t b, size_t c, size_t d, uint32_t x, uint32_t y) {
    v[a] += v[b] + x;
    v[d] = std::rotr(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 12);
    v[a] += v[b] + y;
    v[d] = std::rotr(v[d] ^ v[a], 8);
    v[c] += v[d];
    v[b] = std::rotr(v[b] ^ v[c], 7);
  };
  for (int round = 0;; ++round) {
    for (size_t i = 0; i < 4; ++i) mix(i, i + 4, i + 8, i + 12, m[2 * i], m[2 * i + 1]);
    for (size_t i = 0; i < 4; ++i)
      mix(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12, m[2 * i + 8], m[2 * i + 9]);
    if (round == 6) break;
    const std::array<uint32_t, 16> before = m;
    for (size_t i = 0; i < 16; ++i) m[i] = before[kOrder[i]];
  }
  Words out;
  for (size_t i = 0; i < 8; ++i) out[i] = v[i] ^ v[i + 8];
  return out;
}

Node chunk(std::string_view bytes, uint64_t counter, const Words& key, uint32_t flags) {
  Node node{.chain = key, .counter = counter, .flags = flags | kChunkStart};
  for (;;) {
    node.length = static_cast<uint32_t>(std::min(bytes.size(), kBlock));
    node.block = {};
    std::memcpy(node.block.data(), bytes.data(), node.length);
    bytes.remove_prefix(node.length);
    if (bytes.empty()) break;
    node.chain = node.compress();
    node.flags = flags;
  }
  node.flags |= kChunkEnd;
  return node;
}

Node tree(std::string_view bytes, uint64_t counter, const Words& key, uint32_t flags) {
  if (bytes.size() <= kChunk) return chunk(bytes, counter, key, flags);
  const size_t left = std::bit_floor((bytes.size() - 1) / kChunk);  // chunks
  const Words halves[] = {tree(bytes.substr(0, left * kChunk), counter, key, flags).compress(),
                          tree(bytes.substr(left * kChunk), counter + left, key, flags).compress()};
  Node node{.chain = key, .flags = flags | kParent};
  std::memcpy(node.block.data(), halves, sizeof halves);
  return node;
}

Digest finish(std::string_view bytes, const Words& key, uint32_t flags) {
  return std::bit_cast<Digest>(tree(bytes, 0, key, flags).compress(kRoot));
}

}  // namespace

Digest digest(std::string_view bytes) { return finish(bytes, kStart, 0); }

Digest signature(const std::array<uint8_t, 32>& secret, std::string_view bytes) {
  return finish(bytes, std::bit_cast<Words>(secret), kKeyed);
}

std::string hex(const Digest& digest) {
  std::string out;
  for (uint8_t byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

bool same(const Digest& a, const Digest& b) {
  uint8_t different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= static_cast<uint8_t>(a[i] ^ b[i]);
  return different == 0;
}

}  // namespace ig::codegen
