// Graphviz: the nodes of the main graph and the values between them, as a picture's source. Written only.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/formats/frame/registry.h"

namespace onnxkit::formats {
namespace {

std::string graphviz_text(const ir::Graph& graph) {
  std::string text = "digraph {\n";
  std::vector<std::optional<std::size_t>> writers(graph.values.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const ir::Node& node = graph.nodes[i];
    text += fmt::format("  n{} [label={}]\n", i, quote(node.op_type));
    for (const ir::ValueId output : node.outputs)
      if (output != ir::ValueId::none) writers[ir::index_of(output)] = i;
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ir::ValueId input : graph.nodes[i].inputs) {
      if (input == ir::ValueId::none || !writers[ir::index_of(input)]) continue;
      text += fmt::format("  n{} -> n{} [label={}]\n", *writers[ir::index_of(input)], i, quote(graph.name_of(input)));
    }
  }
  return text + "}\n";
}

Result<void> write_graphviz(const ir::Model& model, const std::filesystem::path& path, const SaveOptions&,
                            SaveReport&) {
  if (!model.graph) return make_error("no-graph", "the model has no graph");
  return replace_file(path, graphviz_text(*model.graph));
}

}  // namespace

void register_graphviz(Registry& registry);
void register_graphviz(Registry& registry) {
  registry.add({.name = "graphviz", .title = "a Graphviz graph", .extensions = {".dot"}, .write = write_graphviz});
}

}  // namespace onnxkit::formats
