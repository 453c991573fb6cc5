#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "onnxkit/check.h"
#include "onnxkit/convert.h"
#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/model_file.h"
#include "tools/opset_command.h"
#include "tools/options/align_corners.h"
#include "tools/options/choice.h"
#include "tools/options/input_shape.h"
#include "tools/options/number.h"
#include "tools/options/output.h"
#include "tools/options/verification.h"
#include "tools/options/workers.h"
#include "tools/progress.h"
#include "tools/report/diagnostics.h"
#include "tools/report/weights.h"

namespace onnxkit::tools {
namespace {

/// What CLI11 stores for --external without a file name.
constexpr const char* no_file_name = "true";

struct ConvertArguments {
  std::string input;
  std::string output;
  ReadOptions read;
  SaveOptions save;
  bool embed = false;
  std::string external;
  std::vector<std::string> opsets;
  VerificationOptions verification;
  std::string verify_with = "reference";
  WorkerOptions workers;
  AlignCorners align_corners = AlignCorners::refuse;
  std::string weights;
  WeightsOptions weights_options;
  OutputOptions report;
  std::vector<std::string> input_shapes;
  bool reorders_boundary = false;
  Notes notes = Notes::usual;
};

using Choices = std::vector<std::pair<std::string, std::string>>;

/// "auto" and the names of the formats that can be read, or written.
Choices format_choices(bool FormatInfo::*can) {
  Choices choices = {{"auto", ""}};
  for (const FormatInfo& format : known_formats())
    if (format.*can) choices.emplace_back(format.name, format.name);
  return choices;
}

/// "binary for .onnx, .pb or none, text for .onnxtxt"
std::string names_of_formats() {
  std::string text;
  for (const FormatInfo& format : known_formats()) {
    if (!format.can_write) continue;
    text += (text.empty() ? "" : "; ") + format.name + " for";
    if (format.is_folder) text += " a name that ends in / or is a number";
    for (std::size_t i = 0; i < format.extensions.size(); ++i) {
      const std::string& extension = format.extensions[i];
      text += (i == 0                              ? " "
               : i + 1 == format.extensions.size() ? " or "
                                                   : ", ") +
              (extension.empty() ? "none" : extension);
    }
  }
  return text;
}

void warn_of_size(const ConvertArguments& arguments) {
  constexpr std::uintmax_t protobuf_limit = std::uintmax_t{1} << 31;
  std::error_code status;
  const std::uintmax_t size = std::filesystem::file_size(arguments.output, status);
  if (status || size < protobuf_limit) return;
  note(arguments.notes, "onnxkit: " + quote(arguments.output) +
                            " exceeds 2 GiB, which protobuf-based readers reject; --external keeps it small\n");
}

/// A finding that keeps the model from being written, printed.
Outcome refuse_unverified(const ConvertArguments& arguments, const std::string& reason) {
  Diagnostic finding;
  finding.code = "not-verified";
  finding.location.file = arguments.input;
  finding.message = reason;
  finding.help = "--no-verify writes the model nevertheless";
  std::fputs(diagnostic_text(finding, color_on(ColorChoice::automatic, stderr)).c_str(), stderr);
  return Outcome::finding;
}

/// What the proof needs, from the command line.
Result<SourceCheckOptions> proof_options(const ConvertArguments& arguments) {
  SourceCheckOptions options;
  options.backend = arguments.verify_with;
  VerifyOptions limits;
  arguments.verification.set(limits);
  options.limits = limits.limits;
  auto context = Context::make({.workers = worker_settings(arguments.workers)});
  if (!context) return std::move(context).error();
  options.context = *std::move(context);
  return options;
}

/// Runs a model in another framework and in ONNX and compares, with `compare`; ok when the result may be written.
template <class Compare>
Outcome prove(const ConvertArguments& arguments, Compare compare) {
  auto options = proof_options(arguments);
  if (!options) return report_error(options.error());
  const Interrupt interrupt;
  options->stop = interrupt.token();
  const auto compared = [&] {
    Progress progress("comparing", 1, arguments.notes);
    progress.start(arguments.input);
    return compare(*options);
  }();
  if (!compared && compared.error().kind == ErrorKind::usage) return report_error(compared.error());
  if (!compared && compared.error().kind == ErrorKind::cancelled) return report_error(compared.error());
  SourceReport report;
  if (compared) report = *compared;
  if (!compared) report.reason = compared.error().diagnostic.message;
  if (report.verdict == Equality::different)
    return refuse_unverified(
        arguments, report.outputs == 0 ? fmt::format("{} cannot run the result: {}", report.runtime, report.reason)
                                       : fmt::format("the result differs from {}: {}", report.runtime, report.reason));
  if (report.verdict == Equality::not_compared) {
    if (arguments.verification.required)
      return refuse_unverified(arguments, "the result was not compared: " + report.reason);
    note(arguments.notes, fmt::format("onnxkit: not verified: {}\n", report.reason));
    return Outcome::ok;
  }
  const std::string how =
      report.finest_profile.empty() ? "identical" : fmt::format("rounding ({})", report.finest_profile);
  note(arguments.notes, fmt::format("onnxkit: verified: {} compared with {}: {}\n", counted(report.outputs, "output"),
                                    report.runtime, how));
  return Outcome::ok;
}

/// Whether the format of this name is another framework's.
bool is_of_framework(const std::string& format) {
  for (const FormatInfo& known : known_formats())
    if (known.name == format) return !known.is_onnx;
  return false;
}

bool takes_shapes(const std::string& format) {
  for (const FormatInfo& known : known_formats())
    if (known.name == format) return known.takes_shapes;
  return false;
}

/// The extension of the second file of such a model; empty: it has none.
std::string companion_of(const std::string& format) {
  for (const FormatInfo& known : known_formats())
    if (known.name == format) return known.companion;
  return {};
}

/// What keeps the model from these opsets, printed; ok when nothing does.
Outcome move_to_opsets(Model& model, const ConvertArguments& arguments, OpsetChoices choices) {
  choices.conversion.allow_outside_data = choices.verification.allow_outside_data = arguments.save.allow_outside_data;
  const OpsetFile file = convert_opsets(model, arguments.input, choices);
  if (file.unreadable) return report_error(*file.unreadable);
  std::fputs(opset_obstacles(file, color_on(ColorChoice::automatic, stderr)).c_str(), stderr);
  note(arguments.notes, opset_summary(file, false) + "\n");
  return file.converted() ? Outcome::ok : Outcome::finding;
}

/// Takes the weights of another file, printed; ok when all have their place.
Outcome take_weights(Model& model, const ConvertArguments& arguments) {
  const auto report = load_weights(model, arguments.weights, arguments.weights_options);
  if (!report) return report_error(report.error());
  if (arguments.report.format == Format::json) {
    std::fputs(weights_json(*report, arguments.input, arguments.weights, arguments.output).c_str(), stdout);
    return report->fits() ? Outcome::ok : Outcome::finding;
  }
  for (Diagnostic finding : report->findings) {
    finding.location.file = arguments.input;
    std::fputs(diagnostic_text(finding, color_on(arguments.report.color, stderr)).c_str(), stderr);
  }
  note(arguments.notes, weights_summary(*report, arguments.weights));
  if (arguments.notes == Notes::steps) std::fputs(weights_table(*report).c_str(), stderr);
  return report->fits() ? Outcome::ok : Outcome::finding;
}

/// What is wrong with the options that go with --weights; empty when nothing is.
std::string weights_usage(const CLI::App& command, const ConvertArguments& arguments) {
  if (arguments.weights.empty()) {
    for (const char* option : {"--partial-weights", "--format"})
      if (command.count(option) > 0) return fmt::format("{} requires --weights", option);
    return {};
  }
  if (arguments.report.format == Format::json && arguments.output == "-")
    return "--format json and an output to standard output exclude each other";
  return {};
}

SaveOptions save_options(const ConvertArguments& arguments) {
  SaveOptions save = arguments.save;
  if (arguments.embed) save.weights = Weights::embed;
  if (!arguments.external.empty() || save.file_per_tensor) save.weights = Weights::extract;
  if (arguments.external != no_file_name) save.sidecar = arguments.external;
  return save;
}

Result<SaveReport> saved_model(const Model& model, const ConvertArguments& arguments, const std::string& path,
                               const SaveOptions& save) {
  Progress progress("writing", 1, arguments.notes);
  progress.start(arguments.output);
  return save_model(model, path, save);
}

Outcome write_onnx(const Model& model, const ConvertArguments& arguments, const SaveOptions& save) {
  const auto saved = saved_model(model, arguments, arguments.output, save);
  if (!saved) return report_error(saved.error());
  note(arguments.notes, saved_text(*saved));
  if (arguments.output != "-") warn_of_size(arguments);
  return Outcome::ok;
}

/// Whether the output is another framework's.
bool writes_framework(const ConvertArguments& arguments) {
  if (arguments.output == "-") return false;
  if (!arguments.save.format.empty()) return is_of_framework(arguments.save.format);
  const auto format = output_format(arguments.output);
  return format && !format->is_onnx;
}

/// Prints what the format cannot express.
Outcome refuse_operators(const Error& error, const std::vector<Diagnostic>& refusals, const std::string& input) {
  for (Diagnostic refusal : refusals) {
    if (refusal.location.file.empty()) refusal.location.file = input;
    std::fputs(diagnostic_text(refusal, color_on(ColorChoice::automatic, stderr)).c_str(), stderr);
  }
  const Outcome outcome = report_error(error);
  return error.diagnostic.code == "unsupported-operator" ? Outcome::finding : outcome;
}

/// What is wrong with the model, printed; ok when nothing is. Only sound models are written in other frameworks' operators.
Outcome check_source(const Model& model, const ConvertArguments& arguments) {
  CheckOptions options;
  options.allow_outside_data = arguments.save.allow_outside_data;
  const auto report = check(model, options);
  if (!report) return report_error(report.error());
  for (Diagnostic finding : report->diagnostics) {
    if (finding.severity != Severity::error) continue;
    if (finding.location.file.empty()) finding.location.file = arguments.input;
    std::fputs(diagnostic_text(finding, color_on(ColorChoice::automatic, stderr)).c_str(), stderr);
  }
  return report->errors == 0 ? Outcome::ok : Outcome::finding;
}

/// A message about the hidden file, with the name that it is to have.
std::string with_name(std::string text, const std::string& hidden, const std::string& name) {
  for (std::size_t at = text.find(hidden); at != text.npos; at = text.find(hidden, at + name.size()))
    text.replace(at, hidden.size(), name);
  return text;
}

bool is_folder(const std::string& format) {
  for (const FormatInfo& known : known_formats())
    if (known.name == format) return known.is_folder;
  return false;
}

Error cannot_write(const std::string& output, const std::string& message) {
  Error error = make_error("cannot-write", message);
  error.diagnostic.location.file = output;
  return error;
}

/// What keeps a folder from the place where one is to be, or stands in it already.
std::optional<Error> obstacle_to_folder(const std::filesystem::path& place, const ConvertArguments& arguments) {
  namespace fs = std::filesystem;
  std::error_code status;
  if (!fs::exists(place, status) || fs::is_empty(place, status)) return std::nullopt;
  const bool is_model = fs::is_regular_file(place / "saved_model.pb", status);
  if (is_model && arguments.save.force) return std::nullopt;
  Error error = cannot_write(arguments.output, is_model ? "the folder holds a SavedModel already"
                                                        : "something else than a SavedModel has this name");
  if (is_model) error.diagnostic.help = "--force replaces it";
  return error;
}

/// The hidden file or folder gets its name. A folder that it replaces goes when the new one is in its place.
std::error_code take_place(const std::filesystem::path& hidden, const std::filesystem::path& output, bool folder) {
  namespace fs = std::filesystem;
  std::error_code status, ignored;
  const bool replaces = folder && fs::is_directory(output, ignored);
  const fs::path old = hidden.parent_path() / (hidden.filename().string() + ".old");
  if (replaces) fs::rename(output, old, status);
  if (!status) fs::rename(hidden, output, status);
  if (replaces && status) fs::rename(old, output, ignored);
  if (replaces && !status) fs::remove_all(old, ignored);
  return status;
}

/// The file or folder stands beside its place under a hidden name until it is proved.
Outcome write_foreign(const Model& model, const ConvertArguments& arguments, SaveOptions save) {
  namespace fs = std::filesystem;
  if (save.format.empty()) save.format = output_format(arguments.output)->name;
  const bool folder = is_folder(save.format);
  fs::path output(arguments.output);
  if (!output.has_filename()) output = output.parent_path();
  if (folder) {
    if (const auto obstacle = obstacle_to_folder(output, arguments)) return report_error(*obstacle);
  }
  if (const Outcome outcome = check_source(model, arguments); outcome != Outcome::ok) return outcome;
  const fs::path hidden = output.parent_path() / fmt::format(".{}-{}", ::getpid(), output.filename().string());
  std::vector<Diagnostic> refusals;
  save.refusals = &refusals;
  std::error_code status;
  const bool makes_parent = folder && output.has_parent_path() && fs::create_directories(output.parent_path(), status);
  const auto saved = saved_model(model, arguments, hidden.string(), save);
  const auto leave = [&](Outcome outcome) {
    if (makes_parent) fs::remove(output.parent_path(), status);
    return outcome;
  };
  if (!saved) return leave(refuse_operators(saved.error(), refusals, arguments.input));
  Outcome outcome = Outcome::ok;
  if (!arguments.verification.none)
    outcome = prove(arguments, [&](SourceCheckOptions options) {
      options.format = save.format;
      auto compared = compare_with_result(model, hidden, options);
      if (compared) compared->reason = with_name(compared->reason, hidden.filename(), output.filename());
      return compared;
    });
  const auto beside = [&](fs::path file) { return file.replace_extension(companion_of(save.format)); };
  const bool has_companion = !companion_of(save.format).empty();
  if (outcome == Outcome::ok) {
    if (has_companion) fs::rename(beside(hidden), beside(output), status);
    if (!status) status = take_place(hidden, output, folder);
    if (!status) return outcome;
    outcome = report_error(cannot_write(arguments.output, status.message()));
  }
  fs::remove_all(hidden, status);
  if (has_companion) fs::remove(beside(hidden), status);
  return leave(outcome);
}

/// Inputs and outputs take the order of axes of what is written: no Transpose stands there.
void reorder_boundary_of(Model& model, const ConvertArguments& arguments, bool writes) {
  if (!arguments.reorders_boundary) return;
  std::string format;
  if (writes) format = arguments.save.format.empty() ? output_format(arguments.output)->name : arguments.save.format;
  for (const BoundaryChange& change : reorder_boundary(model, format))
    note(arguments.notes,
         fmt::format("onnxkit: {} {}: its axes are in the order {}\n", change.is_output ? "output" : "input",
                     quote(change.name), fmt::join(change.order, ", ")));
}

Outcome run_convert(const CLI::App& command, const ConvertArguments& arguments) {
  const SaveOptions save = save_options(arguments);
  if (command.count("--external-threshold") > 0 && save.weights != Weights::extract)
    return usage_error(command, "--external-threshold requires --external or --external-per-tensor");
  if (const std::string fault = weights_usage(command, arguments); !fault.empty()) return usage_error(command, fault);
  ReadOptions read = arguments.read;
  if (const std::string fault = read_input_shapes(arguments.input_shapes, read); !fault.empty())
    return usage_error(command, fault);
  OpsetChoices choices;
  choices.conversion.align_corners = arguments.align_corners;
  choices.verifies = !arguments.verification.none;
  choices.must_verify = arguments.verification.required;
  arguments.verification.set(choices.verification);
  if (const std::string fault = read_targets(arguments.opsets, choices.conversion.opsets); !fault.empty())
    return usage_error(command, fault);
  if (const auto fits = check_model_output(arguments.output, arguments.input, save, OutputForms::all); !fits)
    return report_error(fits.error());
  ReadReport reading;
  auto model = open_model(arguments.input, read, &reading);
  if (!model) {
    const Outcome outcome = report_error(model.error());
    return model.error().diagnostic.code == "unsupported-operator" ? Outcome::finding : outcome;
  }
  if (!arguments.input_shapes.empty() && !takes_shapes(reading.format))
    return usage_error(command, "--input-shape requires a model whose file does not state shapes (TorchScript)");
  const bool converts = is_of_framework(reading.format);
  if (!arguments.read.signature.empty() && reading.format != "saved-model")
    return usage_error(command, "--signature requires a SavedModel");
  const bool writes = writes_framework(arguments);
  if (arguments.opsets.empty() && !converts && !writes) {
    for (const char* option : {"--no-verify", "--verify", "--verify-limit", "--memory-limit", "--threads"})
      if (command.count(option) > 0) return usage_error(command, fmt::format("{} requires --opset", option));
  }
  if (!converts && !writes && command.count("--verify-with") > 0)
    return usage_error(command, "--verify-with requires a model of another framework");
  if (!arguments.weights.empty()) {
    if (const Outcome outcome = take_weights(*model, arguments); outcome != Outcome::ok) return outcome;
  }
  if (!arguments.opsets.empty()) {
    if (const Outcome outcome = move_to_opsets(*model, arguments, choices); outcome != Outcome::ok) return outcome;
  }
  if (converts && !arguments.verification.none && arguments.weights.empty()) {
    const auto compare = [&](const SourceCheckOptions& options) {
      return compare_with_source(*model, arguments.input, options);
    };
    if (const Outcome outcome = prove(arguments, compare); outcome != Outcome::ok) return outcome;
  }
  reorder_boundary_of(*model, arguments, writes);
  return writes ? write_foreign(*model, arguments, save) : write_onnx(*model, arguments, save);
}

void add_weight_options(CLI::App& command, ConvertArguments& arguments) {
  auto* embed = command.add_flag("--embed", arguments.embed, "Put all weights into the model file")->group("Weights");
  auto* external = command
                       .add_flag("--external", arguments.external,
                                 "Put weights into a file beside OUT: OUT.data, or the one that --external=FILE names")
                       ->group("Weights")
                       ->excludes(embed);
  command
      .add_option("--external-threshold", arguments.save.threshold,
                  "With --external or --external-per-tensor: size in bytes below which weights stay in the model")
      ->type_name("BYTES")
      ->check(not_negative)
      ->capture_default_str()
      ->group("Weights");
  command
      .add_flag("--external-per-tensor", arguments.save.file_per_tensor,
                "Put each weight into its own file, OUT.NAME.data")
      ->group("Weights")
      ->excludes(embed, external);
  command
      .add_flag("--allow-outside-data", arguments.save.allow_outside_data,
                "Also read external data outside the model's folder")
      ->group("Weights");
  command
      .add_flag("--verify-checksums", arguments.save.verify_checksums,
                "Compare external data with its SHA1 checksums when reading it")
      ->group("Weights");
  command
      .add_option("--weights", arguments.weights,
                  "Take the weights of this file: a state_dict of PyTorch (.pt, .pth), .safetensors or .npz; -v lists "
                  "which initializer got which tensor")
      ->type_name("FILE")
      ->group("Weights");
  command
      .add_flag("--partial-weights", arguments.weights_options.partial,
                "With --weights: what FILE lacks, or has in another shape, stays as it is in IN")
      ->group("Weights");
  command
      .add_flag("--force", arguments.save.force,
                "Replace a data file even if another model uses it or may use it, and a SavedModel that OUT is")
      ->group("Weights");
}

}  // namespace

void register_convert(CommandList& list) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* command = list.app().add_subcommand("convert", "Convert a model to another format");
  command->add_option("IN", arguments->input, "Model file, - for standard input")->type_name("")->required();
  command->add_option("OUT", arguments->output, "Output file, - for standard output; may be IN")
      ->type_name("")
      ->required();
  add_choice(*command, "--from", arguments->read.format, format_choices(&FormatInfo::can_read),
             "Format of IN; auto decides by name and content");
  command
      ->add_option("--signature", arguments->read.signature,
                   "Which function of a SavedModel; by default serving_default, or the only one")
      ->type_name("NAME");
  add_choice(*command, "--to", arguments->save.format, format_choices(&FormatInfo::can_write),
             "Form of OUT; auto goes by its name: " + names_of_formats());
  add_input_shapes(*command, arguments->input_shapes);
  command
      ->add_option("--opset", arguments->opsets,
                   "Also convert to this opset, like upgrade and downgrade; may be repeated")
      ->type_name("[DOMAIN=]N")
      ->allow_extra_args(false);
  add_align_corners(*command, arguments->align_corners, "--opset");
  add_choice<bool>(*command, "--layout", arguments->reorders_boundary, {{"keep", false}, {"boundary", true}},
                   "Order of the axes of inputs and outputs: as in IN, or that in which OUT computes (channels last in "
                   "tflite), so that no Transpose stands there");
  add_weight_options(*command, *arguments);
  add_verification(*command, arguments->verification);
  command
      ->add_option("--verify-with", arguments->verify_with,
                   "Backend that runs the result when a model of another framework is compared with it")
      ->type_name("BACKEND")
      ->capture_default_str()
      ->group("Verification");
  add_workers(*command, arguments->workers);
  add_worker_limits(*command, arguments->workers);
  add_output(*command, arguments->report, {Format::text, Format::json});
  add_notes(*command, arguments->notes);
  command->footer(
      "Exit status: 0 fine, 1 a data file already exists, the opset cannot be reached, an operator has no counterpart "
      "in "
      "ONNX, the result differs, or the weights of FILE do not fit, 2 wrong usage, 3 a file could not be read or "
      "written.\n"
      "Examples:\n"
      "  onnxkit convert model.onnx model.onnxtxt          the model as text\n"
      "  onnxkit convert model.onnxtxt model.onnx          and back\n"
      "  onnxkit convert model.pt2 model.onnx              a model of torch.export\n"
      "  onnxkit convert folder model.onnx                 a TensorFlow SavedModel\n"
      "  onnxkit convert traced.pt model.onnx --input-shape x=N,3,224,224\n"
      "  onnxkit convert model.onnx big.onnx --external    its weights in big.onnx.data\n"
      "  onnxkit convert big.onnx one.onnx --embed         all in one file\n"
      "  onnxkit convert net.onnx new.onnx --weights trained.safetensors");
  list.add(command, [command, arguments] { return run_convert(*command, *arguments); });
}

}  // namespace onnxkit::tools
