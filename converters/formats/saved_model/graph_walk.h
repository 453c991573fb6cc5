#pragma once

#include "converters/foreign/graph.h"

namespace onnxkit::saved_model {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::Tensor;
using foreign::ValueId;

/// Calls `take` for every value that a node reads.
template <class Take>
void for_each_input(const Node& node, Take take) {
  for (const Argument& argument : node.arguments) {
    if (const auto* id = argument.as<ValueId>()) take(*id);
    if (const auto* list = argument.as<Argument::List>())
      for (const Argument& item : *list)
        if (const auto* id = item.as<ValueId>()) take(*id);
  }
}

/// Runs a pass on the bodies of a graph's nodes.
template <class Pass>
void for_each_body(Graph& graph, Pass pass) {
  for (Node& node : graph.nodes)
    for (Argument& argument : node.arguments) {
      if (auto* body = std::get_if<std::unique_ptr<Graph>>(&argument.content)) pass(**body);
      if (auto* list = std::get_if<Argument::List>(&argument.content))
        for (Argument& item : *list)
          if (auto* body = std::get_if<std::unique_ptr<Graph>>(&item.content)) pass(**body);
    }
}

}  // namespace onnxkit::saved_model
