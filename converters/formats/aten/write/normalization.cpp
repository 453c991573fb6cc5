// Normalizations.
#include <algorithm>
#include <tuple>

#include "converters/formats/aten/lower.h"

namespace onnxkit::aten {
namespace {

ValueId plus_to_power(WriteCall& call, ValueId x, double exponent) {
  const Type type = call.type_of(x);
  return call.emit("aten.pow.Tensor_Scalar", {{"self", x}, {"exponent", exponent}}, type);
}

/// In training the statistics are those of the batch, and mix into the running ones.
void train_batch_norm(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  Ints axes;
  for (std::size_t i = 0; i < rank; ++i)
    if (i != 1) axes.push_back(static_cast<Int>(i));
  const double momentum = call.real("momentum", 0.9F);
  const ValueId x = call.input(0);
  const ValueId mean = reduce(call, "aten.mean.dim", x, axes, false);
  const ValueId variance =
      call.emit("aten.var.dim", {{"self", x}, {"dim", axes}, {"unbiased", false}}, call.type_of(mean));
  const ValueId y = call.emit("aten.batch_norm.default",
                              {{"input", x},
                               {"weight", call.input(1)},
                               {"bias", call.input(2)},
                               {"running_mean", mean},
                               {"running_var", variance},
                               {"training", false},
                               {"momentum", 0.0},
                               {"eps", call.real("epsilon", 1e-5F)},
                               {"cudnn_enabled", true}},
                              call.output_type());
  const auto mixed = [&](std::size_t running, ValueId now) {
    const ValueId old = multiply_number(call, call.input(running), momentum);
    return binary(call, "aten.add.Tensor", old, multiply_number(call, now, 1 - momentum), call.type(running));
  };
  call.results({y, mixed(3, mean), mixed(4, variance)});
}

void map_batch_normalization(WriteCall& call) {
  if (call.integer("training_mode", 0) != 0) return train_batch_norm(call);
  call.result(call.emit("aten.batch_norm.default",
                        {{"input", call.input(0)},
                         {"weight", call.input(1)},
                         {"bias", call.input(2)},
                         {"running_mean", call.input(3)},
                         {"running_var", call.input(4)},
                         {"training", false},
                         {"momentum", 0.1},
                         {"eps", call.real("epsilon", 1e-5F)},
                         {"cudnn_enabled", true}},
                        call.output_type()));
}

void map_instance_normalization(WriteCall& call) {
  call.result(call.emit("aten.instance_norm.default",
                        {{"input", call.input(0)},
                         {"weight", call.input(1)},
                         {"bias", call.input(2)},
                         {"running_mean", {}},
                         {"running_var", {}},
                         {"use_input_stats", true},
                         {"momentum", 0.1},
                         {"eps", call.real("epsilon", 1e-5F)},
                         {"cudnn_enabled", true}},
                        call.output_type()));
}

/// With a scale that broadcasts, which a layer norm of PyTorch does not take.
ValueId scaled(WriteCall& call, ValueId y) {
  y = binary(call, "aten.mul.Tensor", y, call.input(1), call.output_type());
  return call.has(2) ? binary(call, "aten.add.Tensor", y, call.input(2), call.output_type()) : y;
}

void map_layer_normalization(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const auto axis = static_cast<std::size_t>(call.axis("axis", -1, rank));
  if (call.refused() || axis >= rank) return call.refuse("its axis lies outside");
  const Shape inner(call.shape(0)->begin() + static_cast<std::ptrdiff_t>(axis), call.shape(0)->end());
  const auto fits = [&](std::size_t input) {
    return !call.has(input) || (call.shape(input) && *call.shape(input) == inner);
  };
  const bool is_plain = fits(1) && fits(2);
  const ValueId none = ValueId::none;
  std::vector<Given> given = {{"input", call.input(0)},
                              {"normalized_shape", size_arguments(call, inner)},
                              {"weight", is_plain ? call.input(1) : none},
                              {"bias", is_plain ? call.input(2) : none},
                              {"eps", call.real("epsilon", 1e-5F)}};
  if (!call.has_output(1) && !call.has_output(2)) {
    const ValueId y = call.emit("aten.layer_norm.default", std::move(given), call.output_type());
    return call.result(is_plain ? y : scaled(call, y));
  }
  const auto found = call.emit_many("aten.native_layer_norm.default", std::move(given),
                                    {call.output_type(), call.output_type(1), call.output_type(2)});
  call.results({is_plain ? found[0] : scaled(call, found[0]), found[1], found[2]});
}

void map_group_normalization(WriteCall& call) {
  call.result(call.emit("aten.group_norm.default",
                        {{"input", call.input(0)},
                         {"num_groups", call.integer("num_groups", 1)},
                         {"weight", call.input(1)},
                         {"bias", call.input(2)},
                         {"eps", call.real("epsilon", 1e-5F)}},
                        call.output_type()));
}

/// A window over the channels.
void map_lrn(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const Int size = call.integer("size", 1);
  if (rank < 2 || size < 1) return call.refuse("its input has no channels");
  const ValueId x = call.input(0);
  Ints pad(2 * (rank - 1), 0);
  pad[pad.size() - 2] = (size - 1) / 2;
  pad[pad.size() - 1] = size - 1 - (size - 1) / 2;
  const ValueId squares = binary(call, "aten.mul.Tensor", x, x, call.type(0));
  const ValueId wide = call.emit("aten.constant_pad_nd.default", {{"self", squares}, {"pad", pad}, {"value", 0.0}},
                                 Type::tensor(call.elem(0)));
  Shape shape = *call.shape(0);
  shape.emplace_back(size);
  const ValueId windows =
      call.emit("aten.unfold.default", {{"self", wide}, {"dimension", Int{1}}, {"size", size}, {"step", Int{1}}},
                Type::tensor(call.elem(0), shape));
  const ValueId sums = reduce(call, "aten.sum.dim_IntList", windows, {static_cast<Int>(rank)}, false);
  const double share = call.real("alpha", 1e-4F) / static_cast<double>(size);
  const ValueId base = add_number(call, multiply_number(call, sums, share), call.real("bias", 1));
  call.result(
      binary(call, "aten.div.Tensor", x, plus_to_power(call, base, call.real("beta", 0.75)), call.output_type()));
}

void map_mean_variance_normalization(WriteCall& call) {
  const Ints axes = WriteCall::from_start(call.integers("axes", {0, 2, 3}), call.rank(0));
  const ValueId x = call.input(0);
  const ValueId mean = reduce(call, "aten.mean.dim", x, axes, true);
  const ValueId square = binary(call, "aten.mul.Tensor", x, x, call.type(0));
  const ValueId mean_square = reduce(call, "aten.mean.dim", square, axes, true);
  const Type small = call.type_of(mean);
  const ValueId variance =
      binary(call, "aten.sub.Tensor", mean_square, binary(call, "aten.mul.Tensor", mean, mean, small), small);
  const ValueId deviation = add_number(call, unary(call, "aten.sqrt.default", variance), 1e-9F);
  const ValueId centered = binary(call, "aten.sub.Tensor", x, mean, call.output_type());
  call.result(binary(call, "aten.div.Tensor", centered, deviation, call.output_type()));
}

/// A vector of zeros stays as it is.
void map_lp_normalization(WriteCall& call) {
  const Ints axes = {call.axis("axis", -1, call.rank(0))};
  const ValueId x = call.input(0);
  const bool is_sum = call.integer("p", 2) == 1;
  const ValueId powers =
      is_sum ? unary(call, "aten.abs.default", x) : binary(call, "aten.mul.Tensor", x, x, call.type(0));
  ValueId norm = reduce(call, "aten.sum.dim_IntList", powers, axes, true);
  if (!is_sum) norm = unary(call, "aten.sqrt.default", norm);
  const Type small = call.type_of(norm);
  const ValueId ones = call.emit("aten.ones_like.default", {{"self", norm}}, small);
  norm = where(call, compare_number(call, "aten.eq.Scalar", norm, 0), ones, norm, small);
  call.result(binary(call, "aten.div.Tensor", x, norm, call.output_type()));
}

void map_dropout(WriteCall& call) {
  const auto trains = call.known_integers(2);
  const auto ratio = call.has(1) ? call.known_real(1) : std::optional(0.5);
  const bool drops = call.has(2) && !(trains && *trains == Ints{0}) && !(ratio && *ratio == 0);
  if (drops) return call.refuse("it drops elements by chance", "set its training_mode to false");
  std::vector<ValueId> results = {call.input(0)};
  if (call.has_output(1))
    results.push_back(call.emit("aten.ones_like.default", {{"self", call.input(0)}, {"dtype", ElementType::boolean}},
                                call.output_type(1)));
  call.results(results);
}

}  // namespace

void register_normalization(Writers& writers);
void register_normalization(Writers& writers) {
  writers.add("BatchNormalization", map_batch_normalization);
  writers.add("InstanceNormalization", map_instance_normalization);
  writers.add("LayerNormalization", map_layer_normalization);
  writers.add("GroupNormalization", map_group_normalization);
  writers.add("LRN", map_lrn);
  writers.add("MeanVarianceNormalization", map_mean_variance_normalization);
  writers.add("LpNormalization", map_lp_normalization);
  writers.add("Dropout", map_dropout);
}

}  // namespace onnxkit::aten
