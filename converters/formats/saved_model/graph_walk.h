#pragma once

#include "converters/foreign/graph.h"

namespace onnxkit::saved_model {

/// Calls `take` for every value that a node reads.
template <class Take>
void for_each_input(const foreign::Node& node, Take take) {
  for (const foreign::Argument& argument : node.arguments) {
    if (const auto* id = argument.as<foreign::ValueId>()) take(*id);
    if (const auto* list = argument.as<foreign::Argument::List>())
      for (const foreign::Argument& item : *list)
        if (const auto* id = item.as<foreign::ValueId>()) take(*id);
  }
}

/// Runs a pass on the bodies of a graph's nodes.
template <class Pass>
void for_each_body(foreign::Graph& graph, Pass pass) {
  for (foreign::Node& node : graph.nodes)
    for (foreign::Argument& argument : node.arguments) {
      if (auto* body = std::get_if<std::unique_ptr<foreign::Graph>>(&argument.content)) pass(**body);
      if (auto* list = std::get_if<foreign::Argument::List>(&argument.content))
        for (foreign::Argument& item : *list)
          if (auto* body = std::get_if<std::unique_ptr<foreign::Graph>>(&item.content)) pass(**body);
    }
}

}  // namespace onnxkit::saved_model
