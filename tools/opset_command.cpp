#include "tools/opset_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>

#include "onnxkit/opset.h"
#include "tools/actions/opset.h"
#include "tools/model_file.h"
#include "tools/options/align_corners.h"
#include "tools/options/inference.h"
#include "tools/options/models.h"
#include "tools/options/output.h"
#include "tools/options/output_places.h"
#include "tools/options/verification.h"
#include "tools/progress.h"
#include "tools/report/diagnostics.h"
#include "tools/report/opset.h"

namespace onnxkit::tools {
namespace {

struct OpsetArguments {
  OpsetDirection direction = OpsetDirection::up;
  std::vector<std::string> models;
  std::vector<std::string> opsets;
  OutputPlaces places;
  std::int64_t ir_version = 0;
  bool either_way = false;
  VerificationOptions verification;
  AlignCorners align_corners = AlignCorners::refuse;
  InferenceOptions inference;
  OutputOptions format;
  Notes notes = Notes::usual;
};

const char* name_of(OpsetDirection direction) { return direction == OpsetDirection::up ? "upgrade" : "downgrade"; }

ErrorReporter reporter(const OpsetArguments& arguments) {
  return {name_of(arguments.direction), arguments.format.format == Format::json};
}

/// What is wrong with the word; empty when nothing is.
std::string read_target(const std::string& word, std::map<std::string, std::int64_t>& opsets) {
  const std::size_t split = word.rfind('=');
  const std::string domain = split == std::string::npos ? "" : word.substr(0, split);
  const std::string number = split == std::string::npos ? word : word.substr(split + 1);
  std::int64_t version = 0;
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), version);
  if (status != std::errc() || end != number.data() + number.size())
    return "--opset must be a number or DOMAIN=NUMBER, not " + quote(word);
  if (!opsets.emplace(domain == "ai.onnx" ? "" : domain, version).second)
    return "--opset sets two versions of " + quote(domain.empty() ? "ai.onnx" : domain);
  return {};
}

/// The domain that the direction would not reach: the model is already beyond it. Its functions may lie on either side.
std::optional<Diagnostic> wrong_direction(const OpsetReport& report, OpsetDirection direction) {
  for (const OpsetImportChange& import : report.imports) {
    const bool up = import.to > import.from;
    if (!import.function.empty() || up == (direction == OpsetDirection::up)) continue;
    Diagnostic finding;
    finding.code = "opset-range";
    const std::string domain = import.domain.empty() ? "ai.onnx" : import.domain;
    finding.message = "the model is at " + domain + " " + std::to_string(import.from) + ", which is " +
                      (up ? "below " : "above ") + std::to_string(import.to);
    finding.help = std::string(up ? "onnxkit upgrade" : "onnxkit downgrade") +
                   " converts in that direction; with --either-way both commands convert in both directions";
    return finding;
  }
  return std::nullopt;
}

OpsetChoices choices_of(const OpsetArguments& arguments, std::map<std::string, std::int64_t> opsets,
                        const Context& context) {
  OpsetChoices choices;
  choices.conversion.opsets = std::move(opsets);
  if (arguments.ir_version != 0) choices.conversion.ir_version = arguments.ir_version;
  choices.conversion.context = choices.verification.context = context;
  choices.conversion.allow_outside_data = arguments.places.allow_outside_data;
  choices.conversion.align_corners = arguments.align_corners;
  choices.verifies = !arguments.verification.none;
  choices.must_verify = arguments.verification.required;
  choices.verification.allow_outside_data = arguments.places.allow_outside_data;
  arguments.verification.set(choices.verification);
  choices.dims = arguments.inference.dims;
  return choices;
}

OpsetFile write(const OpsetArguments& arguments, const Model& model, const ModelInput& input, OpsetFile file) {
  auto written = write_to(arguments.places, model, input);
  if (!written) return unreadable(std::move(file), written.error());
  file.saved = std::move(written->saved);
  file.output = std::move(written->path);
  return file;
}

OpsetFile convert_file(const ModelInput& input, const OpsetArguments& arguments, const OpsetChoices& choices) {
  OpsetFile file;
  file.model = input.path;
  if (input.fault) file.unreadable = Error{*input.fault, ErrorKind::io};
  if (file.unreadable) return file;
  auto model = open_model(input.path);
  if (!model) return unreadable(std::move(file), model.error());
  file = convert_opsets(*model, input.path, choices);
  if (file.unreadable) return file;
  auto finding = arguments.either_way ? std::nullopt : wrong_direction(file.report, arguments.direction);
  if (finding) file.report.refusals.insert(file.report.refusals.begin(), {*std::move(finding), {}});
  return !file.converted() || arguments.places.dry_run ? std::move(file)
                                                       : write(arguments, *model, input, std::move(file));
}

Outcome outcome_of(const std::vector<OpsetFile>& files) {
  Outcome outcome = Outcome::ok;
  for (const OpsetFile& file : files) {
    const Outcome own = file.unreadable    ? tools::outcome_of(*file.unreadable)
                        : file.converted() ? Outcome::ok
                                           : Outcome::finding;
    outcome = std::max(outcome, own);
  }
  return outcome;
}

