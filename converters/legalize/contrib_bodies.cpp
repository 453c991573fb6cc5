#include "converters/legalize/contrib_bodies.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "libonnxkit/ir/clone.h"
#include "libonnxkit/wire/text.h"

namespace onnxkit::legalize {
namespace {

/// Reads a node and gives the function that says the same, in the text syntax; "" where there is none.
using WriteBody = std::string (*)(const ir::Node& node);

bool has_input(const ir::Node& node, std::size_t input) {
  return input < node.inputs.size() && node.inputs[input] != ir::ValueId::none;
}
bool has_output(const ir::Node& node, std::size_t output) {
  return output < node.outputs.size() && node.outputs[output] != ir::ValueId::none;
}
std::int64_t integer_of(const ir::Node& node, std::string_view name, std::int64_t fallback) {
  const ir::Attribute* attribute = node.find_attribute(name);
  const auto* value = attribute ? attribute->as<std::int64_t>() : nullptr;
  return value ? *value : fallback;
}
std::string_view text_of(const ir::Node& node, std::string_view name) {
  const ir::Attribute* attribute = node.find_attribute(name);
  const auto* value = attribute ? attribute->as<Text>() : nullptr;
  return value ? value->view() : std::string_view();
}

// ---- activations

std::string gelu(const ir::Node&) { return "f (x) => (y) { y = Gelu (x) }"; }
std::string bias_gelu(const ir::Node&) { return "f (a, b) => (c) { s = Add (a, b) c = Gelu (s) }"; }

std::string fast_gelu(const ir::Node& node) {
  if (!has_input(node, 1)) return R"(f (x) => (y) { y = Gelu <approximate = "tanh"> (x) })";
  return R"(f (x, bias) => (y) { s = Add (x, bias) y = Gelu <approximate = "tanh"> (s) })";
}

/// y has the sizes of the product `p`: scales and biases of one axis would give one to that of two vectors, which has none.
constexpr std::string_view sized_as_product = "sizes = Shape (p) y = Reshape (wide, sizes)";

std::string gemm_fast_gelu(const ir::Node& node) {
  if (!has_input(node, 2)) return R"(f (x, w) => (y) { p = MatMul (x, w) y = Gelu <approximate = "tanh"> (p) })";
  return fmt::format(
      "f (x, w, bias) => (y) {{ p = MatMul (x, w) s = Add (p, bias) wide = Gelu <approximate = \"tanh\"> (s) {} }}",
      sized_as_product);
}

std::string quick_gelu(const ir::Node&) {
  return R"(f <alpha: float = 1.702> (x) => (y) {
    one = Constant <value_float: float = @alpha> ()
    factor = CastLike (one, x)
    scaled = Mul (x, factor)
    gate = Sigmoid (scaled)
    y = Mul (x, gate)
  })";
}

std::string bias_split_gelu(const ir::Node&) {
  return R"(f (x, bias) => (y) {
    s = Add (x, bias)
    left, right = Split <axis = -1, num_outputs = 2> (s)
    g = Gelu (right)
    y = Mul (left, g)
  })";
}

std::string bias_add(const ir::Node&) { return "f (x, bias, skip) => (y) { s = Add (x, bias) y = Add (s, skip) }"; }

/// What FusedConv and FusedGemm do at last; "" for activations that are not known. `given` are their parameters.
std::string activation(std::string_view name, std::span<const float> given) {
  const auto at = [&](std::size_t i, float fallback) { return i < given.size() ? given[i] : fallback; };
  for (const std::string_view plain : {"Relu", "Tanh", "Sigmoid", "Softplus", "Softsign"})
    if (name == plain) return fmt::format("y = {} (r)", name);
  if (name == "LeakyRelu") return fmt::format("y = LeakyRelu <alpha = {:e}> (r)", at(0, 0.01F));
  if (name == "Elu") return fmt::format("y = Elu <alpha = {:e}> (r)", at(0, 1));
  if (name == "HardSigmoid")
    return fmt::format("y = HardSigmoid <alpha = {:e}, beta = {:e}> (r)", at(0, 0.2F), at(1, 0.5F));
  if (name == "Clip" && given.size() == 2)
    return fmt::format(
        "l = Constant <value_float = {:e}> () h = Constant <value_float = {:e}> () low = CastLike (l, r) "
        "high = CastLike (h, r) y = Clip (r, low, high)",
        given[0], given[1]);
  return name.empty() ? "y = Identity (r)" : "";
}

