#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>

#include "onnxkit/convert.h"
#include "tools/command.h"
#include "tools/convert_file.h"
#include "tools/model_file.h"
#include "tools/opset_command.h"
#include "tools/options/align_corners.h"
#include "tools/options/choice.h"
#include "tools/options/inference.h"
#include "tools/options/input_shape.h"
#include "tools/options/models.h"
#include "tools/options/number.h"
#include "tools/progress.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

namespace fs = std::filesystem;

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
    const bool is_chosen = format.is_folder || std::any_of(format.extensions.begin(), format.extensions.end(),
                                                           [&](const std::string& extension) {
                                                             const auto chosen = output_format("model" + extension);
                                                             return chosen && chosen->name == format.name;
                                                           });
    if (!format.can_write || !is_chosen) continue;
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

/// What is wrong with options that exclude or require each other, whatever the model; empty when nothing is.
std::string usage_fault(const CLI::App& command, const ConvertArguments& arguments) {
  if (command.count("--external-threshold") > 0 && save_options(arguments).weights != Weights::extract)
    return "--external-threshold requires --external or --external-per-tensor";
  if (arguments.weights.empty() && command.count("--partial-weights") > 0)
    return "--partial-weights requires --weights";
  if (arguments.report.format == Format::json && arguments.output == "-")
    return "--format json and an output to standard output exclude each other";
  ReadOptions read;
  if (std::string fault = read_input_shapes(arguments.input_shapes, read); !fault.empty()) return fault;
  if (std::string fault = read_values(arguments.values, read); !fault.empty()) return fault;
  std::map<std::string, std::int64_t> opsets;
  return read_targets(arguments.opsets, opsets);
}

Outcome outcome_of(const ConvertedFile& file) {
  if (file.is_written) return Outcome::ok;
  if (!file.error || file.error->diagnostic.code == "unsupported-operator") return Outcome::finding;
  if (file.is_refused) return Outcome::finding;
  return tools::outcome_of(*file.error);
}

/// What is recorded in the result: the options that change the model.
std::string recorded_options(const CLI::App& command) {
  std::string text;
  for (const char* name :
       {"--signature", "--input-shape", "--set", "--dim", "--opset", "--align-corners", "--weights"}) {
    const CLI::Option* option = command.get_option_no_throw(name);
    if (!option) continue;
    for (const std::string& word : option->results())
      text += fmt::format("{}{} {}", text.empty() ? "" : " ", name, word);
  }
  if (command.count("--half") > 0) text += text.empty() ? "--half" : " --half";
  return text;
}

/// Whether IN stands for many models: a folder that is none itself, or a pattern.
bool stands_for_many(const ConvertArguments& arguments) {
  const std::vector<ModelInput> inputs = expand_models(std::span(&arguments.input, 1), Searched::all_formats);
  return inputs.size() != 1 || inputs.front().path != arguments.input;
}

/// A name of a file with the extension of the format that is written.
fs::path with_extension(const ConvertArguments& arguments, fs::path output) {
  const std::string name = arguments.save.format.empty() ? "binary" : arguments.save.format;
  for (const FormatInfo& format : known_formats())
    if (format.name == name) output += format.extensions.empty() ? "" : format.extensions.front();
  return output;
}

/// What becomes one model of many.
struct Job {
  std::string input;
  fs::path output;
  std::string signature = {};
  std::string recorded_options = {};  ///< empty: those of the command line
};

ConvertedFile convert_one_of_many(const ConvertArguments& arguments, const Job& job) {
  ConvertArguments own = arguments;
  own.is_one_of_many = true;
  own.input = job.input;
  own.output = job.output.string();
  own.read.signature = job.signature;
  if (!job.recorded_options.empty()) own.recorded_options = job.recorded_options;
  if (own.save.format.empty()) own.save.format = "binary";
  ConvertedFile file;
  file.model = job.input;
  std::error_code status;
  fs::create_directories(fs::path(own.output).parent_path(), status);
  convert_file(own, file);
  if (!file.usage.empty()) {
    Error error = make_error("usage", file.usage);
    error.diagnostic.location.file = job.input;
    report_error(error);
    file.error = error;
  }
  return file;
}

Outcome convert_many(const CLI::App& command, const ConvertArguments& arguments, const std::vector<Job>& jobs) {
  if (arguments.output == "-" || !arguments.weights.empty() ||
      (!arguments.external.empty() && arguments.external != no_file_name))
    return usage_error(command, "an output to standard output, --weights and --external=FILE take one model");
  std::set<fs::path> outputs;
  for (const Job& job : jobs)
    if (!outputs.insert(job.output).second)
      return usage_error(command, "two models would be written to " + quote(job.output.string()));
  std::vector<ConvertedFile> files;
  Outcome outcome = Outcome::ok;
  {
    Progress progress("converting", jobs.size(), arguments.notes);
    for (const Job& job : jobs) {
      progress.start(job.input);
      progress.while_hidden([&] { files.push_back(convert_one_of_many(arguments, job)); });
      progress.advance();
      outcome = std::max(outcome, outcome_of(files.back()));
    }
  }
  if (arguments.report.format == Format::json) std::fputs(convert_json(files).c_str(), stdout);
  note(arguments.notes, convert_summary(files) + "\n");
  return outcome;
}

/// The models of a folder go to their paths below OUT.
Outcome convert_folder(const CLI::App& command, const ConvertArguments& arguments) {
  std::vector<Job> jobs;
  for (const ModelInput& input : expand_models(std::span(&arguments.input, 1), Searched::all_formats)) {
    if (input.fault) return report_error(Error{*input.fault, ErrorKind::io});
    const fs::path place = (fs::path(arguments.output) / input.relative).replace_extension();
    jobs.push_back({input.path, with_extension(arguments, place), arguments.read.signature});
  }
  return convert_many(command, arguments, jobs);
}

