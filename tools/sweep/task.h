#pragma once

#include <string>
#include <vector>

#include "onnxkit/result.h"
#include "tools/options/models.h"

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// The command that a sweep runs on each model: "diff -b cpu,onnxruntime".
class SweepTask {
 public:
  /// `app` has all commands. Errors: usage for no command, one that takes no model, and one that cannot be in a sweep.
  static Result<SweepTask> parse(const std::string& text, CLI::App& app);

  const std::string& command() const { return words_.front(); }
  const std::vector<std::string>& words() const { return words_; }
  /// The words of the command line for a model at `path`, which is `model`: {model} and {name} are replaced, the model follows the command's name where neither is
  /// there, and JSON is asked for where the command has it and no other form was named.
  std::vector<std::string> words_for(const ModelInput& model, const std::string& path) const;

 private:
  std::vector<std::string> words_;
  bool asks_for_json_ = false;
};

}  // namespace onnxkit::tools
