#include "onnxkit/run.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "libonnxkit/base/text/extension.h"
#include "onnxkit/value_file.h"
#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/model_file.h"
#include "tools/options/inference.h"
#include "tools/options/inputs.h"
#include "tools/options/limits.h"
#include "tools/options/number.h"
#include "tools/options/output.h"
#include "tools/options/sides.h"
#include "tools/options/workers.h"
#include "tools/progress.h"
#include "tools/report/run.h"

namespace onnxkit::tools {
namespace {

struct RunArguments {
  std::string model;
  InputOptions inputs;
  std::string output, output_dir;
  RunOptions run;
  std::string backend = "reference";
  WorkerOptions workers;
  bool profile = false, dump_plan = false;
  InferenceOptions inference;
  OutputOptions format;
  Notes notes = Notes::usual;
};

ErrorReporter reporter(const RunArguments& arguments) {
  return {"run", arguments.format.format == Format::json && arguments.output != "-"};
}

Result<void> write_outputs(const RunReport& report, const RunArguments& arguments) {
  if (arguments.output == "-") {
    const auto bytes = npz_bytes(report.outputs);
    if (!bytes) return bytes.error();
    if (auto written = write_standard_output(*bytes); !written) return written;
  } else if (!arguments.output.empty()) {
    if (auto written = write_npz(report.outputs, arguments.output); !written) return written;
  }
  return arguments.output_dir.empty() ? Result<void>() : write_folder(report.outputs, arguments.output_dir);
}

Result<void> choose_backend(const RunArguments& arguments, RunOptions& options) {
  auto backend = parse_backend(arguments.backend);
  if (!backend) return backend.error();
  options.backend = backend->name;
  options.backend_options = backend->options;
  auto context = Context::make({.schemas = arguments.inference.schemas, .workers = worker_settings(arguments.workers)});
  if (!context) return context.error();
  options.context = *std::move(context);
  return {};
}

/// Standard input is read once, and one thing goes to standard output; --output is an archive of numpy arrays whatever its name says.
Result<void> check_streams(const RunArguments& arguments) {
  if (arguments.dump_plan && arguments.format.format == Format::json)
    return make_error("usage", "--dump-plan prints text: onnxkit inspect --plan --format json prints a plan as JSON");
  if (arguments.dump_plan && arguments.output == "-")
    return make_error("usage", "--dump-plan and --output - both write to standard output: choose one");
  const auto& words = arguments.inputs.inputs;
  const auto readers = std::count_if(words.begin(), words.end(),
                                     [](const std::string& word) { return word == "-" || word.ends_with("=-"); });
  if (readers + (arguments.model == "-" ? 1 : 0) > 1)
    return make_error("usage", "standard input can only be read once");
  if (arguments.output == "-") return check_binary_output();
  const std::string extension = lower_extension(arguments.output);
  if (extension.empty() || extension == ".npz") return {};
  Error error = make_error("unsupported-format", "--output writes a .npz file, not *" + extension);
  error.diagnostic.help = "--output-dir writes a .pb file for each output";
  return error;
}

/// A backend in this process has no limit of its own for a request: it is that of the run.
void take_run_limit(const CLI::App& command, RunArguments& arguments) {
  const std::uint64_t limit = arguments.workers.settings.limits.run_ms;
  std::uint64_t& time = arguments.run.limits.time_ms;
  if (command.count("--run-limit") > 0 && (time == 0 || limit < time)) time = limit;
}

Outcome run_run(const CLI::App& command, RunArguments& arguments) {
  if (auto sound = check_streams(arguments); !sound) return reporter(arguments)(sound.error());
  auto model = open_model(arguments.model);
  if (!model) return reporter(arguments)(model.error());
  arguments.inputs.memory_bytes = arguments.run.limits.memory_bytes;
  auto given = read_given(*model, arguments.inputs.inputs, arguments.inputs);
  if (!given) return reporter(arguments)(given.error());

  take_run_limit(command, arguments);
  RunOptions options = arguments.run;
  auto dims = declare_dims(*model, arguments.inference.dims, DeclaredSizes::keep);
  if (!dims) return reporter(arguments)(dims.error());
  options.dims = *std::move(dims);
  options.make_up_inputs = !arguments.inputs.given_only;
  if (auto chosen = choose_backend(arguments, options); !chosen) return reporter(arguments)(chosen.error());
  warn_of_unused_limits(command, {options.backend}, options.context);
  if (is_binary_file(arguments.model)) options.unchanged_file = arguments.model;
  std::vector<NamedValue> tapped;
  options.on_value = [&](std::string_view name, const Value& value) -> Result<void> {
    tapped.push_back({std::string(name), value});
    return {};
  };
  std::vector<NodeTime> times;
  if (arguments.profile) options.on_node = [&](const NodeTime& node) { times.push_back(node); };
  auto report = [&] {
    const Interrupt interrupt;
    options.stop = interrupt.token();
    Progress progress("running", 1, arguments.notes);
    progress.start(arguments.model);
    return run(*model, *std::move(given), options);
  }();
  if (!report) {
    return reporter(arguments)(in_file(report.error(), arguments.model));
  }
  report->outputs.insert(report->outputs.end(), std::make_move_iterator(tapped.begin()),
                         std::make_move_iterator(tapped.end()));
  if (const auto written = write_outputs(*report, arguments); !written) return reporter(arguments)(written.error());
  if (arguments.notes == Notes::steps) {
    for (const std::string& text : report->plan_notes) note(arguments.notes, text + "\n");
  }
  if (arguments.dump_plan) {
    if (report->plan.empty())
      return reporter(arguments)(in_file(
          make_error("not-supported", "the backend " + quote(options.backend) + " makes no plan"), arguments.model));
    std::fputs(report->plan.c_str(), stdout);
    return Outcome::ok;
  }
  const bool is_text = arguments.format.format == Format::text;
  if (arguments.output != "-") {
    std::fputs(
        (is_text ? run_text(*report) : run_json(arguments.model, options.backend, *report, arguments.profile)).c_str(),
        stdout);
  }
  if (arguments.profile) std::fputs(profile_text(std::move(times)).c_str(), stderr);
  return Outcome::ok;
}

}  // namespace

void register_run(CommandList& list) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = list.app().add_subcommand("run", "Run a model once");
  command->add_option("MODEL", arguments->model, "Model file, - for standard input")->type_name("")->required();
  add_inputs(*command, arguments->inputs);
  command
      ->add_option("--output,-o", arguments->output,
                   "Write all outputs to this .npz file; - for standard output, without other text")
      ->type_name("FILE");
  command->add_option("--output-dir", arguments->output_dir, "Write output_0.pb ... to this folder")->type_name("DIR");
  command->add_option("--tap", arguments->run.taps, "Also output this value inside the main graph; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command
      ->add_option("--backend,-b", arguments->backend,
                   "What runs the model: reference, or a name that `onnxkit backends` lists, with options as in "
                   "onnxruntime:optimization=none")
      ->type_name("BACKEND")
      ->capture_default_str();
  command->add_option("--seed", arguments->run.seed, "Seed of generated inputs and of random operators")
      ->type_name("N")
      ->capture_default_str()
      ->check(whole_number);
  command->add_flag("--wide", arguments->run.unrounded,
                    "Do not round floating-point numbers between nodes; floating-point outputs are float64");
  command->add_flag("--profile", arguments->profile, "Print the time per operator and node to standard error");
  command->add_flag("--dump-plan", arguments->dump_plan, "Print the plan of the backend, not the outputs");
  command->add_flag("--allow-outside-data", arguments->run.allow_outside_data,
                    "Allow external data outside the model's folder");
  command->add_option("--threads", arguments->run.limits.threads, "Threads to use; 0: all cores")
      ->type_name("N")
      ->capture_default_str()
      ->check(whole_between<0, 1024>);
  add_limits(*command, arguments->run.limits);
  add_workers(*command, arguments->workers);
  add_worker_limits(*command, arguments->workers);
  add_inference(*command, arguments->inference);
  add_output(*command, arguments->format, {Format::text, Format::json});
  add_notes(*command, arguments->notes);
  command->footer(
      "Exit status: 0 fine, 2 wrong usage, 3 the model could not be read or run.\n"
      "Examples:\n"
      "  onnxkit run model.onnx                                  on generated inputs\n"
      "  onnxkit run model.onnx --dim batch=4 --seed 7           a batch of 4, other numbers\n"
      "  onnxkit run model.onnx -i x=x.npy -o out.npz            from and to numpy\n"
      "  onnxkit run model.onnx -i test_data_set_0 --output-dir out\n"
      "  onnxkit run model.onnx -i image=cat.jpg --mean 0.485 0.456 0.406 --std 0.229 0.224 0.225");
  list.add(command, [command, arguments] { return run_run(*command, *arguments); });
}

}  // namespace onnxkit::tools
