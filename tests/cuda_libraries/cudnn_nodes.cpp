#include "tests/cuda_libraries/cudnn_nodes.h"

#include <algorithm>
#include <cmath>

namespace onnxkit::cuda_libraries {

State& state() {
  static State all;
  return all;
}
bool is_live(const void* pointer) {
  const std::scoped_lock lock(state().mutex);
  return state().live.contains(pointer);
}
Status refuse(Status status, std::string why) {
  const std::scoped_lock lock(state().mutex);
  state().error = std::move(why);
  return status;
}

std::size_t bytes_of(AttributeType type) {
  switch (type) {
    case AttributeType::boolean:
    case AttributeType::character:
      return 1;
    case AttributeType::handle:
    case AttributeType::int64:
    case AttributeType::f64:
    case AttributeType::pointer:
    case AttributeType::descriptor:
      return 8;
    default:
      return 4;
  }
}

std::optional<Rule> rule_of(Attribute name) {
  using A = Attribute;
  using T = AttributeType;
  using D = DescriptorType;
  static const std::map<A, Rule> rules = {
      {A::pointwise_mode, {D::pointwise, T::pointwise_mode}},
      {A::pointwise_precision, {D::pointwise, T::data_type}},
      {A::pointwise_nan_propagation, {D::pointwise, T::nan_propagation}},
      {A::pointwise_relu_upper, {D::pointwise, T::f64}},
      {A::pointwise_axis, {D::pointwise, T::int64}},
      {A::convolution_precision, {D::convolution, T::data_type}},
      {A::convolution_mode, {D::convolution, T::convolution_mode}},
      {A::convolution_dilations, {D::convolution, T::int64}},
      {A::convolution_strides, {D::convolution, T::int64}},
      {A::convolution_post_padding, {D::convolution, T::int64}},
      {A::convolution_pre_padding, {D::convolution, T::int64}},
      {A::convolution_axes, {D::convolution, T::int64}},
      {A::heuristic_mode, {D::heuristic, T::heuristic_mode}},
      {A::heuristic_graph, {D::heuristic, T::descriptor}},
      {A::plan_handle, {D::execution_plan, T::handle}},
      {A::plan_configuration, {D::execution_plan, T::descriptor}},
      {A::forward_alpha, {D::convolution_operation, T::f32}},
      {A::forward_beta, {D::convolution_operation, T::f32}},
      {A::forward_convolution, {D::convolution_operation, T::descriptor}},
      {A::forward_w, {D::convolution_operation, T::descriptor}},
      {A::forward_x, {D::convolution_operation, T::descriptor}},
      {A::forward_y, {D::convolution_operation, T::descriptor}},
      {A::operation_pointwise, {D::pointwise_operation, T::descriptor}},
      {A::operation_pointwise_x, {D::pointwise_operation, T::descriptor}},
      {A::operation_pointwise_b, {D::pointwise_operation, T::descriptor}},
      {A::operation_pointwise_y, {D::pointwise_operation, T::descriptor}},
      {A::operation_pointwise_t, {D::pointwise_operation, T::descriptor}},
      {A::product_precision, {D::product, T::data_type}},
      {A::product_a, {D::product_operation, T::descriptor}},
      {A::product_b, {D::product_operation, T::descriptor}},
      {A::product_c, {D::product_operation, T::descriptor}},
      {A::operation_product, {D::product_operation, T::descriptor}},
      {A::reduction_mode, {D::reduction, T::reduction_mode}},
      {A::reduction_precision, {D::reduction, T::data_type}},
      {A::reduction_x, {D::reduction_operation, T::descriptor}},
      {A::reduction_y, {D::reduction_operation, T::descriptor}},
      {A::operation_reduction, {D::reduction_operation, T::descriptor}},
      {A::graph_handle, {D::operation_graph, T::handle}},
      {A::graph_operations, {D::operation_graph, T::descriptor}},
      {A::tensor_alignment, {D::tensor, T::int64}},
      {A::tensor_type, {D::tensor, T::data_type}},
      {A::tensor_dimensions, {D::tensor, T::int64}},
      {A::tensor_strides, {D::tensor, T::int64}},
      {A::tensor_id, {D::tensor, T::int64}},
      {A::tensor_is_virtual, {D::tensor, T::boolean}},
      {A::tensor_is_by_value, {D::tensor, T::boolean}},
      {A::pack_ids, {D::variant_pack, T::int64}},
      {A::pack_pointers, {D::variant_pack, T::pointer}},
      {A::pack_workspace, {D::variant_pack, T::pointer}},
  };
  const auto found = rules.find(name);
  return found == rules.end() ? std::nullopt : std::optional(found->second);
}

namespace {

std::optional<ElementType> element_type(DataType type) {
  switch (type) {
    case DataType::f32:
      return ElementType::float32;
    case DataType::f64:
      return ElementType::float64;
    case DataType::f16:
      return ElementType::float16;
    case DataType::bf16:
      return ElementType::bfloat16;
    case DataType::int32:
      return ElementType::int32;
    case DataType::boolean:
      return ElementType::boolean;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Tensor> tensor_of(const Node* node) {
  if (!node || node->type != DescriptorType::tensor) return std::nullopt;
  const auto type = node->one<DataType>(Attribute::tensor_type);
  const auto id = node->one<std::int64_t>(Attribute::tensor_id);
  const auto alignment = node->one<std::int64_t>(Attribute::tensor_alignment);
  Tensor tensor{.dims = node->all<std::int64_t>(Attribute::tensor_dimensions),
                .strides = node->all<std::int64_t>(Attribute::tensor_strides),
                .is_virtual = node->one<std::uint8_t>(Attribute::tensor_is_virtual).value_or(0) != 0,
                .is_by_value = node->one<std::uint8_t>(Attribute::tensor_is_by_value).value_or(0) != 0};
  if (!type || !id || !alignment || !element_type(*type)) return std::nullopt;
  tensor.type = *element_type(*type);
  tensor.id = *id;
  tensor.alignment = *alignment;
  tensor.rank = tensor.dims.size();
  if (tensor.rank == 3 && tensor.strides.size() == 3) {
    tensor.strides.insert(tensor.strides.begin(), tensor.dims[0] * tensor.strides[0]);
    tensor.dims.insert(tensor.dims.begin(), 1);
  }
  const auto is_positive = [](std::int64_t value) { return value > 0; };
  if (tensor.dims.size() != 4 || tensor.strides.size() != 4 || tensor.alignment <= 0 ||
      !std::all_of(tensor.dims.begin(), tensor.dims.end(), is_positive) ||
      !std::all_of(tensor.strides.begin(), tensor.strides.end(), is_positive))
    return std::nullopt;
  return tensor;
}

bool takes_two(PointwiseMode mode) {
  using Mode = PointwiseMode;
  for (const Mode two :
       {Mode::add, Mode::multiply, Mode::minimum, Mode::subtract, Mode::divide, Mode::greater_or_equal, Mode::select})
    if (mode == two) return true;
  return false;
}

std::optional<Pointwise> pointwise_of(const Node& operation) {
  const Node* description = operation.node(Attribute::operation_pointwise);
  const auto x = tensor_of(operation.node(Attribute::operation_pointwise_x)),
             y = tensor_of(operation.node(Attribute::operation_pointwise_y));
  if (!description || !description->is_final || !x || !y) return std::nullopt;
  Pointwise p{.mode = *description->one<PointwiseMode>(Attribute::pointwise_mode),
              .precision = *element_type(*description->one<DataType>(Attribute::pointwise_precision)),
              .upper = description->one<double>(Attribute::pointwise_relu_upper).value_or(INFINITY),
              .axis = description->one<std::int64_t>(Attribute::pointwise_axis).value_or(-1),
              .x = *x,
              .y = *y,
              .b = tensor_of(operation.node(Attribute::operation_pointwise_b)),
              .t = tensor_of(operation.node(Attribute::operation_pointwise_t))};
  if (takes_two(p.mode) != p.b.has_value() || p.x.dims != p.y.dims) return std::nullopt;
  if ((p.mode == PointwiseMode::select) != p.t.has_value()) return std::nullopt;
  if ((p.mode == PointwiseMode::index) != (p.axis >= 0 && p.axis < 4)) return std::nullopt;
  if (p.b)
    for (std::size_t axis = 0; axis < 4; ++axis)
      if (p.b->dims[axis] != 1 && p.b->dims[axis] != p.y.dims[axis]) return std::nullopt;
  return p;
}

double read(const Tensor& tensor, const Pointers& pointers, const std::int64_t (&index)[4]) {
  std::int64_t at = 0;
  for (std::size_t axis = 0; axis < 4; ++axis)
    if (tensor.dims[axis] != 1) at += index[axis] * tensor.strides[axis];
  return element(tensor.type, pointers.at(tensor.id), at);
}

}  // namespace onnxkit::cuda_libraries
