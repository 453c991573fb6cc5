#include "onnxkit/diff.h"

#include <memory>

#include "bindings/c/handles.h"
#include "bindings/c/option_reader.h"
#include "onnxkit/dims.h"
#include "onnxkit/run.h"
#include "tools/actions/backend_word.h"
#include "tools/actions/input_set.h"
#include "tools/report/diff/diff.h"

namespace onnxkit::c {
namespace {

using nlohmann::json;

struct Comparison {
  std::vector<std::string> backends, files;
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
  options->read("backends", comparison.backends);
  options->read("files", comparison.files);
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

/// A model on a backend.
Result<DiffSide> side_on(const std::shared_ptr<const Model>& model, const std::string& word) {
  const auto backend = tools::parse_backend(word);
  if (!backend) return backend.error();
  DiffSide side;
  side.backend = backend->name;
  side.options = backend->options;
  side.label = tools::label_of(backend->name, backend->options);
  side.model = model;
  return side;
}

/// BACKEND:FILE, a file of another framework.
Result<DiffSide> side_of_file(const std::string& word) {
  const auto [name, path] = tools::split_model(word);
  if (name.empty()) return make_error("usage", quote(word) + " names no backend, as torch:net.pt2 does");
  auto side = side_on(nullptr, name);
  if (!side) return side;
  const auto known = format_of_path(path);
  side->path = path;
  side->format = known ? known->name : "onnx";
  return side;
}

Result<std::vector<DiffSide>> sides_of(const std::vector<std::shared_ptr<const Model>>& models,
                                       const Comparison& comparison) {
  std::vector<DiffSide> sides;
  const auto words = comparison.backends.empty() && comparison.files.empty() ? tools::usual_backends(models.size())
                     : comparison.backends.empty()                           ? std::vector<std::string>{"reference"}
                                                                             : comparison.backends;
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (const std::string& word : words) {
      auto side = side_on(models[i], word);
      if (!side) return side.error();
      if (models.size() > 1) side->label = "model " + std::to_string(i) + " on " + side->label;
      sides.push_back(*std::move(side));
    }
  }
  for (const std::string& word : comparison.files) {
    auto side = side_of_file(word);
    if (!side) return side.error();
    sides.push_back(*std::move(side));
  }
  return sides;
}

/// A set of inputs for each that is given, else as many as are asked for.
Result<std::vector<InputSet>> sets_of(const Model& model, const std::vector<std::vector<NamedValue>>& given,
                                      const Comparison& comparison) {
  RunOptions run;
  const auto sized = sized_model(model, comparison.dims, DeclaredSizes::keep, run.dims);
  if (!sized) return sized.error();
  run.context = comparison.options.context;
  run.stop = comparison.options.stop;
  std::vector<InputSet> sets;
  const std::size_t count = given.empty() ? comparison.samples : given.size();
  for (std::size_t i = 0; i < count; ++i) {
    run.seed = comparison.options.seed + i;
    std::string name = given.empty() ? "generated, seed " + std::to_string(run.seed) : "given " + std::to_string(i);
    auto inputs = complete_inputs(*sized, given.empty() ? std::vector<NamedValue>() : given[i], run);
    if (!inputs) return inputs.error();
    sets.push_back(tools::input_set(std::move(name), *std::move(inputs)));
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
    if (model_count == 0 || !models)
      return make_error("usage", "at least one model is needed, which defines the inputs");
    std::vector<std::shared_ptr<const Model>> owned;
    for (std::size_t i = 0; i < model_count; ++i) {
      if (auto there = needs(models[i], "models[i]"); !there) return there;
      owned.push_back(std::make_shared<const Model>(models[i]->model));
    }
    std::vector<std::vector<NamedValue>> given;
    for (std::size_t i = 0; i < set_count; ++i) {
      if (auto there = sets ? needs(sets[i], "sets[i]") : needs(sets, "sets"); !there) return there;
      given.push_back(sets[i]->list);
    }
    const auto comparison = comparison_of(options, stop);
    if (!comparison) return comparison.error();
    const auto sides = sides_of(owned, *comparison);
    if (!sides) return sides.error();
    const auto inputs = sets_of(*owned.front(), given, *comparison);
    if (!inputs) return inputs.error();
    const auto compared = diff(*sides, *inputs, comparison->options);
    if (!compared) return compared.error();
    set(report, tools::diff_json(*compared));
    return {};
  });
}
