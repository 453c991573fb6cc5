#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
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
  /// To be made when the model has all its inputs.
  KnownTypes(const foreign::Model& model, const GraphWriter& writer);
  ~KnownTypes();

  /// Whether an operator writes to a tensor: "aten.relu_.default", not "aten.__or__.Tensor"; and whether it gives it another shape.
  static bool is_in_place(std::string_view op);
  static bool changes_shape(std::string_view op);

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
