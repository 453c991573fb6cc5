#include "libonnxkit/cuda/text/axes.h"

#include <algorithm>

#include <fmt/core.h>

namespace onnxkit::cuda {
namespace {

plan::View part_of(const plan::View& view, std::size_t first, std::size_t last) {
  plan::View part = view;
  const auto cut = [&](plan::Dims& numbers) {
    numbers = plan::Dims(numbers.begin() + static_cast<std::ptrdiff_t>(first),
                         numbers.begin() + static_cast<std::ptrdiff_t>(last));
  };
  cut(part.dims);
  cut(part.strides);
  return part;
}

}  // namespace

Axes::Axes(std::string_view prefix, const plan::View& view, const plan::View* other, std::size_t first,
           std::size_t last) {
  const plan::View part = part_of(view, first, last);
  std::vector<const plan::View*> views = {&part};
  plan::View other_part;
  if (other) {
    other_part = part_of(*other, first, last);
    views.push_back(&other_part);
  }
  loops_ = plan::joined_loops(views);
  names_ = axis_names(prefix, loops_.sizes.size());
  for (std::size_t axis = 0; axis < names_.size(); ++axis) {
    const bool is_used = std::any_of(loops_.strides.begin(), loops_.strides.end(),
                                     [&](const plan::Dims& strides) { return strides[axis] != 0; });
    if (!is_used) names_[axis].clear();
  }
  rest_ = fmt::format("{}_rest", prefix);
}

std::string Axes::coordinates(std::string_view index, std::string_view indent) const {
  if (names_.empty()) return "";
  if (names_.size() == 1) return split_index(index, names_, loops_.sizes, indent);
  return fmt::format("{}Count {} = {};\n", indent, rest_, index) + split_index(rest_, names_, loops_.sizes, indent);
}

}  // namespace onnxkit::cuda
