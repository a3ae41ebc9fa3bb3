// The watch for NaN and infinities that a program makes (ig.debug_nans, ig.debug_infs): eager ops are looked
// at one by one, compiled programs by their results. Where a result holds what no input held, the program is
// run once more, node by node, to find the one that made it. Nobody pays for this where nobody watches: a
// load.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/location.h"
#include "ops/op.h"
#include "tensor/tensor.h"

namespace ig::numbers {

constexpr uint8_t kNaN = 1, kInfinity = 2;  // what is watched for, as bits

// What all threads watch for that have no setting of their own.
uint8_t everywhere();
void set_everywhere(uint8_t bits);
void watch_everywhere(uint8_t kinds, bool on);  // these alone
// What this thread watches for; -1: as everywhere. Gives what was set before.
int set_here(int bits);
uint8_t watched();

extern std::atomic<int> settings_on;  // how many settings, of the process and of threads, watch for something
inline bool possible() { return settings_on.load(std::memory_order_relaxed) > 0; }

// While it lives this thread watches for nothing.
class Pause {
 public:
  Pause();
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  int before_;
};

// What runs now stands for this place of the user's program, which errors name. `backward_of`: an op of the
// forward pass, whose way back is run; it must outlive this.
class Place {
 public:
  explicit Place(Location where, std::string_view backward_of = {});
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  Location where_;
  std::string_view backward_of_;
};

// Throws where the results hold what is watched for and the operands do not; the error names the op, its
// operands' values and the place.
void check(const ops::Op& op, std::span<const Tensor> operands, std::span<const Tensor> results);
inline void look(const ops::Op& op, std::span<const Tensor> operands, std::span<const Tensor> results) {
  if (possible()) check(op, operands, results);
}

// The same for the way back of a node of the tape that is called `name`: by its gradients.
void check_backward(std::string_view name, std::span<const Tensor> given, std::span<const Tensor> gradients);

// What `compute` gives, which runs the graph (as it was captured, before any pass) on these inputs. Inputs
// that it could take the memory of are kept for the search.
std::vector<Tensor> run(const Graph& graph, std::span<const Tensor> inputs,
                        const std::function<std::vector<Tensor>()>& compute);

}  // namespace ig::numbers