std::string fused_conv(const ir::Node& node) {
  const ir::Attribute* params = node.find_attribute("activation_params");
  const auto* given = params ? params->as<std::vector<float>>() : nullptr;
  const std::string last =
      activation(text_of(node, "activation"), given ? std::span<const float>(*given) : std::span<const float>());
  if (last.empty()) return {};
  return fmt::format(
      "f <auto_pad, dilations, group, kernel_shape, pads, strides> (x, w, b, z) => (y) {{ c = Conv <auto_pad: string = "
      "@auto_pad, dilations: ints = @dilations, group: int = @group, kernel_shape: ints = @kernel_shape, pads: ints = "
      "@pads, strides: ints = @strides> (x, w, b) r = {} {} }}",
      has_input(node, 3) ? "Add (c, z)" : "Identity (c)", last);
}

std::string fused_gemm(const ir::Node& node) {
  std::vector<float> given;
  for (const std::string_view name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    const ir::Attribute* attribute = node.find_attribute(name);
    if (const auto* value = attribute ? attribute->as<float>() : nullptr) given.push_back(*value);
  }
  const std::string last = activation(text_of(node, "activation"), given);
  if (last.empty()) return {};
  return fmt::format(
      "f <alpha, beta, transA, transB> (a, b, c) => (y) {{ r = Gemm <alpha: float = @alpha, beta: float = @beta, "
      "transA: int = @transA, transB: int = @transB> (a, b, c) {} }}",
      last);
}

// ---- normalizations

/// With the sum as a result, and no statistics.
std::string skip_layer_normalization(const ir::Node& node) {
  if (has_output(node, 1) || has_output(node, 2)) return {};
  return fmt::format(
      "f <epsilon: float = 1e-12> (input, skip, gamma, beta, bias) => (y, mean, deviation, s) {{ both = Add (input, "
      "skip) s = {} y = LayerNormalization <axis = -1, epsilon: float = @epsilon> (s, gamma, beta) }}",
      has_input(node, 4) ? "Add (both, bias)" : "Identity (both)");
}

/// x scaled by the root of the mean of its squares along the last axis.
constexpr std::string_view simplified = R"(
    squares = Mul (s, s)
    last = Constant <value_ints = [-1]> ()
    means = ReduceMean <keepdims = 1> (squares, last)
    e = Constant <value_float: float = @epsilon> ()
    small = CastLike (e, s)
    sums = Add (means, small)
    roots = Sqrt (sums)
    normal = Div (s, roots)
    y = Mul (normal, gamma))";

std::string skip_simplified_layer_normalization(const ir::Node& node) {
  if (has_output(node, 1) || has_output(node, 2)) return {};
  return fmt::format(
      "f <epsilon: float = 1e-12> (input, skip, gamma, bias) => (y, mean, deviation, s) {{ both = Add (input, skip) s "
      "= {} {} }}",
      has_input(node, 3) ? "Add (both, bias)" : "Identity (both)", simplified);
}

std::string embed_layer_normalization(const ir::Node& node) {
  const bool has_places = has_input(node, 8), has_segments = has_input(node, 1) && has_input(node, 4);
  std::string text =
      "f <epsilon: float = 1e-12> (ids, segments, words, positions, kinds, gamma, beta, mask, places) => (y, index, s) "
      "{ a = Gather <axis = 0> (words, ids) ";
  if (has_places)
    text += "p = Gather <axis = 0> (positions, places) ";
  else
    text +=
        "begin = Constant <value_ints = [0]> () first = Constant <value_ints = [0]> () length = Shape <start = 1, end "
        "= 2> (ids) p = Slice (positions, begin, length, first) ";
  text += has_segments ? "ap = Add (a, p) k = Gather <axis = 0> (kinds, segments) s = Add (ap, k) " : "s = Add (a, p) ";
  if (has_output(node, 1))
    text += has_input(node, 7)
                ? "last = Constant <value_ints = [1]> () index = ReduceSum <keepdims = 0> (mask, last) "
                : "batch = Shape <start = 0, end = 1> (ids) index = ConstantOfShape <value = int32[1] {0}> (batch) ";
  return text + "y = LayerNormalization <axis = -1, epsilon: float = @epsilon> (s, gamma, beta) }";
}

// ---- quantized

std::string quantized_binary(std::string_view op) {
  return fmt::format(
      "f (a, as, az, b, bs, bz, cs, cz) => (c) {{ ar = DequantizeLinear (a, as, az) br = DequantizeLinear (b, bs, bz) "
      "r = {} (ar, br) c = QuantizeLinear (r, cs, cz) }}",
      op);
}
std::string quantized_add(const ir::Node& node) { return has_input(node, 7) ? quantized_binary("Add") : ""; }
std::string quantized_mul(const ir::Node& node) { return has_input(node, 7) ? quantized_binary("Mul") : ""; }

