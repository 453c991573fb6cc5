// Activation functions, those that neither framework has among them, and what runs along one axis.
#include "converters/foreign/tensorflow_family/operators.h"

namespace onnxkit::tensorflow_family {
namespace {

void map_hard_sigmoid(WriteCall& call) {
  call.result(line_between(call, call.input(0), call.real("alpha", 0.2), call.real("beta", 0.5)));
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

void map_thresholded_relu(WriteCall& call) {
  const ValueId x = call.input(0);
  const ValueId above = compare(call, "Greater", x, call.scalar(call.elem(0), call.real("alpha", 1)));
  call.result(select(call, above, x, call.scalar(call.elem(0), 0)));
}

/// Along the last axis, where the operator works.
void along_last_axis(WriteCall& call, std::string_view op) {
  const std::size_t rank = call.rank(0);
  if (call.refused() || rank == 0) return call.refuse("it has no axis to work along");
  const Ints order = swapped_axes(rank, static_cast<std::size_t>(call.axis("axis", -1, rank)), rank - 1);
  const ValueId x = transpose(call, call.input(0), order);
  std::vector<Given> given = {{"logits", x}};
  if (call.dialect().is_lite && op == "Softmax") given.push_back({"beta", 1.0});
  call.result(transpose(call, emit(call, op, std::move(given), Type(call.type_of(x))), order));
}
void map_softmax(WriteCall& call) { along_last_axis(call, "Softmax"); }
void map_log_softmax(WriteCall& call) { along_last_axis(call, "LogSoftmax"); }

/// Local response normalization over the last axis, whose alpha is not divided by the size.
void map_lrn(WriteCall& call) {
  const std::int64_t size = call.integer("size", 1);
  if (size % 2 == 0) return call.refuse("its window has an even size");
  if (call.elem(0) != ElementType::float32) return call.refuse("its kernel takes float32 only");
  call.result(emit(call, "LRN",
                   {{"input", call.input(0)},
                    {"depth_radius", (size - 1) / 2},
                    {"bias", call.real("bias", 1)},
                    {"alpha", call.real("alpha", 1e-4) / static_cast<double>(size)},
                    {"beta", call.real("beta", 0.75)}},
                   call.output_type()));
}

}  // namespace

ValueId line_between(WriteCall& call, ValueId x, double slope, double offset) {
  const ValueId line = binary(call, "AddV2", binary(call, "Mul", x, slope), offset);
  return binary(call, "Maximum", binary(call, "Minimum", line, 1.0), 0.0);
}

void register_activation(Writers& writers);
void register_activation(Writers& writers) {
  writers.add("HardSigmoid", map_hard_sigmoid);
  writers.add("Elu", map_elu);
  writers.add("Celu", map_celu);
  writers.add("Selu", map_selu);
  writers.add("ThresholdedRelu", map_thresholded_relu);
  writers.add("Softmax", map_softmax);
  writers.add("LogSoftmax", map_log_softmax);
  writers.add("onnxkit.channels_last::LRN2D", map_lrn);
}

}  // namespace onnxkit::tensorflow_family
