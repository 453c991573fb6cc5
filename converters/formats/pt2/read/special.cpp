// Special functions, by polynomials that interpolate them at Chebyshev nodes with a relative error below 5e-10; a float32 has one of 6e-8.
#include <limits>
#include <numbers>
#include <span>

#include "converters/formats/pt2/doubles.h"
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

template <SpecialFunction function>
void map_special(Call& call) {
  give_special(call, function);
}

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Of |x| up to 8 by one polynomial in |x|, beyond by another in 1 / |x|, over the root of |x|.
Val bessel(const Doubles& math, Val size, std::span<const double> near, std::span<const double> far) {
  const Val low = math.polynomial(math.sum(math.product(size, 0.25), -1), near);
  const Val high = math.polynomial(math.sum(math.quotient(16, size), -1), far);
  return math.chosen(math.is_less(size, 8), low, math.quotient(high, math.of("Sqrt", size)));
}

/// exp(-|x|) I0(x)
Val scaled_bessel_0(const Doubles& math, Val x) {
  constexpr double near[] = {
      0.207001921227,    -0.113004326534,    0.0945156278463,  -0.0890434670005,  0.0873434437603,   -0.0849628311546,
      0.0792747986278,   -0.0695465912369,   0.0567804202141,  -0.0429569158075,  0.030162278072,    -0.0197762058912,
      0.0120048815407,   -0.00660461979586,  0.00353515905443, -0.00204734479211, 0.000951648789057, -0.000205759495171,
      9.49826446377e-05, -0.000136047345535, 5.07291491871e-05};
  constexpr double far[] = {0.402176509419,    0.00336055224172,  0.000136217164243, 1.11398156593e-05,
                            1.47611573424e-06, 3.07332288565e-07, 1.08679425114e-07, 3.16198579485e-08};
  return bessel(math, math.of("Abs", x), near, far);
}

/// exp(-|x|) I1(x), which is odd.
Val scaled_bessel_1(const Doubles& math, Val x) {
  constexpr double near[] = {0.0446877098759,   -0.0611243379891,   0.0680575998336,   -0.0684826091619,
                             0.0637674067335,   -0.0552799758001,   0.0446745258146,   -0.0336719785599,
                             0.0236863883938,   -0.0155679529938,   0.00958224657011,  -0.00554539802793,
                             0.0030106854487,   -0.00151709171496,  0.000735488933472, -0.000368571806806,
                             0.000158945515773, -4.07101977183e-05, 1.67555573318e-05, -1.74679149171e-05,
                             6.15315358866e-06};
  constexpr double far[] = {0.38939845906,      -0.00974957745756,  -0.000219237125383, -1.50352680344e-05,
                            -1.82569072995e-06, -3.58429880058e-07, -1.22732173345e-07, -3.57743625701e-08};
  const Val size = math.of("Abs", x);
  const Val low = math.product(math.polynomial(math.sum(math.product(size, 0.25), -1), near), x);
  const Val high = math.quotient(math.polynomial(math.sum(math.quotient(16, size), -1), far), math.of("Sqrt", size));
  return math.chosen(math.is_less(size, 8), low, math.product(high, math.of("Sign", x)));
}

Val bessel_0(const Doubles& math, Val x) {
  return math.product(scaled_bessel_0(math, x), math.of("Exp", math.of("Abs", x)));
}

Val bessel_1(const Doubles& math, Val x) {
  return math.product(scaled_bessel_1(math, x), math.of("Exp", math.of("Abs", x)));
}

/// exp(x^2) erfc(x) for x >= 0: 1 / (1 + 2 x) times a polynomial in (x - 3.75) / (x + 3.75).
Val scaled_erfc_of_positive(const Doubles& math, Val x) {
  constexpr double coefficients[] = {1.23751263081,     -0.140240599536,   0.00358541932191,  0.0822767739877,
                                     -0.108804011676,   0.092303937558,    -0.0586927357276,  0.0283641050493,
                                     -0.00974924367027, 0.00175115774016,  0.000299596982593, -0.00028431315992,
                                     4.42797864417e-05, 1.85219710901e-05, -6.3523051729e-06};
  const Val t = math.difference(1, math.quotient(7.5, math.sum(x, 3.75)));
  return math.quotient(math.polynomial(t, coefficients), math.sum(math.product(x, 2), 1));
}

Val scaled_erfc(const Doubles& math, Val x) {
  const Val positive = scaled_erfc_of_positive(math, math.of("Abs", x));
  const Val whole = math.product(math.of("Exp", math.product(x, x)), 2);
  return math.chosen(math.is_less(x, 0), math.difference(whole, positive), positive);
}

