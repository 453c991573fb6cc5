#include "onnxkit/simplify.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "tools/actions/simplify.h"
#include "tools/command.h"
#include "tools/model_file.h"
#include "tools/options/bytes.h"
#include "tools/options/inference.h"
#include "tools/options/list.h"
#include "tools/options/models.h"
#include "tools/options/output.h"
#include "tools/options/output_places.h"
#include "tools/options/verification.h"
#include "tools/progress.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

struct SimplifyArguments {
  std::vector<std::string> models;
  OutputPlaces places;
  std::vector<std::string> without, with;
  bool fix_defaults = false;
  std::uint64_t most_growth = SimplifyOptions().most_growth;
  VerificationOptions verification;
  InferenceOptions inference;
  OutputOptions format;
  Notes notes = Notes::usual;
};

SimplifyChoices choices_of(const SimplifyArguments& arguments, const Context& context) {
  SimplifyChoices choices;
  SimplifyOptions& options = choices.simplification;
  options.without = {arguments.without.begin(), arguments.without.end()};
  options.with = {arguments.with.begin(), arguments.with.end()};
  options.fix_defaults = arguments.fix_defaults;
  options.most_growth = arguments.most_growth;
  options.limits.threads = arguments.verification.threads;
  options.context = choices.verification.context = context;
  options.allow_outside_data = choices.verification.allow_outside_data = arguments.places.allow_outside_data;
  arguments.verification.set(choices.verification);
  choices.verifies = !arguments.verification.none;
  choices.must_verify = arguments.verification.required;
  choices.dims = arguments.inference.dims;
  return choices;
}

SimplifiedFile simplify_file(const ModelInput& input, const SimplifyArguments& arguments,
                             const SimplifyChoices& choices) {
  SimplifiedFile file;
  file.model = input.path;
  if (input.fault) {
    file.unreadable = Error{*input.fault, ErrorKind::io};
    return file;
  }
  auto model = open_model(input.path);
  if (!model) return unreadable(std::move(file), model.error());
  file = simplify_model(*model, input.path, choices);
  if (!file.simplified() || arguments.places.dry_run) return file;
  auto written = write_to(arguments.places, *model, input);
  if (!written) return unreadable(std::move(file), written.error());
  file.saved = std::move(written->saved);
  file.output = std::move(written->path);
  return file;
}

void print(const SimplifiedFile& file, const SimplifyArguments& arguments) {
  const bool color = color_on(arguments.format.color, stderr);
  if (const auto& error = file.unreadable ? file.unreadable : file.refused)
    std::fputs(diagnostic_text(error->diagnostic, color).c_str(), stderr);
  if (file.unreadable) return;
  const bool wants_table = arguments.places.dry_run || arguments.notes == Notes::steps;
  if (arguments.format.format == Format::text && wants_table && !file.refused)
    std::fputs(simplify_table(file).c_str(), arguments.places.dry_run ? stdout : stderr);
  std::fflush(stdout);
  note(arguments.notes, saved_text(file.saved) + simplify_summary(file, arguments.places.dry_run) + "\n");
}

Outcome outcome_of(const SimplifiedFile& file) {
  if (file.unreadable) return tools::outcome_of(*file.unreadable);
  return file.simplified() ? Outcome::ok : Outcome::finding;
}

Outcome run_simplify(const CLI::App& command, const SimplifyArguments& arguments) {
  const ErrorReporter report = {"simplify", arguments.format.format == Format::json};
  const std::vector<ModelInput> inputs = expand_models(arguments.models);
  if (const std::string fault = usage_fault(arguments.places, inputs, report.as_json); !fault.empty())
    return usage_error(command, fault);
  if (const auto ready = prepare(arguments.places, inputs); !ready) return report(ready.error());
  const auto context = Context::make({.schemas = arguments.inference.schemas});
  if (!context) return report(context.error());
  const SimplifyChoices choices = choices_of(arguments, *context);
  std::vector<SimplifiedFile> files;
  Outcome outcome = Outcome::ok;
  {
    Progress progress("simplifying", inputs.size(), arguments.notes);
    for (const ModelInput& input : inputs) {
      progress.start(input.path);
      files.push_back(simplify_file(input, arguments, choices));
      progress.while_hidden([&] { print(files.back(), arguments); });
      progress.advance();
      outcome = std::max(outcome, outcome_of(files.back()));
    }
  }
  if (report.as_json) std::fputs(simplify_json(files, arguments.places.dry_run).c_str(), stdout);
  return outcome;
}

/// An option that takes names of simplifications; `usual` are those that run anyway.
void add_simplifications(CLI::App& command, const std::string& option, std::vector<std::string>& target, bool usual,
                         const std::string& description) {
  std::vector<std::string> names;
  std::string all;
  for (const Simplification& known : simplifications()) {
    if (known.is_default != usual) continue;
    names.push_back(known.name);
    all += (all.empty() ? "" : ", ") + known.name;
  }
  const auto is_known = [names, option, all](const std::string& word) {
    if (std::find(names.begin(), names.end(), word) != names.end()) return std::string();
    return quote(word) + " is not one of " + all + did_you_mean(word, names);
  };
  add_list(command, option, target, description + ": " + all)->type_name("NAME,...")->check(is_known);
}

}  // namespace

void register_simplify(CommandList& list) {
  auto arguments = std::make_shared<SimplifyArguments>();
  CLI::App* command = list.app().add_subcommand("simplify", "Write models with fewer nodes that compute the same");
  add_models(*command, arguments->models)->required();
  add_output_places(*command, arguments->places, "Print the operators that would change and write nothing");
  add_simplifications(*command, "--without", arguments->without, true, "Leave out some of what is done");
  add_simplifications(*command, "--with", arguments->with, false, "Also do");
  command->add_flag("--fix-defaults", arguments->fix_defaults,
                    "Make constants of initializers that are inputs, too, and remove these inputs");
  add_bytes(*command, "--max-growth", arguments->most_growth,
            "Do not fold a node whose result takes more bytes than this and than its inputs");
  add_inference(*command, arguments->inference);
  add_data_files(*command, arguments->places);
  add_verification(*command, arguments->verification);
  add_output(*command, arguments->format, {Format::text, Format::json});
  add_notes(*command, arguments->notes);
  command->footer(
      "What is constant is folded; what does nothing, is computed twice or is not needed goes. --dim fixes sizes, so\n"
      "that more is constant. Both models are run on the reference with the same inputs; nothing is written if the\n"
      "results differ.\n"
      "Exit status: 0 written, 1 the model is invalid or the results differ (nothing is written), 2 wrong usage,\n"
      "3 a file could not be read or written.\n"
      "Examples:\n"
      "  onnxkit simplify model.onnx -o out.onnx                             simplified and verified\n"
      "  onnxkit simplify model.onnx -o out.onnx --dim batch=1               for a batch of one\n"
      "  onnxkit simplify model.onnx -o out.onnx --with fold_batch_normalization\n"
      "  onnxkit simplify models/ --output-dir out                           all models of a folder\n"
      "  onnxkit simplify model.onnx --dry-run                               what would change");
  list.add(command, [command, arguments] { return run_simplify(*command, *arguments); });
}

}  // namespace onnxkit::tools
