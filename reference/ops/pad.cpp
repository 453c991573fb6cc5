// Pad: `pads` holds the begins of all axes, then the ends; negative ones crop. An attribute in versions 1 (as `paddings`) and 2, an input from
// 11 on, for the axes of a further input from 18 on. Mode wrap comes with version 19.
#include <algorithm>
#include <limits>

#include "libonnxkit/base/checked.h"
#include "reference/kernels/axes.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

enum class Mode { constant, reflect, edge, wrap };

Mode mode_of_pad(const KernelContext& context) {
  const std::string_view name = context.string("mode");
  if (name == "constant") return Mode::constant;
  if (name == "reflect") return Mode::reflect;
  if (name == "edge") return Mode::edge;
  require(name == "wrap", "unknown mode");
  return Mode::wrap;
}

/// Below nothing is left of any axis, and sums do not overflow above.
constexpr std::int64_t least_pad = std::numeric_limits<std::int64_t>::min() / 2;

struct Pads {
  std::vector<std::int64_t> begins, ends;  ///< of every axis
};

/// Pads and value are attributes; those of com.microsoft are inputs.
bool by_attributes(const KernelContext& context) { return context.since() < 11 && context.schema().domain.empty(); }

Pads pads_of(const KernelContext& context, std::int64_t rank) {
  std::vector<std::int64_t> axes = identity_index(rank), list;
  if (by_attributes(context)) {
    list = context.integers(context.since() == 1 ? "paddings" : "pads").value_or(Dims());
  } else {
    list = context.input(1).integers();
    if (const Tensor* given = context.find_input(3)) {
      axes = given->integers();
      normalize_axes(axes, rank);
    }
  }
  require(list.size() == 2 * axes.size(), "pads must have a begin and an end for each padded axis");
  Pads pads;
  pads.begins.resize(static_cast<std::size_t>(rank));
  pads.ends = pads.begins;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(normalize_axis(axes[i], rank));
    pads.begins[axis] = list[i];
    pads.ends[axis] = list[i + axes.size()];
  }
  return pads;
}

/// Where position i of an axis of `size` elements takes its element from.
std::int64_t source_of(std::int64_t i, std::int64_t size, Mode mode) {
  if (0 <= i && i < size) return i;
  if (mode == Mode::constant) return no_source;
  if (mode == Mode::edge || size == 1) return std::clamp<std::int64_t>(i, 0, size - 1);
  const std::int64_t period = mode == Mode::wrap ? size : 2 * (size - 1);
  const std::int64_t at = (i % period + period) % period;
  return at < size ? at : period - at;
}

void pad(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Mode mode = mode_of_pad(context);
  const Pads pads = pads_of(context, x.rank());
  Dims dims;
  std::vector<std::int64_t> firsts, kept;  // of what negative pads leave
  for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t begin = pads.begins[static_cast<std::size_t>(axis)];
    const std::int64_t end = pads.ends[static_cast<std::size_t>(axis)];
    const auto size = checked_add(x.dim(axis), begin);
    const auto padded = size ? checked_add(*size, end) : std::nullopt;
    require(std::min(begin, end) > least_pad && padded.has_value() && *padded >= 0,
            "a pad is too large, or crops more than the size of its axis");
    dims.push_back(*padded);
    const bool crops = mode != Mode::constant;
    firsts.push_back(crops && begin < 0 ? -begin : 0);
    kept.push_back(x.dim(axis) - firsts.back() + (crops ? std::min<std::int64_t>(end, 0) : 0));
    require(mode == Mode::constant || *padded == 0 || kept.back() > 0, "an empty axis has no element to pad with");
  }
  std::optional<Tensor> value;
  if (by_attributes(context))
    value = context.scalar(x.type(), context.real("value"));
  else if (const Tensor* given = context.find_input(2))
    value = *given;
  const Tensor y = select(
      context, x, std::move(dims),
      [&](std::int64_t axis, std::int64_t i) {
        const auto at = static_cast<std::size_t>(axis);
        const std::int64_t begin =
            mode == Mode::constant ? pads.begins[at] : std::max<std::int64_t>(pads.begins[at], 0);
        const std::int64_t source = source_of(i - begin, kept[at], mode);
        return source == no_source ? no_source : source + firsts[at];
      },
      value ? &*value : nullptr);
  context.set_output(0, y);
}

}  // namespace

void register_pad(KernelRegistry& registry) {
  registry.add("Pad", all_versions(), pad, {.noise = noise::moved});
  registry.add("com.microsoft", "Pad", all_versions(), pad, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
