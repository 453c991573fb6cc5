#include "libonnxkit/cuda/text/loops.h"

#include <algorithm>

#include <fmt/core.h>

namespace onnxkit::cuda {
namespace {

// Indices of 32 bits are several times faster on a GPU than those of 64.
bool fits_32_bits(const plan::Loops& loops) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (plan::element_count(loops.sizes) >= most) return false;
  return std::all_of(loops.strides.begin(), loops.strides.end(), [&](const plan::Dims& strides) {
    std::int64_t reach = 0;
    for (std::size_t axis = 0; axis < strides.size(); ++axis)
      reach += (loops.sizes[axis] - 1) * std::abs(strides[axis]);
    return reach < most;
  });
}

}  // namespace

ElementLoop::ElementLoop(std::span<const plan::View* const> views) : loops_(plan::joined_loops(views)) {
  const std::int64_t count = plan::element_count(loops_.sizes);
  constexpr std::int64_t threads = 256, most_blocks = 1 << 20;
  threads_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>(count, 1, threads));
  blocks_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>((count + threads - 1) / threads, 1, most_blocks));
  const std::string_view type = fits_32_bits(loops_) ? "int" : "long long";
  begin_ = fmt::format(
      "  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < {}LL;\n"
      "       at += (long long)gridDim.x * blockDim.x) {{\n"
      "    {} rest = at;\n",
      count, type);
  for (std::size_t axis = loops_.sizes.size(); axis-- > 0;) {
    if (axis == 0) {
      begin_ += fmt::format("    const {} c0 = rest;\n", type);
    } else {
      begin_ += fmt::format("    const {0} c{1} = rest % {2};\n    rest /= {2};\n", type, axis, loops_.sizes[axis]);
    }
  }
}

std::string ElementLoop::place(std::size_t view) const {
  std::string sum;
  for (std::size_t axis = 0; axis < loops_.sizes.size(); ++axis) {
    const std::int64_t stride = loops_.strides[view][axis];
    if (stride == 0) continue;
    if (!sum.empty()) sum += " + ";
    sum += stride == 1 ? fmt::format("c{}", axis) : fmt::format("c{} * ({})", axis, stride);
  }
  return sum.empty() ? "0" : sum;
}

}  // namespace onnxkit::cuda
