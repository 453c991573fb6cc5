#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/foreign/operators.h"
#include "libonnxkit/formats/frame/source.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/wire/binary/writer.h"
#include "onnxkit/model.h"

namespace onnxkit::formats {

/// How surely a source has a format.
enum class Match {
  no,
  weak,      ///< nothing speaks against it
  possible,  ///< the content begins like it
  named,     ///< the file's name says so
  certain,   ///< the content is unmistakable
};

/// A way of storing a model, or something else that is given for a model often enough to be named in messages. All
/// members but `title` are optional: a format that is only recognised has neither reader nor writer.
struct Format {
  std::string name = {};   ///< one word for ReadOptions, SaveOptions, --from and --to; empty for what is no model
  std::string title = {};  ///< completes "this looks like ...": "a TensorFlow Lite model"
  /// The way out for one who gave such a file for something else.
  std::string help = {};
  /// Files so named have this format; the first is the usual one. With the dot.
  std::vector<std::string> extensions = {};
  /// Other kinds of files have these, too (.json): believed when a model is named, not looked for in folders.
  std::vector<std::string> shared_extensions = {};
  /// Also written to files so named unless another format claims the name; "" is a name without an extension.
  std::vector<std::string> output_extensions = {};
  /// Outputs have it only when it is asked for: another format is usual for its shared extensions (.pb).
  bool is_asked_for = false;
  bool is_folder = false;
  /// Whether an output of this name has the format, whatever its extension.
  bool (*claims)(const std::filesystem::path& path) = nullptr;
  /// The backend that runs such files as they are, with which a conversion is compared; empty: none.
  std::string backend = {};
  /// The reader takes ReadOptions::input_shapes.
  bool takes_shapes = false;
  /// Its kernels compute on values whose channels are the last axis.
  bool is_channels_last = false;
  /// The extension of a second file that `write` makes beside the first (".safetensors"); empty: none.
  std::string companion = {};

  /// Judges by content and name. Looks at few bytes: it is called for every model that is read.
  Match (*detect)(const Source& source) = nullptr;

  /// Gives the model, or an error. All findings, when there are several or the model comes with some, go into `report`.
  Result<ir::Model> (*read)(const Source& source, const ReadOptions& options, ReadReport& report) = nullptr;

  /// A form of ONNX: `encode` hands out one file in which tensors may refer to data files, as `placements` say; the
  /// frame makes those files.
  Result<void> (*encode)(const ir::Model& model, const wire::Placements& placements, const ByteSink& sink,
                         SaveReport& report) = nullptr;
  /// What `encode` hands out is one message of protobuf, whose libraries parse no more than 2 GiB of it.
  bool is_protobuf = false;
  /// Any other format: `write` makes the file or folder at `path`, completely or not at all.
  Result<void> (*write)(const ir::Model& model, const std::filesystem::path& path, const SaveOptions& options,
                        SaveReport& report) = nullptr;

  /// Fails as `write` would, without a file. Null: only `write` tells.
  Result<void> (*try_write)(const ir::Model& model, const SaveOptions& options) = nullptr;

  // What is mapped, for `onnxkit ops`; null: nothing is said.

  foreign::WrittenOperators (*written_operators)() = nullptr;
  foreign::ReadOperators (*read_operators)() = nullptr;

  /// The functions of a file that ReadOptions::signature chooses from; null: there is nothing to choose.
  Result<std::vector<std::string>> (*signatures)(const Source& source) = nullptr;

  bool can_write() const { return encode != nullptr || write != nullptr; }
  /// Whether names of outputs with these extensions choose the format.
  bool gives(std::vector<std::string> Format::*names) const;
  FormatInfo info() const;
};

/// The formats, in the order of their files' names.
class Registry {
 public:
  void add(Format format) { formats_.push_back(std::move(format)); }
  const std::vector<Format>& formats() const { return formats_; }

  /// The format of this name, null when there is none.
  const Format* find(std::string_view name) const;
  /// The format whose files are named so, or whose content a folder has; null when no format claims it.
  const Format* of_path(const std::filesystem::path& path) const;
  /// The format with a reader that matches best; binary ONNX when none does, as its reader says best what is wrong.
  const Format* to_read(const Source& source) const;
  /// The format with a writer that files of this name get; null when no format claims the extension.
  const Format* to_write(const std::filesystem::path& path) const;
  /// What the source looks like, of all but binary ONNX ("a web page; the download went wrong").
  std::optional<std::string> title_of(const Source& source) const;
  /// The format with that title, null when the source looks like none.
  const Format* recognised(const Source& source) const { return best_match(source, false); }

  /// "binary (.onnx, .pb or none), text (.onnxtxt)": the formats with a writer and the names that choose them.
  std::string writable() const;
  /// "binary, text": the formats with a reader.
  std::string readable() const;

 private:
  const Format* best_match(const Source& source, bool only_readable) const;

  std::vector<Format> formats_;
};

/// All formats. Made when first asked for, never changed.
const Registry& registry();

/// Whether the path ends in one of the extensions, in upper or lower case.
bool has_extension(const std::filesystem::path& path, const std::vector<std::string>& extensions);

}  // namespace onnxkit::formats
