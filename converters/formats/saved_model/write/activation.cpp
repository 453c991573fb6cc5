// Activation functions, those that TensorFlow lacks among them, and what runs along one axis.
#include "converters/formats/saved_model/emit.h"

namespace onnxkit::to_tensorflow {
namespace {

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

void map_softplus(WriteCall& call) { call.result(unary(call, "Softplus", call.input(0))); }
void map_softsign(WriteCall& call) { call.result(unary(call, "Softsign", call.input(0))); }

void map_hard_swish(WriteCall& call) {
  const ValueId x = call.input(0);
  call.result(binary(call, "Mul", x, line_between(call, x, 1.0 / 6, 0.5)));
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
  const ValueId depth = as_scalar(call, sizes_vector(call, {size}));
  const ValueId one = call.scalar(call.elem(0), 1), zero = call.scalar(call.elem(0), 0);
  call.result(call.emit("OneHot",
                        {{"indices", at}, {"depth", depth}, {"on_value", one}, {"off_value", zero}, {"axis", axis}},
                        call.output_type()));
}

}  // namespace

void register_activation(Writers& writers);
void register_activation(Writers& writers) {
  writers.add("HardSwish", map_hard_swish);
  writers.add("LeakyRelu", map_leaky_relu);
  writers.add("PRelu", map_prelu);
  writers.add("Softplus", map_softplus);
  writers.add("Softsign", map_softsign);
  writers.add("Shrink", map_shrink);
  writers.add("Hardmax", map_hardmax);
}

}  // namespace onnxkit::to_tensorflow
