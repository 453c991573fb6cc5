// Windows that weigh a part of a signal. https://docs.pytorch.org/docs/stable/torch.html#spectral-ops
#include <cmath>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;

constexpr double pi = 3.14159265358979323846;

/// A periodic window is the beginning of a symmetric one that has an element more. `weight` is given a place from 0 to 1.
template <class Weight>
void give_window(Call& call, const Weight& weight) {
  const std::int64_t length = call.integer("window_length", 0);
  constexpr std::int64_t longest = 1 << 20;
  if (length < 0 || length > longest) return call.refuse("the length of the window is out of range");
  const ElementType declared = call.declared_elem(), wanted = call.elem("dtype", declared);
  const ElementType type = wanted == ElementType::undefined ? ElementType::float32 : wanted;
  if (!is_floating(type)) return call.refuse("a window of a type that is not floating");
  const bool is_periodic = call.flag("periodic", true);
  const auto last = static_cast<double>(is_periodic ? length : length - 1);
  std::vector<double> weights;
  for (std::int64_t i = 0; i < length; ++i) weights.push_back(length == 1 ? 1 : weight(static_cast<double>(i) / last));
  call.result(call.onnx.reals(type, {length}, weights));
}

void map_hann(Call& call) {
  give_window(call, [](double at) { return 0.5 - 0.5 * std::cos(2 * pi * at); });
}

void map_hamming(Call& call) {
  const double alpha = call.real("alpha", 0.54), beta = call.real("beta", 0.46);
  give_window(call, [&](double at) { return alpha - beta * std::cos(2 * pi * at); });
}

void map_blackman(Call& call) {
  give_window(call, [](double at) { return 0.42 - 0.5 * std::cos(2 * pi * at) + 0.08 * std::cos(4 * pi * at); });
}

void map_bartlett(Call& call) {
  give_window(call, [](double at) { return 1 - std::abs(2 * at - 1); });
}

/// The modified Bessel function of the first kind and order 0, by its series.
double bessel_i0(double x) {
  double sum = 1, term = 1;
  constexpr int most_terms = 1000;
  for (int k = 1; k < most_terms && term > sum * 1e-17; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

void map_kaiser(Call& call) {
  const double beta = call.real("beta", 12);
  constexpr double largest = 500;  // the function grows as e^beta
  if (!(std::abs(beta) <= largest)) return call.refuse("the shape of the window is out of range");
  give_window(call, [&](double at) {
    const double from_middle = 2 * at - 1;
    return bessel_i0(beta * std::sqrt(std::max(0.0, 1 - from_middle * from_middle))) / bessel_i0(beta);
  });
}

}  // namespace

void register_window(Mappings& mappings);
void register_window(Mappings& mappings) {
  mappings.add({"aten.hann_window.default", "aten.hann_window.periodic"}, map_hann);
  mappings.add({"aten.hamming_window.default", "aten.hamming_window.periodic", "aten.hamming_window.periodic_alpha",
                "aten.hamming_window.periodic_alpha_beta"},
               map_hamming);
  mappings.add({"aten.blackman_window.default", "aten.blackman_window.periodic"}, map_blackman);
  mappings.add({"aten.bartlett_window.default", "aten.bartlett_window.periodic"}, map_bartlett);
  mappings.add({"aten.kaiser_window.default", "aten.kaiser_window.periodic", "aten.kaiser_window.beta"}, map_kaiser);
}

}  // namespace onnxkit::pt2
