#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnxkit/model.h"
#include "onnxkit/run.h"
#include "onnxkit/value_file.h"

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// Where the inputs of a model come from.
struct InputOptions {
  std::vector<std::string> inputs;  ///< NAME=FILE, .npz files, folders
  bool given_only = false;
  std::string layout;
  std::vector<std::int64_t> image_size;
  std::uint64_t memory_bytes = 0;  ///< that an archive may unpack to; 0: a quarter of the memory
  ImageOptions image;  ///< complete after parsing but for layout and size, which read_given takes from above
};

/// `--input`, `--given-only`, and what pictures go through: `--image-size`, `--layout`, `--mean`, `--std`.
void add_inputs(CLI::App& command, InputOptions& options);

/// The values that the words name, which together must not name an input twice.
Result<std::vector<NamedValue>> read_given(const Model& model, const std::vector<std::string>& words,
                                           const InputOptions& options);

/// With --given-only: whether every input that needs a value has one. Error input-missing.
Result<void> check_complete(const Model& model, const std::vector<RunInput>& inputs, const InputOptions& options);

}  // namespace onnxkit::tools
