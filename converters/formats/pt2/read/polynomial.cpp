// Orthogonal polynomials of a known degree, by their recurrences of three terms.
#include <optional>

#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// P[k + 1] = ((slope[k] x + shift[k]) P[k] - back[k] P[k - 1]) / over[k], and P[1] = first_slope x + first_shift.
struct Recurrence {
  double first_slope, first_shift;
  struct Step {
    double slope, shift, back, over;
  };
  Step (*step)(double k);
};

Recurrence::Step chebyshev_step(double /*k*/) { return {2, 0, 1, 1}; }
Recurrence::Step shifted_chebyshev_step(double /*k*/) { return {4, -2, 1, 1}; }

constexpr Recurrence chebyshev_t = {1, 0, chebyshev_step}, chebyshev_u = {2, 0, chebyshev_step},
                     chebyshev_v = {2, -1, chebyshev_step}, chebyshev_w = {2, 1, chebyshev_step},
                     shifted_t = {2, -1, shifted_chebyshev_step}, shifted_u = {4, -2, shifted_chebyshev_step},
                     shifted_v = {4, -3, shifted_chebyshev_step}, shifted_w = {4, -1, shifted_chebyshev_step},
                     hermite_h = {2, 0,
                                  [](double k) {
                                    return Recurrence::Step{2, 0, 2 * k, 1};
                                  }},
                     hermite_he = {1, 0,
                                   [](double k) {
                                     return Recurrence::Step{1, 0, k, 1};
                                   }},
                     laguerre_l = {-1, 1,
                                   [](double k) {
                                     return Recurrence::Step{-1, 2 * k + 1, k, k + 1};
                                   }},
                     legendre_p = {1, 0, [](double k) {
                                     return Recurrence::Step{2 * k + 1, 0, k, k + 1};
                                   }};

/// slope x + shift
Val line(Call& call, Val x, double slope, double shift) {
  auto& onnx = call.onnx;
  const ElementType type = onnx.elem(x);
  if (slope != 1) x = onnx.emit("Mul", {x, onnx.scalar(type, slope)});
  return shift == 0 ? x : onnx.emit("Add", {x, onnx.scalar(type, shift)});
}

/// The degree, cut towards zero; nullopt where it is not known.
std::optional<std::int64_t> degree_of(Call& call) {
  const foreign::Argument* given = call.argument("n");
  constexpr double most = 64;
  if (given && (given->as<std::int64_t>() || given->as<double>())) {
    const double degree = call.real("n", 0);
    if (degree > -most && degree <= most) return static_cast<std::int64_t>(degree);
    call.refuse("a polynomial of so high a degree");
    return std::nullopt;
  }
  call.refuse("the degree of a polynomial is computed", "a number as the degree has a counterpart");
  return std::nullopt;
}

template <const Recurrence& terms>
void map_polynomial(Call& call) {
  auto& onnx = call.onnx;
  ElementType type = promoted(call, "x", "n");
  if (!is_floating(type)) type = ElementType::float32;
  const Val x = call.number("x", type);
  const auto degree = degree_of(call);
  if (!degree) return;
  const Val like = onnx.emit("Shape", {x});
  const auto constant = [&](double number) { return onnx.emit("Expand", {onnx.scalar(type, number), like}); };
  if (*degree < 1) return call.result(constant(*degree == 0 ? 1 : 0));
  Val before = onnx.scalar(type, 1), now = line(call, x, terms.first_slope, terms.first_shift);
  for (std::int64_t k = 1; k < *degree; ++k) {
    const Recurrence::Step step = terms.step(static_cast<double>(k));
    const Val ahead = onnx.emit("Mul", {line(call, x, step.slope, step.shift), now});
    const Val back = step.back == 1 ? before : onnx.emit("Mul", {before, onnx.scalar(type, step.back)});
    before = now;
    now = onnx.emit("Sub", {ahead, back});
    if (step.over != 1) now = onnx.emit("Div", {now, onnx.scalar(type, step.over)});
  }
  call.result(now);
}

}  // namespace

void register_polynomial(Mappings& mappings);
void register_polynomial(Mappings& mappings) {
  mappings.add("aten.special_chebyshev_polynomial_t.n_scalar", map_polynomial<chebyshev_t>);
  mappings.add("aten.special_chebyshev_polynomial_u.n_scalar", map_polynomial<chebyshev_u>);
  mappings.add("aten.special_chebyshev_polynomial_v.n_scalar", map_polynomial<chebyshev_v>);
  mappings.add("aten.special_chebyshev_polynomial_w.n_scalar", map_polynomial<chebyshev_w>);
  mappings.add("aten.special_shifted_chebyshev_polynomial_t.n_scalar", map_polynomial<shifted_t>);
  mappings.add("aten.special_shifted_chebyshev_polynomial_u.n_scalar", map_polynomial<shifted_u>);
  mappings.add("aten.special_shifted_chebyshev_polynomial_v.n_scalar", map_polynomial<shifted_v>);
  mappings.add("aten.special_shifted_chebyshev_polynomial_w.n_scalar", map_polynomial<shifted_w>);
  mappings.add("aten.special_hermite_polynomial_h.n_scalar", map_polynomial<hermite_h>);
  mappings.add("aten.special_hermite_polynomial_he.n_scalar", map_polynomial<hermite_he>);
  mappings.add("aten.special_laguerre_polynomial_l.n_scalar", map_polynomial<laguerre_l>);
  mappings.add("aten.special_legendre_polynomial_p.n_scalar", map_polynomial<legendre_p>);
}

}  // namespace onnxkit::pt2
