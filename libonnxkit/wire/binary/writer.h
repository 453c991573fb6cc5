#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "libonnxkit/ir/model.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"

namespace onnxkit::wire {

/// Where a tensor's bytes go in the written model, in place of what the model says.
struct Placement {
  std::span<const std::byte> raw;  ///< becomes raw_data, unless there is a location
  std::string_view location;       ///< becomes external data
  std::uint64_t offset = 0, length = 0;
};
using Placements = std::unordered_map<const ir::Tensor*, Placement>;

/// Bytes that write_binary will hand out.
std::uint64_t encoded_size(const ir::Model& model);

/// Encodes the model as a ModelProto, fields in the order of their numbers as protobuf does. Strings and weights that the model views
/// are handed on from where they lie; sizes are 64-bit, so no part is limited to 2 GiB. Fails only when the sink does.
Result<void> write_binary(const ir::Model& model, const ByteSink& sink, const Placements& placements = {});

/// The encoded model in memory.
std::string to_bytes(const ir::Model& model, const Placements& placements = {});

}  // namespace onnxkit::wire
