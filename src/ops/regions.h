// What the derivative rules of ops with regions ask of the transform at work. The rules stand below the
// transforms, so they reach them through this interface; the transforms in turn name no op.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ops/builder.h"

namespace ig::ops {

// A block as the function that it is, in parts: `known` runs on the block's arguments and gives its results,
// then residuals; `linear` takes residuals, then the tangents of the arguments that move, and gives the
// tangents of the results that move.
struct SplitRegion {
  std::unique_ptr<Graph> known, linear;
  // The first inputs of `linear`: what each of them is in the block. An argument's number, or -1 for the next
  // of known's extra results.
  std::vector<int> residuals;
  std::vector<bool> moves;  // of the block's results: which have a tangent
};

// What a block that runs many times keeps for its linear part, which is chosen by a minimum cut: what it
// costs nothing to keep.
struct Keeping {
  std::vector<bool> arguments;  // that are there anyway
  std::vector<bool> same;       // that are the same in every run: what is made of them alone is made once
  std::vector<bool> results;    // that are there anyway
};

class RegionTransforms {
 public:
  virtual ~RegionTransforms() = default;

  // The results of `block` on these arguments (which keep the tangents that they have), and their tangents
  // (null: zero), built where `build` stands.
  struct Pushed {
    std::vector<Value> primals, tangents;
  };
  virtual Pushed inline_jvp(Builder& build, const Block& block, std::span<const Value> arguments) = 0;
  // Which results have a tangent where these arguments have one.
  virtual std::vector<bool> moving(const Block& block, const std::vector<bool>& arguments) = 0;
  // The block with its derivative: inputs are its arguments, then tangents of those that move; results are
  // its own, then the tangents of those in `wanted` (zeros where there is none).
  virtual std::unique_ptr<Graph> jvp(const Block& block, const std::vector<bool>& arguments,
                                     const std::vector<bool>& wanted, bool split = false) = 0;
  // The block in two parts. `linear` gives the tangents in `wanted` (zeros where there is none). Without
  // `keeping` all arguments and results are there anyway.
  virtual SplitRegion split(const Block& block, const std::vector<bool>& arguments,
                            const std::vector<bool>& wanted, const Keeping* keeping = nullptr) = 0;
  // Of a block that is linear in these of its arguments: inputs are the other arguments, then cotangents of
  // the results in `given`; results are the cotangents of the linear arguments (zeros where there is none).
  virtual std::unique_ptr<Graph> transpose(const Block& block, std::span<const bool> linear,
                                           const std::vector<bool>& given) = 0;
};

}  // namespace ig::ops
