#pragma once

#include <cstdint>
#include <filesystem>

#include "converters/containers/stored_tensors.h"
#include "onnxkit/result.h"

namespace onnxkit::weights {

/// The tensors of a file of weights: a state_dict or TorchScript module of PyTorch, safetensors or .npz, told apart by content. Error codes: cannot-read,
/// unsupported-format, memory-limit and those of the formats.
Result<containers::StoredTensors> read_weights_file(const std::filesystem::path& path, std::uint64_t most_bytes);

}  // namespace onnxkit::weights
