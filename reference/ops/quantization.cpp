// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. Scale and zero point are scalars; from 13 on also vectors along `axis`; from 21 on,
// with block_size, they have the input's shape with that axis divided into blocks. The quotient of QuantizeLinear is rounded to the scale's type, or
// from 23 on to that of `precision`.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/kernels/axes.h"
#include "reference/kernels/broadcast.h"
#include "reference/kernels/select.h"
#include "reference/numerics/arithmetic.h"
#include "reference/numerics/quantize.h"

namespace onnxkit::reference {
namespace {

bool is_single(const Tensor& tensor) { return tensor.size() == 1 && tensor.rank() <= 1; }

/// A scale or zero point as an operand that broadcasts against x.
Tensor spread(const KernelContext& context, const Tensor& x, const Tensor& given) {
  const std::int64_t block = context.integer("block_size");
  if (is_single(given) && block == 0) return given.reshaped({});
  require(context.since() >= 13, "scale and zero point must be scalars");
  const std::int64_t axis = x.rank() == 1 ? 0 : normalize_axis(context.integer("axis", 1), x.rank());
  if (block == 0) {
    require(given.rank() == 1 && given.size() == x.dim(axis),
            "scale and zero point must have one element per slice along the axis");
    Dims dims(static_cast<std::size_t>(x.rank()), 1);
    dims[static_cast<std::size_t>(axis)] = given.size();
    return given.reshaped(std::move(dims));
  }
  require(block > 0, "`block_size` is negative");
  Dims expected = x.dims();
  std::int64_t& blocks = expected[static_cast<std::size_t>(axis)];
  blocks = blocks / block + (blocks % block != 0);
  require(given.dims() == expected, "scale and zero point must have one element per block");
  std::vector<std::vector<std::int64_t>> index;
  for (const std::int64_t size : x.dims()) index.push_back(identity_index(size));
  for (std::int64_t& i : index[static_cast<std::size_t>(axis)]) i /= block;
  return select(context, given, index);
}

/// Any numbers as double.
Tensor as_real(const KernelContext& context, const Tensor& tensor) {
  if (tensor.domain() == Domain::real) return tensor;
  return dispatch_scalars(tensor.domain(), [&]<class T>(std::type_identity<T>) {
    return map<T, double>(context, tensor, ElementType::float64, [](T x) { return static_cast<double>(x); });
  });
}

Tensor zero_point(const KernelContext& context, const Tensor& x) {
  const Tensor* given = context.find_input(2);
  if (!given) return context.scalar(ElementType::float64, 0);
  require(given->size() == context.input(1).size(), "scale and zero point have different sizes");
  return as_real(context, spread(context, x, *given));
}

/// Rounds what would be computed in this type; integers are divided as reals.
double in_precision(ElementType type, double value) {
  return domain_of(type) == Domain::real ? round_to(type, value) : value;
}

/// Halves to even, then the nearest end of the type's range. NaN counts as 0.
template <class T>
T quantized(double quotient, double zero, double least, double greatest) {
  const double whole = std::isnan(quotient) ? 0 : std::nearbyint(quotient);
  return truncate_to<T>(std::clamp(whole + zero, least, greatest));
}

void quantize(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& scale = context.input(1);
  const Tensor* given_zero = context.find_input(2);
  const ElementType stated = context.named_type("output_dtype", ElementType::undefined);
  const ElementType type = given_zero                         ? given_zero->type()
                           : stated != ElementType::undefined ? stated
                                                              : ElementType::uint8;
  require(stated == ElementType::undefined || stated == type, "`output_dtype` contradicts the zero point");

  const auto precision_number = context.integer("precision");
  ElementType precision = scale.type();
  if (precision_number != 0) {
    precision = static_cast<ElementType>(precision_number);
    require(precision_number > 0 && precision_number < element_type_count && is_floating(precision),
            "`precision` is not a floating-point type");
  }
  const bool exact =
      context.is_unrounded() || precision == ElementType::float64 || precision == ElementType::float8e8m0;
  const auto narrow = [exact, precision](double value) { return exact ? value : in_precision(precision, value); };
  const auto quotient = [narrow](double value, double by) { return narrow(narrow(value) / narrow(by)); };

  const Tensor real = as_real(context, x);
  const Tensor by = as_real(context, spread(context, x, scale));
  const Tensor zero = zero_point(context, x);
  if (domain_of(type) == Domain::real) {
    Tensor y = map<double, double, double, double>(
        context, real, by, zero, type, [quotient](double v, double s, double z) { return quotient(v, s) + z; });
    round_to(type, y.write<double>(), {.saturate = context.integer("saturate", 1) != 0});
    return context.set_output(0, y);
  }
  const auto least = static_cast<double>(least_of(type)), greatest = static_cast<double>(greatest_of(type));
  const Tensor quotients =
      over_edges(context, map<double, double, double>(context, real, by, ElementType::float64, quotient), type);
  context.set_output(0, dispatch_numbers(domain_of(type), [&]<class T>(std::type_identity<T>) {
                       return map<double, double, T>(
                           context, quotients, zero, type,
                           [least, greatest](double v, double z) { return quantized<T>(v, z, least, greatest); });
                     }));
}

void dequantize(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& scale = context.input(1);
  const ElementType type = context.named_type("output_dtype", scale.type());
  require(type != ElementType::float8e8m0, "scales of float8e8m0 require `output_dtype`");
  const Tensor by = as_real(context, spread(context, x, scale));
  context.set_output(0,
                     map<double, double, double, double>(context, as_real(context, x), by, zero_point(context, x), type,
                                                         [](double v, double s, double z) { return (v - z) * s; }));
}

/// To uint8 with a range that holds 0 and all of x. Where x is 0 throughout the specification divides by 0: the scale is 1 then.
void dynamic_quantize(KernelContext& context) {
  const Tensor& x = context.input(0);
  const auto narrow = [exact = context.is_unrounded()](double value) {
    return exact ? value : static_cast<float>(value);
  };
  double least = 0, most = 0;
  for (const double value : x.as<double>()) {
    least = lesser_of(least, value);
    most = greater_of(most, value);
  }
  const double scale = least == most ? 1 : narrow(narrow(most - least) / 255);
  const auto zero = quantized<std::uint64_t>(narrow(-least / scale), 0, 0, 255);
  Tensor zero_out = context.make(ElementType::uint8, {});
  zero_out.write<std::uint64_t>()[0] = zero;
  const Tensor quotients =
      map<double, double>(context, x, ElementType::float64, [=](double value) { return narrow(value / scale); });
  context.set_output(0, map<double, std::uint64_t>(
                            context, over_edges(context, quotients, ElementType::uint8), ElementType::uint8,
                            [=](double v) { return quantized<std::uint64_t>(v, static_cast<double>(zero), 0, 255); }));
  context.set_output(1, context.scalar(ElementType::float32, scale));
  context.set_output(2, zero_out);
}

}  // namespace

void register_quantization(KernelRegistry& registry) {
  registry.add("QuantizeLinear", all_versions(), quantize, {.noise = noise::quantized, .is_quantizing = true});
  registry.add("DequantizeLinear", all_versions(), dequantize, {.noise = noise::ordinary, .is_quantizing = true});
  registry.add("DynamicQuantizeLinear", all_versions(), dynamic_quantize,
               {.noise = noise::quantized, .is_quantizing = true});
}

}  // namespace onnxkit::reference
