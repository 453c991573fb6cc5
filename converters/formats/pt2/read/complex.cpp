// Complex numbers, as real and imaginary parts.
#include <string>

#include "converters/foreign/complex_numbers.h"
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

/// Parts that broadcast get the same shape.
Complex of_parts(foreign::OnnxBuilder& onnx, Val real, Val imaginary) {
  const auto *a = onnx.shape(real), *b = onnx.shape(imaginary);
  if (a && b && *a == *b) return {real, imaginary};
  const Val shape = onnx.emit("Shape", {onnx.emit("Add", {real, imaginary})});
  return {onnx.emit("Expand", {real, shape}), onnx.emit("Expand", {imaginary, shape})};
}

void map_complex(Call& call) { call.result(of_parts(call.onnx, call.tensor("real"), call.tensor("imag"))); }

void map_polar(Call& call) {
  auto& onnx = call.onnx;
  const Val length = call.tensor("abs"), angle = call.tensor("angle");
  call.result(Complex{onnx.emit("Mul", {length, onnx.emit("Cos", {angle})}),
                      onnx.emit("Mul", {length, onnx.emit("Sin", {angle})})});
}

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
  auto& onnx = call.onnx;
  const Complex x = call.complex("self");
  const Val length = onnx.emit("Exp", {x.real});
  call.result(Complex{onnx.emit("Mul", {length, onnx.emit("Cos", {x.imaginary})}),
                      onnx.emit("Mul", {length, onnx.emit("Sin", {x.imaginary})})});
}

/// Both operands with parts of one type. One of them is complex.
std::pair<Complex, Complex> complex_operands(Call& call, std::string_view name_a = "self",
                                             std::string_view name_b = "other") {
  auto& onnx = call.onnx;
  const auto is_tensor = [&](std::string_view name) { return call.declared(name) != nullptr; };
  const Complex a = is_tensor(name_a) ? call.complex(name_a) : Complex{};
  const Complex b = is_tensor(name_b) ? call.complex(name_b) : Complex{};
  // A real number beside complex ones changes no type; a tensor with axes may.
  const auto type_beside = [&](const Complex& x, ElementType other) {
    if (!x.real || (!x.imaginary && (onnx.rank(x.real) == 0 || !is_floating(onnx.elem(x.real))))) return other;
    return promoted(onnx.elem(x.real), other);
  };
  const ElementType first = onnx.elem(a.imaginary ? a.real : b.real);
  const ElementType type = type_beside(a, type_beside(b, first));
  const auto of_type = [&](const Complex& x, std::string_view name) {
    if (!x.real) return Complex{call.number(name, type), {}};
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
  if (call.has("alpha")) b = product_of(onnx, b, {call.number("alpha", onnx.elem(b.real)), {}});
  call.result(sum_of(onnx, is_sum ? "Add" : "Sub", a, b));
}

void map_complex_matrix_product(Call& call) {
  auto& onnx = call.onnx;
  const auto [a, b] = complex_operands(call, "self", call.has("mat2") ? "mat2" : "other");
  call.result(product_of(onnx, a, b, [&](Val x, Val y) { return onnx.emit("MatMul", {x, y}); }));
}

void map_complex_einsum(Call& call) {
  auto& onnx = call.onnx;
  const foreign::Argument* given = call.argument("tensors");
  const auto* list = given ? given->as<foreign::Argument::List>() : nullptr;
  if (!list || list->size() != 2) return call.refuse("complex numbers in a sum of products of more than two tensors");
  std::string equation(call.text("equation"));
  std::erase(equation, ' ');
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
                        "aten.detach.default", "aten.alias.default", "aten.copy.default"});
  mappings.add_by_part({"aten.slice.Tensor", "aten.select.int", "aten.narrow.default", "aten.index_select.default",
                        "aten.index.Tensor", "aten.cat.default", "aten.stack.default", "aten.split.Tensor",
                        "aten.split_with_sizes.default", "aten.chunk.default", "aten.unbind.int", "aten.roll.default",
                        "aten.flip.default", "aten.slice_scatter.default", "aten.select_scatter.default"});
  mappings.add_by_part({"aten.neg.default", "aten.sum.default", "aten.sum.dim_IntList", "aten.mean.default",
                        "aten.mean.dim", "aten.where.self"});
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
  mappings.add_complex({"aten.mul.Tensor", "aten.mul.Scalar"}, map_complex_product);
  mappings.add_complex({"aten.div.Tensor", "aten.div.Scalar"}, map_complex_quotient);
  mappings.add_complex({"aten.add.Tensor", "aten.add.Scalar"}, map_complex_sum<true>);
  mappings.add_complex({"aten.sub.Tensor", "aten.sub.Scalar"}, map_complex_sum<false>);
  mappings.add_complex({"aten.rsub.Scalar"}, map_complex_sum<false, true>);
  mappings.add_complex({"aten.matmul.default", "aten.mm.default", "aten.bmm.default"}, map_complex_matrix_product);
  mappings.add_complex({"aten.einsum.default"}, map_complex_einsum);
  add_by_part(mappings);
}

}  // namespace onnxkit::pt2
