#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "libonnxkit/base/system/thread_pool.h"
#include "onnxkit/bench.h"
#include "onnxkit/diagnostic.h"
#include "tools/actions/python.h"
#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/options/choice.h"
#include "tools/options/duration.h"
#include "tools/options/models.h"
#include "tools/options/notes.h"
#include "tools/options/number.h"
#include "tools/options/output.h"
#include "tools/progress.h"
#include "tools/report/diagnostics.h"
#include "tools/report/sweep.h"
#include "tools/sweep/runner.h"
#include "tools/sweep/store.h"
#include "tools/sweep/task.h"

namespace onnxkit::tools {
namespace {

enum class SweepFormat : std::uint8_t { text, json, csv };

struct SweepArguments {
  std::string command, resume;
  std::vector<std::string> models;
  std::uint64_t processors = 0, time_ms = 0;
  RayCluster cluster;
  SweepFormat format = SweepFormat::text;
  ColorChoice color = ColorChoice::automatic;
  Notes notes = Notes::usual;

  ErrorReporter reporter() const { return {"sweep", format == SweepFormat::json}; }
};

std::string state_of(const std::string& path) {
  DiffSide side;
  side.path = path;
  return model_state(side);
}

SweepOutcome outcome_of(const JobEnd& end) {
  if (end.is_late) return SweepOutcome::late;
  if (!end.signal.empty()) return SweepOutcome::crashed;
  if (!end.status || *end.status > static_cast<int>(Outcome::finding)) return SweepOutcome::failed;
  return *end.status == 0 ? SweepOutcome::ok : SweepOutcome::finding;
}

class Sweeping {
 public:
  Sweeping(const SweepArguments& arguments, const SweepTask& task)
      : arguments_(arguments),
        task_(task),
        inputs_(expand_models(arguments.models, task.command() == "convert" ? Searched::all_formats : Searched::onnx)),
        progress_("sweeping", inputs_.size(), arguments.notes),
        results_(inputs_.size()) {}

  /// Errors: of the file of --resume, of Ray, and usage where the command refuses its words.
  Result<SweepReport> run() {
    if (auto opened = open_store(); !opened) return opened.error();
    auto jobs = jobs_to_do();
    const auto on_end = [&](JobEnd end) { return take(std::move(end)); };
    const auto ran = arguments_.cluster.address.empty()
                         ? run_here(jobs, limits(), on_end, interrupt_.token())
                         : run_on_ray(jobs, limits(), arguments_.cluster, on_end, interrupt_.token());
    if (fault_) return *fault_;
    if (!ran) return ran.error();
    SweepReport sweep{task_.words(), {}, 0};
    for (std::optional<SweepResult>& result : results_) {
      if (result)
        sweep.results.push_back(*std::move(result));
      else
        ++sweep.left;
    }
    return sweep;
  }

  std::size_t kept() const { return kept_; }

 private:
  Result<void> open_store() {
    if (arguments_.resume.empty()) return {};
    auto store = SweepStore::open(arguments_.resume, task_.words());
    if (!store) return store.error();
    store_ = *std::move(store);
    return {};
  }

  JobLimits limits() const {
    // What measures needs the machine for itself.
    const auto usual = task_.command() == "bench" && arguments_.cluster.address.empty() ? usable_cores() : 1;
    return {arguments_.processors > 0 ? static_cast<int>(arguments_.processors) : usual, arguments_.time_ms};
  }

  std::vector<SweepJob> jobs_to_do() {
    std::vector<SweepJob> jobs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const ModelInput& input = inputs_[i];
      SweepResult planned;
      planned.model = input.path;
      if (input.fault) {
        planned.outcome = SweepOutcome::failed;
        planned.report = {{"error", diagnostic_json(*input.fault)}};
        results_[i] = std::move(planned);
        progress_.advance();
        continue;
      }
      if (store_) planned.model_state = state_of(input.path);
      const SweepResult* known = store_ ? store_->find(input.path, planned.model_state) : nullptr;
      if (known) {
        results_[i] = *known;
        results_[i]->is_kept = true;
        ++kept_;
        progress_.advance();
        continue;
      }
      states_.resize(inputs_.size());
      states_[i] = std::move(planned.model_state);
      jobs.push_back(job_for(i));
    }
    return jobs;
  }

  SweepJob job_for(std::size_t index) const {
    const ModelInput& input = inputs_[index];
    const std::string path = arguments_.cluster.address.empty()
                                 ? input.path
                                 : std::filesystem::absolute(input.path).lexically_normal().string();
    return {index, task_.words_for(input, path), path};
  }

  /// Whether the sweep goes on.
  bool take(JobEnd end) {
    if (end.status == static_cast<int>(Outcome::usage)) {
      fault_ = make_error("usage", end.messages.substr(0, end.messages.find('\n')));
      return false;
    }
    SweepResult result{.model = inputs_[end.index].path,
                       .model_state = states_[end.index],
                       .outcome = outcome_of(end),
                       .status = end.status,
                       .signal = std::move(end.signal),
                       .seconds = end.seconds,
                       .cpu_seconds = end.cpu_seconds,
                       .peak_bytes = end.peak_bytes,
                       .host = std::move(end.host),
                       .output = {},
                       .messages = end.failure.empty() ? std::move(end.messages) : std::move(end.failure)};
    result.report = Json::parse(end.output, nullptr, false);
    if (result.report.is_discarded()) {
      result.report = nullptr;
      result.output = std::move(end.output);
    }
    progress_.start(result.model + ": " + name_of(result.outcome));
    progress_.advance();
    if (store_) {
      if (auto added = store_->add(result); !added) fault_ = added.error();
    }
    results_[end.index] = std::move(result);
    return !fault_;
  }

