#include <fmt/core.h>

#include <array>
#include <cmath>
#include <limits>

#include "libonnxkit/compare/metrics/elements.h"
#include "libonnxkit/compare/outcome/task_registry.h"

namespace onnxkit::comparison {
namespace {

/// 10 log10 of the mean square of a over that of b - a, elements that are NaN or infinite on either side left out.
Result<Outcome> measure_signal(const TaskInputs& inputs) {
  const Elements of_a(inputs.a), of_b(inputs.b);
  std::array<double, Elements::most> a, b;
  double signal = 0, noise = 0;
  const auto size = static_cast<std::size_t>(inputs.a.size());
  for (std::size_t at = 0; at < size; at += Elements::most) {
    const std::size_t count = std::min(Elements::most, size - at);
    of_a.read(at, std::span(a.data(), count));
    of_b.read(at, std::span(b.data(), count));
    for (std::size_t i = 0; i < count; ++i) {
      const double d = b[i] - a[i];
      if (!std::isfinite(d)) continue;
      signal += a[i] * a[i];
      noise += d * d;
    }
  }
  Outcome outcome;
  outcome.same = noise == 0;
  // "lowest": over several sets of inputs the lowest ratio is shown.
  outcome.figures = {{"lowest signal to noise in dB",
                      noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise)}};
  return outcome;
}

std::string signal_sentence(const Outcome& outcome) {
  if (outcome.same) return "the signal is the same";
  return fmt::format("the noise is {:.3g} dB below the signal",
                     figure(outcome, "lowest signal to noise in dB").value_or(0));
}

}  // namespace

void register_signal(TaskRegistry& registry) {
  registry.add({.name = "signal",
                .meaning = "samples of a signal, of any shape; never guessed",
                .measure = measure_signal,
                .sentence = signal_sentence});
}

}  // namespace onnxkit::comparison
