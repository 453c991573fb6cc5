// Activation functions, those that TensorFlow lacks among them, and what runs along one axis.
#include <cmath>

#include "converters/formats/saved_model/emit.h"

namespace onnxkit::to_tensorflow {
namespace {

ValueId line_between(WriteCall& call, ValueId x, double slope, double offset) {
  const ValueId line = binary(call, "AddV2", binary(call, "Mul", x, slope), offset);
  return binary(call, "Maximum", binary(call, "Minimum", line, 1.0), 0.0);
}

void map_hard_sigmoid(WriteCall& call) {
  call.result(line_between(call, call.input(0), call.real("alpha", 0.2), call.real("beta", 0.5)));
}

void map_leaky_relu(WriteCall& call) {
  if (!is_real(call)) return;
  call.result(
      call.emit("LeakyRelu", {{"features", call.input(0)}, {"alpha", call.real("alpha", 0.01)}}, call.output_type()));
}

void map_prelu(WriteCall& call) {
  const ValueId x = call.input(0), slope = call.input(1);
  const ValueId below = binary(call, "Mul", binary(call, "Minimum", x, 0.0), slope);
  call.result(binary(call, "AddV2", binary(call, "Maximum", x, 0.0), below));
}

/// max(x, 0) + alpha (e^min(x / scale, 0) - 1): ELU and its kin.
ValueId bent_at_zero(WriteCall& call, ValueId x, double scale, double alpha) {
  const ValueId above = unary(call, "Relu", x);
  ValueId below = binary(call, "Minimum", x, 0.0);
  if (scale != 1) below = binary(call, "Mul", below, 1 / scale);
  below = binary(call, "Mul", unary(call, "Elu", below), alpha);
  return binary(call, "AddV2", above, below);
}

void map_elu(WriteCall& call) {
  const double alpha = call.real("alpha", 1);
  const ValueId x = call.input(0);
  call.result(alpha == 1 ? unary(call, "Elu", x) : bent_at_zero(call, x, 1, alpha));
}

void map_celu(WriteCall& call) {
  const double alpha = call.real("alpha", 1);
  call.result(bent_at_zero(call, call.input(0), alpha, alpha));
}

void map_selu(WriteCall& call) {
  const double alpha = call.real("alpha", 1.6732631921768188), gamma = call.real("gamma", 1.0507010221481323);
  call.result(binary(call, "Mul", bent_at_zero(call, call.input(0), 1, alpha), gamma));
}

void map_softplus(WriteCall& call) { call.result(unary(call, "Softplus", call.input(0))); }
void map_softsign(WriteCall& call) { call.result(unary(call, "Softsign", call.input(0))); }

void map_hard_swish(WriteCall& call) {
  const ValueId x = call.input(0);
  call.result(binary(call, "Mul", x, line_between(call, x, 1.0 / 6, 0.5)));
}

void map_thresholded_relu(WriteCall& call) {
  const ValueId x = call.input(0);
  const ValueId above = compare(call, "Greater", x, call.scalar(call.elem(0), call.real("alpha", 1)));
  call.result(select(call, above, x, call.scalar(call.elem(0), 0)));
}

/// 0 within lambd of 0, nearer to it by bias elsewhere.
void map_shrink(WriteCall& call) {
  const double bias = call.real("bias", 0), lambd = call.real("lambd", 0.5);
  const ValueId x = call.input(0);
  const auto at = [&](double value) { return call.scalar(call.elem(0), value); };
  const ValueId is_above = compare(call, "Greater", x, at(lambd)), nearer_from_above = binary(call, "Sub", x, bias);
  const ValueId above = select(call, is_above, nearer_from_above, at(0));
  const ValueId is_below = compare(call, "Less", x, at(-lambd)), nearer_from_below = binary(call, "AddV2", x, bias);
  call.result(select(call, is_below, nearer_from_below, above));
}

/// Along the last axis, where the operator works.
void along_last_axis(WriteCall& call, std::string_view op) {
  const std::size_t rank = call.rank(0);
  if (call.refused() || rank == 0) return call.refuse("it has no axis to work along");
  if (!is_real(call)) return;
  const Ints order = swapped_axes(rank, static_cast<std::size_t>(call.axis("axis", -1, rank)), rank - 1);
  const ValueId x = transpose(call, call.input(0), order);
  call.result(transpose(call, call.emit(op, {{"logits", x}}, Type(call.type_of(x))), order));
}
void map_softmax(WriteCall& call) { along_last_axis(call, "Softmax"); }
void map_log_softmax(WriteCall& call) { along_last_axis(call, "LogSoftmax"); }

/// 1 at the first of the greatest elements.
void map_hardmax(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  if (call.refused() || rank == 0) return call.refuse("it has no axis to work along");
  const std::int64_t axis = call.axis("axis", -1, rank);
  const Dim size = (*call.shape(0))[static_cast<std::size_t>(axis)];
  Type places = Type::tensor(ElementType::int64, *call.shape(0));
  places.shape->erase(places.shape->begin() + axis);
  const ValueId at =
      call.emit("ArgMax", {{"input", call.input(0)}, {"dimension", number(call, axis)}, {"output_type", places.elem}},
                Type(places));
  const ValueId depth = reshape(call, sizes_vector(call, {size}), Shape());
  const ValueId one = call.scalar(call.elem(0), 1), zero = call.scalar(call.elem(0), 0);
  call.result(call.emit("OneHot",
                        {{"indices", at}, {"depth", depth}, {"on_value", one}, {"off_value", zero}, {"axis", axis}},
                        call.output_type()));
}

/// Local response normalization over the last axis, whose alpha is not divided by the size.
void map_lrn(WriteCall& call) {
  const std::int64_t size = call.integer("size", 1);
  if (size % 2 == 0) return call.refuse("its window has an even size");
  if (call.elem(0) != ElementType::float32) return call.refuse("its kernel takes float32 only");
  call.result(call.emit("LRN",
                        {{"input", call.input(0)},
                         {"depth_radius", (size - 1) / 2},
                         {"bias", call.real("bias", 1)},
                         {"alpha", call.real("alpha", 1e-4) / static_cast<double>(size)},
                         {"beta", call.real("beta", 0.75)}},
                        call.output_type()));
}

}  // namespace

void register_activation(Writers& writers);
void register_activation(Writers& writers) {
  writers.add("HardSigmoid", map_hard_sigmoid);
  writers.add("HardSwish", map_hard_swish);
  writers.add("LeakyRelu", map_leaky_relu);
  writers.add("PRelu", map_prelu);
  writers.add("Elu", map_elu);
  writers.add("Celu", map_celu);
  writers.add("Selu", map_selu);
  writers.add("Softplus", map_softplus);
  writers.add("Softsign", map_softsign);
  writers.add("ThresholdedRelu", map_thresholded_relu);
  writers.add("Shrink", map_shrink);
  writers.add("Softmax", map_softmax);
  writers.add("LogSoftmax", map_log_softmax);
  writers.add("Hardmax", map_hardmax);
  writers.add("onnxkit.channels_last::LRN2D", map_lrn);
}

}  // namespace onnxkit::to_tensorflow
