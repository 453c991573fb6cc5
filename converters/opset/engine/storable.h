#pragma once

#include <cstdint>
#include <span>

namespace onnxkit::opset {

/// The most elements of a list or constant that a step writes where nothing else can take its place. Sizes in a file may be any.
inline constexpr std::int64_t most_storable = std::int64_t{1} << 22;
/// How many elements of these sizes a constant holds that a step makes; refuses more than most_storable, which would swell the model.
std::int64_t storable_count(std::span<const std::int64_t> sizes);

/// The most elements of a constant that a step writes where nodes could compute the same whenever the model runs.
inline constexpr std::int64_t most_foldable = std::int64_t{1} << 16;
/// A constant of these sizes is better written than computed by nodes. No size is beyond most_foldable, in an empty tensor neither.
bool is_foldable(std::span<const std::int64_t> sizes);

}  // namespace onnxkit::opset
