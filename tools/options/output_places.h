#pragma once

#include <span>
#include <string>

#include "onnxkit/model.h"
#include "tools/options/models.h"

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// Where a command that rewrites models writes them.
struct OutputPlaces {
  std::string output, folder;
  bool dry_run = false;  ///< nothing is written
  bool force = false;
  bool allow_outside_data = false;
};

/// What was written, and where.
struct WrittenModel {
  std::string path;
  SaveReport saved;
};

/// `--output`, `--output-dir` and `--dry-run`.
void add_output_places(CLI::App& command, OutputPlaces& places, const std::string& dry_run_help);
/// `--allow-outside-data` and `--force`.
void add_data_files(CLI::App& command, OutputPlaces& places);

/// What is wrong with the places for these models, before any work; empty when nothing is. `prints_json`: standard output is taken.
std::string usage_fault(const OutputPlaces& places, std::span<const ModelInput> inputs, bool prints_json);
/// Whether the output can be written, and makes the folder. Errors: as of check_model_output, cannot-write.
Result<void> prepare(const OutputPlaces& places, std::span<const ModelInput> inputs);
/// Writes the model that became of `input`. Errors: those of writing, with the file's name.
Result<WrittenModel> write_to(const OutputPlaces& places, const Model& model, const ModelInput& input);

}  // namespace onnxkit::tools