void print(const OpsetFile& file, const OpsetArguments& arguments) {
  const bool color = color_on(arguments.format.color, stderr);
  if (file.unreadable) {
    std::fputs(diagnostic_text(file.unreadable->diagnostic, color).c_str(), stderr);
    return;
  }
  if (arguments.format.format == Format::text && arguments.places.dry_run) std::fputs(opset_plan(file).c_str(), stdout);
  std::fflush(stdout);  // what is in the way stands behind the plan also where both go to one file
  std::fputs(opset_obstacles(file, color).c_str(), stderr);
  note(arguments.notes, saved_text(file.saved) + opset_summary(file, arguments.places.dry_run) + "\n");
}

Outcome convert_all(const OpsetArguments& arguments, std::map<std::string, std::int64_t> opsets,
                    const std::vector<ModelInput>& inputs) {
  const auto context = Context::make({.schemas = arguments.inference.schemas});
  if (!context) return reporter(arguments)(context.error());
  const OpsetChoices choices = choices_of(arguments, std::move(opsets), *context);
  std::vector<OpsetFile> files;
  {
    Progress progress("converting", inputs.size(), arguments.notes);
    for (const ModelInput& input : inputs) {
      progress.start(input.path);
      files.push_back(convert_file(input, arguments, choices));
      progress.while_hidden([&] { print(files.back(), arguments); });
      progress.advance();
      if (is_wrong_target(files.back())) break;
    }
  }
  if (arguments.format.format != Format::text)
    std::fputs(opset_json(name_of(arguments.direction), files, arguments.places.dry_run).c_str(), stdout);
  return outcome_of(files);
}

Outcome run_opset(const CLI::App& command, const OpsetArguments& arguments) {
  std::map<std::string, std::int64_t> opsets;
  if (const std::string fault = read_targets(arguments.opsets, opsets); !fault.empty())
    return usage_error(command, fault);
  const std::vector<ModelInput> inputs = expand_models(arguments.models);
  const bool prints_json = arguments.format.format != Format::text;
  if (const std::string fault = usage_fault(arguments.places, inputs, prints_json); !fault.empty())
    return usage_error(command, fault);
  if (const auto ready = prepare(arguments.places, inputs); !ready) return reporter(arguments)(ready.error());
  return convert_all(arguments, std::move(opsets), inputs);
}

/// CLI::PositiveNumber prints its bound, the largest double, with all its digits.
CLI::Validator positive() {
  return CLI::Validator(
      [](const std::string& word) {
        double number = 0;
        const bool is_number = CLI::detail::lexical_cast(word, number);
        return is_number && number > 0 && std::isfinite(number) ? std::string()
                                                                : quote(word) + " is not a positive number";
      },
      "POSITIVE");
}

void add_options(CLI::App& command, OpsetArguments& arguments) {
  add_models(command, arguments.models)->required();
  command
      .add_option("--opset", arguments.opsets,
                  "Target opset: 21 for ai.onnx, or DOMAIN=VERSION such as ai.onnx.ml=5; may be repeated")
      ->type_name("[DOMAIN=]N")
      ->allow_extra_args(false)
      ->required();
  add_output_places(command, arguments.places, "Print the changes node by node and write nothing");
  command.add_flag("--either-way", arguments.either_way,
                   "Accept models above and below the opset: upgrade some, downgrade others");
  command
      .add_option("--ir-version", arguments.ir_version,
                  "IR version of the result; default: unchanged, raised only if required")
      ->type_name("N")
      ->check(positive());
  add_align_corners(command, arguments.align_corners);
  add_inference(command, arguments.inference);
  add_data_files(command, arguments.places);
  add_verification(command, arguments.verification);
  add_output(command, arguments.format, {Format::text, Format::json});
  add_notes(command, arguments.notes);
}

}  // namespace

std::string read_targets(const std::vector<std::string>& words, std::map<std::string, std::int64_t>& opsets) {
  for (const std::string& word : words) {
    if (std::string fault = read_target(word, opsets); !fault.empty()) return fault;
  }
  return {};
}

void add_opset_command(CommandList& list, OpsetDirection direction) {
  const bool up = direction == OpsetDirection::up;
  auto arguments = std::make_shared<OpsetArguments>();
  arguments->direction = direction;
  CLI::App* command = list.app().add_subcommand(
      up ? "upgrade" : "downgrade", up ? "Convert a model to a newer opset" : "Convert a model to an older opset");
  add_options(*command, *arguments);
  const std::string name = up ? "onnxkit upgrade" : "onnxkit downgrade";
  const std::string opset = up ? "21" : "11";
  const auto example = [&](const std::string& rest, const std::string& what) {
    const std::string line = "  " + name + " " + rest;
    return "\n" + line + std::string(line.size() < 66 ? 66 - line.size() : 2, ' ') + what;
  };
  command->footer(
      "Both models are run on the reference with the same inputs; nothing is written if the results differ.\n"
      "Exit status: 0 converted, 1 the model cannot be converted or the results differ (nothing is written), 2 wrong "
      "usage,\n"
      "3 a file could not be read or written.\n"
      "Examples:" +
      example("model.onnx --opset " + opset + " -o out.onnx", "converted and verified") +
      example("model.onnx --opset " + opset + " --dry-run", "what would change, and what prevents it") +
      example("models/ --opset " + opset + " --output-dir out", "all models of a folder") +
      example("model.onnx --opset ai.onnx.ml=" + std::string(up ? "5" : "3") + " -o out.onnx", "another domain"));
  list.add(command, [command, arguments] { return run_opset(*command, *arguments); });
}

}  // namespace onnxkit::tools