  const Interrupt interrupt_{Interrupt::Signals::interrupt_and_terminate};  // before the thread of the progress
  const SweepArguments& arguments_;
  const SweepTask& task_;
  const std::vector<ModelInput> inputs_;
  Progress progress_;
  std::optional<SweepStore> store_;
  std::vector<std::string> states_;
  std::vector<std::optional<SweepResult>> results_;
  std::size_t kept_ = 0;
  std::optional<Error> fault_;
};

Outcome finish(const SweepReport& sweep, const SweepArguments& arguments) {
  switch (arguments.format) {
    case SweepFormat::json:
      std::fputs(sweep_json(sweep).c_str(), stdout);
      break;
    case SweepFormat::csv:
      std::fputs(sweep_csv(sweep).c_str(), stdout);
      break;
    default:
      std::fputs(sweep_text(sweep, color_on(arguments.color, stdout)).c_str(), stdout);
  }
  const auto has = [&](SweepOutcome outcome) {
    return std::any_of(sweep.results.begin(), sweep.results.end(),
                       [&](const SweepResult& result) { return result.outcome == outcome; });
  };
  if (sweep.left > 0 || has(SweepOutcome::failed) || has(SweepOutcome::crashed) || has(SweepOutcome::late))
    return Outcome::failure;
  return has(SweepOutcome::finding) ? Outcome::finding : Outcome::ok;
}

Outcome run_sweep_command(SweepArguments& arguments, const CLI::App& command, CLI::App& app) {
  const auto task = SweepTask::parse(arguments.command, app);
  if (!task) return usage_error(command, task.error().diagnostic.message);
  if (std::find(arguments.models.begin(), arguments.models.end(), "-") != arguments.models.end())
    return usage_error(command, "a sweep reads files: standard input can be given to one command only");
  if (arguments.cluster.address.empty() && arguments.cluster.gpus > 0)
    return usage_error(command, "--gpus is for --ray");
  if (arguments.cluster.python.empty()) arguments.cluster.python = usual_python();
  Result<SweepReport> sweep = SweepReport{};
  {
    Sweeping sweeping(arguments, *task);
    sweep = sweeping.run();
    if (sweep && sweeping.kept() > 0)
      note(arguments.notes,
           fmt::format("{} of {} come from {}\n", sweeping.kept(),
                       counted(sweep->results.size() + sweep->left, "model"), quote(arguments.resume)));
  }
  return sweep ? finish(*sweep, arguments) : arguments.reporter()(sweep.error());
}

}  // namespace

void register_sweep(CommandList& list) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* command =
      list.app().add_subcommand("sweep", "Run a command on each of many models, several at a time or on a Ray cluster");
  command
      ->add_option("COMMAND", arguments->command,
                   "Command with its options, in quotes: 'check --target tflite'. It gets each model as its first "
                   "argument, or where it says {model}; {name} is the model's path below its folder, without extension")
      ->type_name("")
      ->required();
  add_models(*command, arguments->models)->required();
  command
      ->add_option("--processors", arguments->processors,
                   "Processors of each model; as many models run at a time as there are processors for them. Default: "
                   "1, for bench all")
      ->type_name("N")
      ->check(whole_between<1, 4096>);
  add_duration(*command, "--time-limit", arguments->time_ms, "Longest time for one model",
               ZeroDuration::means_no_limit);
  command
      ->add_option("--resume", arguments->resume,
                   "Keep each finished result as a line of this file, and do not repeat those that are there, but for "
                   "what failed")
      ->type_name("FILE.jsonl");
  command
      ->add_option("--ray", arguments->cluster.address,
                   "Run on the nodes of a Ray cluster: auto, local, HOST:PORT or ray://HOST:PORT")
      ->type_name("ADDRESS");
  command->add_option("--gpus", arguments->cluster.gpus, "With --ray: GPUs of each model")
      ->type_name("N")
      ->check(whole_between<0, 1024>);
  command
      ->add_option("--python", arguments->cluster.python,
                   "With --ray: interpreter that has the package ray; default: ONNXKIT_PYTHON, else python3")
      ->type_name("PATH");
  add_choice<SweepFormat>(*command, "--format", arguments->format,
                          {{"text", SweepFormat::text}, {"json", SweepFormat::json}, {"csv", SweepFormat::csv}},
                          "Form of the report");
  add_choice<ColorChoice>(
      *command, "--color", arguments->color,
      {{"auto", ColorChoice::automatic}, {"always", ColorChoice::always}, {"never", ColorChoice::never}},
      "Whether text is coloured");
  add_notes(*command, arguments->notes);
  command->footer(
      "Exit status: 0 all models are fine, 1 a model has findings, 2 wrong usage, also of the command, 3 the command "
      "failed on a model, crashed or took too long, or the sweep was stopped.\n"
      "Examples:\n"
      "  onnxkit sweep check models/\n"
      "  onnxkit sweep 'diff -b reference,onnxruntime' models/ --resume done.jsonl --time-limit 5min\n"
      "  onnxkit sweep 'convert {model} out/{name}.onnx' *.tflite\n"
      "  onnxkit sweep 'check --target tflite' /shared/models --ray auto --format csv");
  list.add(command, [arguments, command, &list] { return run_sweep_command(*arguments, *command, list.app()); });
}

}  // namespace onnxkit::tools
