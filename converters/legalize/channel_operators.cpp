#include "converters/legalize/channel_operators.h"

#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "checker/collector.h"
#include "checker/infer/inference.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/ir/uses.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::legalize {
namespace {

using ir::ValueId;
using Ints = std::vector<std::int64_t>;

/// The nodes of one graph written anew.
class ChannelOperators {
 public:
  ChannelOperators(ir::Model& model, ir::Graph& graph, const checker::InferredModel& inferred, ir::FreshNames& names,
                   wire::ExternalData& data)
      : model_(model), graph_(graph), inferred_(inferred), names_(names), data_(data), stored_(graph) {}

  void write() {
    std::vector<ir::Node> old = std::move(graph_.nodes);
    for (ir::Node& node : old) {
      node_ = &node;
      if (node.op_type == "DequantizeLinear" && !node.outputs.empty()) dequantized_[node.outputs[0]] = node.inputs;
      if (!write_node(node)) nodes_.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes_);
    for (ir::Tensor& tensor : made_) graph_.initializers.push_back(std::move(tensor));
    graph_.intern_initializers();
  }

  using Form = bool (ChannelOperators::*)(const ir::Node& node);
  static const std::map<std::string_view, Form>& forms() {
    static const std::map<std::string_view, Form> all = {
        {"Constant", &ChannelOperators::write_constant},
        {"GlobalAveragePool", &ChannelOperators::write_global_average},
        {"GlobalMaxPool", &ChannelOperators::write_global_maximum},
        {"BatchNormalization", &ChannelOperators::write_batch_normalization},
        {"InstanceNormalization", &ChannelOperators::write_instance_normalization},
        {"GatherND", &ChannelOperators::write_gather_nd}};
    return all;
  }

 private:
  bool write_node(const ir::Node& node) {
    if (!ir::canonical_domain(node.domain.view()).empty()) return false;
    const auto known = forms().find(node.op_type.view());
    return known != forms().end() && (this->*known->second)(node);
  }

  const checker::Type* type_of(ValueId id) const {
    const checker::ValueInfo* known = inferred_.find(graph_, id);
    return known && known->type.is_tensor() ? &known->type : nullptr;
  }
  std::optional<std::size_t> rank_of(ValueId id) const {
    const checker::Type* type = type_of(id);
    return type && type->shape ? std::optional(type->shape->size()) : std::nullopt;
  }

  // ---- what is made

  ValueId fresh(std::string_view role) {
    return graph_.intern(names_.make(std::string(graph_.name_of(node_->outputs[0])) + "_" + std::string(role)));
  }
  ValueId emit(std::string_view op, std::vector<ValueId> inputs, std::string_view role,
               const std::vector<ir::Attr>& attributes = {}, ValueId result = ValueId::none) {
    if (result == ValueId::none) result = fresh(role);
    nodes_.push_back(ir::make_node(model_, op, std::move(inputs), {result}, attributes));
    return result;
  }
  ValueId store(ir::Tensor tensor, std::string_view role) {
    const ValueId id = fresh(role);
    tensor.name = model_.keep(graph_.name_of(id));
    made_.push_back(std::move(tensor));
    return id;
  }

  /// Elements of a vector, when they are stored, or the integers that stand for them.
  std::optional<std::vector<double>> elements(ValueId id) {
    const auto node = dequantized_.find(id);
    return node == dequantized_.end() ? stored_elements(id) : dequantized_elements(node->second);
  }

  std::optional<std::vector<double>> dequantized_elements(const std::vector<ValueId>& inputs) {
    if (inputs.size() < 2) return std::nullopt;
    auto values = stored_elements(inputs[0]);
    const auto scales = stored_elements(inputs[1]);
    const bool has_zero = inputs.size() > 2 && inputs[2] != ValueId::none;
    const auto zeros = has_zero ? stored_elements(inputs[2]) : std::optional(std::vector<double>(1, 0.0));
    if (!values || !scales || !zeros) return std::nullopt;
    const auto is_spread = [&](const std::vector<double>& given) {
      return given.size() == 1 || given.size() == values->size();
    };
    if (!is_spread(*scales) || !is_spread(*zeros)) return std::nullopt;
    for (std::size_t i = 0; i < values->size(); ++i) {
      const double steps = (*values)[i] - (*zeros)[zeros->size() == 1 ? 0 : i];
      (*values)[i] = steps * (*scales)[scales->size() == 1 ? 0 : i];
    }
    return values;
  }

