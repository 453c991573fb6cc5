#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "converters/foreign/graph.h"
#include "converters/formats/torchscript/graph_writer.h"
#include "converters/formats/torchscript/item.h"
#include "onnxkit/element_type.h"

namespace onnxkit::torchscript {

/// What is known of the values of a model while it is still written: nodes of the graphs that are open become ONNX, each once, when a question comes, for
/// their types alone. Of what is written in place the type is followed, the content is not.
class KnownTypes {
 public:
  /// The model has all its inputs.
  KnownTypes(const foreign::Model& model, const GraphWriter& writer);
  ~KnownTypes();

  /// What a pass of a loop is given, an input of its graph, has the type of what the first one is given.
  void assume(const foreign::Graph& pass, foreign::ValueId given, const Item& first);

  /// Undefined where it is not known.
  ElementType elem(const Item& tensor);
  /// Negative for those that are not constants; nothing where the rank is not known.
  std::optional<std::vector<std::int64_t>> sizes(const Item& tensor);

 private:
  struct State;
  void catch_up();
  void catch_up(const foreign::Graph& graph);
  void fill_inputs(const GraphWriter::Frame& frame);

  std::unique_ptr<State> state_;
};

}  // namespace onnxkit::torchscript