constexpr std::string_view all_signatures = "all";

/// The signatures of IN when all of them are asked for; empty when one is.
std::vector<std::string> asked_signatures(const ConvertArguments& arguments) {
  if (arguments.read.signature != all_signatures) return {};
  auto names = signatures_of(arguments.input, arguments.read.format);
  if (!names || std::find(names->begin(), names->end(), all_signatures) != names->end()) return {};
  return *std::move(names);
}

/// Each signature becomes a model in the folder OUT.
Outcome convert_signatures(const CLI::App& command, const ConvertArguments& arguments,
                           const std::vector<std::string>& names) {
  std::vector<Job> jobs;
  for (const std::string& name : names) {
    std::string file = name;
    for (char& c : file)
      if (c == '/' || static_cast<unsigned char>(c) < ' ') c = '_';
    if (file.starts_with('.')) file.front() = '_';
    std::string recorded = arguments.recorded_options;
    const std::string asked = fmt::format("--signature {}", all_signatures);
    if (const auto at = recorded.find(asked); at != recorded.npos)
      recorded.replace(at, asked.size(), fmt::format("--signature {}", name));
    jobs.push_back({arguments.input, with_extension(arguments, fs::path(arguments.output) / file), name, recorded});
  }
  return convert_many(command, arguments, jobs);
}

Outcome run_convert(const CLI::App& command, ConvertArguments& arguments) {
  if (const std::string fault = usage_fault(command, arguments); !fault.empty()) return usage_error(command, fault);
  arguments.recorded_options = recorded_options(command);
  arguments.names_backend = command.count("--verify-with") > 0;
  for (const char* option : {"--no-verify", "--verify", "--verify-limit", "--memory-limit", "--threads"})
    if (command.count(option) > 0 && arguments.proof_option.empty()) arguments.proof_option = option;
  if (stands_for_many(arguments)) return convert_folder(command, arguments);
  if (const auto names = asked_signatures(arguments); !names.empty())
    return convert_signatures(command, arguments, names);
  if (const auto fits =
          check_model_output(arguments.output, arguments.input, save_options(arguments), OutputForms::all);
      !fits)
    return report_error(fits.error());
  ConvertedFile file;
  convert_file(arguments, file);
  if (!file.usage.empty()) return usage_error(command, file.usage);
  if (arguments.report.format == Format::json) std::fputs(convert_json(std::span(&file, 1)).c_str(), stdout);
  return outcome_of(file);
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
      ->check(whole_number)
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
      .add_flag("--half", arguments.half,
                "Store weights from 1 KiB on as float16; the graph computes in float32 with the rounded weights")
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
  command->add_option("IN", arguments->input, "Model, - for standard input; or a folder or pattern of many models")
      ->type_name("")
      ->required();
  command->add_option("OUT", arguments->output, "Output, - for standard output; may be IN; of many models their folder")
      ->type_name("")
      ->required();
  add_choice(*command, "--from", arguments->read.format, format_choices(&FormatInfo::can_read),
             "Format of IN; auto decides by name and content");
  command
      ->add_option(
          "--signature", arguments->read.signature,
          "Which function of a SavedModel; by default serving_default, or the only one; all: each becomes a model "
          "in the folder OUT")
      ->type_name("NAME");
  add_choice(*command, "--to", arguments->save.format, format_choices(&FormatInfo::can_write),
             "Form of OUT; auto goes by its name: " + names_of_formats());
  add_input_shapes(*command, arguments->input_shapes);
  add_values(*command, arguments->values);
  add_dims(*command, arguments->dims, DimNames::given_to_all);
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
  command
      ->add_flag("--round-trip", arguments->round_trip,
                 "Also convert back, and compare the model that comes back with the one that ONNX has; requires no "
                 "framework")
      ->group("Verification");
  add_workers(*command, arguments->workers);
  add_worker_limits(*command, arguments->workers);
  command->add_flag(
      "--explain", arguments->explain,
      "Also show what became of each node of another framework's model, and of each that is written for one");
  add_output(*command, arguments->report, {Format::text, Format::json});
  add_notes(*command, arguments->notes);
  command->footer(
      "Exit status: 0 fine, 1 a data file already exists, the opset cannot be reached, an operator has no "
      "counterpart, the result differs, or the weights of FILE do not fit, 2 wrong usage, 3 a file could not be read "
      "or written.\n"
      "Examples:\n"
      "  onnxkit convert model.onnx model.onnxtxt          the model as text\n"
      "  onnxkit convert model.onnxtxt model.onnx          and back\n"
      "  onnxkit convert model.pt2 model.onnx              a model of torch.export\n"
      "  onnxkit convert folder model.onnx                 a TensorFlow SavedModel\n"
      "  onnxkit convert traced.pt model.onnx --input-shape x=N,3,224,224\n"
      "  onnxkit convert model.onnx model.tflite --dim N=1 --round-trip\n"
      "  onnxkit convert model.pt2 model.onnx --explain    which nodes of ONNX stand for which of PyTorch\n"
      "  onnxkit convert models/ out --to torch-export     all models of a folder\n"
      "  onnxkit convert model.onnx big.onnx --external    its weights in big.onnx.data\n"
      "  onnxkit convert big.onnx one.onnx --embed         all in one file\n"
      "  onnxkit convert net.onnx new.onnx --weights trained.safetensors");
  list.add(command, [command, arguments] { return run_convert(*command, *arguments); });
}

}  // namespace onnxkit::tools