  std::optional<std::vector<double>> stored_elements(ValueId id) {
    const ir::Tensor* tensor = stored_.find(id);
    if (!tensor) return std::nullopt;
    std::span<const std::byte> outside;
    if (tensor->is_external()) {
      const auto bytes = data_.bytes(*tensor);
      if (!bytes) return std::nullopt;
      outside = *bytes;
    }
    auto reader = ir::ElementReader::open(*tensor, outside);
    if (!reader) return std::nullopt;
    std::vector<double> values(reader->count());
    return reader->read(std::span(values)) == values.size() ? std::optional(std::move(values)) : std::nullopt;
  }

  ValueId store_reals(ElementType elem, Ints dims, const std::vector<double>& values, std::string_view role) {
    std::string bytes(packed_size(elem, static_cast<std::int64_t>(values.size())).value_or(0), '\0');
    const auto room = std::as_writable_bytes(std::span(bytes.data(), bytes.size()));
    encode(elem, std::span<const double>(values), room);
    return store(ir::make_tensor(model_, elem, std::move(dims), room), role);
  }

  static Ints channel_dims(std::int64_t channels, std::size_t rank) {
    Ints dims(rank - 1, 1);
    dims.front() = channels;
    return dims;
  }
  static Ints spatial_axes(std::size_t rank) {
    Ints axes(rank - 2);
    std::iota(axes.begin(), axes.end(), 2);
    return axes;
  }

  /// A vector of the channels as [C, 1, ...], which broadcasts along a value of that rank.
  ValueId along_channels(ValueId vector, std::size_t rank, std::string_view role) {
    if (rank <= 2) return vector;
    if (const ir::Tensor* tensor = stored_.find(vector); tensor && tensor->dims.size() == 1) {
      ir::Tensor shaped = ir::clone(*tensor);
      shaped.dims = channel_dims(tensor->dims[0], rank);
      return store(std::move(shaped), role);
    }
    Ints axes(rank - 2);
    std::iota(axes.begin(), axes.end(), 1);
    const ValueId places = store(ir::make_tensor(model_, std::span<const std::int64_t>(axes)), "axes");
    return emit("Unsqueeze", {vector, places}, role);
  }

  // ---- operators

  bool write_constant(const ir::Node& node) {
    if (node.outputs.size() != 1 || node.attributes.size() != 1) return false;
    const ir::Attribute& value = node.attributes.front();
    ir::Tensor tensor;
    if (value.tensor())
      tensor = ir::clone(*value.tensor());
    else if (const auto* integers = value.as<Ints>())
      tensor = ir::make_tensor(model_, std::span<const std::int64_t>(*integers));
    else if (const auto* reals = value.as<std::vector<float>>())
      tensor = ir::make_tensor(model_, std::span<const float>(*reals));
    else if (const auto* integer = value.as<std::int64_t>())
      tensor = ir::make_tensor(model_, ElementType::int64, {}, std::as_bytes(std::span(integer, 1)));
    else if (const auto* real = value.as<float>())
      tensor = ir::make_tensor(model_, ElementType::float32, {}, std::as_bytes(std::span(real, 1)));
    else
      return false;
    tensor.name = graph_.values[index_of(node.outputs[0])].name;
    made_.push_back(std::move(tensor));
    return true;
  }

  bool write_global(const ir::Node& node, std::string_view op) {
    const auto rank = rank_of(node.inputs[0]);
    if (!rank || *rank < 3) return false;
    emit(op, {node.inputs[0]}, "", {{"axes", spatial_axes(*rank)}, {"keepdims", std::int64_t{1}}}, node.outputs[0]);
    return true;
  }

  bool write_global_average(const ir::Node& node) { return write_global(node, "ReduceMean"); }
  bool write_global_maximum(const ir::Node& node) { return write_global(node, "ReduceMax"); }

  double epsilon_of(const ir::Node& node) const {
    const ir::Attribute* epsilon = node.find_attribute("epsilon");
    const float* given = epsilon ? epsilon->as<float>() : nullptr;
    return given ? static_cast<double>(*given) : static_cast<double>(1e-5F);
  }

