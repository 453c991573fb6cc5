#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "onnxkit/value.h"

namespace onnxkit::plan {

/// A SequenceInsert, SequenceErase, SequenceAt or SequenceLength of a host step. It passes tensors on as they are; the reference would convert all of
/// the sequence.
class SequenceNode {
 public:
  /// Of a model of one node whose inputs are the node's, but for constants; nothing for others.
  static std::optional<SequenceNode> of(const std::shared_ptr<const ir::Model>& model);

  /// Whether the result holds what the inputs held, which own it.
  bool takes_inputs() const { return op_ == Operator::insert || op_ == Operator::erase; }
  /// The result for the inputs of the model; nothing, and nothing taken, for those of which the reference says what is wrong.
  std::optional<Value> run(std::span<Value* const> inputs) const;

 private:
  enum class Operator : std::uint8_t { insert, erase, at, length };
  explicit SequenceNode(Operator op) : op_(op) {}

  Operator op_;
  std::vector<std::optional<std::size_t>> places_;  ///< of the node's inputs among the model's; nothing: a constant
  std::vector<Value> constants_;                    ///< by input of the node
};

}  // namespace onnxkit::plan
