#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Tensors that are stored as their elements that are not zero, and where those are.
namespace onnxkit::tflite {

/// A level of the tree whose leaves are the stored elements: an axis, or its part inside of blocks.
struct SparseLevel {
  std::int64_t axis = 0;             ///< behind those of the tensor come those of blocks, in the order of the block map
  std::optional<std::int64_t> size;  ///< of a level that has every place; else
  std::vector<std::int64_t> segments, indices;  ///< for each place of the level above where its places begin, and these
};

struct Sparsity {
  std::vector<SparseLevel> levels;      ///< from the outermost
  std::vector<std::int64_t> block_map;  ///< the axis of the tensor that each axis of blocks is a part of
};

/// All elements of a tensor, zeros included, of the stored ones. nullopt where the levels do not fit the shape or the stored elements.
/// Precondition: elements of `width` bytes in a tensor of this shape fit into memory.
std::optional<std::string> densified(const Sparsity& sparsity, const std::vector<std::int64_t>& dims, std::size_t width,
                                     std::span<const std::byte> stored);

}  // namespace onnxkit::tflite
