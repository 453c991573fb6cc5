#include "onnxkit/diff.h"

#include "bindings/c/handles.h"
#include "bindings/c/option_reader.h"
#include "bindings/c/sides.h"
#include "tools/report/diff/diff.h"

namespace onnxkit::c {
namespace {

using nlohmann::json;

struct Comparison {
  SideOptions sides;
  DimSettings dims;
  std::uint64_t samples = 1;
  DiffOptions options;
};

void read_tolerances(OptionReader& options, std::map<std::string, OutputTolerance>& tolerances) {
  const json* member = options.find("tolerances");
  if (!member) return;
  constexpr const char* form = R"(an object with {"output": {"rtol": 1e-3, "atol": 1e-5}})";
  if (!member->is_object()) return options.wrong("tolerances", form);
  for (const auto& [output, values] : member->items()) {
    if (!values.is_object()) return options.wrong("tolerances", form);
    for (const auto& [name, number] : values.items()) {
      if ((name != "rtol" && name != "atol") || !number.is_number() || !(number.get<double>() >= 0))
        return options.wrong("tolerances", form);
      (name == "rtol" ? tolerances[output].relative : tolerances[output].absolute) = number.get<double>();
    }
  }
}

Result<Comparison> comparison_of(const char* text, const onnxkit_stop* stop) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  Comparison comparison;
  DiffOptions& diff = comparison.options;
  comparison.sides = side_options_of(*options);
  options->read("samples", comparison.samples);
  comparison.dims = dims_of(*options);
  options->read("seed", diff.seed);
  options->read("rtol", diff.tolerance.relative);
  options->read("atol", diff.tolerance.absolute);
  read_tolerances(*options, diff.tolerances);
  options->read("tasks", diff.tasks);
  options->read("scores", diff.scores);
  options->read("names", diff.names);
  options->read("layers", diff.layers);
  options->read("bisect", diff.bisect);
  options->read("passes", diff.passes);
  options->read("repeat", diff.repeat);
  options->read("warmup", diff.warmup);
  options->read("threads", diff.limits.threads);
  options->read("memory_bytes", diff.limits.memory_bytes);
  options->read("allow_outside_data", diff.allow_outside_data);
  auto context = worker_context_of(*options);
  if (!context) return context.error();
  if (diff.repeat < 1) return make_error("usage", "the option \"repeat\" must be 1 or more");
  diff.context = *std::move(context);
  diff.stop = token_of(stop);
  return comparison;
}

/// A set of inputs for each that is given, else as many as are asked for.
Result<std::vector<InputSet>> sets_of(const Model& model, const std::vector<std::vector<NamedValue>>& given,
                                      const Comparison& comparison) {
  InputOptions completing{comparison.dims, 0, comparison.options.context, comparison.options.stop};
  std::vector<InputSet> sets;
  const std::size_t count = given.empty() ? comparison.samples : given.size();
  for (std::size_t i = 0; i < count; ++i) {
    completing.seed = comparison.options.seed + i;
    std::string name =
        given.empty() ? "generated, seed " + std::to_string(completing.seed) : "given " + std::to_string(i);
    auto set = set_of(model, std::move(name), given.empty() ? std::vector<NamedValue>() : given[i], completing);
    if (!set) return set.error();
    sets.push_back(*std::move(set));
  }
  return sets;
}

}  // namespace

}  // namespace onnxkit::c

using namespace onnxkit;
using namespace onnxkit::c;

extern "C" onnxkit_error* onnxkit_diff(const onnxkit_model* const* models, size_t model_count,
                                       const onnxkit_values* const* sets, size_t set_count, const char* options,
                                       const onnxkit_stop* stop, onnxkit_text** report) {
  return guarded([&]() -> Result<void> {
    const auto owned = models_of(models, model_count);
    if (!owned) return owned.error();
    std::vector<std::vector<NamedValue>> given;
    for (std::size_t i = 0; i < set_count; ++i) {
      if (auto there = sets ? needs(sets[i], "sets[i]") : needs(sets, "sets"); !there) return there;
      given.push_back(sets[i]->list);
    }
    const auto comparison = comparison_of(options, stop);
    if (!comparison) return comparison.error();
    const auto sides = sides_of(*owned, comparison->sides);
    if (!sides) return sides.error();
    const auto inputs = sets_of(*owned->front(), given, *comparison);
    if (!inputs) return inputs.error();
    const auto compared = diff(*sides, *inputs, comparison->options);
    if (!compared) return compared.error();
    set(report, tools::diff_json(*compared));
    return {};
  });
}