std::string quantized_unary(const ir::Node& node, std::string_view declared, std::string_view op) {
  if (!has_input(node, 4)) return {};  // the type of the result is that of its zero point
  return fmt::format(
      "f {} (x, xs, xz, ys, yz) => (y) {{ xr = DequantizeLinear (x, xs, xz) r = {} (xr) y = QuantizeLinear (r, ys, yz) "
      "}}",
      declared, op);
}
std::string quantized_sigmoid(const ir::Node& node) { return quantized_unary(node, "", "Sigmoid"); }
std::string quantized_leaky_relu(const ir::Node& node) {
  return quantized_unary(node, "<alpha: float = 0.01>", "LeakyRelu <alpha: float = @alpha>");
}
std::string quantized_global_average_pool(const ir::Node& node) {
  if (integer_of(node, "channels_last", 0) != 0) return {};
  return quantized_unary(node, "", "GlobalAveragePool");
}
/// Before opset 13 the axes from the given one on count as one.
std::string quantized_softmax(const ir::Node& node) {
  if (integer_of(node, "opset", 13) < 13 && integer_of(node, "axis", -1) != -1) return {};
  return quantized_unary(node, "<axis: int = -1>", "Softmax <axis: int = @axis>");
}

std::string quantized_concat(const ir::Node& node) {
  std::string inputs = "ys, yz", reals, parts;
  for (std::size_t i = 0; 3 * i + 4 < node.inputs.size(); ++i) {
    inputs += fmt::format(", x{0}, s{0}, z{0}", i);
    reals += fmt::format("r{0} = DequantizeLinear (x{0}, s{0}, z{0}) ", i);
    parts += fmt::format("{}r{}", i == 0 ? "" : ", ", i);
  }
  return fmt::format("f <axis> ({}) => (y) {{ {} c = Concat <axis: int = @axis> ({}) y = QuantizeLinear (c, ys, yz) }}",
                     inputs, reals, parts);
}

/// Transposes around `body`, which reads `xc` and writes `yc` with the channels behind the batch; the window's attributes tell the rank. "" where none does.
std::string with_channels_second(const ir::Node& node, std::string_view body) {
  for (const auto& [name, of_axis] :
       {std::pair<std::string_view, std::size_t>("kernel_shape", 1), {"strides", 1}, {"dilations", 1}, {"pads", 2}}) {
    const ir::Attribute* attribute = node.find_attribute(name);
    const auto* sizes = attribute ? attribute->as<std::vector<std::int64_t>>() : nullptr;
    if (!sizes || sizes->empty()) continue;
    const std::size_t axes = sizes->size() / of_axis;
    std::string second = fmt::format("0, {}", axes + 1), last = "0";
    for (std::size_t axis = 1; axis <= axes; ++axis) {
      second += fmt::format(", {}", axis);
      last += fmt::format(", {}", axis + 1);
    }
    return fmt::format("xc = Transpose <perm = [{}]> (x) {} y = Transpose <perm = [{}, 1]> (yc)", second, body, last);
  }
  return {};
}

constexpr std::string_view window_names = "auto_pad, dilations, kernel_shape, pads, strides";
constexpr std::string_view window_attributes =
    "auto_pad: string = @auto_pad, dilations: ints = @dilations, kernel_shape: ints = @kernel_shape, pads: ints = "
    "@pads, strides: ints = @strides";

std::string quantized_convolution(const ir::Node& node) {
  const auto body = [](std::string_view x, std::string_view y) {
    return fmt::format("{} = QLinearConv <{}, group: int = @group> ({}, xs, xz, w, ws, wz, ys, yz, b)", y,
                       window_attributes, x);
  };
  const std::string text =
      integer_of(node, "channels_last", 0) == 0 ? body("x", "y") : with_channels_second(node, body("xc", "yc"));
  if (text.empty()) return {};
  return fmt::format("f <{}, group> (x, xs, xz, w, ws, wz, ys, yz, b) => (y) {{ {} }}", window_names, text);
}

std::string nhwc_max_pool(const ir::Node& node) {
  const std::string text =
      with_channels_second(node, fmt::format("yc = MaxPool <{}, ceil_mode: int = @ceil_mode> (xc)", window_attributes));
  return text.empty() ? text : fmt::format("f <{}, ceil_mode> (x) => (y) {{ {} }}", window_names, text);
}

std::string dequantize_linear(const ir::Node&) {
  return "f <axis: int = 1> (x, s, z) => (y) { y = DequantizeLinear <axis: int = @axis> (x, s, z) }";
}
std::string quantize_linear(const ir::Node&) {
  return "f <axis: int = 1> (x, s, z) => (y) { y = QuantizeLinear <axis: int = @axis> (x, s, z) }";
}

