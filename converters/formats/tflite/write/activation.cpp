// Activation functions, those that the format lacks among them, and what runs along one axis.
#include <cmath>
#include <limits>
#include <numbers>

#include "converters/formats/tflite/emit.h"

namespace onnxkit::to_tflite {
namespace {

bool is_close(std::optional<double> value, double wanted) {
  return value && std::abs(*value - wanted) <= 1e-6 * std::abs(wanted);
}

/// x P(x²) / Q(x²) for |x| <= 4, where erf is 1 within float32: within 2.5e-8 of erf, coefficients fitted for this file.
ValueId error_function(WriteCall& call, ValueId x) {
  constexpr double above[] = {1.986702953246743e-06, 2.8456298427317083e-04, 3.883423356474653e-03,
                              5.310197725418217e-02, 1.935475790257962e-01,  1.1283791393123026};
  constexpr double below[] = {3.7419193901925626e-05, 1.1855815024979061e-03, 1.5207414579718753e-02,
                              1.1535094859850577e-01, 5.048596315111374e-01,  1};
  const ValueId bounded = binary(call, "MAXIMUM", binary(call, "MINIMUM", x, 4.0), -4.0);
  const ValueId square = unary(call, "SQUARE", bounded);
  const auto polynomial = [&](const auto& coefficients) {
    ValueId sum = binary(call, "ADD", binary(call, "MUL", square, coefficients[0]), coefficients[1]);
    for (std::size_t i = 2; i < std::size(coefficients); ++i)
      sum = binary(call, "ADD", binary(call, "MUL", sum, square), coefficients[i]);
    return sum;
  };
  const ValueId numerator = binary(call, "MUL", bounded, polynomial(above));
  return binary(call, "DIV", numerator, polynomial(below));
}

void map_erf(WriteCall& call) { call.result(error_function(call, call.input(0))); }

/// The other factor of a product of which one is that constant.
std::optional<std::size_t> beside_constant(const WriteCall& call, double constant) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
    if (is_close(call.known_real(i), constant)) return 1 - i;
  return std::nullopt;
}

/// The argument of erf(x / √2) + 1, when the input is that.
std::optional<ir::ValueId> argument_of_gate(const WriteCall& call, std::size_t input) {
  const auto sum = call.producer(input);
  if (!sum || sum->node.op_type != "Add") return std::nullopt;
  const auto at = beside_constant(*sum, 1);
  const auto erf = at ? sum->producer(*at) : std::nullopt;
  if (!erf || erf->node.op_type != "Erf") return std::nullopt;
  const auto scaled = erf->producer(0);
  if (!scaled) return std::nullopt;
  if (scaled->node.op_type == "Div" && is_close(scaled->known_real(1), std::numbers::sqrt2))
    return scaled->node.inputs[0];
  if (scaled->node.op_type != "Mul") return std::nullopt;
  const auto x = beside_constant(*scaled, 1 / std::numbers::sqrt2);
  return x ? std::optional(scaled->node.inputs[*x]) : std::nullopt;
}

/// x (erf(x / √2) + 1), times 0.5 anywhere: then the call whose input is x, and its place.
struct GeluArgument {
  WriteCall call;
  std::size_t input;
};
std::optional<GeluArgument> gelu_argument(const WriteCall& product) {
  for (const std::size_t gate : {std::size_t{0}, std::size_t{1}}) {
    const std::size_t other = 1 - gate;
    if (const auto x = argument_of_gate(product, gate)) {
      const auto half = product.producer(other);  // (erf + 1) * (x * 0.5)
      if (!half || half->node.op_type != "Mul") continue;
      const auto at = beside_constant(*half, 0.5);
      if (at && half->node.inputs[*at] == *x) return GeluArgument{*half, *at};
    }
    const auto inner = product.producer(gate);
    if (!inner || inner->node.op_type != "Mul") continue;
    const auto at = beside_constant(*inner, 0.5);  // ((erf + 1) * 0.5) * x
    if (const auto x = at ? argument_of_gate(*inner, *at) : std::nullopt; x && product.node.inputs[other] == *x)
      return GeluArgument{product, other};
    if (!is_close(product.known_real(other), 0.5)) continue;  // ((erf + 1) * x) * 0.5
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
      if (const auto x = argument_of_gate(*inner, i); x && inner->node.inputs[1 - i] == *x)
        return GeluArgument{*inner, 1 - i};
  }
  return std::nullopt;
}

/// x * HardSigmoid(x) is HardSwish.
std::optional<GeluArgument> hard_swish_argument(const WriteCall& product) {
  for (const std::size_t gate : {std::size_t{0}, std::size_t{1}}) {
    const auto sigmoid = product.producer(gate);
    if (!sigmoid || sigmoid->node.op_type != "HardSigmoid" || sigmoid->node.inputs[0] != product.node.inputs[1 - gate])
      continue;
    if (is_close(sigmoid->real("alpha", 0.2), 1.0 / 6) && is_close(sigmoid->real("beta", 0.5), 0.5))
      return GeluArgument{product, 1 - gate};
  }
  return std::nullopt;
}

void map_mul(WriteCall& call) {
  if (auto gelu = gelu_argument(call))
    return call.result(
        call.emit("GELU", {{"x", gelu->call.input(gelu->input)}, {"approximate", false}}, call.output_type()));
  if (auto swish = hard_swish_argument(call))
    return call.result(unary(call, "HARD_SWISH", swish->call.input(swish->input)));
  const ElementType elem = call.elem(0);
  const bool is_native = !is_integer(elem) || elem == ElementType::int32 || elem == ElementType::int64;
  const auto factor = [&](std::size_t i) {
    return is_native ? call.input(i) : cast(call, call.input(i), ElementType::int32);
  };
  call.result(cast(call, binary(call, "MUL", factor(0), factor(1)), elem));
}

void map_hard_swish(WriteCall& call) { call.result(unary(call, "HARD_SWISH", call.input(0))); }

void map_leaky_relu(WriteCall& call) {
  call.result(call.emit("LEAKY_RELU", {{"x", call.input(0)}, {"alpha", call.real("alpha", 0.01)}}, call.output_type()));
}

/// The kernel broadcasts a slope that has axes, over four axes at most.
bool broadcasts_slope(const WriteCall& call) {
  const Shape *in = call.shape(0), *slope = call.shape(1);
  constexpr std::size_t most_axes = 4;
  return in && slope && !slope->empty() && slope->size() <= in->size() && in->size() <= most_axes &&
         call.elem(0) == ElementType::float32;
}

void map_prelu(WriteCall& call) {
  const ValueId x = call.input(0), slope = call.input(1);
  if (broadcasts_slope(call)) return call.result(call.emit("PRELU", {{"x", x}, {"slope", slope}}, call.output_type()));
  const ValueId below = binary(call, "MUL", binary(call, "MINIMUM", x, 0.0), slope);
  call.result(binary(call, "ADD", unary(call, "RELU", x), below));
}

/// max(x, 0) + log(1 + e^-|x|)
void map_softplus(WriteCall& call) {
  const ValueId x = call.input(0);
  const ValueId power = unary(call, "EXP", unary(call, "NEG", unary(call, "ABS", x)));
  const ValueId rest = unary(call, "LOG", binary(call, "ADD", power, 1.0));
  call.result(binary(call, "ADD", unary(call, "RELU", x), rest));
}

void map_softsign(WriteCall& call) {
  const ValueId x = call.input(0);
  call.result(binary(call, "DIV", x, binary(call, "ADD", unary(call, "ABS", x), 1.0)));
}

void map_tan(WriteCall& call) {
  const ValueId x = call.input(0);
  const ValueId sine = unary(call, "SIN", x);
  call.result(binary(call, "DIV", sine, unary(call, "COS", x)));
}

/// The angle of (1, x); the kernel does not broadcast.
void map_atan(WriteCall& call) {
  if (!call.shape(0)) return call.refuse("the rank of its input is not known");
  const ValueId sizes = sizes_vector(call, *call.shape(0));
  const ValueId ones = fill(call, sizes, call.scalar(call.elem(0), 1), Type(call.type(0)));
  call.result(binary(call, "ATAN2", call.input(0), ones));
}

void map_cosh(WriteCall& call) {
  const ValueId x = call.input(0);
  const ValueId power = unary(call, "EXP", x);
  const ValueId sum = binary(call, "ADD", power, unary(call, "EXP", unary(call, "NEG", x)));
  call.result(binary(call, "MUL", sum, 0.5));
}

/// log(1 + x) that keeps the digits of small x: the error of 1 + x is in both factors.
ValueId log_of_one_plus(WriteCall& call, ValueId x) {
  const ElementType elem = call.type_of(x).elem;
  const ValueId one = call.scalar(elem, 1), sum = binary(call, "ADD", x, 1.0);
  const ValueId is_one = compare(call, "EQUAL", sum, one);
  const ValueId step = select(call, is_one, one, binary(call, "SUB", sum, 1.0));
  const ValueId line = binary(call, "DIV", binary(call, "MUL", unary(call, "LOG", sum), x), step);
  // Where the sum is infinite, its logarithm is that of x.
  const ValueId is_infinite = compare(call, "EQUAL", sum, call.scalar(elem, std::numeric_limits<double>::infinity()));
  return select(call, is_one, x, select(call, is_infinite, sum, line));
}

ValueId with_sign_of(WriteCall& call, ValueId x, ValueId magnitude) {
  const ValueId is_below = compare(call, "LESS", x, call.scalar(call.type_of(x).elem, 0));
  return select(call, is_below, unary(call, "NEG", magnitude), magnitude);
}

/// log1p(|x| + x² / (1 + √(x² + 1)))
void map_asinh(WriteCall& call) {
  const ValueId size = unary(call, "ABS", call.input(0));
  const ValueId square = unary(call, "SQUARE", size);
  const ValueId root = unary(call, "SQRT", binary(call, "ADD", square, 1.0));
  const ValueId beyond = binary(call, "DIV", square, binary(call, "ADD", root, 1.0));
  call.result(with_sign_of(call, call.input(0), log_of_one_plus(call, binary(call, "ADD", size, beyond))));
}

/// log1p(t + √(t (t + 2))) of t = x - 1
void map_acosh(WriteCall& call) {
  const ValueId t = binary(call, "SUB", call.input(0), 1.0);
  const ValueId root = unary(call, "SQRT", binary(call, "MUL", t, binary(call, "ADD", t, 2.0)));
  call.result(log_of_one_plus(call, binary(call, "ADD", t, root)));
}

/// log1p(2 |x| / (1 - |x|)) / 2
void map_atanh(WriteCall& call) {
  const ValueId size = unary(call, "ABS", call.input(0)), one = call.scalar(call.elem(0), 1);
  const ValueId twice = binary(call, "ADD", size, size);
  const ValueId ratio = binary(call, "DIV", twice, binary(call, "SUB", one, size));
  call.result(with_sign_of(call, call.input(0), binary(call, "MUL", log_of_one_plus(call, ratio), 0.5)));
}

/// The angle of (√((1 - x) (1 + x)), x), or of the two exchanged.
void map_arc(WriteCall& call) {
  const ValueId x = call.input(0), one = call.scalar(call.elem(0), 1);
  const ValueId below_one = binary(call, "SUB", one, x);
  const ValueId across = unary(call, "SQRT", binary(call, "MUL", below_one, binary(call, "ADD", one, x)));
  const bool is_sine = call.node.op_type == "Asin";
  call.result(binary(call, "ATAN2", is_sine ? x : across, is_sine ? across : x));
}

/// 1 at the first greatest element of the axis, 0 elsewhere.
void map_hardmax(WriteCall& call) {
  const std::size_t rank = call.rank(0);
  const std::int64_t axis = call.axis("axis", -1, rank);
  const auto size = rank == 0 ? std::nullopt : call.size(0, static_cast<std::size_t>(axis));
  if (!size) return call.refuse("the size of its axis is not known");
  const ValueId at =
      call.emit("ARG_MAX", {{"x", call.input(0)}, {"axis", number(call, axis)}, {"output_type", ElementType::int32}},
                Type::tensor(ElementType::int32));
  call.result(call.emit("ONE_HOT",
                        {{"indices", at},
                         {"depth", number(call, *size)},
                         {"on_value", call.scalar(call.elem(0), 1)},
                         {"off_value", call.scalar(call.elem(0), 0)},
                         {"axis", axis + 1 == static_cast<std::int64_t>(rank) ? std::int64_t{-1} : axis}},
                        call.output_type()));
}

/// x over its norm along an axis; 0 stays 0.
void map_lp_normalization(WriteCall& call) {
  const std::int64_t axis = call.axis("axis", -1, call.rank(0)), p = call.integer("p", 2);
  const ValueId x = call.input(0);
  const ValueId sum = reduce(call, "SUM", unary(call, p == 1 ? "ABS" : "SQUARE", x), {axis});
  const ValueId norm = p == 1 ? sum : unary(call, "SQRT", sum);
  call.result(binary(call, "DIV", x, binary(call, "MAXIMUM", norm, double{std::numeric_limits<float>::min()})));
}

}  // namespace

void register_activation(Writers& writers);
void register_activation(Writers& writers) {
  writers.add("Erf", map_erf);
  writers.add("Mul", map_mul);
  writers.add("HardSwish", map_hard_swish);
  writers.add("LeakyRelu", map_leaky_relu);
  writers.add("PRelu", map_prelu);
  writers.add("Softplus", map_softplus);
  writers.add("Softsign", map_softsign);
  writers.add("Tan", map_tan);
  writers.add("Atan", map_atan);
  writers.add("Cosh", map_cosh);
  writers.add("Asinh", map_asinh);
  writers.add("Acosh", map_acosh);
  writers.add("Atanh", map_atanh);
  writers.add({"Asin", "Acos"}, map_arc);
  writers.add("Hardmax", map_hardmax);
  writers.add("LpNormalization", map_lp_normalization);
}

}  // namespace onnxkit::to_tflite
