#include <algorithm>
#include <array>
#include <optional>

#include "libonnxkit/compare/metrics/elements.h"
#include "libonnxkit/compare/tasks/outcome.h"
#include "libonnxkit/compare/tasks/tensor_forms.h"

namespace onnxkit::comparison {

Result<Outcome> tokens_outcome(const Tensor& a, const Tensor& b) {
  for (const Tensor* tensor : {&a, &b}) {
    if (!is_integer(tensor->type())) return undefined_for_type("tokens", *tensor);
  }
  const auto size = static_cast<std::size_t>(a.size());
  const std::size_t length = a.dims().empty() ? 1 : static_cast<std::size_t>(a.dims().back());
  const std::size_t sequences = length == 0 ? 0 : size / length;
  const Elements of_a(a), of_b(b);
  std::array<long double, Elements::most> x, y;
  std::size_t same_tokens = 0, same_sequences = 0;
  std::optional<std::size_t> first_difference;
  for (std::size_t row = 0; row < sequences; ++row) {
    std::size_t same = 0;
    for (std::size_t at = 0; at < length; at += Elements::most) {
      const std::size_t count = std::min(Elements::most, length - at);
      of_a.read(row * length + at, std::span(x.data(), count));
      of_b.read(row * length + at, std::span(y.data(), count));
      for (std::size_t i = 0; i < count; ++i) {
        if (x[i] == y[i]) {
          ++same;
        } else {
          first_difference = std::min(first_difference.value_or(at + i), at + i);
        }
      }
    }
    same_tokens += same;
    same_sequences += same == length ? 1 : 0;
  }
  const auto share = [](std::size_t part, std::size_t of) {
    return of == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(of);
  };
  Outcome outcome;
  outcome.task = Task::tokens;
  outcome.same = same_tokens == size;
  outcome.figures = {{"token agreement", share(same_tokens, size)},
                     {"sequence agreement", share(same_sequences, sequences)}};
  if (first_difference) outcome.figures.emplace_back("first difference", static_cast<double>(*first_difference));
  return outcome;
}

}  // namespace onnxkit::comparison
