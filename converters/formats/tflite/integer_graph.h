#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "converters/foreign/graph.h"

namespace onnxkit::to_tflite {

using foreign::Argument;
using foreign::Node;
using foreign::Quantization;
using foreign::Tensor;
using foreign::ValueId;

/// Who computes and reads the values of a graph, and which integers stand for real numbers.
class IntegerGraph {
 public:
  explicit IntegerGraph(foreign::Model& of) : model(of), graph(of.graph) { index(); }

  /// After nodes or values were added or taken away.
  void index();

  Node* producer(ValueId id) { return at(producer_, id); }
  Node* reader(ValueId id) { return at(reader_, id); }  ///< the last one
  std::size_t reads(ValueId id) const { return reads_[index_of(id)]; }
  foreign::Value& value(ValueId id) { return graph.values[index_of(id)]; }
  Tensor* constant(ValueId id);
  ElementType elem(ValueId id) { return value(id).type ? value(id).type->elem : ElementType::undefined; }
  /// The integers of 8 bits that a real value is made of; none when it is not.
  ValueId integers_of(ValueId id);
  /// Integers like a real value, with these scales.
  ValueId add_integers_of(ValueId real, const Quantization& quantization);

  foreign::Model& model;
  foreign::Graph& graph;

 private:
  Node* at(const std::vector<std::int64_t>& nodes, ValueId id);

  std::vector<std::size_t> reads_;
  std::vector<std::int64_t> producer_, reader_, constant_;  ///< by value
};

/// The value that an argument is; none when it is another one.
ValueId value_of(const Argument& argument);

}  // namespace onnxkit::to_tflite
