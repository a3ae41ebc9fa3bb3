// Control flow nodes as instructions. The ops are told apart by how their declaration says they run
// (LowerRule::of_control), so an op of a user's own can use the same ways.
#include "plan/control.h"

#include "ops/table.h"

namespace ig::plan {
namespace {

std::vector<rt::SlotId> slots(const BlockPlanner& planner, std::span<const Value> values) {
  std::vector<rt::SlotId> out;
  for (Value v : values) out.push_back(planner.slot(v));
  return out;
}

std::span<const Value> segment(const Node* node, size_t which) {
  size_t begin = 0;
  for (size_t i = 0; i < which; ++i) begin += node->segments()[i];
  return node->operands().subspan(begin, node->segments()[which]);
}

void plan_cond(BlockPlanner& planner, Node* node, bool condition) {
  rt::Cond out;
  out.selector = planner.slot(node->operand(0));
  out.selector_bytes = static_cast<int32_t>(size_of(node->operand(0)->type().dtype));
  out.inputs = slots(planner, node->operands().subspan(1));
  out.outputs = slots(planner, node->results());
  for (const auto& region : node->regions()) out.branches.push_back(planner.block(*region));
  if (condition) std::swap(out.branches[0], out.branches[1]);  // written then, else; run by 0 and 1
  planner.add(std::move(out));
}

// Which carries the body of a loop may leave in place.
std::vector<bool> carried_in_place(BlockPlanner& planner, const Node* node, const Block& body) {
  std::vector<bool> out;
  for (uint32_t k = 0; k < node->segments()[1]; ++k)
    out.push_back(planner.shares(body, static_cast<int>(k), static_cast<int>(node->segments()[0] + k)));
  return out;
}

void plan_while(BlockPlanner& planner, Node* node) {
  rt::While out;
  out.consts = slots(planner, segment(node, 0));
  out.init = slots(planner, segment(node, 1));
  out.results = slots(planner, node->results());
  out.in_place = carried_in_place(planner, node, node->region(1));
  out.cond = planner.block(node->region(0));
  out.body = planner.block(node->region(1));
  planner.add(std::move(out));
}

void plan_scan(BlockPlanner& planner, Node* node) {
  rt::Scan out;
  std::span<const Value> carry = segment(node, 1), xs = segment(node, 2);
  out.consts = slots(planner, segment(node, 0));
  out.init = slots(planner, carry);
  out.results = slots(planner, node->results().subspan(0, carry.size()));
  out.xs = slots(planner, xs);
  out.ys = slots(planner, node->results().subspan(carry.size()));
  const Block& body = node->region(0);
  out.in_place = carried_in_place(planner, node, body);
  for (size_t i = 0; i < xs.size(); ++i)
    out.x_bytes.push_back(planner.bytes(body.arg(body.args().size() - xs.size() + i)->type()));
  for (size_t i = carry.size(); i < body.results().size(); ++i)
    out.y_bytes.push_back(planner.bytes(body.results()[i]->type()));
  const AttrValue* length = node->attrs().find("length");
  const AttrValue* reverse = node->attrs().find("reverse");
  out.reverse = reverse && std::get<bool>(*reverse);
  if (!xs.empty()) {
    out.trips = planner.size(xs[0]->type().dims[0]);
  } else {
    IG_CHECK(length != nullptr, "a scan over nothing needs a length");
    const auto* dims = std::get_if<Dims>(length);
    out.trips = planner.size(dims ? dims->at(0) : Dim(std::get<int64_t>(*length)));
  }
  out.body = planner.block(body);
  for (rt::SlotId slot : planner.packed_once(node)) out.consts.push_back(slot);
  planner.add(std::move(out));
}

void plan_call(BlockPlanner& planner, Node* node) {
  rt::Call out;
  out.inputs = slots(planner, node->operands());
  out.outputs = slots(planner, node->results());
  out.body = planner.block(node->region(0));
  planner.add(std::move(out));
}

}  // namespace

void plan_control(BlockPlanner& planner, Node* node) {
  switch (ops::way_of(node)) {
    case ops::Way::Cond: return plan_cond(planner, node, true);
    case ops::Way::Switch: return plan_cond(planner, node, false);
    case ops::Way::While: return plan_while(planner, node);
    case ops::Way::Scan: return plan_scan(planner, node);
    case ops::Way::Call: return plan_call(planner, node);
    default: break;
  }
  throw make_error(ErrorKind::Unsupported, "{} cannot be planned", node->op().name())
      .at(node->location().str())
      .why("its declaration gives no way of control flow")
      .hint("control flow runs by cond, switch, while, scan or call");
}

}  // namespace ig::plan
