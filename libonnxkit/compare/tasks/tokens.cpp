#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "libonnxkit/compare/metrics/elements.h"
#include "libonnxkit/compare/outcome/task_registry.h"
#include "libonnxkit/compare/outcome/tensor_forms.h"

namespace onnxkit::comparison {
namespace {

bool are_likely_tokens(const Tensor& tensor) {
  const bool are_ids = tensor.type() == ElementType::int32 || tensor.type() == ElementType::int64;
  return are_ids && (tensor.dims().size() == 1 || tensor.dims().size() == 2);
}

Result<Outcome> measure_tokens(const TaskInputs& inputs) {
  const Tensor &a = inputs.a, &b = inputs.b;
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
  outcome.same = same_tokens == size;
  outcome.figures = {{"token agreement", share(same_tokens, size)},
                     {"sequence agreement", share(same_sequences, sequences)}};
  if (first_difference) outcome.figures.emplace_back("first difference", static_cast<double>(*first_difference));
  return outcome;
}

std::string tokens_sentence(const Outcome& outcome) {
  if (outcome.same) return "the tokens are the same";
  return fmt::format("{:.3g} % of the tokens differ", 100 * (1 - figure(outcome, "token agreement").value_or(1)));
}

}  // namespace

void register_tokens(TaskRegistry& registry) {
  registry.add({.name = "tokens",
                .meaning = "integers: numbers of tokens, one sequence for each row",
                .is_likely = are_likely_tokens,
                .measure = measure_tokens,
                .sentence = tokens_sentence});
}

}  // namespace onnxkit::comparison
