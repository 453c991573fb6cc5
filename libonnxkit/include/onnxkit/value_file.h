#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onnxkit/export.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

// Inputs and outputs of models as files.
namespace onnxkit {

/// How a picture becomes a tensor: decoded to RGB (or gray), resized, scaled by 1/255, minus mean, over std.
struct ImageOptions {
  std::optional<std::int64_t> height, width;  ///< nullopt: what the model's input declares, else the picture's own
  std::optional<bool> channels_last = {};   ///< NHWC instead of NCHW; nullopt: as the model's input declares, else not
  std::vector<double> mean = {}, std = {};  ///< one per channel or one for all; empty: 0 and 1
  bool scale = true;                        ///< to [0, 1]; else the bytes 0 to 255
};

/// What a file of values is.
enum class ValueFileKind : std::uint8_t {
  folder,   ///< of input_0.pb ...
  archive,  ///< .npz, by its first bytes or its name
  picture,  ///< PNG or JPEG
  value,    ///< anything else: one value, or what cannot be read
};
ONNXKIT_API ValueFileKind kind_of_value_file(const std::filesystem::path& path);

/// The value that a file holds for an input of `model`: .npy, a TensorProto, SequenceProto, OptionalProto or MapProto (.pb), PNG or JPEG.
/// What a file is goes by its first bytes, then by its name. Errors: unknown-input, cannot-read, unsupported-format, and those of the format.
ONNXKIT_API Result<Value> read_input(const Model& model, std::string_view input, const std::filesystem::path& file,
                                     const ImageOptions& image = {});

/// As read_input, of the bytes of such a file.
ONNXKIT_API Result<Value> read_input_bytes(const Model& model, std::string_view input, std::string bytes,
                                           const ImageOptions& image = {});

/// The values of a .npz file, or of a folder of input_0.pb ... in the order of the model's inputs (those with an initializer may be missing).
/// Errors: cannot-read, also for a folder with more such files than the model has inputs, those of the formats, and memory-limit for an archive
/// that unpacks to more than `most_bytes` (0: a quarter of the memory).
ONNXKIT_API Result<std::vector<NamedValue>> read_inputs(const Model& model, const std::filesystem::path& path,
                                                        std::uint64_t most_bytes = 0);

/// As read_inputs, of a .npz file whose arrays have one more axis than the inputs declare: one list for each entry of that first axis. One list
/// where all have as many as declared. Errors also: sample-axis, when the arrays do not agree on it.
ONNXKIT_API Result<std::vector<std::vector<NamedValue>>> read_samples(const Model& model,
                                                                      const std::filesystem::path& archive,
                                                                      std::uint64_t most_bytes = 0);

/// The values of output_0.pb ... in a folder, for the outputs of the model in their order. Errors: cannot-read, and those of the format.
ONNXKIT_API Result<std::vector<NamedValue>> read_outputs(const Model& model, const std::filesystem::path& folder);

/// A file of all values by name, which must be tensors: .npz. Appears complete or not at all.
ONNXKIT_API Result<void> write_npz(std::span<const NamedValue> values, const std::filesystem::path& file);

/// The bytes of such a file.
ONNXKIT_API Result<std::string> npz_bytes(std::span<const NamedValue> values);

/// output_0.pb ... in an existing or new folder, and no other files of such names.
ONNXKIT_API Result<void> write_folder(std::span<const NamedValue> values, const std::filesystem::path& folder);

}  // namespace onnxkit
