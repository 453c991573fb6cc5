#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/export.h"
#include "onnxkit/result.h"

namespace onnxkit {

namespace ir {
struct Model;
}

/// How a model is encoded.
enum class FileFormat {
  automatic,  ///< reading: by content; writing: by the extension, .onnxtxt is text, .json is JSON, all else binary
  binary,     ///< protobuf
  text,       ///< ONNX text syntax
  json,       ///< protobuf's JSON form, without fields that the ONNX schema does not know
};

/// A model in memory. A copy is independent of the original, but shares its text and weights: it costs the graph only. Weights stay in the mapped file that it was read from, so that file must not be truncated or
/// overwritten in place while the Model lives (replacing it by rename, as write_model does, is fine).
class ONNXKIT_API Model {
 public:
  explicit Model(std::unique_ptr<ir::Model> model);
  Model(const Model& other);
  Model& operator=(const Model& other);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  /// Where it was read from, empty for a model from memory. External data is looked for in the folder of this path.
  const std::filesystem::path& path() const;
  bool has_graph() const;

  /// For the other parts of the library.
  const ir::Model& ir() const { return *model_; }
  ir::Model& ir() { return *model_; }

 private:
  std::unique_ptr<ir::Model> model_;
};

struct ReadOptions {
  FileFormat format = FileFormat::automatic;
};

/// Reads a model, valid or not: only its form is judged. Error codes: cannot-read, empty-file, truncated-file, malformed-protobuf,
/// not-onnx, text-syntax, json-syntax, json-too-large.
ONNXKIT_API Result<Model> read_model(const std::filesystem::path& path, const ReadOptions& options = {});

/// As read_model. `name` is what diagnostics call the model ("<stdin>").
ONNXKIT_API Result<Model> read_model_bytes(std::string bytes, std::string_view name, const ReadOptions& options = {});

/// Takes the next bytes of an output; an error stops the writing.
using ByteSink = std::function<Result<void>(std::string_view)>;

/// What becomes of weights that lie, or might lie, outside the model file.
enum class Weights {
  keep,     ///< external data stays external; files that the output's folder lacks are copied there
  embed,    ///< everything goes into the model file
  extract,  ///< initializers from `threshold` bytes on go into files of their own, smaller ones into the model
};

struct SaveOptions {
  FileFormat format = FileFormat::automatic;
  Weights weights = Weights::keep;
  /// With extract: the file that takes the weights, relative to the output's folder; by default the output's name with ".data" added.
  std::string sidecar;
  bool file_per_tensor = false;
  std::uint64_t threshold = 1024;
  bool allow_outside_data = false;  ///< read external data from wherever the model says
  bool verify_checksums = false;
  /// Also replace a data file that is in the way although the output, as it was, does not use it, or another model does.
  bool force = false;
};

/// What a saving did beyond writing the model and its data files.
struct SaveReport {
  /// Data files that nobody needs any more and that are gone.
  std::vector<std::filesystem::path> removed;
  /// Fields that the ONNX schema does not name and that the output's form has no location for: how many, by the message that held them.
  std::map<std::string, std::size_t> dropped_fields;
};

/// Writes the model and its data files. Each appears complete or not at all, and at no moment does the model at `path`, old or new, refer
/// to bytes that are not there. A data file of the replaced model that bears the default name of this output and that neither this nor
/// another model of the folder needs any more is removed. `path` may be the file that the model was read from. Error codes: cannot-write,
/// data-file-exists, unsupported-format, and those of external data (external-missing, external-location ...).
ONNXKIT_API Result<SaveReport> write_model(const Model& model, const std::filesystem::path& path,
                                           const SaveOptions& options = {});

/// Hands the encoded model to `sink`. Weights are kept where they are or embedded; extract is not possible here. `automatic` means
/// binary.
ONNXKIT_API Result<SaveReport> write_model(const Model& model, const ByteSink& sink, const SaveOptions& options = {});

}  // namespace onnxkit
