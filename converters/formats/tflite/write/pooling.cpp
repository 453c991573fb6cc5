// Pooling, with channels last.
#include <algorithm>
#include <limits>

#include "converters/formats/tflite/windows.h"

namespace onnxkit::to_tflite {
namespace {

ValueId pool(WriteCall& call, std::string_view op, ValueId x, const Windows& windows, Padding padding) {
  Type type = call.output_type();
  if (type.shape && type.shape->size() == 3) type.shape->insert(type.shape->begin() + 1, Dim(1));
  return call.emit(op,
                   {{"input", x},
                    {"padding", std::int64_t{padding}},
                    {"stride_w", windows.strides[1]},
                    {"stride_h", windows.strides[0]},
                    {"filter_width", windows.kernel[1]},
                    {"filter_height", windows.kernel[0]}},
                   std::move(type));
}

std::optional<Windows> pool_windows(WriteCall& call) {
  const Ints kernel = call.integers("kernel_shape");
  if (kernel.empty() || kernel.size() > 2) call.refuse("it does not pool over one or two axes");
  if (call.refused()) return std::nullopt;
  Windows windows = windows_of(call, kernel);
  if (std::any_of(windows.dilations.begin(), windows.dilations.end(), [](std::int64_t d) { return d != 1; }))
    call.refuse("windows of pooling have no dilations there");
  return call.refused() ? std::nullopt : std::optional(windows);
}

void map_max_pool(WriteCall& call) {
  const auto windows = pool_windows(call);
  if (!windows) return;
  if (call.elem(0) != ElementType::float32 && !windows->is_same &&
      std::any_of(windows->begins.begin(), windows->begins.end(), [](std::int64_t b) { return b != 0; }))
    return call.refuse("integers cannot be padded there");
  Padding padding = valid;
  const ValueId x = padded(call, call.input(0), *windows, std::numeric_limits<float>::lowest(), padding);
  give_spatial(call,
               pool(call, "MAX_POOL_2D", with_two_spatial_axes(call, x), with_two_spatial_axes(*windows), padding));
}

/// Pads of 0 count as elements, so the mean is put right by a factor for each place where they should not.
ValueId counted_mean(WriteCall& call, ValueId mean, const Windows& windows, bool counts_pads) {
  auto factors = foreign::mean_factors(call, windows, counts_pads);
  if (!factors || factors->is_one()) return mean;
  if (windows.kernel.size() == 1) factors->dims.insert(factors->dims.begin() + 1, 1);
  return binary(call, "MUL", mean, call.reals_tensor(call.elem(0), factors->dims, factors->values));
}

void map_average_pool(WriteCall& call) {
  const auto windows = pool_windows(call);
  if (!windows) return;
  const bool counts_pads = call.integer("count_include_pad", 0) != 0;
  const bool has_pads = windows->has_pads();
  Windows explicit_windows = *windows;
  if (counts_pads && has_pads) explicit_windows.is_same = false;
  Padding padding = valid;
  const ValueId x = padded(call, call.input(0), explicit_windows, 0, padding);
  ValueId mean =
      pool(call, "AVERAGE_POOL_2D", with_two_spatial_axes(call, x), with_two_spatial_axes(*windows), padding);
  if (padding == valid && has_pads) mean = counted_mean(call, mean, *windows, counts_pads);
  give_spatial(call, mean);
}

}  // namespace

void register_pooling(Writers& writers);
void register_pooling(Writers& writers) {
  for (const std::string_view op : {"onnxkit.channels_last::MaxPool1D", "onnxkit.channels_last::MaxPool2D"})
    writers.add(op, map_max_pool);
  for (const std::string_view op : {"onnxkit.channels_last::AveragePool1D", "onnxkit.channels_last::AveragePool2D"})
    writers.add(op, map_average_pool);
}

}  // namespace onnxkit::to_tflite
