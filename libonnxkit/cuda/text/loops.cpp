#include "libonnxkit/cuda/text/loops.h"

#include <algorithm>

#include <fmt/core.h>

namespace onnxkit::cuda {
namespace {

constexpr std::int64_t most_places = std::int64_t{1} << 31;

bool fits(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
  std::int64_t reach = 0;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) reach += (sizes[axis] - 1) * std::abs(strides[axis]);
  return reach < most_places;
}

bool fits_31_bits(const plan::Loops& loops) {
  return plan::element_count(loops.sizes) < most_places &&
         std::all_of(loops.strides.begin(), loops.strides.end(),
                     [&](const plan::Dims& strides) { return fits(loops.sizes, strides); });
}

/// Up to 16 bytes of each view at once, where all that vary along the innermost axis lie side by side at such places.
int pack_of(std::span<const plan::View* const> views, const plan::Loops& loops) {
  constexpr std::int64_t least_elements = 4096, pack_bytes = 16;
  if (loops.sizes.empty() || plan::element_count(loops.sizes) < least_elements) return 1;
  std::int64_t pack = 8;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const std::int64_t inner = loops.strides[v].back();
    if (inner != 0 && inner != 1) return 1;
    if (inner == 1) pack = std::min(pack, pack_bytes / std::max<std::int64_t>(storage_bits(views[v]->type) / 8, 1));
  }
  const auto divides = [&](std::int64_t number) { return number % pack == 0; };
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (loops.strides[v].back() == 0) continue;
    if (!divides(views[v]->offset)) return 1;
    if (!std::all_of(loops.strides[v].begin(), loops.strides[v].end() - 1, divides)) return 1;
  }
  return divides(loops.sizes.back()) ? static_cast<int>(pack) : 1;
}

}  // namespace

std::string place_text(std::span<const std::string> names, std::span<const std::int64_t> strides) {
  std::string sum;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    if (strides[axis] == 0) continue;
    if (!sum.empty()) sum += " + ";
    const char* const form = strides[axis] < 0 ? "{} * ({})" : "{} * {}";
    sum += strides[axis] == 1 ? names[axis] : fmt::format(fmt::runtime(form), names[axis], strides[axis]);
  }
  return sum.empty() ? "0" : sum;
}

std::vector<std::string> axis_names(std::string_view prefix, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", prefix, i));
  return names;
}

std::string split_index(std::string_view rest, std::span<const std::string> names, std::span<const std::int64_t> sizes,
                        std::string_view indent) {
  std::string text;
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    const std::string right = axis == 0 ? std::string(rest) : fmt::format("{} % {}u", rest, sizes[axis]);
    if (!names[axis].empty()) text += fmt::format("{}const Index {} = {};\n", indent, names[axis], right);
    if (axis > 0) text += fmt::format("{}{} /= {}u;\n", indent, rest, sizes[axis]);
  }
  return text;
}

plan::View without_single_axes(const plan::View& view) {
  plan::View result = view;
  for (std::size_t axis = 0; axis < view.rank(); ++axis)
    if (view.dims[axis] == 1) result.strides[axis] = 0;
  return result;
}

bool fits_31_bits(std::span<const plan::View* const> views) {
  return std::all_of(views.begin(), views.end(), [](const plan::View* view) {
    return view->size() < most_places && fits(view->dims, view->strides);
  });
}

LinearLoop::LinearLoop(std::int64_t count) {
  constexpr std::int64_t threads = 256, most_blocks = 1 << 20;
  threads_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>((count + 31) / 32 * 32, 32, threads));
  blocks_ = static_cast<std::uint32_t>(std::clamp<std::int64_t>((count + threads - 1) / threads, 1, most_blocks));
  begin_ = fmt::format(
      "  using Count = {0};\n"
      "  for (Count at = (Count)blockIdx.x * {1} + threadIdx.x; at < {2}; at += (Count)gridDim.x * {1}) {{\n",
      count < most_places ? "unsigned" : "unsigned long long", threads_, count);
}

ElementLoop::ElementLoop(std::span<const plan::View* const> views, bool packs) : loops_(plan::joined_loops(views)) {
  names_ = axis_names("c", loops_.sizes.size());
  const bool is_near = fits_31_bits(loops_);
  if (packs) pack_ = pack_of(views, loops_);
  plan::Dims sizes = loops_.sizes;
  std::vector<std::string> split = names_;
  if (pack_ > 1) {
    sizes.back() /= pack_;
    split.back() = "pack";
  }
  linear_ = LinearLoop(plan::element_count(sizes));
  begin_ = fmt::format("  using Index = {};\n{}", is_near ? "int" : "long long", linear_.begin());
  if (sizes.size() > 1) begin_ += "    Count rest = at;\n";
  begin_ += split_index(sizes.size() > 1 ? "rest" : "at", split, sizes, "    ");
  if (pack_ > 1) begin_ += fmt::format("    const Index {} = pack * {};\n", names_.back(), pack_);
}

std::string ElementLoop::place(std::size_t view) const { return place_text(names_, loops_.strides[view]); }

bool ElementLoop::is_side_by_side(std::size_t view) const {
  return !loops_.strides[view].empty() && loops_.strides[view].back() == 1;
}

}  // namespace onnxkit::cuda
