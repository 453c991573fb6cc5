#pragma once

#include <map>
#include <string_view>
#include <tuple>

#include "libonnxkit/ir/model.h"

namespace onnxkit::spec {

/// The functions of a model by domain, name and overload; of equal ones the first.
class FunctionIndex {
 public:
  explicit FunctionIndex(const ir::Model& model);
  /// The function that a node calls; null when it is no call.
  const ir::Function* find(const ir::Node& node) const;

 private:
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const ir::Function*> functions_;
};

}  // namespace onnxkit::spec
