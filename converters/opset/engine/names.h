#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/order.h"

namespace onnxkit::opset {

/// Names of values that no graph of the model uses yet, whatever its scope.
class FreshNames {
 public:
  explicit FreshNames(ir::Model& model) : model_(model) {}

  /// `stem`, or `stem` with a number.
  Text make(const std::string& stem) {
    if (!is_filled_) fill();
    std::string name = stem;
    for (std::size_t i = 2; names_.contains(std::string_view(name)); ++i) name = fmt::format("{}_{}", stem, i);
    const Text kept = model_.keep(name);
    names_.insert(kept.view());
    return kept;
  }

 private:
  void fill() {
    is_filled_ = true;
    if (model_.graph) add(*model_.graph);
    for (const ir::Function& function : model_.functions) add(function.body);
    for (const ir::TrainingInfo& training : model_.training_infos) {
      if (training.initialization) add(*training.initialization);
      if (training.algorithm) add(*training.algorithm);
    }
  }
  void add(const ir::Graph& graph) {
    for (const ir::Value& value : graph.values) names_.insert(value.name.view());
    for (const ir::Node& node : graph.nodes)
      ir::for_each_subgraph(node, [this](const ir::Graph& body, std::size_t) { add(body); });
  }

  ir::Model& model_;
  bool is_filled_ = false;
  std::unordered_set<std::string_view> names_;
};

}  // namespace onnxkit::opset
