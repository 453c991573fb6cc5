// Activations.
#include <algorithm>

#include "converters/formats/aten/lower.h"
#include "onnxkit/element_type.h"

namespace onnxkit::aten {
namespace {

void activate(WriteCall& call, std::string_view op) {
  call.result(call.emit(op, {{"self", call.input(0)}}, call.output_type()));
}
void map_relu(WriteCall& call) { activate(call, "aten.relu.default"); }
void map_sigmoid(WriteCall& call) { activate(call, "aten.sigmoid.default"); }
void map_tanh(WriteCall& call) { activate(call, "aten.tanh.default"); }
void map_hard_swish(WriteCall& call) { activate(call, "aten.hardswish.default"); }
void map_mish(WriteCall& call) { activate(call, "aten.mish.default"); }

void map_leaky_relu(WriteCall& call) {
  call.result(call.emit("aten.leaky_relu.default",
                        {{"self", call.input(0)}, {"negative_slope", call.real("alpha", 0.01F)}}, call.output_type()));
}

void map_elu(WriteCall& call) {
  call.result(
      call.emit("aten.elu.default", {{"self", call.input(0)}, {"alpha", call.real("alpha", 1)}}, call.output_type()));
}

void map_selu(WriteCall& call) {
  const double alpha = call.real("alpha", 1.67326319217681884765625),
               gamma = call.real("gamma", 1.05070102214813232421875);
  call.result(
      call.emit("aten.elu.default", {{"self", call.input(0)}, {"alpha", alpha}, {"scale", gamma}}, call.output_type()));
}

void map_celu(WriteCall& call) {
  call.result(
      call.emit("aten.celu.default", {{"self", call.input(0)}, {"alpha", call.real("alpha", 1)}}, call.output_type()));
}

/// One slope a channel, or a single one, is a PReLU of PyTorch; any other broadcasts.
void map_prelu(WriteCall& call) {
  const Shape *x = call.shape(0), *slope = call.shape(1);
  const ValueId input = call.input(0);
  if (x && slope && x->size() >= 2 && is_floating(call.elem(0)) && slope->size() + 1 == x->size() &&
      (*slope)[0].is_constant() && (*slope)[0] == (*x)[1] &&
      std::all_of(slope->begin() + 1, slope->end(), [](Dim size) { return size == Dim(1); })) {
    const ValueId weight = slope->size() == 1 ? call.input(1) : reshape(call, call.input(1), {(*slope)[0]});
    return call.result(call.emit("aten.prelu.default", {{"self", input}, {"weight", weight}}, call.output_type()));
  }
  const ValueId is_negative = compare_number(call, "aten.lt.Scalar", input, 0);
  const ValueId scaled = binary(call, "aten.mul.Tensor", input, call.input(1), call.output_type());
  call.result(where(call, is_negative, scaled, input, call.output_type()));
}

void map_hard_sigmoid(WriteCall& call) {
  const double alpha = call.real("alpha", 0.2F), beta = call.real("beta", 0.5);
  if (static_cast<float>(alpha) == 1.0F / 6 && beta == 0.5) return activate(call, "aten.hardsigmoid.default");
  call.result(clamp(call, add_number(call, multiply_number(call, call.input(0), alpha), beta), 0, 1));
}

/// Beyond the threshold, where PyTorch takes the input itself, the rest must be below the rounding of the type.
void map_softplus(WriteCall& call) {
  const double threshold = call.elem(0) == ElementType::float64 ? 40 : 20;
  call.result(call.emit("aten.softplus.default", {{"self", call.input(0)}, {"beta", 1.0}, {"threshold", threshold}},
                        call.output_type()));
}

void map_softsign(WriteCall& call) {
  const ValueId size = add_number(call, unary(call, "aten.abs.default", call.input(0)), 1);
  call.result(binary(call, "aten.div.Tensor", call.input(0), size, call.output_type()));
}

/// Without the argument where it is the default, as older files of TorchScript have none.
void map_gelu(WriteCall& call) {
  std::vector<Given> given = {{"self", call.input(0)}};
  if (call.text("approximate", "none") != "none") given.push_back({"approximate", call.text("approximate")});
  call.result(call.emit("aten.gelu.default", std::move(given), call.output_type()));
}

void map_thresholded_relu(WriteCall& call) {
  call.result(call.emit("aten.threshold.default",
                        {{"self", call.input(0)}, {"threshold", call.real("alpha", 1)}, {"value", 0.0}},
                        call.output_type()));
}

void map_shrink(WriteCall& call) {
  const double limit = call.real("lambd", 0.5), bias = call.real("bias", 0);
  const ValueId x = call.input(0);
  const Type type = call.output_type();
  const ValueId zeros = call.emit("aten.zeros_like.default", {{"self", x}}, type);
  const ValueId is_above = compare_number(call, "aten.gt.Scalar", x, limit);
  const ValueId above = where(call, is_above, add_number(call, x, -bias), zeros, type);
  const ValueId is_below = compare_number(call, "aten.lt.Scalar", x, -limit);
  call.result(where(call, is_below, add_number(call, x, bias), above, type));
}

void softmax_over_axis(WriteCall& call, std::string_view op) {
  const Int axis = call.axis("axis", -1, call.rank(0));
  call.result(call.emit(op, {{"self", call.input(0)}, {"dim", axis}}, call.output_type()));
}
void map_softmax(WriteCall& call) { softmax_over_axis(call, "aten.softmax.int"); }
void map_log_softmax(WriteCall& call) { softmax_over_axis(call, "aten.log_softmax.int"); }

void map_hardmax(WriteCall& call) {
  const Int axis = call.axis("axis", -1, call.rank(0));
  const ValueId x = call.input(0);
  const ValueId places = call.emit("aten.argmax.default", {{"self", x}, {"dim", axis}, {"keepdim", true}},
                                   Type::tensor(ElementType::int64));
  const ValueId zeros = call.emit("aten.zeros_like.default", {{"self", x}}, call.output_type());
  call.result(call.emit("aten.scatter.value", {{"self", zeros}, {"dim", axis}, {"index", places}, {"value", 1.0}},
                        call.output_type()));
}

}  // namespace

void register_activation(Writers& writers);
void register_activation(Writers& writers) {
  writers.add("Relu", map_relu);
  writers.add("Sigmoid", map_sigmoid);
  writers.add("Tanh", map_tanh);
  writers.add("HardSwish", map_hard_swish);
  writers.add("Mish", map_mish);
  writers.add("LeakyRelu", map_leaky_relu);
  writers.add("Elu", map_elu);
  writers.add("Selu", map_selu);
  writers.add("Celu", map_celu);
  writers.add("PRelu", map_prelu);
  writers.add("HardSigmoid", map_hard_sigmoid);
  writers.add("Softplus", map_softplus);
  writers.add("Softsign", map_softsign);
  writers.add("Gelu", map_gelu);
  writers.add("ThresholdedRelu", map_thresholded_relu);
  writers.add("Shrink", map_shrink);
  writers.add("Softmax", map_softmax);
  writers.add("LogSoftmax", map_log_softmax);
  writers.add("Hardmax", map_hardmax);
}

}  // namespace onnxkit::aten
