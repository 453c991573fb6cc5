#include "libonnxkit/diff/axes.h"

#include <algorithm>
#include <optional>

#include "libonnxkit/diff/matching.h"

namespace onnxkit::diffing {
namespace {

std::optional<Axes> axes_of(const std::string& name, const DiffOptions& options) {
  for (const auto& [named, axes] : options.axes) {
    if (is_same_name(options.names, named, name)) return axes;
  }
  return std::nullopt;
}

}  // namespace

std::vector<NamedValue> in_axes_of(std::vector<NamedValue> values, const DiffOptions& options, Owner from, Owner to) {
  if (from == to || options.axes.empty()) return values;
  for (NamedValue& value : values) {
    const std::optional<Axes> axes = axes_of(value.name, options);
    if (!axes || *axes == Axes::same || !value.value.is_tensor()) continue;
    const bool to_last = (*axes == Axes::nhwc) == (to == Owner::other);
    if (auto moved = with_channels(value.value.tensor, to_last)) value.value.tensor = *std::move(moved);
  }
  return values;
}

std::vector<std::string> undecided_axes(const std::vector<NamedValue>& values, std::span<const std::size_t> ranks,
                                        const DiffOptions& options) {
  std::vector<std::string> names;
  for (const NamedValue& value : values) {
    if (!value.value.is_tensor() || axes_of(value.name, options)) continue;
    const std::vector<std::int64_t>& dims = value.value.tensor.dims();
    if (dims.size() < 3 || std::find(ranks.begin(), ranks.end(), dims.size()) == ranks.end()) continue;
    const bool is_alike = std::all_of(dims.begin() + 1, dims.end(), [&](std::int64_t size) { return size == dims[1]; });
    if (is_alike && dims[1] > 1) names.push_back(value.name);
  }
  return names;
}

std::vector<std::size_t> moved_ranks(const InputSet& set, const std::vector<std::string>& moved,
                                     const DiffOptions& options) {
  std::vector<std::size_t> ranks;
  for (const NamedValue& value : set.values) {
    const bool is_moved = std::find(moved.begin(), moved.end(), value.name) != moved.end();
    if (value.value.is_tensor() && (is_moved || axes_of(value.name, options).value_or(Axes::same) != Axes::same))
      ranks.push_back(value.value.tensor.dims().size());
  }
  return ranks;
}

}  // namespace onnxkit::diffing
