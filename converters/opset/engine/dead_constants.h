#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "converters/opset/engine/inferred_values.h"

namespace onnxkit::opset {

/// Constants that only nodes read which have been rewritten.
class DeadConstants {
 public:
  /// A node that read `value` may do so no longer.
  void may_be_unused(const Scope& scope, ValueId value);
  /// Removes the initializers and Constant nodes among them that nothing reads, and reports which.
  std::vector<std::string> remove();

 private:
  void remove_from(ir::Graph& graph, const std::set<ValueId>& candidates, std::vector<std::string>& removed);

  std::unordered_map<ir::Graph*, std::set<ValueId>> candidates_;
  std::vector<ir::Graph*> order_;
};

}  // namespace onnxkit::opset
