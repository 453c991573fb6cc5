#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "libonnxkit/ir/model.h"
#include "onnxkit/value.h"

namespace onnxkit::plan {

/// A SequenceInsert, SequenceAt or SequenceLength of a host step. It passes tensors on as they are; the reference would convert all of the sequence.
class SequenceNode {
 public:
  /// Of a model of one node whose inputs are the node's; nothing for other operators.
  static std::optional<SequenceNode> of(const ir::Model& model);

  /// The result for inputs that own what they hold, some of which it takes; nothing, and nothing taken, for those of which the reference says what is
  /// wrong.
  std::optional<Value> run(std::span<Value> inputs) const;

 private:
  enum class Operator : std::uint8_t { insert, at, length };
  explicit SequenceNode(Operator op) : op_(op) {}

  Operator op_;
};

}  // namespace onnxkit::plan
