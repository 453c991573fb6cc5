#include "converters/formats/tflite/emit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "converters/formats/tflite/pair_scales.h"

namespace onnxkit::to_tflite {
namespace {

constexpr foreign::Counterpart names_of_lite[] = {
    {"AddV2", "ADD"},
    {"Sub", "SUB"},
    {"Mul", "MUL"},
    {"RealDiv", "DIV"},
    {"Abs", "ABS"},
    {"Square", "SQUARE"},
    {"Sqrt", "SQRT"},
    {"Log", "LOG"},
    {"Neg", "NEG"},
    {"Rsqrt", "RSQRT"},
    {"TopKV2", "TOPK_V2"},
    {"OneHot", "ONE_HOT"},
    {"Relu", "RELU"},
    {"Relu6", "RELU6"},
    {"Elu", "ELU"},
    {"Maximum", "MAXIMUM"},
    {"Minimum", "MINIMUM"},
    {"Equal", "EQUAL"},
    {"NotEqual", "NOT_EQUAL"},
    {"Less", "LESS"},
    {"LessEqual", "LESS_EQUAL"},
    {"Greater", "GREATER"},
    {"GreaterEqual", "GREATER_EQUAL"},
    {"LogicalAnd", "LOGICAL_AND"},
    {"LogicalOr", "LOGICAL_OR"},
    {"LogicalNot", "LOGICAL_NOT"},
    {"SelectV2", "SELECT_V2"},
    {"Cast", "CAST"},
    {"DstT", "out_data_type"},
    {"Sum", "SUM"},
    {"Softmax", "SOFTMAX"},
    {"LogSoftmax", "LOG_SOFTMAX"},
    {"LRN", "LOCAL_RESPONSE_NORMALIZATION"},
    {"depth_radius", "radius"},
    {"Shape", "SHAPE"},
    {"Reshape", "RESHAPE"},
    {"Squeeze", "SQUEEZE"},
    {"ExpandDims", "EXPAND_DIMS"},
    {"Transpose", "TRANSPOSE"},
    {"ConcatV2", "CONCATENATION"},
    {"GatherV2", "GATHER"},
    {"StridedSlice", "STRIDED_SLICE"},
    {"ReverseV2", "REVERSE_V2"},
    {"Pad", "PAD"},
    {"PadV2", "PADV2"},
    {"Fill", "FILL"},
    {"Range", "RANGE"},
    {"ResizeBilinear", "RESIZE_BILINEAR"},
    {"ResizeNearestNeighbor", "RESIZE_NEAREST_NEIGHBOR"},
    {"DepthToSpace", "DEPTH_TO_SPACE"},
    {"SpaceToDepth", "SPACE_TO_DEPTH"},
};

}  // namespace

Writers::Writers() : tensorflow_family::Writers({.names = names_of_lite, .is_lite = true}) {}

namespace {

/// The reader moves scales by some units in the last place, so that sums round as the runtime's do: far less than a step over all integers.
bool is_same_but_for_rounding(const foreign::Quantization& a, const foreign::Quantization& b) {
  const auto is_close = [](float x, float y) { return std::abs(x - y) <= std::abs(x) / (1 << 14); };
  return a.zero_points == b.zero_points && a.axis == b.axis && a.scales.size() == b.scales.size() &&
         std::equal(a.scales.begin(), a.scales.end(), b.scales.begin(), is_close);
}

/// The reader notes the scale that stored integers had in their file.
void restore_scale(const ir::Node& node, foreign::Quantization& quantization) {
  for (const ir::StringEntry& entry : node.metadata_props) {
    if (entry.key != tflite::given_scale_key || quantization.is_per_axis()) continue;
    foreign::Quantization given = quantization;
    const std::string_view text = entry.value.view();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), given.scales.front());
    if (error == std::errc() && end == text.data() + text.size() && is_same_but_for_rounding(given, quantization))
      quantization = given;
  }
}

}  // namespace

