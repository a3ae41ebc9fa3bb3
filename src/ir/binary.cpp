#include "ir/graph.h"
namespace ig {
std::string Graph::to_binary() const { return str(true); }
std::unique_ptr<Graph> Graph::from_binary(std::string_view bytes) { return parse(bytes); }
}
