#include "converters/foreign/windows.h"

#include <algorithm>

namespace onnxkit::foreign {
namespace {

struct Axis {
  std::int64_t reach = 1;  ///< of a window with its holes
  std::int64_t stride = 1;
  std::optional<std::int64_t> size;
};

/// The pads of SAME together; nullopt when the size must be known and is not.
std::optional<std::int64_t> total_of_same(const Axis& axis) {
  if (axis.stride == 1) return axis.reach - 1;
  if (!axis.size) return std::nullopt;
  const std::int64_t out = (*axis.size + axis.stride - 1) / axis.stride;
  return std::max<std::int64_t>((out - 1) * axis.stride + axis.reach - *axis.size, 0);
}

/// Elements behind those of `end` that the last window of ceil_mode reaches.
std::int64_t ceiling_pad(const Axis& axis, std::int64_t begin, std::int64_t end) {
  const std::int64_t room = *axis.size + begin + end - axis.reach;
  std::int64_t windows = (room + axis.stride - 1) / axis.stride + 1;
  if ((windows - 1) * axis.stride >= *axis.size + begin) --windows;  // it would start behind the value
  return std::max<std::int64_t>((windows - 1) * axis.stride - room, 0);
}

bool is_same_padding(const Windows& windows, const std::vector<Axis>& axes) {
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const auto total = total_of_same(axes[a]);
    if (!total || windows.begins[a] != *total / 2 || windows.ends[a] != *total - *total / 2) return false;
  }
  return true;
}

}  // namespace

Windows windows_of(WriteCall& call, Ints kernel) {
  const std::size_t spatial = kernel.size();
  Windows windows{.kernel = std::move(kernel),
                  .strides = call.integers("strides", Ints(spatial, 1)),
                  .dilations = call.integers("dilations", Ints(spatial, 1)),
                  .begins = Ints(spatial, 0),
                  .ends = Ints(spatial, 0)};
  const Ints pads = call.integers("pads", Ints(2 * spatial, 0));
  if (windows.strides.size() != spatial || windows.dilations.size() != spatial || pads.size() != 2 * spatial ||
      std::any_of(windows.strides.begin(), windows.strides.end(), [](std::int64_t s) { return s < 1; })) {
    call.refuse("its strides, dilations or pads do not fit its window");
    windows.strides = windows.dilations = Ints(spatial, 1);
    return windows;
  }
  const std::string_view automatic = call.text("auto_pad", "NOTSET");
  const bool rounds_up = call.integer("ceil_mode", 0) != 0;
  std::vector<Axis> axes;
  for (std::size_t a = 0; a < spatial; ++a) {
    axes.push_back({(windows.kernel[a] - 1) * windows.dilations[a] + 1, windows.strides[a], call.size(0, a + 1)});
    std::int64_t &begin = windows.begins[a], &end = windows.ends[a];
    const auto total = total_of_same(axes[a]);
    if (automatic == "NOTSET") {
      begin = pads[a];
      end = pads[a + spatial];
    } else if (automatic != "VALID" && total) {
      begin = automatic == "SAME_LOWER" ? *total - *total / 2 : *total / 2;
      end = *total - begin;
    } else if (automatic == "SAME_UPPER") {
      windows.is_same = true;
      return windows;
    } else if (automatic != "VALID") {
      call.refuse("its padding depends on sizes that are not known");
    }
    if (rounds_up && axes[a].size)
      end += ceiling_pad(axes[a], begin, end);
    else if (rounds_up && axes[a].stride != 1)
      call.refuse("how it rounds up depends on sizes that are not known", "give the model's open sizes constants");
  }
  windows.is_same = is_same_padding(windows, axes);
  return windows;
}

bool Windows::has_pads() const {
  const auto is_pad = [](std::int64_t n) { return n != 0; };
  return std::any_of(begins.begin(), begins.end(), is_pad) || std::any_of(ends.begin(), ends.end(), is_pad);
}

Windows with_two_spatial_axes(Windows windows) {
  if (windows.kernel.size() != 1) return windows;
  for (Ints* list : {&windows.kernel, &windows.strides, &windows.dilations}) list->insert(list->begin(), 1);
  windows.begins.insert(windows.begins.begin(), 0);
  windows.ends.insert(windows.ends.begin(), 0);
  return windows;
}

std::optional<Ints> kernel_of(WriteCall& call, std::size_t spatial) {
  Ints kernel;
  for (std::size_t a = 0; a < spatial; ++a) {
    const auto size = call.size(1, a + 2);
    if (!size) call.refuse("the shape of its weights is not known");
    if (!size) return std::nullopt;
    kernel.push_back(*size);
  }
  return kernel;
}

std::optional<Reach> reach_of(WriteCall& call, const Ints& kernel, const Ints& strides, const Windows& windows) {
  Reach reach;
  const Type& type = call.output_type();
  for (std::size_t a = 0; a < kernel.size(); ++a) {
    const auto in = call.size(0, a + 1);
    const Dim out = type.shape && a + 1 < type.shape->size() ? (*type.shape)[a + 1] : Dim();
    if (!in || !out.is_constant()) return std::nullopt;
    const std::int64_t whole = (*in - 1) * strides[a] + kernel[a];
    const std::int64_t begin = windows.begins[a];
    reach.sizes.push_back(std::max(whole, begin + out.constant()));
    reach.begins.push_back(begin);
    reach.ends.push_back(begin + out.constant());
    if (reach.sizes.back() - whole >= strides[a]) return std::nullopt;
  }
  return reach;
}

namespace {

/// For each place along an axis of the result: how many elements of its window count.
std::vector<double> counted(const Windows& windows, std::size_t axis, std::int64_t size, std::int64_t last_pad) {
  std::vector<double> counts;
  const std::int64_t begin = windows.begins[axis], reach = windows.kernel[axis];
  const std::int64_t whole = begin + size + windows.ends[axis];
  for (std::int64_t start = 0; start + reach <= whole; start += windows.strides[axis]) {
    const std::int64_t first = last_pad >= 0 ? start : std::max(start, begin);
    const std::int64_t last = std::min(start + reach, begin + size + std::max<std::int64_t>(last_pad, 0));
    counts.push_back(static_cast<double>(std::max<std::int64_t>(last - first, 1)));
  }
  return counts;
}

}  // namespace

bool MeanFactors::is_one() const {
  return std::all_of(values.begin(), values.end(), [](double f) { return f == 1; });
}

std::optional<MeanFactors> mean_factors(WriteCall& call, const Windows& windows, bool counts_pads) {
  const std::size_t spatial = windows.kernel.size();
  MeanFactors factors{.dims = {1}, .values = {1}};
  const Ints pads = call.integers("pads", Ints(2 * spatial, 0));
  for (std::size_t a = 0; a < spatial; ++a) {
    const auto size = call.size(0, a + 1);
    if (!size) call.refuse("how many elements its windows hold depends on sizes that are not known");
    if (!size) return std::nullopt;
    const bool is_stated = call.text("auto_pad", "NOTSET") == "NOTSET";
    const std::int64_t last_pad = counts_pads ? (is_stated ? pads[a + spatial] : windows.ends[a]) : -1;
    const std::vector<double> counts = counted(windows, a, *size, last_pad);
    std::vector<double> product;
    for (const double factor : factors.values)
      for (const double count : counts) product.push_back(factor * static_cast<double>(windows.kernel[a]) / count);
    factors.values = std::move(product);
    factors.dims.push_back(static_cast<std::int64_t>(counts.size()));
  }
  factors.dims.push_back(1);
  return factors;
}

}  // namespace onnxkit::foreign
