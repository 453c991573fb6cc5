#include "converters/formats/tflite/sparse.h"

#include <algorithm>
#include <cstring>

namespace onnxkit::tflite {
namespace {

/// How many places a level has, and how far one is from the next in the dense tensor.
struct Places {
  std::int64_t count = 0, stride = 0;
};

/// Of each axis, then of each axis of blocks. Empty where blocks do not fit the shape, or an axis has blocks in blocks.
std::vector<Places> places_of(const Sparsity& sparsity, const std::vector<std::int64_t>& dims) {
  std::vector<Places> places(dims.size());
  std::int64_t stride = 1;
  for (std::size_t axis = dims.size(); axis-- > 0; stride *= dims[axis]) places[axis] = {dims[axis], stride};
  for (std::size_t block = 0; block < sparsity.block_map.size(); ++block) {
    const std::int64_t axis = sparsity.block_map[block];
    const auto own = static_cast<std::int64_t>(dims.size() + block);
    const auto level = std::find_if(sparsity.levels.begin(), sparsity.levels.end(),
                                    [&](const SparseLevel& one) { return one.axis == own; });
    if (axis < 0 || axis >= static_cast<std::int64_t>(dims.size()) || level == sparsity.levels.end() || !level->size)
      return {};
    if (std::count(sparsity.block_map.begin(), sparsity.block_map.end(), axis) != 1) return {};
    Places& whole = places[static_cast<std::size_t>(axis)];
    if (*level->size < 1 || whole.count % *level->size != 0) return {};
    const Places inner = {*level->size, whole.stride};
    whole = {whole.count / inner.count, whole.stride * inner.count};
    places.push_back(inner);  // moves the others
  }
  return places;
}

/// Where the places of a level are in the dense tensor, below those of the level above.
std::optional<std::vector<std::int64_t>> below(const SparseLevel& level, const Places& places,
                                               const std::vector<std::int64_t>& above) {
  std::vector<std::int64_t> found;
  if (level.size) {
    if (*level.size != places.count) return std::nullopt;
    for (const std::int64_t offset : above)
      for (std::int64_t place = 0; place < places.count; ++place) found.push_back(offset + place * places.stride);
    return found;
  }
  const std::vector<std::int64_t>& segments = level.segments;
  if (segments.size() != above.size() + 1 || segments.front() != 0 ||
      segments.back() != static_cast<std::int64_t>(level.indices.size()))
    return std::nullopt;
  for (std::size_t parent = 0; parent < above.size(); ++parent) {
    if (segments[parent] > segments[parent + 1] || segments[parent + 1] > segments.back()) return std::nullopt;
    std::int64_t least = 0;  // places ascend, so that no element is there twice
    for (std::int64_t i = segments[parent]; i < segments[parent + 1]; ++i) {
      const std::int64_t place = level.indices[static_cast<std::size_t>(i)];
      if (place < least || place >= places.count) return std::nullopt;
      least = place + 1;
      found.push_back(above[parent] + place * places.stride);
    }
  }
  return found;
}

}  // namespace

std::optional<std::string> densified(const Sparsity& sparsity, const std::vector<std::int64_t>& dims, std::size_t width,
                                     std::span<const std::byte> stored) {
  const std::vector<Places> places = places_of(sparsity, dims);
  if (places.size() != dims.size() + sparsity.block_map.size() || places.size() != sparsity.levels.size())
    return std::nullopt;
  std::vector<bool> is_taken(places.size(), false);
  std::vector<std::int64_t> offsets = {0};
  for (const SparseLevel& level : sparsity.levels) {
    if (level.axis < 0 || level.axis >= static_cast<std::int64_t>(places.size())) return std::nullopt;
    const auto axis = static_cast<std::size_t>(level.axis);
    if (is_taken[axis]) return std::nullopt;
    is_taken[axis] = true;
    auto next = below(level, places[axis], offsets);
    if (!next) return std::nullopt;
    offsets = *std::move(next);
  }
  if (offsets.size() * width != stored.size()) return std::nullopt;
  std::size_t count = 1;
  for (const std::int64_t size : dims) count *= static_cast<std::size_t>(size);
  std::string dense(count * width, '\0');
  for (std::size_t i = 0; i < offsets.size(); ++i)
    std::memcpy(dense.data() + static_cast<std::size_t>(offsets[i]) * width, stored.data() + i * width, width);
  return dense;
}

}  // namespace onnxkit::tflite
