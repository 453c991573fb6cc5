#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "onnxkit/diagnostic.h"
#include "tools/actions/python.h"
#include "tools/command.h"
#include "tools/options/choice.h"
#include "tools/options/duration.h"
#include "tools/options/models.h"
#include "tools/options/notes.h"
#include "tools/options/number.h"
#include "tools/options/output.h"
#include "tools/report/diagnostics.h"
#include "tools/report/sweep.h"
#include "tools/sweep/sweep_models.h"
#include "tools/sweep/task.h"

namespace onnxkit::tools {
namespace {

enum class SweepFormat : std::uint8_t { text, json, csv };

struct SweepArguments {
  std::string command;
  SweepSettings settings;
  SweepFormat format = SweepFormat::text;
  ColorChoice color = ColorChoice::automatic;

  ErrorReporter reporter() const { return {"sweep", format == SweepFormat::json}; }
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
  const auto kept = std::count_if(sweep.results.begin(), sweep.results.end(),
                                  [](const SweepResult& result) { return result.is_kept; });
  if (kept > 0)
    note(arguments.settings.notes,
         fmt::format("{} of {} come from {}\n", kept, counted(sweep.results.size() + sweep.left, "model"),
                     quote(arguments.settings.resume)));
  if (sweep.failure) return report_error(*sweep.failure), Outcome::failure;
  if (sweep.left > 0 || has(SweepOutcome::failed) || has(SweepOutcome::crashed) || has(SweepOutcome::late))
    return Outcome::failure;
  return has(SweepOutcome::finding) ? Outcome::finding : Outcome::ok;
}

Outcome run_sweep_command(SweepArguments& arguments, const CLI::App& command, CLI::App& app) {
  SweepSettings& settings = arguments.settings;
  const auto task = SweepTask::parse(arguments.command, app);
  if (!task) return usage_error(command, task.error().diagnostic.message);
  if (std::find(settings.models.begin(), settings.models.end(), "-") != settings.models.end())
    return usage_error(command, "a sweep reads files: standard input can be given to one command only");
  if (settings.cluster.address.empty() && settings.cluster.gpus > 0) return usage_error(command, "--gpus is for --ray");
  if (settings.cluster.python.empty()) settings.cluster.python = usual_python();
  const auto sweep = sweep_models(*task, settings);
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
  add_models(*command, arguments->settings.models)->required();
  command
      ->add_option("--processors", arguments->settings.processors,
                   "Processors of each model; as many models run at a time as there are processors for them. Default: "
                   "1, for bench all")
      ->type_name("N")
      ->check(whole_between<1, 4096>);
  add_duration(*command, "--time-limit", arguments->settings.time_ms, "Longest time for one model",
               ZeroDuration::means_no_limit);
  command
      ->add_option("--resume", arguments->settings.resume,
                   "Keep each finished result as a line of this file, and do not repeat those that are there, but for "
                   "what failed")
      ->type_name("FILE.jsonl");
  command
      ->add_option("--ray", arguments->settings.cluster.address,
                   "Run on the nodes of a Ray cluster: auto, local, HOST:PORT or ray://HOST:PORT")
      ->type_name("ADDRESS");
  command->add_option("--gpus", arguments->settings.cluster.gpus, "With --ray: GPUs of each model")
      ->type_name("N")
      ->check(whole_between<0, 1024>);
  command
      ->add_option("--python", arguments->settings.cluster.python,
                   "With --ray: interpreter that has the package ray; default: ONNXKIT_PYTHON, else python3")
      ->type_name("PATH");
  add_choice<SweepFormat>(*command, "--format", arguments->format,
                          {{"text", SweepFormat::text}, {"json", SweepFormat::json}, {"csv", SweepFormat::csv}},
                          "Form of the report");
  add_choice<ColorChoice>(
      *command, "--color", arguments->color,
      {{"auto", ColorChoice::automatic}, {"always", ColorChoice::always}, {"never", ColorChoice::never}},
      "Whether text is coloured");
  add_notes(*command, arguments->settings.notes);
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
