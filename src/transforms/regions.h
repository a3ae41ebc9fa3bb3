// The transforms, as the rules of ops with regions reach them.
#pragma once

#include "ops/regions.h"

namespace ig::transforms {

class Forward;

class Regions : public ops::RegionTransforms {
 public:
  explicit Regions(Forward* forward = nullptr) : forward_(forward) {}
  Pushed inline_jvp(ops::Builder& build, const Block& block, std::span<const Value> arguments) override;
  std::vector<bool> moving(const Block& block, const std::vector<bool>& arguments) override;
  std::unique_ptr<Graph> jvp(const Block& block, const std::vector<bool>& arguments,
                             const std::vector<bool>& wanted, bool split = false) override;
  ops::SplitRegion split(const Block& block, const std::vector<bool>& arguments,
                         const std::vector<bool>& wanted, const ops::Keeping* keeping = nullptr) override;
  std::unique_ptr<Graph> transpose(const Block& block, std::span<const bool> linear,
                                   const std::vector<bool>& given) override;

 private:
  Forward* forward_;
};

}  // namespace ig::transforms
