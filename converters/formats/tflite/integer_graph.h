#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "converters/foreign/graph.h"

namespace onnxkit::to_tflite {

/// Who computes and reads the values of a graph, and which integers stand for real numbers.
class IntegerGraph {
 public:
  explicit IntegerGraph(foreign::Model& of) : model(of), graph(of.graph) { index(); }

  /// After nodes or values were added or taken away.
  void index();

  foreign::Node* producer(foreign::ValueId id) { return at(producer_, id); }
  foreign::Node* reader(foreign::ValueId id) { return at(reader_, id); }  ///< the last one
  std::size_t reads(foreign::ValueId id) const { return reads_[index_of(id)]; }
  foreign::Value& value(foreign::ValueId id) { return graph.values[index_of(id)]; }
  foreign::Tensor* constant(foreign::ValueId id);
  ElementType elem(foreign::ValueId id) { return value(id).type ? value(id).type->elem : ElementType::undefined; }
  /// The integers of 8 bits that a real value is made of; none when it is not.
  foreign::ValueId integers_of(foreign::ValueId id);
  /// Integers like a real value, with these scales.
  foreign::ValueId add_integers_of(foreign::ValueId real, const foreign::Quantization& quantization);

  foreign::Model& model;
  foreign::Graph& graph;

 private:
  foreign::Node* at(const std::vector<std::int64_t>& nodes, foreign::ValueId id);

  std::vector<std::size_t> reads_;
  std::vector<std::int64_t> producer_, reader_, constant_;  ///< by value
};

/// The value that an argument is; none when it is another one.
foreign::ValueId value_of(const foreign::Argument& argument);

}  // namespace onnxkit::to_tflite
