#pragma once

#include <cstddef>
#include <cstdint>

namespace onnxkit::fuzz {

/// Changes the bytes of a binary model as a model and returns their new number; 0 where they are none, where the result has more than `most` bytes, and
/// for one seed in eight: bytes then change as bytes.
std::size_t mutate_model(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

}  // namespace onnxkit::fuzz
