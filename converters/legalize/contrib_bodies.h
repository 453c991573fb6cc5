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
  /// `model` keeps the text of the bodies.
  explicit ContribBodies(ir::Model& model) : model_(model) {}

  /// Null for nodes of other operators, and for forms of these that have no body here.
  const ir::Function* find(const ir::Node& node);

 private:
  ir::Model& model_;
  std::map<std::string, ir::Model> parsed_;  ///< by text
};

}  // namespace onnxkit::legalize
