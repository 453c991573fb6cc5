// Activation functions.
#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

void map_relu(Call& call) { call.result(call.onnx.emit("Relu", {call.tensor("self")})); }

void map_silu(Call& call) {
  const Val x = call.tensor("self");
  call.result(call.onnx.emit("Mul", {x, call.onnx.emit("Sigmoid", {x})}));
}

/// x Phi(x); "tanh" is the approximation with a hyperbolic tangent.
void map_gelu(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  const Val half = onnx.scalar(type, 0.5), one = onnx.scalar(type, 1);
  Val gate;
  if (call.text("approximate", "none") == "tanh") {
    const Val cube = onnx.emit("Mul", {onnx.emit("Mul", {x, x}), x});
    const Val sum = onnx.emit("Add", {x, onnx.emit("Mul", {cube, onnx.scalar(type, 0.044715)})});
    gate = onnx.emit("Tanh", {onnx.emit("Mul", {sum, onnx.scalar(type, 0.7978845608028654)})});
  } else {
    gate = onnx.emit("Erf", {onnx.emit("Div", {x, onnx.scalar(type, 1.4142135623730951)})});
  }
  call.result(onnx.emit("Mul", {onnx.emit("Mul", {x, onnx.emit("Add", {gate, one})}), half}));
}

void map_hardtanh(Call& call) {
  const Val x = call.tensor("self");
  const ElementType type = call.onnx.elem(x);
  call.result(call.onnx.emit("Clip", {x, call.number("min_val", type, -1), call.number("max_val", type, 1)}));
}

void map_relu6(Call& call) {
  const Val x = call.tensor("self");
  const ElementType type = call.onnx.elem(x);
  call.result(call.onnx.emit("Clip", {x, call.onnx.scalar(type, 0), call.onnx.scalar(type, 6)}));
}

void map_hardswish(Call& call) { call.result(call.onnx.emit("HardSwish", {call.tensor("self")})); }

void map_hardsigmoid(Call& call) {
  call.result(call.onnx.emit("HardSigmoid", {call.tensor("self")}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}}));
}

void map_leaky_relu(Call& call) {
  const auto slope = static_cast<float>(call.real("negative_slope", 0.01));
  call.result(call.onnx.emit("LeakyRelu", {call.tensor("self")}, {{"alpha", slope}}));
}

/// Outside of training the slope is the middle of those that are drawn.
void map_random_leaky_relu(Call& call) {
  if (call.flag("training", false))
    return call.refuse("it draws random numbers", "call eval() on the module before exporting it");
  const double middle = (call.real("lower", 1.0 / 8) + call.real("upper", 1.0 / 3)) / 2;
  call.result(call.onnx.emit("LeakyRelu", {call.tensor("self")}, {{"alpha", static_cast<float>(middle)}}));
}

/// scale * (x > 0 ? x : alpha * (exp(x * input_scale) - 1)); run_decompositions() makes a scaled one of SELU.
void map_elu(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  const double scale = call.real("scale", 1), input_scale = call.real("input_scale", 1);
  const Val inside = input_scale == 1 ? x : onnx.emit("Mul", {x, onnx.scalar(type, input_scale)});
  Val result = onnx.emit("Elu", {inside}, {{"alpha", static_cast<float>(call.real("alpha", 1))}});
  if (input_scale != 1) result = onnx.emit("Where", {onnx.emit("Greater", {x, onnx.scalar(type, 0)}), x, result});
  call.result(scale == 1 ? result : onnx.emit("Mul", {result, onnx.scalar(type, scale)}));
}

void map_selu(Call& call) { call.result(call.onnx.emit("Selu", {call.tensor("self")})); }

void map_celu(Call& call) {
  const auto alpha = static_cast<float>(call.real("alpha", 1));
  call.result(call.onnx.emit("Celu", {call.tensor("self")}, {{"alpha", alpha}}));
}

/// One slope for each channel, which is axis 1.
void map_prelu(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  Val weight = call.tensor("weight");
  const std::size_t rank = call.rank(x);
  if (rank > 2 && onnx.element_count(weight) != 1) {
    std::vector<std::int64_t> sizes(rank - 1, 1);
    sizes.front() = -1;
    weight = onnx.reshape(weight, sizes);
  }
  call.result(onnx.emit("PRelu", {x, weight}));
}

