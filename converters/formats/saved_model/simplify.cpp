#include "converters/formats/saved_model/simplify.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "converters/foreign/unused.h"
#include "converters/formats/saved_model/graph_index.h"
#include "converters/formats/saved_model/graph_reader.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::saved_model {
namespace {

using Dims = std::vector<std::int64_t>;

std::unordered_map<ValueId, std::size_t> tensors_by_value(const Graph& graph) {
  std::unordered_map<ValueId, std::size_t> places;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) places.emplace(graph.tensors[i].value, i);
  return places;
}

// ---- constants

using Compute = double (*)(double, double);
struct FoldableOperator {
  std::string_view op;
  std::size_t inputs;
  Compute compute;
};
constexpr FoldableOperator foldable_operators[] = {
    {"Add", 2, [](double a, double b) { return a + b; }},
    {"AddV2", 2, [](double a, double b) { return a + b; }},
    {"Sub", 2, [](double a, double b) { return a - b; }},
    {"Mul", 2, [](double a, double b) { return a * b; }},
    {"RealDiv", 2, [](double a, double b) { return a / b; }},
    {"Rsqrt", 1, [](double a, double) { return 1 / std::sqrt(a); }},
    {"Sqrt", 1, [](double a, double) { return std::sqrt(a); }},
    {"Neg", 1, [](double a, double) { return -a; }},
    {"Square", 1, [](double a, double) { return a * a; }},
};

/// How far apart in a broadcast tensor the elements along each axis of the result are.
Dims broadcast_strides(const Dims& own, std::size_t rank) {
  Dims strides(rank, 0);
  std::int64_t stride = 1;
  for (std::size_t back = 1; back <= own.size(); ++back) {
    const std::int64_t size = own[own.size() - back];
    strides[rank - back] = size == 1 ? 0 : stride;
    stride *= size;
  }
  return strides;
}

std::optional<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()), 1);
  for (std::size_t back = 1; back <= dims.size(); ++back) {
    const std::int64_t x = back <= a.size() ? a[a.size() - back] : 1, y = back <= b.size() ? b[b.size() - back] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    dims[dims.size() - back] = x == 1 ? y : x;
  }
  return dims;
}

class Folder {
 public:
  Folder(foreign::Model& model, Graph& graph) : model_(model), graph_(graph), places_(tensors_by_value(graph)) {}

  void fold() {
    std::erase_if(graph_.nodes, [&](const Node& node) { return folded(node) || reshaped(node); });
  }

 private:
  static constexpr std::int64_t most_elements = 1 << 16;

  const Tensor* tensor_of(const Argument& argument) const {
    const auto* id = argument.as<ValueId>();
    const auto found = id ? places_.find(*id) : places_.end();
    return found == places_.end() ? nullptr : &graph_.tensors[found->second];
  }

  bool folded(const Node& node) {
    const auto known = std::find_if(std::begin(foldable_operators), std::end(foldable_operators),
                                    [&](const FoldableOperator& op) { return op.op == node.op; });
    if (known == std::end(foldable_operators) || node.arguments.size() < known->inputs || node.outputs.size() != 1)
      return false;
    const Tensor* a = tensor_of(node.arguments[0]);
    const Tensor* b = known->inputs == 2 ? tensor_of(node.arguments[1]) : a;
    if (!a || !b || a->elem != b->elem || !is_floating(a->elem)) return false;
    const auto dims = broadcast_dims(a->dims, b->dims);
    const auto count = dims ? checked_element_count(*dims) : std::nullopt;
    if (!count || *count > most_elements || *count > left_) return false;
    left_ -= *count;
    add(node, a->elem, *dims, computed(*a, *b, *dims, static_cast<std::size_t>(*count), known->compute));
    return true;
  }

  static std::vector<double> numbers_of(const Tensor& tensor) {
    std::vector<double> numbers(static_cast<std::size_t>(checked_element_count(tensor.dims).value_or(0)));
    decode(tensor.elem, tensor.bytes, std::span(numbers));
    return numbers;
  }