/// The share of a normal distribution above x.
Val upper_tail(const Doubles& math, Val x) {
  const Val at = math.product(math.of("Abs", x), std::numbers::sqrt2 / 2);
  const Val bell = math.of("Exp", math.of("Neg", math.product(at, at)));
  const Val tail = math.product(math.product(bell, scaled_erfc_of_positive(math, at)), 0.5);
  return math.chosen(math.is_less(x, 0), math.difference(1, tail), tail);
}

/// Below -1 without the bell, whose logarithm is known; above it log(1 - tail), of a small tail by its series.
Val log_normal_share(const Doubles& math, Val x) {
  const Val at = math.product(math.of("Abs", x), std::numbers::sqrt2 / 2);
  const Val low =
      math.difference(math.of("Log", math.product(scaled_erfc_of_positive(math, at), 0.5)), math.product(at, at));
  const Val tail = upper_tail(math, x);
  const Val series = math.of("Neg", math.sum(tail, math.product(math.product(tail, tail), 0.5)));
  const Val high = math.chosen(math.is_less(tail, 1e-5), series, math.of("Log", math.difference(1, tail)));
  return math.chosen(math.is_less(x, -1), low, high);
}

/// y times a polynomial in w = -log(1 - y^2), or in the root of w where that is large (after Giles, Approximating the erfinv function, 2010).
Val inverse_erf(const Doubles& math, Val y) {
  constexpr double near[] = {1.62354200654,      0.724891205975,     -0.0516432243032,  -0.0225767205564,
                             0.0158000825513,    -0.00309164458931,  -0.00127496931916, 0.000989733256739,
                             -0.000153565540156, -0.000117794816372, 6.30755452392e-05, 3.9650229326e-06,
                             -7.73537481499e-06};
  constexpr double far[] = {3.13416153182,     0.905192210249,    0.00392333628717,   -0.00240053468913,
                            0.00137976020966,  -0.00083836739709, 0.000443453597913,  -0.000164487244246,
                            1.84917808291e-05, 2.11303838271e-05, -1.18716338192e-05, 1.71529234372e-06};
  const Val w = math.of("Neg", math.of("Log", math.product(math.difference(1, y), math.sum(y, 1))));
  const Val low = math.polynomial(math.sum(math.product(w, 1.0 / 3), -1), near);
  const Val high = math.polynomial(math.product(math.sum(math.of("Sqrt", w), -3.3), 1 / 0.9), far);
  const Val value = math.product(math.chosen(math.is_less(w, 6), low, high), y);
  return math.chosen(math.equals(math.of("Abs", y), 1), math.product(y, infinity), value);
}

/// (1 + erf(x / sqrt(2))) / 2, as PyTorch computes it.
void map_normal_share(Call& call) {
  auto& onnx = call.onnx;
  const Val x = floating_operand(call);
  const ElementType type = onnx.elem(x);
  const Val wave = onnx.emit("Erf", {onnx.emit("Mul", {x, onnx.scalar(type, std::numbers::sqrt2 / 2)})});
  call.result(onnx.emit("Mul", {onnx.emit("Add", {wave, onnx.scalar(type, 1)}), onnx.scalar(type, 0.5)}));
}

/// -x log x, 0 at 0.
void map_entropy(Call& call) {
  auto& onnx = call.onnx;
  const Val x = floating_operand(call);
  const ElementType type = onnx.elem(x);
  const Val zero = onnx.scalar(type, 0);
  const Val value = onnx.emit("Neg", {onnx.emit("Mul", {x, onnx.emit("Log", {x})})});
  const Val of_zero = onnx.emit("Where", {onnx.emit("Equal", {x, zero}), zero, value});
  call.result(onnx.emit("Where", {onnx.emit("Less", {x, zero}), onnx.scalar(type, -infinity), of_zero}));
}

}  // namespace

void register_special(Mappings& mappings);
void register_special(Mappings& mappings) {
  mappings.add({"aten.i0.default", "aten.special_i0.default", "aten.special_modified_bessel_i0.default"},
               map_special<bessel_0>);
  mappings.add("aten.special_i0e.default", map_special<scaled_bessel_0>);
  mappings.add({"aten.special_i1.default", "aten.special_modified_bessel_i1.default"}, map_special<bessel_1>);
  mappings.add("aten.special_i1e.default", map_special<scaled_bessel_1>);
  mappings.add("aten.special_erfcx.default", map_special<scaled_erfc>);
  mappings.add("aten.special_ndtr.default", map_normal_share);
  mappings.add("aten.special_log_ndtr.default", map_special<log_normal_share>);
  mappings.add({"aten.erfinv.default", "aten.special_erfinv.default"}, map_special<inverse_erf>);
  mappings.add("aten.special_entr.default", map_entropy);
}

}  // namespace onnxkit::pt2