std::optional<foreign::Quantization> quantization_from(WriteCall& call, const WriteCall& parameters,
                                                       std::int64_t axis) {
  const auto scales = constant_reals(parameters, 1);
  const auto zero_points = parameters.has(2) ? constant_integers(parameters, 2) : std::nullopt;
  if (!scales || scales->empty() || (parameters.has(2) && !zero_points)) {
    call.refuse("its scale and zero point are not constant");
    return std::nullopt;
  }
  foreign::Quantization made;
  for (const double scale : *scales) made.scales.push_back(static_cast<float>(scale));
  made.zero_points = zero_points.value_or(Ints(scales->size(), 0));
  made.axis = scales->size() > 1 ? axis : 0;
  if (made.zero_points.size() != made.scales.size()) {
    call.refuse("it has another number of scales than of zero points");
    return std::nullopt;
  }
  restore_scale(parameters.node, made);
  return made;
}

namespace {

/// That of the integers which other nodes moved before they came to this one: kernels want the same on both sides.
std::optional<foreign::Quantization> quantization_before_moves(const WriteCall& call, int most_nodes = 64) {
  std::optional<WriteCall> mover = call.producer(0);
  if (!mover || most_nodes == 0 || !mover->has(0) || mover->elem(0) != call.elem(0)) return std::nullopt;
  if (const foreign::Quantization* known = mover->quantization_of(mover->input(0))) return *known;
  return quantization_before_moves(*mover, most_nodes - 1);
}

}  // namespace

ValueId dequantize(WriteCall& call, const WriteCall& parameters, ValueId integers, std::int64_t axis) {
  const auto quantization = quantization_from(call, parameters, axis);
  if (!quantization) return integers;
  if (!call.quantization_of(integers) && call.node.op_type == "DequantizeLinear")
    if (const auto moved = quantization_before_moves(call); moved && is_same_but_for_rounding(*moved, *quantization))
      call.set_quantization(integers, *moved);
  const foreign::Quantization* known = call.quantization_of(integers);
  if (known && !is_same_but_for_rounding(*known, *quantization)) {
    const auto stored = call.node.op_type == "DequantizeLinear" ? call.stored(0) : std::nullopt;
    if (!stored) {
      call.refuse("its integers stand for other numbers elsewhere");
      return integers;
    }
    Ints order(stored->dims.size());
    std::iota(order.begin(), order.end(), 0);
    integers = call.permuted_when_written(*stored, order);  // a tensor of its own
    known = nullptr;
  }
  if (!known) call.set_quantization(integers, *quantization);
  return call.emit("DEQUANTIZE", {{"x", integers}}, with_elem(call.type_of(integers), ElementType::float32));
}

std::optional<foreign::Tensor> stored_halves(const WriteCall& call, std::size_t input) {
  const auto cast = call.producer(input);
  if (!cast || cast->node.op_type != "Cast" || cast->output_type().elem != ElementType::float32) return std::nullopt;
  auto stored = cast->stored(0);
  return stored && stored->elem == ElementType::float16 ? std::move(stored) : std::nullopt;
}

ValueId widened(WriteCall& call, ValueId halves) {
  return call.emit("DEQUANTIZE", {{"x", halves}}, with_elem(call.type_of(halves), ElementType::float32));
}

ValueId reordered(WriteCall& call, std::size_t input, const Ints& order) {
  if (std::is_sorted(order.begin(), order.end())) return call.input(input);
  if (const auto stored = call.stored(input)) return call.permuted_when_written(*stored, order);
  if (const auto halves = stored_halves(call, input)) return widened(call, call.permuted_when_written(*halves, order));
  const auto producer = call.producer(input);
  std::optional<foreign::Tensor> integers;
  if (producer && producer->node.op_type == "DequantizeLinear") integers = WriteCall(*producer).stored(0);
  if (!integers) return transpose(call, call.input(input), order);
  const std::int64_t axis = producer->axis("axis", 1, order.size());
  const ValueId moved = call.permuted_when_written(*integers, order);
  return dequantize(call, *producer, moved, std::find(order.begin(), order.end(), axis) - order.begin());
}

}  // namespace onnxkit::to_tflite
