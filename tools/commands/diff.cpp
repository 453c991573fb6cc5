#include "onnxkit/diff.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>

#include "libonnxkit/base/system/atomic_file.h"
#include "onnxkit/run.h"
#include "tools/actions/input_set.h"
#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/model_file.h"
#include "tools/options/bytes.h"
#include "tools/options/choice.h"
#include "tools/options/diff_files.h"
#include "tools/options/inference.h"
#include "tools/options/inputs.h"
#include "tools/options/number.h"
#include "tools/options/output.h"
#include "tools/options/short_paths.h"
#include "tools/options/sides.h"
#include "tools/options/workers.h"
#include "tools/progress.h"
#include "tools/report/diagnostics.h"
#include "tools/report/diff/diff.h"

namespace onnxkit::tools {
namespace {

namespace fs = std::filesystem;

struct DiffArguments {
  std::vector<std::string> models;
  std::vector<std::string> backends;
  std::string self;
  InputOptions inputs;
  std::vector<std::string> sets;
  std::uint64_t samples = 1;
  bool recorded = false;
  std::string report;
  std::vector<std::string> tolerances, tasks, scores, names, axes;
  DiffOptions diff;
  WorkerOptions workers;
  InferenceOptions inference;
  OutputOptions format;
  Notes notes = Notes::usual;
};

ErrorReporter reporter(const DiffArguments& arguments) { return {"diff", arguments.format.format == Format::json}; }

/// A set of inputs before what it lacks is made up.
struct GivenSet {
  std::string path;
  std::string suffix;  ///< "[3]" of one of several in a file
  std::vector<NamedValue> values;
  fs::path folder;  ///< where recorded outputs may be
};

/// A model without inputs has recorded outputs alone.
bool is_set_folder(const fs::path& path) {
  std::error_code fault;
  return fs::is_directory(path, fault) &&
         (fs::exists(path / "input_0.pb", fault) || fs::exists(path / "output_0.pb", fault));
}

/// Folders test_data_set_* in a folder, by name.
std::vector<fs::path> sets_below(const fs::path& path) {
  std::vector<fs::path> inner;
  std::error_code fault;
  for (const auto& entry : fs::directory_iterator(path, fault)) {
    if (entry.is_directory(fault) && entry.path().filename().string().starts_with("test_data_set_"))
      inner.push_back(entry.path());
  }
  std::sort(inner.begin(), inner.end());
  return inner;
}

Result<void> add_archive(const Model& model, const fs::path& path, std::uint64_t most_bytes,
                         std::vector<GivenSet>& sets) {
  auto samples = read_samples(model, path, most_bytes);
  if (!samples) return samples.error();
  const bool is_one = samples->size() == 1;
  for (std::size_t i = 0; i < samples->size(); ++i) {
    sets.push_back({path.string(), is_one ? "" : "[" + std::to_string(i) + "]", std::move((*samples)[i]), {}});
  }
  return {};
}

/// What the words of --set mean: folders of one set, folders of several, .npz files of one or of several.
Result<std::vector<GivenSet>> given_sets(const Model& model, const std::vector<std::string>& words,
                                         std::uint64_t most_bytes) {
  std::vector<GivenSet> sets;
  for (const std::string& word : words) {
    std::error_code fault;
    if (!fs::is_directory(word, fault)) {
      if (auto added = add_archive(model, word, most_bytes, sets); !added) return added.error();
      continue;
    }
    const std::vector<fs::path> folders = is_set_folder(word) ? std::vector<fs::path>{word} : sets_below(word);
    if (folders.empty())
      return make_error("cannot-read",
                        "the folder " + quote(word) + " contains neither input_0.pb nor folders test_data_set_*");
    for (const fs::path& folder : folders) {
      auto values = read_inputs(model, folder);
      if (!values) return values.error();
      sets.push_back({folder.string(), "", *std::move(values), folder});
    }
  }
  return sets;
}

Result<InputSet> completed_set(const Model& model, std::string name, std::vector<NamedValue> given,
                               const DiffArguments& arguments, std::uint64_t seed) {
  RunOptions options;
  options.make_up_inputs = !arguments.inputs.given_only;
  Model declared = model;
  auto dims = declare_dims(declared, arguments.inference.dims, DeclaredSizes::keep);
  if (!dims) return dims.error();
  options.dims = *std::move(dims);
  options.context = arguments.diff.context;
  options.seed = seed;
  auto inputs = complete_inputs(declared, std::move(given), options);
  if (!inputs) return inputs.error();
  return input_set(std::move(name), *std::move(inputs));
}

/// One set of inputs for each that --set names, else --samples sets of what --input gives and what is made up. `folders`: of the former, and
/// of --input.
Result<std::vector<InputSet>> read_sets(const Model& model, const DiffArguments& arguments,
                                        std::vector<fs::path>& folders) {
  auto given = read_given(model, arguments.inputs.inputs, arguments.inputs);
  if (!given) return given.error();
  auto read = given_sets(model, arguments.sets, arguments.inputs.memory_bytes);
  if (!read) return read.error();
  std::vector<InputSet> sets;
  const auto add = [&](std::string name, std::vector<NamedValue> values, std::uint64_t seed) -> Result<void> {
    auto set = completed_set(model, std::move(name), std::move(values), arguments, seed);
    if (!set) return set.error();
    sets.push_back(*std::move(set));
    return {};
  };
  std::vector<std::string> paths;
  for (const GivenSet& set : *read) paths.push_back(set.path);
  const std::vector<std::string> names = short_paths(paths);
  for (std::size_t i = 0; i < read->size(); ++i) {
    GivenSet& set = (*read)[i];
    set.values.insert(set.values.end(), given->begin(), given->end());
    folders.push_back(set.folder);
    if (auto added = add(names[i] + set.suffix, std::move(set.values), arguments.diff.seed); !added)
      return added.error();
  }
  if (!read->empty()) return sets;
  for (const std::string& word : arguments.inputs.inputs) {
    if (is_set_folder(word)) folders.emplace_back(word);
  }
  const std::string prefix = arguments.inputs.inputs.empty() ? "generated, seed " : "given, seed ";
  for (std::uint64_t i = 0; i < arguments.samples; ++i) {
    const std::uint64_t seed = arguments.diff.seed + i;
    if (auto added = add(prefix + std::to_string(seed), *given, seed); !added) return added.error();
  }
  return sets;
}

/// A set without a folder has no recorded answer.
Result<DiffSide> recorded_side(const Model& model, const std::vector<fs::path>& folders) {
  DiffSide side;
  side.backend = side.label = "recorded";
  const auto has_folder = [](const fs::path& folder) { return !folder.empty(); };
  if (std::none_of(folders.begin(), folders.end(), has_folder))
    return make_error("usage", "--recorded requires folders with outputs: --set DIR or --input DIR");
  for (const fs::path& folder : folders) {
    auto& answers = side.answers.emplace_back();
    if (folder.empty()) continue;
    auto outputs = read_outputs(model, folder);
    if (!outputs) return outputs.error();
    answers = *std::move(outputs);
  }
  return side;
}

Outcome print(const DiffReport& report, const DiffArguments& arguments) {
  const bool is_text = arguments.format.format == Format::text;
  std::fputs((is_text ? diff_text(report, color_on(arguments.format.color, stdout)) : diff_json(report)).c_str(),
             stdout);
  if (!arguments.report.empty()) {
    const auto written = replace_file(arguments.report, diff_html(report));
    if (!written) return report_error(written.error());
  }
  for (const SideReport& side : report.sides) {
    if (side.repro_failure) return report_error(*side.repro_failure);
  }
  if (!report.compared || report.cancelled) return Outcome::failure;
  const bool any_failed = std::any_of(report.sides.begin(), report.sides.end(),
                                      [](const SideReport& side) { return side.failure.has_value(); });
  return any_failed || is_finding(report.verdict) ? Outcome::finding : Outcome::ok;
}

Result<std::vector<DiffSide>> sides_of(const DiffArguments& arguments) {
  if (arguments.self.empty()) return read_sides(arguments.models, arguments.backends);
  if (arguments.models.size() > 1) return make_error("usage", "--self takes one model");
  return read_self(arguments.models.front(), arguments.self, {.context = arguments.diff.context});
}

/// Before anything runs: what --report and --repro may not replace.
Result<void> check_files(const DiffArguments& arguments, const std::vector<DiffSide>& sides) {
  if (!arguments.report.empty()) {
    if (auto checked = check_report(arguments.report); !checked) return checked;
  }
  if (arguments.diff.repro.empty()) return {};
  std::vector<fs::path> inputs(arguments.sets.begin(), arguments.sets.end());
  for (const std::string& word : arguments.inputs.inputs) inputs.emplace_back(word.substr(word.find('=') + 1));
  for (const DiffSide& side : sides) inputs.push_back(side.model ? side.model->path() : side.path);
  return check_repro(arguments.diff.repro, inputs);
}

Outcome run_diff(const CLI::App& command, DiffArguments& arguments) {
  auto context = Context::make({.schemas = arguments.inference.schemas, .workers = worker_settings(arguments.workers)});
  if (!context) return reporter(arguments)(context.error());
  arguments.diff.context = *std::move(context);
  arguments.inputs.memory_bytes = arguments.diff.limits.memory_bytes;
  auto sides = sides_of(arguments);
  if (!sides) return reporter(arguments)(sides.error());
  if (auto checked = check_files(arguments, *sides); !checked) return reporter(arguments)(checked.error());
  std::vector<std::string> backends;
  for (const DiffSide& side : *sides) backends.push_back(side.backend);
  warn_of_unused_limits(command, backends, arguments.diff.context);
  const auto with_model = std::find_if(sides->begin(), sides->end(), [](const DiffSide& side) { return side.model; });
  if (with_model == sides->end())
    return reporter(arguments)(
        make_error("usage", "at least one side must be an ONNX model, which defines the inputs"));
  const std::shared_ptr<const Model> model = with_model->model;
  std::vector<fs::path> folders;
  auto sets = read_sets(*model, arguments, folders);
  if (!sets) return reporter(arguments)(sets.error());
  if (arguments.recorded) {
    auto side = recorded_side(*model, folders);
    if (!side) return reporter(arguments)(side.error());
    sides->push_back(*std::move(side));
  }
  if (auto taken = take_names(arguments.tolerances, arguments.tasks, arguments.scores, arguments.names, arguments.axes,
                              arguments.diff);
      !taken)
    return reporter(arguments)(taken.error());
  DiffOptions& options = arguments.diff;
  options.passes = !arguments.self.empty();
  const auto report = [&] {
    const Interrupt interrupt;
    options.stop = interrupt.token();
    // Each side is loaded, then runs on each set, and all but the first are compared.
    Progress progress("comparing", sides->size() + sets->size() * (2 * sides->size() - 1), arguments.notes);
    options.on_step = [&progress](std::string_view step) { progress.next(without_controls(step)); };
    return diff(*sides, *sets, options);
  }();
  if (!report) return reporter(arguments)(report.error());
  return print(*report, arguments);
}

std::string task_words() {
  std::string words;
  for (const TaskInfo& task : tasks()) words += (words.empty() ? "" : ", ") + std::string(task.name);
  return words;
}

void add_criteria(CLI::App& command, DiffArguments& arguments) {
  command
      .add_option("--rtol", arguments.diff.tolerance.relative,
                  "Relative tolerance; with --atol, replaces the noise floor")
      ->type_name("X")
      ->check(not_negative);
  command.add_option("--atol", arguments.diff.tolerance.absolute, "Absolute tolerance")
      ->type_name("X")
      ->check(not_negative);
  command.add_option("--tolerance", arguments.tolerances, "Tolerance of one output; may be repeated")
      ->type_name("NAME=ATOL[,RTOL]")
      ->allow_extra_args(false);
  command.add_option("--task", arguments.tasks, "Task of an output: " + task_words() + " or none; may be repeated")
      ->type_name("NAME=TASK")
      ->allow_extra_args(false);
  command
      .add_option("--scores", arguments.scores, "Output with the scores for another output's boxes; may be repeated")
      ->type_name("BOXES=SCORES")
      ->allow_extra_args(false);
  command
      .add_option("--name", arguments.names,
                  "Name of an input or output of the first side on the other sides; may be repeated")
      ->type_name("NAME=OTHER")
      ->allow_extra_args(false);
  command
      .add_option(
          "--axes", arguments.axes,
          "Layout of an input or output in models other than the first: nhwc, nchw, or same as the first; default: "
          "inferred from the shapes if only one fits. May be repeated")
      ->type_name("NAME=WHERE")
      ->allow_extra_args(false);
  command
      .add_option_function<std::vector<std::string>>(
          "--profile",
          [&arguments](const std::vector<std::string>& words) {
            for (const std::string& word : words) {
              const auto profile = profile_named(word);
              if (!profile)
                throw CLI::ValidationError(
                    "--profile", quote(word) + " is not one of float32, Winograd, TF32, float16, bfloat16, fp8, int8");
              arguments.diff.profiles.push_back(*profile);
            }
            std::sort(arguments.diff.profiles.begin(), arguments.diff.profiles.end());
          },
          "Arithmetic whose rounding may explain a deviation; default: float32 and the arithmetic that the backend "
          "reports")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--replicas", arguments.diff.perturbed_samples, "Perturbed runs that estimate the noise floor")
      ->type_name("N")
      ->capture_default_str()
      ->check(whole_between<2, 64>);
}

void add_sides(CLI::App& command, DiffArguments& arguments) {
  command
      .add_option("MODEL", arguments.models,
                  "Models: ONNX files, or BACKEND:FILE such as torch:net.pt2, tensorflow:saved_model, "
                  "tflite:threads=1:net.tflite")
      ->type_name("")
      ->required();
  command
      .add_option("--backends,-b", arguments.backends,
                  "What runs each ONNX model: names such as reference,onnxruntime,openvino, each with options as in "
                  "onnxruntime:optimization=none:threads=1")
      ->type_name("BACKEND,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option(
          "--self", arguments.self,
          "Compare a backend with itself: a second run, other threads, optimisation levels and TF32 modes; one that "
          "makes plans with the reference, too, and without each of its passes")
      ->type_name("BACKEND")
      ->excludes("--backends");
}

void add_sets(CLI::App& command, DiffArguments& arguments) {
  add_inputs(command, arguments.inputs);
  command
      .add_option("--set", arguments.sets,
                  "A folder with input_0.pb ..., or one with folders test_data_set_*, or a .npz file: one set of "
                  "inputs each, of a .npz file with an axis of samples before the input's own one for each of these; "
                  "may be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false);
  command.add_option("--samples", arguments.samples, "Sets of inputs to generate")
      ->type_name("N")
      ->capture_default_str()
      ->check(whole_between<1, 10'000>)
      ->excludes("--set");
  command.add_option("--seed", arguments.diff.seed, "Seed of generated inputs and of the noise")
      ->type_name("N")
      ->capture_default_str()
      ->check(whole_number);
  command.add_flag("--recorded", arguments.recorded, "Also compare with output_0.pb ... of the input folders");
}

void add_search_and_report(CLI::App& command, DiffArguments& arguments) {
  command.add_flag("--layers", arguments.diff.layers,
                   "Also compare values inside the graph and find the first wrong node");
  command.add_flag("--bisect", arguments.diff.bisect,
                   "Find the first wrong node by bisection, which compares few values inside the graph");
  command
      .add_option("--repro", arguments.diff.repro,
                  "Write a minimal model that reproduces the first wrong node, with its inputs, to this folder")
      ->type_name("DIR");
  command.add_option("--report", arguments.report, "Write an HTML page with plots to this file")
      ->type_name("FILE.html");
}

void add_runs(CLI::App& command, DiffArguments& arguments) {
  command.add_option("--repeat", arguments.diff.repeat, "Measured runs per side and set")
      ->type_name("N")
      ->capture_default_str()
      ->check(whole_between<1, 100'000>);
  command.add_option("--warmup", arguments.diff.warmup, "Warm-up runs per side before the first measured run")
      ->type_name("N")
      ->capture_default_str()
      ->check(whole_between<0, 100'000>);
  command.add_option("--threads", arguments.diff.limits.threads, "Threads of what runs in this process; 0: all cores")
      ->type_name("N")
      ->capture_default_str()
      ->check(whole_between<0, 1024>);
  add_bytes(command, "--memory-limit", arguments.diff.limits.memory_bytes,
            "Memory limit for values in the reference and for .npz files, such as 2GiB; default: no limit for values, "
            "a quarter of the memory for files");
  command.add_flag("--allow-outside-data", arguments.diff.allow_outside_data,
                   "Allow external data outside the model's folder");
}

}  // namespace

void register_diff(CommandList& list) {
  auto arguments = std::make_shared<DiffArguments>();
  CLI::App* command =
      list.app().add_subcommand("diff", "Compare the outputs of a model on several backends, or of several models");
  add_sides(*command, *arguments);
  add_sets(*command, *arguments);
  add_criteria(*command, *arguments);
  add_search_and_report(*command, *arguments);
  add_runs(*command, *arguments);
  add_workers(*command, arguments->workers);
  add_worker_limits(*command, arguments->workers);
  add_inference(*command, arguments->inference);
  add_output(*command, arguments->format, {Format::text, Format::json});
  add_notes(*command, arguments->notes);
  command->footer(
      "Exit status: 0 no finding, 1 a deviation that is not rounding or beyond a tolerance, or a side that failed, 2 "
      "wrong usage, 3 nothing could be compared.\n"
      "Examples:\n"
      "  onnxkit diff model.onnx                               the reference and ONNX Runtime, generated inputs\n"
      "  onnxkit diff model.onnx -b reference,onnxruntime,openvino --set . --recorded --report diff.html\n"
      "  onnxkit diff before.onnx after.onnx -b onnxruntime --samples 20\n"
      "  onnxkit diff model.onnx torch:net.pt2                 compared with its source\n"
      "  onnxkit diff model.onnx -b onnxruntime:optimization=none,onnxruntime:optimization=all\n"
      "  onnxkit diff model.onnx --self onnxruntime            is it deterministic?");
  list.add(command, [command, arguments] { return run_diff(*command, *arguments); });
}

}  // namespace onnxkit::tools
