#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "converters/foreign/graph.h"
#include "onnxkit/element_type.h"

namespace onnxkit::torchscript {

/// What is known of the values of a model's main graph while it is still written: its nodes become ONNX, each once, when a question comes, for their types
/// alone. Of what is written in place the type is followed, the content is not.
class KnownTypes {
 public:
  /// The model has all its inputs.
  explicit KnownTypes(const foreign::Model& model);
  ~KnownTypes();

  /// Undefined where it is not known.
  ElementType elem(foreign::ValueId id);
  /// Negative for those that are not constants; nothing where the rank is not known.
  std::optional<std::vector<std::int64_t>> sizes(foreign::ValueId id);

 private:
  struct State;
  void catch_up();

  std::unique_ptr<State> state_;
};

}  // namespace onnxkit::torchscript
