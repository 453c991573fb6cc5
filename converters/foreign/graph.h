#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/base/text/string_pool.h"
#include "onnxkit/element_type.h"

// A model of another framework, as its file states it, without a word of ONNX. Readers of formats fill it; mappings turn its nodes
// into ONNX. Text and bytes view into the model's files, documents and string pool.
namespace onnxkit::foreign {

/// Index of a value in its graph. `none` stands for an omitted input or output.
enum class ValueId : std::uint32_t { none = 0xffffffff };
constexpr std::size_t index_of(ValueId id) { return static_cast<std::size_t>(id); }

struct Graph;

/// What a node is given: a value of the graph, a constant, a list of those, or a graph. A list of sizes may mix values and
/// constants.
struct Argument {
  using List = std::vector<Argument>;
  std::variant<std::monostate, ValueId, bool, std::int64_t, double, std::complex<double>, std::string_view, ElementType,
               List, std::unique_ptr<Graph>>
      content;
  std::string_view name = {};

  bool is_none() const { return std::holds_alternative<std::monostate>(content); }
  template <class T>
  const T* as() const {
    return std::get_if<T>(&content);
  }
};

struct Node {
  std::string_view op;    ///< with the overload, if the framework has such: "aten.add.Tensor"
  std::string_view name;  ///< in the framework's graph
  std::vector<Argument> arguments;
  std::vector<ValueId> outputs;
  std::string_view source;       ///< lines of the user's program
  std::string_view scope;        ///< the module that it belongs to: "encoder.layer.0"
  bool has_list_result = false;  ///< the outputs are the items of one list, for who writes them
  static constexpr std::size_t no_origin = static_cast<std::size_t>(-1);
  std::size_t origin = no_origin;  ///< of a written node: what it was made of, as an index of the trace

  const Argument* find(std::string_view argument) const {
    for (const Argument& a : arguments)
      if (a.name == argument) return &a;
    return nullptr;
  }
};

/// A declared type. A size is a constant or, negative, an expression in ONNX's dim_param form.
struct Size {
  std::int64_t constant = -1;
  std::string_view expression = {};  ///< empty: unknown
};
struct TensorType {
  ElementType elem = ElementType::undefined;
  std::optional<std::vector<Size>> shape = {};
  std::vector<std::int64_t> strides =
      {};  ///< in its storage, in elements; empty where the file has none or a size is in them
  std::int64_t storage_offset = 0;
};

/// Integers that stand for real numbers: scale (q - zero point), with a pair for the whole tensor or one for each place on an axis.
struct Quantization {
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;
  std::int64_t axis = 0;

  bool is_per_axis() const { return scales.size() > 1; }
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

struct Value {
  std::string_view name;
  std::optional<TensorType> type = {};  ///< as the file declares it; an integer that stands for a size has none
  std::optional<Quantization> quantization = {};
  std::string_view size = {};  ///< of an integer that stands for a size: the expression, in ONNX's dim_param form
  bool is_number =
      false;  ///< known to be a number of the framework's language, which takes no part in shapes, and no tensor
};

/// A constant of the file: a parameter, a buffer. Its bytes lie as in ONNX's raw_data.
struct Tensor {
  ValueId value = ValueId::none;
  std::string_view name = {};  ///< in the framework: "layer1.0.weight"
  ElementType elem = ElementType::undefined;
  std::vector<std::int64_t> dims = {};
  std::span<const std::byte> bytes = {};
  /// Where `order` is not empty, the bytes are those of a tensor of these sizes, whose axes are put into that order when the file is written.
  std::vector<std::int64_t> stored_dims = {}, order = {};
  bool is_constant = false;  ///< a number that an operator needs, nothing that one would train; for who writes it
};

struct Output {
  ValueId value = ValueId::none;
  std::string_view name;
};

struct Graph {
  std::string_view name;
  std::vector<Value> values;
  std::vector<ValueId> inputs;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<Output> outputs;

  ValueId add_value(std::string_view value_name, std::optional<TensorType> type = {}) {
    values.push_back({value_name, std::move(type)});
    return ValueId{static_cast<std::uint32_t>(values.size() - 1)};
  }
  std::string_view name_of(ValueId id) const {
    return id == ValueId::none ? std::string_view() : values[index_of(id)].name;
  }
};

struct Model {
  Graph graph;
  std::string_view framework;  ///< "PyTorch"
  std::string_view version;    ///< of the framework that wrote the file
  std::int64_t opset = 0;      ///< that the mappings write in; 0: import_opset
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
  std::vector<std::pair<std::string_view, std::int64_t>> sizes;  ///< examples of named sizes

  std::vector<std::shared_ptr<const MappedFile>> files;  ///< what tensors view into
  std::shared_ptr<StringPool> strings = std::make_shared<StringPool>();
  std::vector<std::shared_ptr<const void>> documents;  ///< what else text views into
};

}  // namespace onnxkit::foreign
