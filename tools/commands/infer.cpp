#include "onnxkit/infer.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>

#include "tools/actions/infer.h"
#include "tools/command.h"
#include "tools/model_file.h"
#include "tools/options/inference.h"
#include "tools/options/output.h"
#include "tools/progress.h"
#include "tools/report/diagnostics.h"
#include "tools/report/infer.h"

namespace onnxkit::tools {
namespace {

struct InferArguments {
  std::string model;
  std::string output_model;
  std::optional<std::string> why;
  bool no_assume_defaults = false;
  InferenceOptions inference;
  OutputOptions output;
  Notes notes = Notes::usual;
};

ErrorReporter reporter(const InferArguments& arguments) { return {"infer", arguments.output.format == Format::json}; }

/// `model` gets what --dim says of its inputs.
Result<InferOptions> library_options(Model& model, const InferArguments& arguments) {
  auto context = Context::make({.schemas = arguments.inference.schemas});
  if (!context) return context.error();
  auto dims = declare_dims(model, arguments.inference.dims, DeclaredSizes::replace);
  if (!dims) return dims.error();
  InferOptions options;
  options.dims = *std::move(dims);
  options.context = *std::move(context);
  options.assume_defaults = !arguments.no_assume_defaults;
  return options;
}

Outcome print_why(const Model& model, const InferArguments& arguments, const InferOptions& options) {
  const auto steps = why_unknown(model, *arguments.why, options);
  if (!steps) return reporter(arguments)(steps.error());
  const bool is_text = arguments.output.format == Format::text;
  std::fputs((is_text ? why_text(*steps) : why_json(arguments.model, *steps)).c_str(), stdout);
  return Outcome::ok;
}

/// A model with provable faults is not written: its shapes would be half a guess.
Outcome infer_and_write(Model& model, const InferArguments& arguments, const InferOptions& options) {
  auto report = [&] {
    Progress progress("inferring", 1, arguments.notes);
    progress.start(arguments.model);
    return infer_model(model, arguments.model, options);
  }();
  if (!report) return reporter(arguments)(report.error());
  const bool is_text = arguments.output.format == Format::text;
  for (const Diagnostic& finding : report->diagnostics)
    std::fputs(diagnostic_text(finding, color_on(arguments.output.color, stderr)).c_str(), stderr);
  const bool broken = !is_sound(*report);
  const std::string output = broken ? "" : arguments.output_model;
  if (!output.empty()) {
    const auto saved = save_model(model, output);
    if (!saved) return reporter(arguments)(saved.error());
    note(arguments.notes, saved_text(*saved));
  }
  if (!is_text)
    std::fputs(infer_json(arguments.model, *report, output).c_str(), stdout);
  else if (arguments.output_model.empty())
    std::fputs(infer_text(*report).c_str(), stdout);
  const bool is_refused = broken && !arguments.output_model.empty();
  note(arguments.notes,
       infer_summary(*report) + (is_refused ? "; nothing written, because the model has errors\n" : "\n"));
  return broken ? Outcome::finding : Outcome::ok;
}

Outcome run_infer(const CLI::App& command, const InferArguments& arguments) {
  if (arguments.output_model == "-" && arguments.output.format != Format::text)
    return usage_error(command, "--output - and --format json both use standard output");
  if (!arguments.output_model.empty()) {
    if (const auto fits = check_model_output(arguments.output_model, arguments.model); !fits)
      return reporter(arguments)(fits.error());
  }
  auto model = open_model(arguments.model);
  if (!model) return reporter(arguments)(model.error());
  const auto options = library_options(*model, arguments);
  if (!options) return reporter(arguments)(options.error());
  return arguments.why ? print_why(*model, arguments, *options) : infer_and_write(*model, arguments, *options);
}

}  // namespace

void register_infer(CommandList& list) {
  auto arguments = std::make_shared<InferArguments>();
  CLI::App* command = list.app().add_subcommand("infer", "Infer the type and shape of every value");
  command->add_option("MODEL", arguments->model, "Model file, - for standard input")->type_name("")->required();
  auto* output = command
                     ->add_option("--output,-o", arguments->output_model,
                                  "Write the model with all types and shapes; - for standard output, may be MODEL")
                     ->type_name("FILE");
  add_inference(*command, arguments->inference, DimNames::given);
  command->add_flag("--no-assume-defaults", arguments->no_assume_defaults,
                    "Leave shapes unknown that depend on an initializer that is also an input");
  command
      ->add_option("--why", arguments->why,
                   "Explain where the shape of this value was lost; NAME, or GRAPH / NAME as in the table")
      ->type_name("NAME")
      ->excludes(output);
  add_output(*command, arguments->output, {Format::text, Format::json});
  add_notes(*command, arguments->notes);
  command->footer(
      "Exit status: 0 fine, 1 inference proves a fault (nothing is written), 2 wrong usage, 3 a file could not be read "
      "or written.\n"
      "Examples:\n"
      "  onnxkit infer model.onnx                               a table of all values\n"
      "  onnxkit infer model.onnx -o out.onnx                   written into the model\n"
      "  onnxkit infer model.onnx -o out.onnx --dim batch=8     for a batch of 8\n"
      "  onnxkit infer model.onnx --why logits                  why is its shape not known?");
  list.add(command, [command, arguments] { return run_infer(*command, *arguments); });
}

}  // namespace onnxkit::tools
