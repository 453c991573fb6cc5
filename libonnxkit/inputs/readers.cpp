#include "libonnxkit/inputs/readers.h"

#include <fmt/core.h>

#include "libonnxkit/ir/order.h"

namespace onnxkit::inputs {
namespace {

/// Graphs and functions in each other. The reference runs none that nest deeper, and each one's place is part of those inside it.
constexpr int most_depth = 200;

}  // namespace

void Readers::follow(const ir::Graph& graph, std::span<const ir::OpsetImport> opsets, ir::ValueId id,
                     const std::string& where) {
  if (depth_ >= most_depth || id == ir::ValueId::none || !seen_.insert({&graph, id}).second) return;
  ++depth_;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ir::Node& node = graph.nodes[i];
    const auto place = [&] { return fmt::format("{} / node {}", where, i); };
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] == id) read({graph, opsets, node, k, where, place()});
    }
    ir::for_each_subgraph(node, [&](const ir::Graph& inner, std::size_t) {
      follow(inner, opsets, inner.find(graph.name_of(id)), place());
    });
  }
  --depth_;
}

void Readers::read(const Reader& reader) {
  const ir::Function* called = functions_.find(reader.node);
  if (!called) return visit_(reader);
  const ir::Graph& body = called->body;
  if (reader.input < body.inputs.size())
    follow(body, called->opset_imports, body.inputs[reader.input].value, reader.place);
}

}  // namespace onnxkit::inputs
