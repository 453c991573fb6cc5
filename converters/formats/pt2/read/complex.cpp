// Complex numbers, as real and imaginary parts.
#include <cmath>
#include <complex>
#include <string>

#include "converters/foreign/complex_numbers.h"
#include "converters/foreign/slices.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Complex;
using foreign::Val;

void map_view_as_complex(Call& call) { call.result(parts_of_pairs(call.onnx, call.tensor("self"))); }
void map_view_as_real(Call& call) { call.result(pairs_of(call.onnx, call.complex("self"))); }
void map_real_part(Call& call) { call.result(call.complex("self").real); }

void map_imaginary_part(Call& call) {
  const Complex x = call.complex("self");
  if (!x.imaginary) return call.refuse("the imaginary part of real numbers");
  call.result(x.imaginary);
}

void map_conjugate(Call& call) { call.result(conjugate(call.onnx, call.complex("self"))); }
void map_resolved(Call& call) { call.result(call.complex("self")); }

void map_complex(Call& call) { call.result(of_parts(call.onnx, call.tensor("real"), call.tensor("imag"))); }

void map_polar(Call& call) { call.result(from_polar(call.onnx, call.tensor("abs"), call.tensor("angle"))); }

void map_complex_absolute(Call& call) { call.result(absolute_value(call.onnx, call.complex("self"))); }

/// Of a negative number pi, of a positive one 0, of no number NaN.
void map_angle(Call& call) {
  auto& onnx = call.onnx;
  const Complex x = call.complex("self");
  if (x.imaginary) return call.result(angle_of(onnx, x.imaginary, x.real));
  const Val real = is_floating(onnx.elem(x.real)) ? x.real : onnx.cast(x.real, ElementType::float32);
  constexpr double pi = 3.14159265358979323846;
  const ElementType type = onnx.elem(real);
  const Val zero = onnx.scalar(type, 0), below = onnx.emit("Less", {real, zero});
  const Val angle = onnx.emit("Where", {below, onnx.scalar(type, pi), zero});
  call.result(onnx.emit("Where", {onnx.emit("IsNaN", {real}), real, angle}));
}

void map_complex_exponential(Call& call) {
  const Complex x = call.complex("self");
  call.result(from_polar(call.onnx, call.onnx.emit("Exp", {x.real}), x.imaginary));
}

/// The type of the parts of what is computed of both: tensors with axes come before those without, those before numbers.
ElementType type_of_parts(foreign::OnnxBuilder& onnx, const Complex& a, const Complex& b) {
  ElementType with_axes = ElementType::undefined, without = ElementType::undefined;
  for (const Complex& x : {a, b}) {
    if (!x.real || !is_floating(onnx.elem(x.real))) continue;
    ElementType& type = onnx.rank(x.real) == 0 ? without : with_axes;
    type = type == ElementType::undefined ? onnx.elem(x.real) : promoted(type, onnx.elem(x.real));
  }
  if (with_axes != ElementType::undefined) return with_axes;
  return without != ElementType::undefined ? without : ElementType::float32;
}

/// Both operands with parts of one type. One of them is complex.
std::pair<Complex, Complex> complex_operands(Call& call, std::string_view name_a = "self",
                                             std::string_view name_b = "other") {
  auto& onnx = call.onnx;
  const auto is_tensor = [&](std::string_view name) { return call.declared(name) != nullptr; };
  const Complex a = is_tensor(name_a) ? call.complex(name_a) : Complex{};
  const Complex b = is_tensor(name_b) ? call.complex(name_b) : Complex{};
  const ElementType type = type_of_parts(onnx, a, b);
  const auto of_type = [&](const Complex& x, std::string_view name) {
    if (!x.real) return call.complex_number(name, type);
    return Complex{onnx.cast(x.real, type), x.imaginary ? onnx.cast(x.imaginary, type) : Val{}};
  };
  return {of_type(a, name_a), of_type(b, name_b)};
}

void map_complex_product(Call& call) {
  const auto [a, b] = complex_operands(call);
  call.result(product_of(call.onnx, a, b));
}

void map_complex_quotient(Call& call) {
  if (call.has("rounding_mode")) return call.refuse("complex quotients are not rounded");
  const auto [a, b] = complex_operands(call);
  call.result(quotient_of(call.onnx, a, b));
}

/// a + alpha b, or a - alpha b; reversed, b - alpha a.
template <bool is_sum, bool is_reversed = false>
void map_complex_sum(Call& call) {
  auto& onnx = call.onnx;
  auto [a, b] = complex_operands(call);
  if (is_reversed) std::swap(a, b);
  if (call.has("alpha")) b = product_of(onnx, b, call.complex_number("alpha", onnx.elem(b.real)));
  call.result(sum_of(onnx, is_sum ? "Add" : "Sub", a, b));
}

/// Into a tensor of real numbers go the real parts.
void map_complex_copy(Call& call) {
  auto& onnx = call.onnx;
  const Complex whole = call.complex("self"), given = with_both_parts(onnx, call.complex("src"));
  const Val shape = onnx.emit("Shape", {whole.real});
  const auto copied = [&](Val part) { return onnx.emit("Expand", {onnx.cast(part, onnx.elem(whole.real)), shape}); };
  call.result(Complex{copied(given.real), whole.imaginary ? copied(given.imaginary) : Val{}});
}

