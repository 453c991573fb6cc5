#include "tools/options/output_places.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <set>

#include "onnxkit/diagnostic.h"
#include "tools/model_file.h"

namespace onnxkit::tools {
namespace {

namespace fs = std::filesystem;

/// No folder needed, or the folder made.
Result<void> make_folder(const fs::path& folder) {
  std::error_code status;
  fs::create_directories(folder, status);
  if (!status || fs::is_directory(folder)) return {};
  Error error = make_error("cannot-write", "cannot create this folder: " + status.message());
  error.diagnostic.location.file = folder.string();
  return error;
}

/// The first output that two inputs share.
std::string repeated_output(std::span<const ModelInput> inputs) {
  std::set<std::string> names;
  for (const ModelInput& input : inputs) {
    if (!input.fault && !names.insert(input.relative).second) return input.relative;
  }
  return {};
}

}  // namespace

void add_output_places(CLI::App& command, OutputPlaces& places, const std::string& dry_run_help) {
  auto* output = command.add_option("--output,-o", places.output, "Output file; - for standard output, may be MODEL")
                     ->type_name("FILE");
  command
      .add_option("--output-dir", places.folder,
                  "Folder for the converted models, created if missing; models of a folder keep their relative paths")
      ->type_name("DIR")
      ->excludes(output);
  command.add_flag("--dry-run", places.dry_run, dry_run_help);
}

void add_data_files(CLI::App& command, OutputPlaces& places) {
  command.add_flag("--allow-outside-data", places.allow_outside_data,
                   "Also read external data outside the model's folder");
  command.add_flag("--force", places.force, "Replace a data file even if another model may use it");
}

std::string usage_fault(const OutputPlaces& places, std::span<const ModelInput> inputs, bool prints_json) {
  if (inputs.empty()) return "no models were found there";
  if (!places.dry_run && places.output.empty() && places.folder.empty())
    return "set --output or --output-dir, or use --dry-run";
  if (inputs.size() > 1 && !places.output.empty()) return "--output takes one model; --output-dir takes many";
  if (places.output == "-" && prints_json) return "--output - and --format json both use standard output";
  if (const std::string name = places.folder.empty() ? std::string() : repeated_output(inputs); !name.empty())
    return "two models have the name " + quote(name) +
           " and would be written to the same file; pass their folder to keep their paths";
  return {};
}

Result<void> prepare(const OutputPlaces& places, std::span<const ModelInput> inputs) {
  if (places.dry_run) return {};
  if (!places.output.empty()) return check_model_output(places.output, inputs.front().path);
  return make_folder(places.folder);
}

Result<WrittenModel> write_to(const OutputPlaces& places, const Model& model, const ModelInput& input) {
  fs::path output = places.output;
  if (!places.folder.empty()) {
    output = fs::path(places.folder) / input.relative;
    if (const auto made = make_folder(output.parent_path()); !made) return made.error();
  }
  SaveOptions save;
  save.allow_outside_data = places.allow_outside_data;
  save.force = places.force;
  auto saved = save_model(model, output.string(), save);
  if (saved) return WrittenModel{output.string(), *std::move(saved)};
  Error error = saved.error();
  if (error.diagnostic.code == "data-file-exists" && !error.diagnostic.help.empty())
    error.diagnostic.help = "choose another output folder to keep it, or --force to replace it";
  return error;
}

}  // namespace onnxkit::tools