/// The columns of B may have scales of their own.
std::string matmul_integer_to_float(const ir::Node& node) {
  return fmt::format(
      "f (a, b, as, bs, az, bz, bias) => (y) {{ p = MatMulInteger (a, b, az, bz) r = CastLike (p, as) scale = Mul (as, "
      "bs) q = Mul (r, scale) wide = {} {} }}",
      has_input(node, 6) ? "Add (q, bias)" : "Identity (q)", sized_as_product);
}
std::string dynamic_quantize_matmul(const ir::Node& node) {
  return fmt::format(
      "f (a, b, bs, bz, bias) => (y) {{ aq, as, az = DynamicQuantizeLinear (a) p = MatMulInteger (aq, b, az, bz) r = "
      "CastLike (p, as) scale = Mul (as, bs) q = Mul (r, scale) wide = {} {} }}",
      has_input(node, 4) ? "Add (q, bias)" : "Identity (q)", sized_as_product);
}

// ---- those that ai.onnx has, too

std::string contrib_pad(const ir::Node&) {
  return R"(f <mode: string = "constant"> (x, pads, value) => (y) { y = Pad <mode: string = @mode> (x, pads, value) })";
}
std::string gather_nd(const ir::Node&) { return "f (x, places) => (y) { y = GatherND (x, places) }"; }
std::string trilu(const ir::Node&) {
  return "f <upper: int = 1> (x, k) => (y) { y = Trilu <upper: int = @upper> (x, k) }";
}
std::string expand_dims(const ir::Node&) {
  return "f (x, axis) => (y) { one = Constant <value_ints = [1]> () wide = Cast <to = 7> (axis) axes = Reshape (wide, "
         "one) y = Unsqueeze (x, axes) }";
}
std::string range(const ir::Node& node) {
  return has_input(node, 2) ? "f (start, limit, delta) => (y) { y = Range (start, limit, delta) }"
                            : "f (start, limit) => (y) { o = Constant <value_float = 1.0> () delta = CastLike (o, "
                              "start) y = Range (start, limit, delta) }";
}

constexpr std::pair<std::string_view, WriteBody> contrib_rows[] = {
    {"Gelu", gelu},
    {"BiasGelu", bias_gelu},
    {"FastGelu", fast_gelu},
    {"GemmFastGelu", gemm_fast_gelu},
    {"QuickGelu", quick_gelu},
    {"BiasSplitGelu", bias_split_gelu},
    {"BiasAdd", bias_add},
    {"FusedConv", fused_conv},
    {"FusedGemm", fused_gemm},
    {"SkipLayerNormalization", skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", skip_simplified_layer_normalization},
    {"EmbedLayerNormalization", embed_layer_normalization},
    {"QLinearAdd", quantized_add},
    {"QLinearMul", quantized_mul},
    {"QLinearSigmoid", quantized_sigmoid},
    {"QLinearLeakyRelu", quantized_leaky_relu},
    {"QLinearConv", quantized_convolution},
    {"NhwcMaxPool", nhwc_max_pool},
    {"QLinearGlobalAveragePool", quantized_global_average_pool},
    {"QLinearSoftmax", quantized_softmax},
    {"QLinearConcat", quantized_concat},
    {"DequantizeLinear", dequantize_linear},
    {"QuantizeLinear", quantize_linear},
    {"MatMulIntegerToFloat", matmul_integer_to_float},
    {"DynamicQuantizeMatMul", dynamic_quantize_matmul},
    {"Pad", contrib_pad},
    {"GatherND", gather_nd},
    {"Trilu", trilu},
    {"ExpandDims", expand_dims},
    {"Range", range},
};

}  // namespace

const ir::Function* ContribBodies::find(const ir::Node& node) {
  if (node.domain.view() != contrib_domain) return nullptr;
  const auto* row = std::find_if(std::begin(contrib_rows), std::end(contrib_rows),
                                 [&](const auto& one) { return one.first == node.op_type.view(); });
  const std::string text = row == std::end(contrib_rows) ? std::string() : row->second(node);
  if (text.empty()) return nullptr;
  const auto [found, is_new] = parsed_.try_emplace(text);
  if (is_new) {
    auto parsed = wire::parse_text(fmt::format("<ir_version: 10, opset_import: [\"\": {0}]> g () => () {{}} <domain: "
                                               "\"{1}\", opset_import: [\"\": {0}]> {2}",
                                               contrib_opset, contrib_domain, text),
                                   node.op_type.view());
    if (!parsed || parsed->functions.size() != 1) return nullptr;
    found->second = *std::move(parsed);
  }
  return found->second.functions.empty() ? nullptr : &found->second.functions.front();
}

void ContribBodies::keep_text_in(ir::Model& model) const {
  std::vector<const ir::Model*> bodies;
  for (const auto& [text, body] : parsed_) bodies.push_back(&body);
  ir::share_storage(model, bodies);
}

}  // namespace onnxkit::legalize