  bool write_batch_normalization(const ir::Node& node) {
    const checker::Type* x = type_of(node.inputs[0]);
    const ir::Attribute* training = node.find_attribute("training_mode");
    const bool trains = training && training->as<std::int64_t>() && *training->as<std::int64_t>() != 0;
    if (!x || !x->shape || x->shape->size() < 2 || trains || node.inputs.size() != 5 || node.outputs.size() != 1)
      return false;
    const std::size_t rank = x->shape->size();
    const auto scale = elements(node.inputs[1]), bias = elements(node.inputs[2]), mean = elements(node.inputs[3]),
               variance = elements(node.inputs[4]);
    if (!scale || !bias || !mean || !variance || bias->size() != scale->size() || mean->size() != scale->size() ||
        variance->size() != scale->size())
      return write_computed_batch_normalization(node, x->elem, rank);
    std::vector<double> factor, shift;
    for (std::size_t c = 0; c < scale->size(); ++c) {
      factor.push_back((*scale)[c] / std::sqrt((*variance)[c] + epsilon_of(node)));
      shift.push_back((*bias)[c] - (*mean)[c] * factor.back());
    }
    const Ints dims = channel_dims(static_cast<std::int64_t>(factor.size()), rank);
    const ValueId scaled = emit("Mul", {node.inputs[0], store_reals(x->elem, dims, factor, "factor")}, "scaled");
    emit("Add", {scaled, store_reals(x->elem, dims, shift, "shift")}, "", {}, node.outputs[0]);
    return true;
  }

  /// Statistics or parameters that are computed.
  bool write_computed_batch_normalization(const ir::Node& node, ElementType elem, std::size_t rank) {
    const ValueId variance = along_channels(node.inputs[4], rank, "variance");
    const ValueId sum = emit("Add", {variance, store_reals(elem, {}, {epsilon_of(node)}, "epsilon")}, "sum");
    const ValueId centred = emit("Sub", {node.inputs[0], along_channels(node.inputs[3], rank, "mean")}, "centred");
    const ValueId normal = emit("Div", {centred, emit("Sqrt", {sum}, "deviation")}, "normal");
    const ValueId scaled = emit("Mul", {normal, along_channels(node.inputs[1], rank, "scale")}, "scaled");
    emit("Add", {scaled, along_channels(node.inputs[2], rank, "bias")}, "", {}, node.outputs[0]);
    return true;
  }

  bool write_instance_normalization(const ir::Node& node) {
    const checker::Type* x = type_of(node.inputs[0]);
    if (!x || !x->shape || x->shape->size() < 3 || node.inputs.size() != 3) return false;
    const std::size_t rank = x->shape->size();
    const std::vector<ir::Attr> reduction = {{"axes", spatial_axes(rank)}, {"keepdims", std::int64_t{1}}};
    const ValueId mean = emit("ReduceMean", {node.inputs[0]}, "mean", reduction);
    const ValueId centred = emit("Sub", {node.inputs[0], mean}, "centred");
    const ValueId square = emit("Mul", {centred, centred}, "square");
    const ValueId variance = emit("ReduceMean", {square}, "variance", reduction);
    const ValueId sum = emit("Add", {variance, store_reals(x->elem, {}, {epsilon_of(node)}, "epsilon")}, "sum");
    const ValueId normal = emit("Div", {centred, emit("Sqrt", {sum}, "deviation")}, "normal");
    const ValueId scaled = emit("Mul", {normal, along_channels(node.inputs[1], rank, "scale")}, "scaled");
    emit("Add", {scaled, along_channels(node.inputs[2], rank, "bias")}, "", {}, node.outputs[0]);
    return true;
  }

