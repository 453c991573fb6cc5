#pragma once

#include <cstddef>
#include <cstdint>

#include "libonnxkit/ir/model.h"
#include "onnxkit/result.h"

namespace onnxkit::legalize {

struct HalfWeights {
  std::size_t stored = 0;   ///< tensors that are float16 now
  std::size_t kept = 0;     ///< large ones that float16 cannot hold: an element beyond its range, or most below it
  std::uint64_t saved = 0;  ///< bytes
};

/// Stores the float32 initializers of all graphs as float16, each behind a Cast that gives float32 back, so that the graph computes as before with
/// rounded weights. Small ones (below 1 KiB) and those that are inputs stay, as do tensors that float16 cannot hold. Error codes: usage (below opset 6
/// a Cast names its type by text), those of external data.
Result<HalfWeights> store_half(ir::Model& model);

}  // namespace onnxkit::legalize
