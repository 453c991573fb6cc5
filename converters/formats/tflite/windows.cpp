#include "converters/formats/tflite/windows.h"

#include <algorithm>

namespace onnxkit::to_tflite {
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

ValueId padded(WriteCall& call, ValueId x, const Windows& windows, double value, Padding& padding) {
  padding = windows.is_same ? same : valid;
  if (windows.is_same) return x;
  Ints begins = {0}, ends = {0};
  begins.insert(begins.end(), windows.begins.begin(), windows.begins.end());
  ends.insert(ends.end(), windows.ends.begin(), windows.ends.end());
  begins.push_back(0);
  ends.push_back(0);
  return pad(call, x, begins, ends, value);
}

ValueId with_two_spatial_axes(WriteCall& call, ValueId x) {
  const Type& type = call.type_of(x);
  if (!type.shape || type.shape->size() != 3) return x;
  Shape shape = *type.shape;
  shape.insert(shape.begin() + 1, Dim(1));
  return call.emit("EXPAND_DIMS", {{"x", x}, {"axis", numbers(call, {1})}}, with_shape(type, shape));
}

Windows with_two_spatial_axes(Windows windows) {
  if (windows.kernel.size() != 1) return windows;
  for (Ints* list : {&windows.kernel, &windows.strides, &windows.dilations}) list->insert(list->begin(), 1);
  windows.begins.insert(windows.begins.begin(), 0);
  windows.ends.insert(windows.ends.begin(), 0);
  return windows;
}

void give_spatial(WriteCall& call, ValueId result) {
  if (const Type& type = call.output_type(); type.shape && type.shape->size() == 3)
    result = call.emit("SQUEEZE", {{"x", result}, {"squeeze_dims", Ints{1}}}, type);
  call.result(result);
}

}  // namespace onnxkit::to_tflite