void map_complex_square(Call& call) {
  const Complex x = call.complex("self");
  call.result(product_of(call.onnx, x, x));
}

void map_complex_reciprocal(Call& call) {
  auto& onnx = call.onnx;
  const Complex x = call.complex("self");
  call.result(quotient_of(onnx, {onnx.scalar(onnx.elem(x.real), 1), {}}, x));
}

void map_complex_logarithm(Call& call) {
  auto& onnx = call.onnx;
  const Complex x = call.complex("self");
  call.result(Complex{onnx.emit("Log", {absolute_value(onnx, x)}), angle_of(onnx, x.imaginary, x.real)});
}

/// The length to the power, at so many times the angle.
Complex power_of(foreign::OnnxBuilder& onnx, const Complex& x, double power) {
  const ElementType type = onnx.elem(x.real);
  const Val length = onnx.emit("Pow", {absolute_value(onnx, x), onnx.scalar(type, power)});
  return from_polar(onnx, length, onnx.emit("Mul", {angle_of(onnx, x.imaginary, x.real), onnx.scalar(type, power)}));
}

void map_complex_root(Call& call) { call.result(power_of(call.onnx, call.complex("self"), 0.5)); }

void map_complex_power(Call& call) {
  auto& onnx = call.onnx;
  const foreign::Argument* given = call.argument("exponent");
  if (!call.declared("self") || !given || given->as<std::complex<double>>())
    return call.refuse("a power that is complex");
  const Complex x = call.complex("self");
  const double power = call.real("exponent", 1);
  if (power == 0) {
    const Val one = onnx.scalar(onnx.elem(x.real), 1);
    return call.result(with_both_parts(onnx, {onnx.emit("Expand", {one, onnx.emit("Shape", {x.real})}), {}}));
  }
  constexpr double most_products = 8;
  if (power != std::round(power) || power < 1 || power > most_products) return call.result(power_of(onnx, x, power));
  Complex product = x;
  for (int i = 1; i < static_cast<int>(power); ++i) product = product_of(onnx, product, x);
  call.result(product);
}

/// Of length 1, and 0 for 0.
void map_complex_sign(Call& call) {
  auto& onnx = call.onnx;
  const Complex x = call.complex("self");
  const ElementType type = onnx.elem(x.real);
  const Val length = absolute_value(onnx, x);
  const Val is_zero = onnx.emit("Equal", {length, onnx.scalar(type, 0)});
  call.result(quotient_of(onnx, x, {onnx.emit("Where", {is_zero, onnx.scalar(type, 1), length}), {}}));
}

template <bool is_equal>
void map_complex_equal(Call& call) {
  const auto [a, b] = complex_operands(call);
  const Val same = equality_of(call.onnx, a, b);
  call.result(is_equal ? same : call.onnx.emit("Not", {same}));
}

/// x times the transposed weight, plus a bias.
void map_complex_linear(Call& call) {
  auto& onnx = call.onnx;
  const auto [x, weight] = complex_operands(call, "input", "weight");
  const auto turned = [&](Val part) { return part ? foreign::with_last_axes_swapped(call, part) : part; };
  const Complex product = matrix_product_of(onnx, x, {turned(weight.real), turned(weight.imaginary)});
  call.result(call.has("bias") ? sum_of(onnx, "Add", product, call.complex("bias")) : product);
}

void map_complex_matrix_product(Call& call) {
  auto& onnx = call.onnx;
  const auto [a, b] = complex_operands(call, "self", call.has("mat2") ? "mat2" : "other");
  call.result(matrix_product_of(onnx, a, b));
}

void map_complex_einsum(Call& call) {
  auto& onnx = call.onnx;
  const foreign::Argument* given = call.argument("tensors");
  const auto* list = given ? given->as<foreign::Argument::List>() : nullptr;
  const bool is_alone = list && list->size() == 1;
  if (!list || (list->size() != 2 && !is_alone))
    return call.refuse("complex numbers in a sum of products of more than two tensors");
  std::string equation(call.text("equation"));
  std::erase(equation, ' ');
  if (is_alone) {
    const Complex x = call.complex(list->front());
    const auto sum = [&](Val part) { return onnx.emit("Einsum", {part}, {{"equation", equation}}); };
    return call.result(Complex{sum(x.real), x.imaginary ? sum(x.imaginary) : Val{}});
  }
  const auto product = [&](Val x, Val y) { return onnx.emit("Einsum", {x, y}, {{"equation", equation}}); };
  call.result(product_of(onnx, call.complex(list->front()), call.complex(list->back()), product));
}

