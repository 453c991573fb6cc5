#pragma once

#include <doctest/doctest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/wire/text.h"
#include "onnxkit/model.h"

// Models in the text syntax, and what is in them.
namespace onnxkit::tests {

/// What stands before a graph of ai.onnx 17.
inline const std::string opset_17 = "<ir_version: 8, opset_import: [\"\" : 17]>\n";

inline Model parse_model(const std::string& text) {
  auto model = read_model_bytes(text, "test", {.format = "text"});
  REQUIRE_MESSAGE(model, (model ? "" : model.error().diagnostic.message));
  return *std::move(model);
}

inline ir::Model parse_ir(std::string_view text) {
  auto model = wire::parse_text(text, "test");
  REQUIRE_MESSAGE(model.ok(), (model.ok() ? "" : model.error().diagnostic.message));
  return *std::move(model);
}

/// A model of ai.onnx 17 and a domain of its own.
inline ir::Model parse_graph(std::string_view text) {
  return parse_ir("<ir_version: 8, opset_import: [\"\" : 17, \"mine\" : 1]>\n" + std::string(text));
}

inline std::vector<std::string> names_of(const ir::Graph& graph, std::span<const ir::ValueId> ids) {
  std::vector<std::string> names;
  for (const ir::ValueId id : ids) names.emplace_back(graph.name_of(id));
  return names;
}

inline std::vector<std::string> names_of(const ir::Graph& graph, std::span<const ir::ValueInfo> infos) {
  std::vector<std::string> names;
  for (const ir::ValueInfo& info : infos) names.emplace_back(graph.name_of(info.value));
  return names;
}

inline std::vector<std::string> ops_of(const ir::Graph& graph) {
  std::vector<std::string> ops;
  for (const ir::Node& node : graph.nodes) ops.emplace_back(node.op_type.view());
  return ops;
}

}  // namespace onnxkit::tests
