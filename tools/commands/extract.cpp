#include "onnxkit/extract.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "tools/command.h"
#include "tools/model_file.h"
#include "tools/options/inference.h"
#include "tools/options/output.h"
#include "tools/report/extract.h"

namespace onnxkit::tools {
namespace {

struct ExtractArguments {
  std::string model, output;
  std::vector<std::string> from, to;
  std::vector<std::filesystem::path> schemas;
  SaveOptions save;
  OutputOptions format;
  Notes notes = Notes::usual;
};

Outcome run_extract(const CLI::App& command, const ExtractArguments& arguments) {
  const bool is_text = arguments.format.format == Format::text;
  const ErrorReporter report = {"extract", !is_text};
  if (arguments.from.empty() && arguments.to.empty())
    return usage_error(command, "set --from or --to: without both the part is the whole model");
  if (arguments.output == "-" && !is_text)
    return usage_error(command, "--output - and --format json both use standard output");
  if (const auto fits = check_model_output(arguments.output, arguments.model); !fits) return report(fits.error());
  const auto model = open_model(arguments.model);
  if (!model) return report(model.error());
  auto context = Context::make({.schemas = arguments.schemas});
  if (!context) return report(context.error());
  const auto part = extract(*model, {.from = arguments.from, .to = arguments.to, .context = *std::move(context)});
  if (!part) return report(in_file(part.error(), arguments.model));
  const auto saved = save_model(part->model, arguments.output, arguments.save);
  if (!saved) return report(saved.error());
  if (!is_text) std::fputs(extract_json(arguments.model, arguments.output, *part).c_str(), stdout);
  note(arguments.notes, saved_text(*saved) + extract_summary(arguments.model, *part));
  return Outcome::ok;
}

void add_values(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                const std::string& description) {
  command.add_option(name, values, description)->type_name("NAME")->allow_extra_args(false);
}

}  // namespace

void register_extract(CommandList& list) {
  auto arguments = std::make_shared<ExtractArguments>();
  CLI::App* command =
      list.app().add_subcommand("extract", "Write the part of a model between some of its values as a model");
  command->add_option("MODEL", arguments->model, "Model file, - for standard input")->type_name("")->required();
  command->add_option("--output,-o", arguments->output, "Output file; - for standard output, may be MODEL")
      ->type_name("FILE")
      ->required();
  add_values(*command, "--from", arguments->from,
             "Value that becomes an input; may be repeated; default: the inputs of the model");
  add_values(*command, "--to", arguments->to,
             "Value that becomes an output; may be repeated; default: the outputs of the model");
  add_schemas(*command, arguments->schemas);
  command->add_flag("--allow-outside-data", arguments->save.allow_outside_data,
                    "Also read external data outside the model's folder");
  command->add_flag("--force", arguments->save.force, "Replace a data file even if another model may use it");
  add_output(*command, arguments->format, {Format::text, Format::json});
  add_notes(*command, arguments->notes);
  command->footer(
      "Names are those of values in the main graph; 'onnxkit infer MODEL' lists them with their types. Inputs of the\n"
      "model that the part needs beside those of --from stay inputs.\n"
      "Exit status: 0 written, 2 wrong usage or no value of this name, 3 a file could not be read or written.\n"
      "Examples:\n"
      "  onnxkit extract model.onnx -o head.onnx --from features          from a value to the outputs\n"
      "  onnxkit extract model.onnx -o stem.onnx --to features            from the inputs to a value\n"
      "  onnxkit extract model.onnx -o block.onnx --from a --from b --to c");
  list.add(command, [command, arguments] { return run_extract(*command, *arguments); });
}

}  // namespace onnxkit::tools
