// Eager autograd: ops that run on arrays that require grad leave nodes behind, from which gradients are
// computed later. A node's derivative is the `vjp` of the op's one-node graph, from the same rules as
// ig.grad's (recipe.h); no formula stands here.
//
// A leaf is an array that the user asked the gradient of. It is a node too, without edges, and what makes a
// handle a leaf is the link to it. All arrays are values, so nothing that a node saved can change later.
//
// A program that is captured has a tape of its own, of symbolic arrays: a backward pass records into the
// graph what it would compute (recorded.h). That tape ends with the capture.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/location.h"
#include "ops/host_call.h"
#include "support/error.h"
#include "tensor/tensor.h"

namespace ig::tape {

struct Node;
struct Recipe;

// One result of a node.
struct Edge {
  std::shared_ptr<Node> node;  // null: nothing flows there
  int result = 0;
  bool operator==(const Edge&) const = default;
};

class Link : public GradLink {
 public:
  explicit Link(Edge edge) : edge_(std::move(edge)) {}
  const Edge& edge() const { return edge_; }
  bool recording() const override;
  void record(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
              std::span<Tensor> results) const override;
  void record(std::shared_ptr<const Graph> graph, std::span<const Tensor> inputs,
              std::span<Tensor> results) const override;

 private:
  Edge edge_;
};

// Takes the gradient of one result, once it is complete; may give another in its place.
using Hook = std::function<std::optional<Tensor>(const Tensor&)>;

// A gradient that the user holds an object of; later passes add to what that object holds.
class GradHandle {
 public:
  virtual ~GradHandle() = default;
  virtual Tensor get() const = 0;
  // False where the object must keep what it holds: it, or the new value, is itself on the tape.
  virtual bool set(const Tensor& value) = 0;
};

// What the user attached to one result of a node.
struct Watch {
  bool retain = false;
  Tensor grad;                         // of a leaf, or retained; where there is no handle
  std::shared_ptr<GradHandle> handle;  // to the gradient, once it was asked for
  std::map<int, Hook> hooks;

  void add(const Tensor& gradient);
  void forget();
};

struct Node {
  Node();
  ~Node();  // takes chains of any length apart without recursion
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  bool is_leaf() const { return !recipe && !op && !ended; }
  std::string name() const;  // "multiply"; of a leaf "leaf"

  std::shared_ptr<const Recipe> recipe;  // null: a leaf
  std::vector<Type> results;
  std::vector<Edge> next;   // of each operand
  Location where;           // in the forward program
  const uint64_t sequence;  // nodes count up, so operands come before what was made of them
  uint64_t capture = 0;     // the number of the capture in which it was made; 0 outside of all

  // Of an op of a captured program, in place of a recipe: it is derived once a gradient comes by, which most
  // never see. Its operands and results are `saved`.
  const ops::Op* op = nullptr;
  Attrs attrs;
  std::shared_ptr<void> derived;  // what recorded.cpp keeps

  // Of a result of a captured function: why no gradient goes on from here, and the function's name.
  std::optional<Error> ended;
  std::string ended_in;

  std::mutex mutex;                     // of what follows
  std::vector<Tensor> saved;            // operands with their links, results without
  std::vector<ops::HostRef> functions;  // of the host, which the recipe's program calls
  bool freed = false;                   // something was saved, and is no more
  std::map<int, Watch> watches;         // by result
};

// Whether this thread records, and whether it is in inference mode (where nothing may begin to require grad).
struct Mode {
  bool grad = true;
  bool inference = false;
  bool anomaly = false;   // errors and NaN in a backward pass name the forward line
  bool check_nan = true;  // under `anomaly`
};
Mode& mode();
// How many leaves there are in the process: 0 says that nothing can be recorded.
size_t leaves();

// Where the user's program is; set by the front end that knows.
void set_locate(Location (*locate)());

// The edge of an array; an empty one where it is not on the tape.
Edge edge_of(const Tensor& tensor);
Tensor linked(Tensor tensor, Edge edge);
bool requires_grad(const Tensor& tensor);
bool is_leaf(const Tensor& tensor);
// The same array as a leaf of its own. Error(Type) where its dtype has no derivative.
Tensor as_leaf(const Tensor& tensor);

// The same array, which requires grad, and of which each backward pass is refused.
Tensor as_ended(const Tensor& tensor, std::string name, Error why);

// What follows a program while it is captured, as far as it depends on the tape outside.
struct Outside {
  void (*asked)();                        // on the modes, and on which arrays require grad
  void (*reached)(Node& leaf, bool set);  // a gradient comes to a leaf, which keeps it (`set`), or not
};
void set_outside(const Outside* outside);
// Calls them; `reached` refuses what cannot be followed.
void asked_outside();
void reached_outside(Node& node, bool set);

// What an array of a capture leads to, for who returns it.
enum class Fate : uint8_t {
  Off,     // it does not require grad
  Open,    // to leaves outside; a graph that is differentiated by them says the same
  Leaf,    // it is a leaf that was made in the capture
  Freed,   // to what a backward pass has let go of
  Inside,  // to leaves that were made in the capture
  Both,    // to these, and to leaves outside
  Hooked,  // through hooks that were set in the capture
  Moved,   // to a leaf that got a new value in the capture
};
Fate fate_of(const Tensor& tensor, uint64_t capture);

struct BackwardOptions {
  bool retain_graph = false;
  bool create_graph = false;
};
// Sends gradients from `outputs` (with these gradients: an invalid one is 1, of an array of one element) down
// to all leaves, which add them to theirs.
void backward(std::span<const Tensor> outputs, std::span<const Tensor> gradients,
              const BackwardOptions& options);
// The gradients by `inputs` alone; an invalid array where nothing flows from an input. No leaf is touched.
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> gradients, const BackwardOptions& options);

}  // namespace ig::tape
