#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "libonnxkit/ir/model.h"

namespace onnxkit::legalize {

constexpr std::string_view contrib_domain = "com.microsoft";
/// Of ai.onnx, that the bodies are written in.
constexpr std::int64_t contrib_opset = 21;

/// Operators of com.microsoft as functions of operators of ai.onnx.
class ContribBodies {
 public:
  /// Null for nodes of other operators, and for forms of these that have no body here.
  const ir::Function* find(const ir::Node& node);
  /// What was copied from bodies into the model lives as long as it.
  void keep_text_in(ir::Model& model) const;

 private:
  std::map<std::string, ir::Model> parsed_;  ///< by text
};

}  // namespace onnxkit::legalize
