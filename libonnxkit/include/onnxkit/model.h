#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/element_type.h"
#include "onnxkit/export.h"
#include "onnxkit/result.h"

namespace onnxkit {

namespace ir {
struct Model;
}

/// A way of storing models that the library knows.
struct FormatInfo {
  std::string name;   ///< for ReadOptions::format and SaveOptions::format: "binary", "text", "json", "tflite"
  std::string title;  ///< for people: "a TensorFlow Lite model"
  /// Of its files, with the dot; the first is the usual one, "" stands for none.
  std::vector<std::string> extensions;
  /// Those of `extensions` that other kinds of files have, too, so that a search for models leaves them out.
  std::vector<std::string> shared_extensions;
  bool is_onnx = false;  ///< a form of ONNX: nothing is converted
  bool is_folder = false;
  bool can_read = false;
  bool can_write = false;
  std::string backend = {};    ///< the backend that runs such files as they are; empty: none
  bool takes_shapes = false;   ///< ReadOptions::input_shapes say what its files do not
  std::string companion = {};  ///< extension of a second file that is written beside the first; empty: none
};

/// All formats that the library tells apart, those that it cannot read or write as well.
ONNXKIT_API std::vector<FormatInfo> known_formats();

/// What the file or folder at `path` is called, by its name; a folder by its content. nullopt when no format claims it.
ONNXKIT_API std::optional<FormatInfo> format_of_path(const std::filesystem::path& path);

/// The format that write_model gives a file of this name. Fails with unsupported-format, with what can be written, when no format with a
/// writer has this extension.
ONNXKIT_API Result<FormatInfo> output_format(const std::filesystem::path& path);

/// A model in memory. A copy is independent of the original, but shares its text and weights: it costs the graph only.
/// Weights stay in the mapped file that it was read from, so that file must not be truncated or
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

/// The shape of an input that a file does not state.
struct InputShape {
  std::vector<std::string> sizes = {};        ///< each a number, or the name of a size that stays open
  ElementType type = ElementType::undefined;  ///< undefined: the type that the file has, else float32
};

/// What became of one node when a model moved between frameworks.
struct NodeMapping {
  struct Node {
    std::string op, name;  ///< of a node without a name: that of its first result
  };
  Node from;
  /// In the result; none: what it computes is known before a run, needed by nothing, or the same as what it is given.
  std::vector<Node> to;
  std::string refusal;  ///< why nothing can take its place; empty: it was mapped
};

struct ReadOptions {
  /// Name of a format; empty: the one that name and content of the file fit best.
  std::string format = {};
  /// Which function of a model with several: the name of a signature; empty: the usual one.
  std::string signature = {};
  /// By input, for formats whose files do not state shapes (FormatInfo::takes_shapes); others ignore them.
  std::map<std::string, InputShape> input_shapes = {};
  /// By argument or attribute: the values of those that are no tensors, "16000", "0.5", "true", "3,4", for the same formats.
  std::map<std::string, std::string> values = {};
  /// Takes what became of each node of another framework's model, also when reading fails with unsupported-operator.
  std::vector<NodeMapping>* mapped = nullptr;
};

/// What a reading did beyond giving the model.
struct ReadReport {
  std::string format;  ///< the name of the format that was read
  /// What a reader of another format has to say: everything that keeps it from reading, or what it left out.
  std::vector<Diagnostic> diagnostics;
};

/// Reads a model, valid or not: only its form is checked. Error codes: cannot-read, empty-file, truncated-file, malformed-protobuf,
/// not-onnx, text-syntax, json-syntax, json-too-large, unsupported-format (`options` name no format with a reader), unknown-input and usage (`options` give shapes that the model's inputs cannot have). `report` is filled when reading fails, too.
ONNXKIT_API Result<Model> read_model(const std::filesystem::path& path, const ReadOptions& options = {},
                                     ReadReport* report = nullptr);

/// As read_model. `name` is what diagnostics call the model ("<stdin>").
ONNXKIT_API Result<Model> read_model_bytes(std::string bytes, std::string_view name, const ReadOptions& options = {},
                                           ReadReport* report = nullptr);

/// Takes the next bytes of an output; an error stops the writing.
using ByteSink = std::function<Result<void>(std::string_view)>;

/// What becomes of weights that lie, or might lie, outside the model file.
enum class Weights {
  /// External data stays external; files that the output's folder lacks are copied there. A binary file that would be longer than 2 GiB,
  /// which protobuf's libraries cannot parse, is written as with extract.
  keep,
  embed,    ///< everything goes into the model file
  extract,  ///< initializers from `threshold` bytes on go into files of their own, smaller ones into the model
};

struct SaveOptions {
  /// Name of a format; empty: the one whose files are named like the output. A stream is then binary.
  std::string format = {};
  Weights weights = Weights::keep;
  /// With extract: the file that takes the weights, relative to the output's folder; by default the output's name with ".data" added.
  std::string sidecar = {};
  bool file_per_tensor = false;
  std::uint64_t threshold = 1024;
  bool allow_outside_data = false;  ///< read external data from wherever the model says
  bool verify_checksums = false;
  /// Takes what another framework's format cannot express, when saving fails with unsupported-operator.
  std::vector<Diagnostic>* refusals = nullptr;
  /// Takes what became of each node when another framework's format is written, also when that fails with unsupported-operator. Nodes are those
  /// of the model in the writer's opset, with functions replaced by their bodies.
  std::vector<NodeMapping>* mapped = nullptr;
  /// Also replace a data file that is in the way although the output, as it was, does not use it, or another model does.
  bool force = false;
};

/// What a saving did beyond writing the model and its data files.
struct SaveReport {
  /// Data files that nobody needs any more and that are gone.
  std::vector<std::filesystem::path> removed;
  /// With Weights::keep: the data file that took the weights, because the model in one file would be longer than 2 GiB.
  std::filesystem::path moved_weights;
  /// The model file is longer than 2 GiB all the same, so that protobuf's libraries cannot parse it.
  bool exceeds_protobuf = false;
  /// Fields that the ONNX schema does not name and that the output keeps in a way that other readers of its form do not know: how many, by
  /// the message that holds them.
  std::map<std::string, std::size_t> unknown_fields;
  /// What the writer of another format has to say.
  std::vector<Diagnostic> diagnostics;
};

/// Writes the model and its data files. Each appears complete or not at all, and at no moment does the model at `path`, old or new, refer
/// to bytes that are not there. A data file of the replaced model that bears the default name of this output and that neither this nor
/// another model of the folder needs any more is removed. `path` may be the file that the model was read from. Error codes: cannot-write,
/// data-file-exists, unsupported-format (no format with a writer has this name), and those of external data (external-missing, external-location ...).
ONNXKIT_API Result<SaveReport> write_model(const Model& model, const std::filesystem::path& path,
                                           const SaveOptions& options = {});

/// Hands the encoded model to `sink`. Weights are kept where they are or embedded; extract is not possible here, nor are formats that
/// are folders or several files.
ONNXKIT_API Result<SaveReport> write_model(const Model& model, const ByteSink& sink, const SaveOptions& options = {});

}  // namespace onnxkit