  /// Positions along one axis, which all other axes of the indices repeat: their place among the axes, -1 for none.
  struct AxisPositions {
    std::int64_t axis = -1;
    Ints positions;
  };
  /// Along the first axis from `from` on, one of more than one element before others.
  static std::optional<AxisPositions> along_one_axis(const std::vector<double>& rows, std::size_t column,
                                                     const Ints& dims, std::size_t from) {
    std::optional<AxisPositions> single;
    std::size_t stride = rows.size() / 2;
    std::vector<std::size_t> strides;
    for (const std::int64_t dim : dims) strides.push_back(stride /= static_cast<std::size_t>(dim));
    const auto position = [&](std::size_t row) { return static_cast<std::int64_t>(rows[2 * row + column]); };
    for (std::size_t a = from; a < dims.size(); ++a) {
      AxisPositions found{static_cast<std::int64_t>(a), {}};
      for (std::int64_t i = 0; i < dims[a]; ++i)
        found.positions.push_back(position(static_cast<std::size_t>(i) * strides[a]));
      bool fits = true;
      for (std::size_t row = 0; fits && row < rows.size() / 2; ++row)
        fits = position(row) == found.positions[row / strides[a] % static_cast<std::size_t>(dims[a])];
      if (fits && dims[a] > 1) return found;
      if (fits && !single) single = found;
    }
    return single;
  }

  /// Positions on two axes that are all pairs of those along one and those along the other (adaptive pooling is exported so): a Gather for each,
  /// which works in any order of axes.
  bool write_gather_nd(const ir::Node& node) {
    const ir::Tensor* indices = stored_.find(node.inputs[1]);
    const ir::Attribute* batch = node.find_attribute("batch_dims");
    if (!indices || indices->dims.size() < 3 || indices->dims.back() != 2) return false;
    if (batch && (!batch->as<std::int64_t>() || *batch->as<std::int64_t>() != 0)) return false;
    const Ints dims(indices->dims.begin(), indices->dims.end() - 1);
    const auto rows = elements(node.inputs[1]);
    if (!rows || rows->empty()) return false;
    const auto first = along_one_axis(*rows, 0, dims, 0);
    const auto second =
        first ? along_one_axis(*rows, 1, dims, static_cast<std::size_t>(first->axis) + 1) : std::nullopt;
    if (!second) return false;
    Ints further;
    for (std::size_t a = 0; a < dims.size(); ++a) {
      const auto axis = static_cast<std::int64_t>(a);
      if (axis == first->axis || axis == second->axis) continue;
      if (dims[a] != 1) return false;
      further.push_back(axis);
    }
    const auto gathered = [&](ValueId x, const AxisPositions& at, std::int64_t axis, ValueId result) {
      const ValueId places = store(ir::make_tensor(model_, std::span<const std::int64_t>(at.positions)), "positions");
      return emit("Gather", {x, places}, "gathered", {{"axis", axis}}, result);
    };
    const ValueId rows_taken = gathered(node.inputs[0], *first, 0, ValueId::none);
    const ValueId taken = gathered(rows_taken, *second, 1, further.empty() ? node.outputs[0] : ValueId::none);
    if (further.empty()) return true;
    const ValueId axes = store(ir::make_tensor(model_, std::span<const std::int64_t>(further)), "axes");
    emit("Unsqueeze", {taken, axes}, "", {}, node.outputs[0]);
    return true;
  }

  ir::Model& model_;
  ir::Graph& graph_;
  const checker::InferredModel& inferred_;
  ir::FreshNames& names_;
  wire::ExternalData& data_;
  ir::InitializerTable stored_;
  const ir::Node* node_ = nullptr;
  std::map<ValueId, std::vector<ValueId>> dequantized_;  ///< by result, the inputs of DequantizeLinear
  std::vector<ir::Node> nodes_;
  std::vector<ir::Tensor> made_;
};

}  // namespace

std::vector<std::string_view> channel_operators() {
  std::vector<std::string_view> names;
  for (const auto& [name, form] : ChannelOperators::forms()) names.push_back(name);
  return names;
}

void write_channel_operators(ir::Model& model) {
  const auto scopes = ir::graph_scopes(model);
  const spec::OpTable table;
  wire::ExternalData data(model.path);
  checker::InferenceOptions options;
  options.assume_defaults = true;
  options.external_bytes = [&data](const ir::Tensor& tensor) { return data.bytes(tensor); };
  checker::Collector collector;
  const checker::InferredModel inferred = checker::infer_types(model, table, options, collector);
  const std::vector<ir::Graph*> graphs = ir::mutable_graphs(model);
  ir::FreshNames names(model);
  for (std::size_t g = graphs.size(); g-- > 0;)
    if (!scopes[g]->function && !scopes[g]->is_training)
      ChannelOperators(model, *graphs[g], inferred, names, data).write();
}

}  // namespace onnxkit::legalize
