#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/uses.h"
#include "onnxkit/result.h"

// The part of a main graph between some of its values, found, or cut out as a model of its own.
namespace onnxkit::ir {

/// The nodes that compute some values from others.
struct Part {
  std::vector<std::size_t> nodes;  ///< in the graph's order
  /// The given values and the inputs of the graph that these nodes read or that are wanted themselves, initializers among them when
  /// they are inputs, too. Ascending. A given value that one of the nodes writes anyway is none.
  std::vector<ValueId> inputs;
  std::vector<bool> reads;  ///< by ValueId: one of the nodes reads it
};

/// What computes `to` from `from`, from inputs and from initializers.
Part part_between(const Graph& graph, const Uses& uses, std::span<const ValueId> from, std::span<const ValueId> to);

/// What the graph declares of a value, without a type when it says nothing.
ValueInfo declared_value(const Graph& graph, ValueId id);

/// The part as a model with `to` as its outputs: the nodes, the initializers and declarations of their values, the functions that they
/// call, and the imports, which all stay. Shares text and weights with `model` and keeps them alive. Training information goes.
[[nodiscard]] Model extract(const Model& model, const Part& part, std::span<const ValueId> to);
/// The same for names. Errors: no-graph, unknown-value.
[[nodiscard]] Result<Model> extract(const Model& model, std::span<const std::string> from,
                                    std::span<const std::string> to);

}  // namespace onnxkit::ir