  static std::string computed(const Tensor& a, const Tensor& b, const Dims& dims, std::size_t count, Compute compute) {
    const std::vector<double> x = numbers_of(a), y = numbers_of(b);
    const Dims x_strides = broadcast_strides(a.dims, dims.size()), y_strides = broadcast_strides(b.dims, dims.size());
    std::vector<double> results(count);
    Dims place(dims.size(), 0);
    std::int64_t at_x = 0, at_y = 0;
    for (double& result : results) {
      result = compute(x[static_cast<std::size_t>(at_x)], y[static_cast<std::size_t>(at_y)]);
      for (std::size_t axis = dims.size(); axis-- > 0;) {
        at_x += x_strides[axis], at_y += y_strides[axis];
        if (++place[axis] < dims[axis]) break;
        at_x -= x_strides[axis] * dims[axis], at_y -= y_strides[axis] * dims[axis];
        place[axis] = 0;
      }
    }
    std::string bytes(static_cast<std::size_t>(packed_size(a.elem, static_cast<std::int64_t>(count)).value_or(0)),
                      '\0');
    encode(a.elem, std::span<const double>(results), std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }

  /// A constant whose axes alone change keeps its bytes.
  bool reshaped(const Node& node) {
    if (node.arguments.empty() || node.outputs.size() != 1) return false;
    const Tensor* data = tensor_of(node.arguments[0]);
    if (!data) return false;
    std::optional<Dims> dims;
    if (node.op == "Reshape") dims = sizes_given(node, *data);
    if (node.op == "Squeeze") dims = squeezed(node, *data);
    if (node.op == "ExpandDims") dims = expanded(node, *data);
    if (!dims || checked_element_count(*dims) != checked_element_count(data->dims)) return false;
    Tensor made = *data;
    made.value = node.outputs.front();
    made.name = graph_.name_of(made.value);
    made.dims = *std::move(dims);
    place(std::move(made));
    return true;
  }

  /// The content of a small tensor of integers.
  std::optional<Dims> integers(const Node& node, std::size_t argument) const {
    const Tensor* tensor = argument < node.arguments.size() ? tensor_of(node.arguments[argument]) : nullptr;
    if (!tensor || (tensor->elem != ElementType::int32 && tensor->elem != ElementType::int64)) return std::nullopt;
    constexpr std::int64_t most_axes = 16;
    const auto count = checked_element_count(tensor->dims);
    if (!count || *count > most_axes) return std::nullopt;
    Dims numbers(static_cast<std::size_t>(*count));
    decode(tensor->elem, tensor->bytes, std::span(numbers));
    return numbers;
  }

  std::optional<Dims> sizes_given(const Node& node, const Tensor& data) const {
    auto dims = integers(node, 1);
    const auto count = checked_element_count(data.dims);
    if (!dims || !count) return std::nullopt;
    const auto open = std::find(dims->begin(), dims->end(), -1);
    if (open == dims->end()) return dims;
    *open = 1;
    const auto others = checked_element_count(*dims);
    if (!others || *others == 0 || *count % *others != 0) return std::nullopt;
    *open = *count / *others;
    return dims;
  }

  static std::optional<Dims> squeezed(const Node& node, const Tensor& data) {
    const Argument* given = node.find("squeeze_dims");
    const auto* list = given ? given->as<Argument::List>() : nullptr;
    if (list && !list->empty()) return std::nullopt;
    Dims dims = data.dims;
    std::erase(dims, 1);
    return dims;
  }

  std::optional<Dims> expanded(const Node& node, const Tensor& data) const {
    const auto axis = integers(node, 1);
    const auto rank = static_cast<std::int64_t>(data.dims.size());
    if (!axis || axis->size() != 1 || axis->front() < -rank - 1 || axis->front() > rank) return std::nullopt;
    Dims dims = data.dims;
    dims.insert(dims.begin() + (axis->front() < 0 ? axis->front() + rank + 1 : axis->front()), 1);
    return dims;
  }

  void add(const Node& node, ElementType elem, const Dims& dims, std::string bytes) {
    auto file = MappedFile::from_bytes(std::move(bytes));
    place({.value = node.outputs.front(),
           .name = graph_.name_of(node.outputs.front()),
           .elem = elem,
           .dims = dims,
           .bytes = file->bytes()});
    model_.files.push_back(std::move(file));
  }

  void place(Tensor tensor) {
    places_.emplace(tensor.value, graph_.tensors.size());
    graph_.tensors.push_back(std::move(tensor));
  }

  foreign::Model& model_;
  Graph& graph_;
  std::unordered_map<ValueId, std::size_t> places_;
  std::int64_t left_ = most_elements << 8;  ///< elements that may still be computed
};

// ---- biases

/// How many numbers the bias of an operator has; -1 for operators without.
std::int64_t bias_size(const Node& node, const Tensor& weights) {
  const auto is = [&](std::string_view op, std::size_t rank) { return node.op == op && weights.dims.size() == rank; };
  if (is("Conv2D", 4)) return weights.dims[3];
  if (is("Conv3D", 5)) return weights.dims[4];
  if (is("DepthwiseConv2dNative", 4)) return checked_mul(weights.dims[2], weights.dims[3]).value_or(-1);
  if (is("Conv2DBackpropInput", 4)) return weights.dims[2];
  if (is("MatMul", 2)) return weights.dims[given_flag(node, "transpose_b") ? 0 : 1];
  return -1;
}

bool is_channels_first(const Node& node) { return given_text(node, "data_format").starts_with("NC"); }

/// Gives `value` a bias where an operator computes it that takes one.
bool joined_bias(GraphIndex& index, Node& sum, ValueId value, ValueId bias_value) {
  Node* node = index.writer(value);
  const Tensor* bias = index.tensor(bias_value);
  if (!node || !bias || index.uses(value) != 1 || node->arguments.size() < 2 || node->find("bias") ||
      node->outputs.size() != 1)
    return false;
  const auto* filter = node->arguments[1].as<ValueId>();
  const Tensor* weights = filter ? index.tensor(*filter) : nullptr;
  const std::int64_t size = weights ? bias_size(*node, *weights) : -1;
  const bool fits_channels =
      sum.op == "BiasAdd" ? is_channels_first(sum) == is_channels_first(*node) : !is_channels_first(*node);
  if (size < 0 || bias->dims.empty() || bias->dims.back() != size || checked_element_count(bias->dims) != size ||
      !fits_channels || bias->dims.size() > weights->dims.size())
    return false;
  const ValueId vector = bias->dims.size() == 1 ? bias_value : index.add_view(*bias, {bias->dims.back()});
  node->arguments.push_back({vector, "bias"});
  index.take_results(*node, sum);
  return true;
}

bool joined_bias(GraphIndex& index, Node& sum) {
  const bool is_bias = sum.op == "BiasAdd";
  if ((!is_bias && sum.op != "AddV2" && sum.op != "Add") || sum.arguments.size() < 2 || sum.outputs.size() != 1)
    return false;
  const auto *x = sum.arguments[0].as<ValueId>(), *y = sum.arguments[1].as<ValueId>();
  if (!x || !y) return false;
  return joined_bias(index, sum, *x, *y) || (!is_bias && joined_bias(index, sum, *y, *x));
}

}  // namespace

void fold_constants(foreign::Model& model, Graph& graph) {
  Folder(model, graph).fold();
  for_each_body(graph, [&](Graph& body) { fold_constants(model, body); });
}

void join_biases(Graph& graph) {
  GraphIndex index(graph);
  for (Node& node : graph.nodes) joined_bias(index, node);
  std::erase_if(graph.nodes, [](const Node& node) { return node.outputs.empty(); });
  for_each_body(graph, join_biases);
}

void remove_unread(Graph& graph) {
  foreign::remove_unused(graph, [](const Node& node) { return changes_state(node.op); });
  for_each_body(graph, remove_unread);
}

}  // namespace onnxkit::saved_model
