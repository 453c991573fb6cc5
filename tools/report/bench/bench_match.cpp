#include "tools/report/bench/bench_match.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

namespace onnxkit::tools {
namespace {

/// In one spelling: "onnxruntime:./net.onnx" and "onnxruntime:net.onnx" are one model.
std::string bench_model_path(const std::string& word) {
  const std::size_t colon = word.substr(0, word.find('/')).rfind(':');
  const std::size_t path = colon == std::string::npos ? 0 : colon + 1;
  return word.substr(0, path) + std::filesystem::path(word.substr(path)).lexically_normal().string();
}

/// Of models that were measured beside each other each side has its own.
std::string bench_side_path(const Benchmark& benchmark, const BenchSideReport& side) {
  const std::string own = in_json(side.model);
  return bench_model_path(own.empty() || own == in_json(benchmark.model) ? benchmark.model : own);
}

/// Not the label, where something else is told: that names the model by as much of its path as the others beside it ask for. Of --threads the setting
/// tells.
std::string bench_runner(const Benchmark& benchmark, const BenchSideReport& side) {
  if (side.backend.empty()) return in_json(side.label);
  std::string text = in_json(side.backend);
  for (const auto& [option, value] : side.options)
    if (option != "threads" || !benchmark.threads) text += " " + in_json(option) + "=" + in_json(value);
  return text;
}

bool has_same_input_types(const Benchmark& a, const Benchmark& b) {
  const auto &a_types = a.report.input_types, &b_types = b.report.input_types;
  const auto is_same = [](const BenchInput& one, const BenchInput& other) {
    return in_json(one.name) == in_json(other.name) && one.type == other.type;
  };
  return a_types.empty() || b_types.empty() ||
         std::equal(a_types.begin(), a_types.end(), b_types.begin(), b_types.end(), is_same);
}

/// One for each side. A side that is there twice has its number.
std::vector<std::string> bench_keys(const Benchmark& benchmark) {
  std::vector<std::string> keys;
  std::unordered_map<std::string, int> numbers;
  for (const BenchSideReport& side : benchmark.report.sides) {
    const std::string key =
        fmt::format("{}\n{}\n{}\n{}", bench_side_path(benchmark, side), bench_runner(benchmark, side),
                    benchmark.batch.value_or(0), benchmark.threads.value_or(0));
    keys.push_back(fmt::format("{}\n{}", key, ++numbers[key]));
  }
  return keys;
}

/// How well one fits, the weightiest first.
std::array<bool, 5> bench_fit(const Benchmark& benchmark, const BenchMatch& other) {
  const BenchReport &here = benchmark.report, &there = other.benchmark->report;
  const auto has_same_runner = [&](const BenchSideReport& a, const BenchSideReport& b) {
    return bench_runner(benchmark, a) == bench_runner(benchmark, b);
  };
  return {in_json(here.processor) == in_json(there.processor), here.processors == there.processors,
          !other.side->failure && !other.side->rounds.empty(), benchmark.input_values == other.benchmark->input_values,
          std::equal(here.sides.begin(), here.sides.end(), there.sides.begin(), there.sides.end(), has_same_runner)};
}

}  // namespace

BenchSides::BenchSides(const std::vector<Benchmark>& benchmarks) {
  for (const Benchmark& one : benchmarks) {
    const std::vector<std::string> keys = bench_keys(one);
    for (std::size_t i = 0; i < keys.size(); ++i) sides_[keys[i]].push_back({&one, &one.report.sides[i]});
  }
}

BenchMatch BenchSides::find(const Benchmark& benchmark, const BenchSideReport& side) const {
  const auto at = static_cast<std::size_t>(&side - benchmark.report.sides.data());
  const auto found = sides_.find(bench_keys(benchmark)[at]);
  if (found == sides_.end()) return {};
  BenchMatch best;
  for (const BenchMatch& one : found->second) {
    if (!has_same_input_types(benchmark, *one.benchmark)) continue;
    if (!best.side || bench_fit(benchmark, one) > bench_fit(benchmark, best)) best = one;
  }
  return best;
}

bool has_failed_whole(const Benchmark& benchmark) { return benchmark.failure && !benchmark.report.cancelled; }

bool is_same_setting(const Benchmark& a, const Benchmark& b) {
  return bench_model_path(a.model) == bench_model_path(b.model) && a.batch == b.batch && a.threads == b.threads &&
         has_same_input_types(a, b);
}

}  // namespace onnxkit::tools
