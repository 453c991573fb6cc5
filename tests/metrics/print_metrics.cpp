// Prints as JSON what compare and outcome say of two .npy files, for tests/metrics/against_numpy.py.
//   print_metrics [--threads N] [--task TASK] [--void TYPE] A B [SCORES_A SCORES_B]
// --void names the element type of arrays for which numpy has no name.
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "libonnxkit/compare/metrics/metrics.h"
#include "libonnxkit/compare/outcome/outcome.h"
#include "libonnxkit/compare/plots.h"
#include "libonnxkit/wire/values/npy.h"

using namespace onnxkit;

namespace {

/// As Python's json module reads it.
std::string number(double x) {
  if (x != x) return "NaN";
  if (x - x != 0) return x > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{:.17g}", x);
}

template <class T>
std::string list(const std::vector<T>& items, auto&& text) {
  std::string all;
  for (const T& item : items) all += (all.empty() ? "" : ", ") + text(item);
  return "[" + all + "]";
}

std::string text(const Metrics& m) {
  const auto worst = list(m.worst, [](const WorstElement& element) {
    return fmt::format("[{}, {}, {}]", element.index, number(element.a), number(element.b));
  });
  std::string all = fmt::format(
      R"("elements": {}, "compared": {}, "equal": {}, "nan_mismatches": {}, "inf_mismatches": {}, "sign_flips": {})",
      m.elements, m.compared, m.equal, m.nan_mismatches, m.inf_mismatches, m.sign_flips);
  const std::pair<const char*, double> figures[] = {{"max_absolute", m.max_absolute},
                                                    {"mean_absolute", m.mean_absolute},
                                                    {"rmse", m.rmse},
                                                    {"max_relative", m.max_relative},
                                                    {"mean_relative", m.mean_relative},
                                                    {"range_relative", m.range_relative},
                                                    {"cosine", m.cosine},
                                                    {"max_ulps", m.max_ulps},
                                                    {"mean_ulps", m.mean_ulps},
                                                    {"alpha", m.alpha},
                                                    {"beta", m.beta},
                                                    {"r2", m.r2},
                                                    {"residual", m.residual}};
  for (const auto& [name, value] : figures) all += fmt::format(R"(, "{}": {})", name, number(value));
  return fmt::format(R"({{{}, "worst": {}}})", all, worst);
}

std::string text(const Outcome& outcome) {
  std::string figures;
  for (const auto& [name, value] : outcome.figures)
    figures += fmt::format(R"({}"{}": {})", figures.empty() ? "" : ", ", name, number(value));
  const auto triple = [](const auto& t) { return fmt::format("[{}, {}, {}]", t[0], t[1], t[2]); };
  return fmt::format(R"({{"same": {}, "figures": {{{}}}, "class_iou": {}, "confusion": {}}})", outcome.same, figures,
                     list(outcome.class_iou, number), list(outcome.confusion, triple));
}

std::string text(const Scatter& scatter) {
  const auto count = [](std::uint64_t n) { return fmt::format("{}", n); };
  return fmt::format(R"({{"a": {}, "b": {}, "lowest_exponent": {}, "histogram": {}, "zeros": {}}})",
                     list(scatter.a, number), list(scatter.b, number), scatter.lowest_exponent,
                     list(scatter.histogram, count), scatter.zeros);
}

template <class T>
std::string text(const Result<T>& result) {
  return result ? text(*result) : fmt::format(R"({{"error": "{}"}})", result.error().diagnostic.code);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 0;
  std::string task(no_task);
  wire::NpyOptions options;
  std::vector<Tensor> tensors;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--threads" && i + 1 < argc) {
      threads = std::atoi(argv[++i]);
    } else if (word == "--task" && i + 1 < argc) {
      task = argv[++i];
    } else if (word == "--void" && i + 1 < argc) {
      options.void_type = element_type_named(argv[++i]).value_or(ElementType::undefined);
    } else {
      const auto file = MappedFile::open(word);
      if (!file) return fmt::print(stderr, "{}: {}\n", word, file.error().diagnostic.message), 1;
      auto tensor = wire::read_npy(*file, options);
      if (!tensor) return fmt::print(stderr, "{}: {}\n", word, tensor.error().diagnostic.message), 1;
      tensors.push_back(*std::move(tensor));
    }
  }
  if (tensors.size() < 2) return fmt::print(stderr, "two files are needed\n"), 1;
  tensors.resize(4);
  const auto outcome = comparison::outcome(task, tensors[0], tensors[1], tensors[2], tensors[3], threads);
  fmt::print(R"({{"metrics": {}, "outcome": {}, "scatter": {}}})",
             text(comparison::compare(tensors[0], tensors[1], 10, threads)), text(outcome),
             text(comparison::scatter_of(tensors[0], tensors[1], threads)));
  return 0;
}
