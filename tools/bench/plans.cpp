#include "tools/bench/plans.h"
#include "tools/actions/input_set.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "onnxkit/diagnostic.h"
#include "onnxkit/dims.h"
#include "onnxkit/run.h"
#include "tools/model_file.h"
#include "tools/options/models.h"
#include "tools/options/sides.h"

namespace onnxkit::tools {
namespace {

/// A first axis that the model leaves open takes the batch; the names of such axes go to `named`.
Result<void> set_batch(const Model& model, std::int64_t batch, Model& declared,
                       std::map<std::string, std::int64_t>& named) {
  Model untouched = model;
  bool is_taken = false;
  std::optional<Error> refusal;
  for (const std::string& name : input_names(model)) {
    const DimSettings first{.sizes = {{name + "[0]", batch}}};
    const auto open = declare_dims(untouched, first, DeclaredSizes::keep);
    if (!open) {
      if (open.error().diagnostic.code == "usage") refusal = open.error();  // it declares a size
      continue;
    }
    if (open->contains(name + "[0]")) continue;  // no tensor of a known rank
    is_taken = true;
    const auto contradicted = [&](const std::string& dim) {
      return make_error("usage",
                        fmt::format("--batch {} contradicts --dim, which gives {} another size", batch, quote(dim)));
    };
    if (!declare_dims(declared, first, DeclaredSizes::keep)) return contradicted(name + "[0]");
    for (const auto& [dim, size] : *open)
      if (named.emplace(dim, size).first->second != size) return contradicted(dim);
  }
  if (is_taken) return {};
  return refusal ? *refusal : make_error("usage", "no input of the model has a first axis that could hold a batch");
}

Result<InputSet> inputs_for(const Model& model, const BenchArguments& arguments, std::optional<std::int64_t> batch) {
  Model declared = model;
  auto dims = declare_dims(declared, arguments.inference.dims, DeclaredSizes::keep);
  if (!dims) return dims.error();
  if (batch) {
    if (auto set = set_batch(model, *batch, declared, *dims); !set) return set.error();
  }
  auto given = read_given(declared, arguments.inputs.inputs, arguments.inputs);
  if (!given) return given.error();
  RunOptions options;
  options.dims = *std::move(dims);
  options.context = arguments.bench.context;
  options.seed = arguments.bench.seed;
  options.stop = arguments.bench.stop;
  options.make_up_inputs = !arguments.inputs.given_only;
  auto complete = complete_inputs(declared, *std::move(given), options);
  if (!complete) return complete.error();
  if (auto checked = check_complete(declared, complete->inputs, arguments.inputs); !checked) return checked.error();
  if (auto checked = check_inputs(model, complete->inputs); !checked) return checked.error();
  return input_set(arguments.inputs.inputs.empty() ? "generated" : "given", *std::move(complete));
}

/// Of a word that is no file, but a backend: that -b takes one word.
Error with_commas(Error error, const std::string& model, const BenchArguments& arguments) {
  Diagnostic& told = error.diagnostic;
  if (told.code == "cannot-read" && told.help.empty() && !arguments.backends.empty() &&
      check_backend(model, {}, arguments.bench.context))
    told.help = fmt::format("commas stand between backends: -b {},{}", arguments.backends.back(), model);
  return error;
}

/// Each once, in their order: a setting that is named twice is measured once.
std::vector<std::optional<std::int64_t>> settings(const std::vector<std::int64_t>& given) {
  if (given.empty()) return {std::nullopt};
  std::vector<std::optional<std::int64_t>> each;
  for (const std::int64_t one : given)
    if (std::find(each.begin(), each.end(), one) == each.end()) each.emplace_back(one);
  return each;
}

/// The models that are sides of one comparison; one that is named twice is measured once.
std::vector<std::vector<std::string>> comparisons(const std::vector<std::string>& models) {
  if (are_side_by_side(models)) return {models};
  std::vector<std::vector<std::string>> each;
  std::set<std::filesystem::path> known;
  for (const std::string& model : models)
    if (known.insert(std::filesystem::path(model).lexically_normal()).second) each.push_back({model});
  return each;
}

/// Those of -b, and those that models name.
Result<std::vector<BackendWord>> named_backends(const BenchArguments& arguments) {
  std::vector<std::string> words = arguments.backends;
  bool all_have_own = true;
  for (const std::string& model : arguments.models) {
    if (arguments.no_models.contains(model)) {
      all_have_own = false;
      continue;
    }
    if (auto checked = check_model_word(model); !checked) return checked.error();
    if (const std::string own = split_model(model).first; !own.empty())
      words.push_back(own);
    else
      all_have_own = false;
  }
  if (all_have_own && !arguments.backends.empty())
    return make_error("usage", "--backends runs ONNX models that name no backend, and every model here names one");
  std::vector<BackendWord> backends;
  for (const std::string& word : words) {
    auto backend = parse_backend(word);
    if (!backend) return backend.error();
    backends.push_back(*std::move(backend));
  }
  return backends;
}

std::set<std::string> names_of(const std::vector<BackendWord>& named, const BenchArguments& arguments) {
  std::set<std::string> names;
  for (const BackendWord& backend : named) names.insert(backend.name);
  if (arguments.backends.empty()) {
    const std::size_t together = are_side_by_side(arguments.models) ? arguments.models.size() : 1;
    for (std::string& name : usual_backends(together)) names.insert(std::move(name));
  }
  return names;
}

}  // namespace

void name_backends(BenchArguments& arguments) {
  const auto with_own_name = [&](const std::string& word) {
    const std::size_t end = std::min(word.find(':'), word.size());
    return backend_name(word.substr(0, end), arguments.bench.context) + word.substr(end);
  };
  for (std::string& word : arguments.backends) word = with_own_name(word);
  for (std::string& word : arguments.models)
    if (!split_model(word).first.empty()) word = with_own_name(word);
}

bool are_side_by_side(const std::vector<std::string>& models) {
  return std::any_of(models.begin(), models.end(),
                     [](const std::string& model) { return !split_model(model).first.empty(); });
}

std::vector<BenchPlan> bench_plans(const BenchArguments& arguments) {
  std::vector<BenchPlan> plans;
  for (const std::vector<std::string>& models : comparisons(arguments.models)) {
    for (const auto batch : settings(arguments.batches)) {
      for (const auto threads : settings(arguments.threads)) plans.push_back({models, batch, threads});
    }
  }
  return plans;
}

Result<void> check_bench_streams(const BenchArguments& arguments) {
  constexpr std::string_view stream = "-";
  const auto& words = arguments.inputs.inputs;
  const auto is_stream = [&](const std::string& word) { return word == stream || word.ends_with("=-"); };
  const auto inputs = static_cast<std::size_t>(std::count_if(words.begin(), words.end(), is_stream));
  std::size_t reads = arguments.baseline == stream ? 1 : 0;
  for (const BenchPlan& plan : bench_plans(arguments)) {
    reads += inputs;
    for (const std::string& model : plan.models) reads += split_model(model).second == stream ? 1 : 0;
  }
  return reads > 1 ? make_error("usage", "standard input can only be read once") : Result<void>();
}

std::vector<std::string> backend_names(const BenchArguments& arguments) {
  const auto named = named_backends(arguments);
  if (!named) return {};
  const auto names = names_of(*named, arguments);
  return {names.begin(), names.end()};
}

Result<ThreadOptions> check_backends(const BenchArguments& arguments) {
  const auto named = named_backends(arguments);
  if (!named) return named.error();
  for (const BackendWord& backend : *named) {
    if (auto checked = check_backend(backend.name, backend.options, arguments.bench.context); !checked)
      return checked.error();
    for (const std::int64_t threads : arguments.threads) {
      if (auto checked = check_threads(threads, backend.name, backend.options, "--threads"); !checked)
        return checked.error();
    }
  }
  if (arguments.threads.empty()) return ThreadOptions();
  return thread_options(names_of(*named, arguments), arguments.bench.context, "--threads");
}

void expand_bench_models(BenchArguments& arguments) {
  std::vector<std::string> models;
  for (const std::string& word : arguments.models) {
    if (!split_model(word).first.empty()) {
      models.push_back(word);
      continue;
    }
    for (ModelInput& input : expand_models({&word, 1})) {
      if (input.fault) arguments.no_models.emplace(input.path, *std::move(input.fault));
      models.push_back(std::move(input.path));
    }
  }
  arguments.models = std::move(models);
}

Result<BenchSetup> bench_setup(const BenchPlan& plan, const BenchArguments& arguments, const ThreadOptions& threads) {
  for (const std::string& model : plan.models) {
    const auto fault = arguments.no_models.find(model);
    if (fault == arguments.no_models.end()) continue;
    Error error = make_error("cannot-read", fault->second.message);
    error.diagnostic = fault->second;
    return error;
  }
  auto sides = read_sides(plan.models, arguments.backends);
  if (!sides) return with_commas(in_file(sides.error(), plan.models.front()), plan.models.front(), arguments);
  BenchSetup setup{*std::move(sides), {}, {}};
  if (plan.threads) setup.warnings = set_threads(setup.sides, *plan.threads, threads, "--threads");
  const auto with_model =
      std::find_if(setup.sides.begin(), setup.sides.end(), [](const DiffSide& side) { return side.model; });
  if (with_model == setup.sides.end())
    return make_error("usage", "at least one side must be an ONNX model, which defines the inputs");
  auto inputs = inputs_for(*with_model->model, arguments, plan.batch);
  if (!inputs) return in_file(inputs.error(), with_model->model->path().string());
  setup.inputs = *std::move(inputs);
  return setup;
}

}  // namespace onnxkit::tools
