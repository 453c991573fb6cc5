// Activation functions and normalizations.
#include <algorithm>

#include "converters/formats/tflite/lower.h"
#include "converters/formats/tflite/rounding.h"

namespace onnxkit::tflite {
namespace {

void map_relu(Call& call) { give(call, call.onnx.emit("Relu", {real(call, "x")})); }
void map_logistic(Call& call) { give(call, call.onnx.emit("Sigmoid", {real(call, "x")})); }
void map_tanh(Call& call) { give(call, call.onnx.emit("Tanh", {real(call, "x")})); }
void map_elu(Call& call) { give(call, call.onnx.emit("Elu", {real(call, "x")})); }

/// A table instead where the runtime's integers are not the nearest ones.
void map_hard_swish(Call& call) {
  auto& onnx = call.onnx;
  const Quantization* from = quantized_bytes(call, "x");
  const ElementType elem = call.declared_elem();
  std::vector<std::int64_t> table;
  if (from) table = hard_swish_table(*from, *quantization_of(call.declared_output()), elem);
  if (!from || table == nearest_hard_swish(*from, *quantization_of(call.declared_output()), elem))
    return give(call, onnx.emit("HardSwish", {real(call, "x")}));
  if (elem == ElementType::int8)
    std::rotate(table.begin(), table.begin() + 128, table.end());  // negative places count from the end
  const Val stored = onnx.integers(elem, table);
  give(call, onnx.emit("Gather", {stored, onnx.cast(call.tensor("x"), ElementType::int32)}));
}

template <int from, int to>
void map_clip(Call& call) {
  auto& onnx = call.onnx;
  const Val x = real(call, "x");
  give(call, onnx.emit("Clip", {x, onnx.scalar(onnx.elem(x), from), onnx.scalar(onnx.elem(x), to)}));
}

void map_leaky_relu(Call& call) {
  const auto slope = static_cast<float>(call.real("alpha", 0));
  give(call, call.onnx.emit("LeakyRelu", {real(call, "x")}, {{"alpha", slope}}));
}

void map_prelu(Call& call) {
  const Val x = real(call, "x"), slope = real(call, "slope");
  give(call, call.onnx.emit("PRelu", {x, slope}));
}

/// x Phi(x), or the approximation with a hyperbolic tangent.
void map_gelu(Call& call) {
  auto& onnx = call.onnx;
  const Val x = real(call, "x");
  const ElementType type = onnx.elem(x);
  Val gate;
  if (call.flag("approximate", false)) {
    const Val cube = onnx.emit("Mul", {onnx.emit("Mul", {x, x}), x});
    const Val sum = onnx.emit("Add", {x, onnx.emit("Mul", {cube, onnx.scalar(type, 0.044715)})});
    gate = onnx.emit("Tanh", {onnx.emit("Mul", {sum, onnx.scalar(type, 0.7978845608028654)})});
  } else {
    gate = onnx.emit("Erf", {onnx.emit("Mul", {x, onnx.scalar(type, 0.7071067811865476)})});
  }
  const Val half = onnx.emit("Mul", {x, onnx.scalar(type, 0.5)});
  give(call, onnx.emit("Mul", {half, onnx.emit("Add", {gate, onnx.scalar(type, 1)})}));
}

void map_softmax(Call& call) {
  auto& onnx = call.onnx;
  Val x = real(call, "x");
  const double beta = call.real("beta", 0);
  if (beta != 1) x = onnx.emit("Mul", {x, onnx.scalar(onnx.elem(x), beta)});
  give(call, onnx.emit("Softmax", {x}, {{"axis", std::int64_t{-1}}}));
}

void map_log_softmax(Call& call) {
  give(call, call.onnx.emit("LogSoftmax", {real(call, "x")}, {{"axis", std::int64_t{-1}}}));
}

/// The runtime bounds the length from below by 1e-6.
void map_l2_normalization(Call& call) {
  auto& onnx = call.onnx;
  const Val x = real(call, "x");
  const Val squares = onnx.emit("ReduceSumSquare", {x, onnx.integers({-1})});
  const Val length = onnx.emit("Max", {onnx.emit("Sqrt", {squares}), onnx.scalar(onnx.elem(x), 1e-6)});
  give_activated(call, onnx.emit("Div", {x, length}));
}

/// ONNX divides alpha by the size of the window, which is the radius on both sides.
void map_local_response_normalization(Call& call) {
  auto& onnx = call.onnx;
  const std::int64_t radius = call.integer("radius", 0);
  if (radius < 0 || radius > 1 << 20) return call.refuse("its radius is negative or too large");
  const std::int64_t size = 2 * radius + 1;
  const auto alpha = static_cast<float>(call.real("alpha", 0) * static_cast<double>(size));
  const Val first = channels_first(onnx, real(call, "x"));
  const Val result = onnx.emit("LRN", {first},
                               {{"size", size},
                                {"alpha", alpha},
                                {"beta", static_cast<float>(call.real("beta", 0))},
                                {"bias", static_cast<float>(call.real("bias", 0))}});
  give_channels_first(call, result);
}

}  // namespace

void register_activation(Mappings& mappings);
void register_activation(Mappings& mappings) {
  mappings.add("RELU", {"x"}, map_relu);
  mappings.add("RELU6", {"x"}, map_clip<0, 6>);
  mappings.add("RELU_N1_TO_1", {"x"}, map_clip<-1, 1>);
  mappings.add("RELU_0_TO_1", {"x"}, map_clip<0, 1>);
  mappings.add("LOGISTIC", {"x"}, map_logistic);
  mappings.add("TANH", {"x"}, map_tanh);
  mappings.add("ELU", {"x"}, map_elu);
  mappings.add("HARD_SWISH", {"x"}, map_hard_swish);
  mappings.add("LEAKY_RELU", {"x"}, map_leaky_relu);
  mappings.add("PRELU", {"x", "slope"}, map_prelu);
  mappings.add("GELU", {"x"}, map_gelu);
  mappings.add("SOFTMAX", {"x"}, map_softmax);
  mappings.add("LOG_SOFTMAX", {"x"}, map_log_softmax);
  mappings.add("L2_NORMALIZATION", {"x"}, map_l2_normalization);
  mappings.add("LOCAL_RESPONSE_NORMALIZATION", {"x"}, map_local_response_normalization);
}

}  // namespace onnxkit::tflite
