#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/wire/text.h"

namespace onnxkit::tests {

/// A model of ai.onnx 17 in the text syntax.
inline ir::Model parse_graph(std::string_view text) {
  auto model =
      wire::parse_text("<ir_version: 8, opset_import: [\"\" : 17, \"mine\" : 1]>\n" + std::string(text), "test");
  REQUIRE_MESSAGE(model.ok(), (model.ok() ? "" : model.error().diagnostic.message));
  return *std::move(model);
}

inline std::vector<std::string> names_of(const ir::Graph& graph, std::span<const ir::ValueId> ids) {
  std::vector<std::string> names;
  for (const ir::ValueId id : ids) names.emplace_back(graph.name_of(id));
  return names;
}

inline std::vector<std::string> ops_of(const ir::Graph& graph) {
  std::vector<std::string> ops;
  for (const ir::Node& node : graph.nodes) ops.emplace_back(node.op_type.view());
  return ops;
}

}  // namespace onnxkit::tests