void map_softplus(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const ElementType type = onnx.elem(x);
  const Val scaled = onnx.emit("Mul", {x, call.number("beta", type, 1)});
  const Val soft = onnx.emit("Div", {onnx.emit("Softplus", {scaled}), call.number("beta", type, 1)});
  const Val linear = onnx.emit("Greater", {scaled, call.number("threshold", type, 20)});
  call.result(onnx.emit("Where", {linear, x, soft}));
}

void map_mish(Call& call) { call.result(call.onnx.emit("Mish", {call.tensor("self")})); }

void map_log_sigmoid(Call& call) {
  auto& onnx = call.onnx;
  call.result(onnx.emit("Neg", {onnx.emit("Softplus", {onnx.emit("Neg", {call.tensor("self")})})}));
}

/// The half of an axis, gated by the other half.
void map_glu(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", -1, call.rank(x));
  const auto halves = onnx.emit_many(2, "Split", {x}, {{"axis", axis}, {"num_outputs", std::int64_t{2}}});
  call.result(onnx.emit("Mul", {halves[0], onnx.emit("Sigmoid", {halves[1]})}));
}

template <bool is_logarithm>
void map_softmax(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const ElementType wanted = call.elem("dtype");
  if (call.flag("half_to_float", false)) x = onnx.cast(x, ElementType::float32);
  if (wanted != ElementType::undefined) x = onnx.cast(x, wanted);
  const std::int64_t axis = call.axis("dim", -1, call.rank(x));
  call.result(onnx.emit(is_logarithm ? "LogSoftmax" : "Softmax", {x}, {{"axis", axis}}));
}

/// A row without anything to choose from, all of it minus infinity, gives zeros.
void map_safe_softmax(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  if (const ElementType wanted = call.elem("dtype"); wanted != ElementType::undefined) x = onnx.cast(x, wanted);
  const std::int64_t axis = call.axis("dim", -1, call.rank(x));
  if (call.rank(x) == 0) return call.refuse("a number has no axis");
  const Val top = onnx.emit("ReduceMax", {x, onnx.integers({axis})});
  const Val is_empty = onnx.emit("IsInf", {top}, {{"detect_positive", std::int64_t{0}}});
  call.result(
      onnx.emit("Where", {is_empty, onnx.scalar(onnx.elem(x), 0), onnx.emit("Softmax", {x}, {{"axis", axis}})}));
}

}  // namespace

void register_activation(Mappings& mappings);
void register_activation(Mappings& mappings) {
  mappings.add("aten.relu.default", map_relu);
  mappings.add("aten.silu.default", map_silu);
  mappings.add("aten.gelu.default", map_gelu);
  mappings.add("aten.hardtanh.default", map_hardtanh);
  mappings.add("aten.relu6.default", map_relu6);
  mappings.add("aten.hardswish.default", map_hardswish);
  mappings.add("aten.hardsigmoid.default", map_hardsigmoid);
  mappings.add("aten.leaky_relu.default", map_leaky_relu);
  mappings.add("aten.rrelu.default", map_random_leaky_relu);
  mappings.add("aten.elu.default", map_elu);
  mappings.add("aten.selu.default", map_selu);
  mappings.add("aten.celu.default", map_celu);
  mappings.add({"aten.prelu.default", "aten._prelu_kernel.default"}, map_prelu);
  mappings.add("aten.softplus.default", map_softplus);
  mappings.add("aten.mish.default", map_mish);
  mappings.add("aten.log_sigmoid.default", map_log_sigmoid);
  mappings.add("aten.glu.default", map_glu);
  mappings.add({"aten.softmax.int", "aten._softmax.default"}, map_softmax<false>);
  mappings.add("aten._safe_softmax.default", map_safe_softmax);
  mappings.add({"aten.log_softmax.int", "aten._log_softmax.default"}, map_softmax<true>);
}

}  // namespace onnxkit::pt2