void add_by_part(Mappings& mappings) {
  mappings.add_by_part({"aten.view.default", "aten.reshape.default", "aten._unsafe_view.default",
                        "aten.view_copy.default", "aten.reshape_as.default", "aten.view_as.default",
                        "aten.flatten.using_ints", "aten.unflatten.int", "aten.ravel.default"});
  mappings.add_by_part({"aten.permute.default", "aten.permute_copy.default", "aten.transpose.int", "aten.t.default",
                        "aten.swapaxes.default", "aten.swapdims.default", "aten.movedim.int", "aten.movedim.intlist",
                        "aten.unsqueeze.default", "aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims",
                        "aten.mT.default", "aten.numpy_T.default"});
  mappings.add_by_part({"aten.expand.default", "aten.expand_as.default", "aten.broadcast_to.default",
                        "aten.repeat.default", "aten.tile.default", "aten.clone.default", "aten.contiguous.default",
                        "aten.detach.default", "aten.alias.default"});
  mappings.add_by_part({"aten.slice.Tensor", "aten.select.int", "aten.narrow.default", "aten.index_select.default",
                        "aten.index.Tensor", "aten.cat.default", "aten.stack.default", "aten.split.Tensor",
                        "aten.split_with_sizes.default", "aten.chunk.default", "aten.unbind.int", "aten.roll.default",
                        "aten.flip.default", "aten.slice_scatter.default", "aten.select_scatter.default"});
  mappings.add_by_part({"aten.neg.default", "aten.sum.default", "aten.sum.dim_IntList", "aten.mean.default",
                        "aten.mean.dim", "aten.where.self", "aten.cumsum.default", "aten.gather.default",
                        "aten.index_put.default"});
  mappings.add_by_part({"aten.where.ScalarOther",
                        "aten.where.ScalarSelf",
                        "aten.masked_fill.Scalar",
                        "aten.constant_pad_nd.default",
                        "aten.pad.default",
                        "aten.full.default",
                        "aten.full_like.default",
                        "aten.fill.Scalar",
                        "aten.lift_fresh_copy.default",
                        "aten.tril.default",
                        "aten.triu.default",
                        "aten.positive.default",
                        "aten.fliplr.default",
                        "aten.flipud.default",
                        "aten.diagonal.default",
                        "aten.hstack.default",
                        "aten.vstack.default",
                        "aten.dropout.default",
                        "aten.new_zeros.default",
                        "aten.new_full.default"});
}

}  // namespace

void register_complex(Mappings& mappings);
void register_complex(Mappings& mappings) {
  mappings.add("aten.view_as_complex.default", map_view_as_complex);
  mappings.add("aten.view_as_real.default", map_view_as_real);
  mappings.add("aten.real.default", map_real_part);
  mappings.add("aten.imag.default", map_imaginary_part);
  mappings.add({"aten.conj.default", "aten._conj.default", "aten.conj_physical.default"}, map_conjugate);
  mappings.add({"aten.resolve_conj.default", "aten.resolve_neg.default"}, map_resolved);
  mappings.add("aten.complex.default", map_complex);
  mappings.add("aten.polar.default", map_polar);
  mappings.add("aten.angle.default", map_angle);
  mappings.add_complex({"aten.abs.default"}, map_complex_absolute);
  mappings.add_complex({"aten.exp.default"}, map_complex_exponential);
  mappings.add_complex({"aten.mul.Tensor", "aten.mul.Scalar", "aten.multiply.Tensor", "aten.multiply.Scalar"},
                       map_complex_product);
  mappings.add_complex(
      {"aten.div.Tensor", "aten.div.Scalar", "aten.true_divide.Tensor", "aten.divide.Tensor", "aten.divide.Scalar"},
      map_complex_quotient);
  mappings.add_complex({"aten.add.Tensor", "aten.add.Scalar"}, map_complex_sum<true>);
  mappings.add_complex({"aten.sub.Tensor", "aten.sub.Scalar", "aten.subtract.Tensor", "aten.subtract.Scalar"},
                       map_complex_sum<false>);
  mappings.add_complex({"aten.rsub.Scalar"}, map_complex_sum<false, true>);
  mappings.add_complex({"aten.matmul.default", "aten.mm.default", "aten.bmm.default"}, map_complex_matrix_product);
  mappings.add_complex({"aten.linear.default"}, map_complex_linear);
  mappings.add_complex({"aten.copy.default"}, map_complex_copy);
  mappings.add_complex({"aten.square.default"}, map_complex_square);
  mappings.add_complex({"aten.reciprocal.default"}, map_complex_reciprocal);
  mappings.add_complex({"aten.log.default"}, map_complex_logarithm);
  mappings.add_complex({"aten.sqrt.default"}, map_complex_root);
  mappings.add_complex({"aten.pow.Tensor_Scalar"}, map_complex_power);
  mappings.add_complex({"aten.sgn.default"}, map_complex_sign);
  mappings.add_complex({"aten.eq.Tensor", "aten.eq.Scalar"}, map_complex_equal<true>);
  mappings.add_complex({"aten.ne.Tensor", "aten.ne.Scalar"}, map_complex_equal<false>);
  mappings.add_complex({"aten.einsum.default"}, map_complex_einsum);
  add_by_part(mappings);
}

}  // namespace onnxkit::pt2
