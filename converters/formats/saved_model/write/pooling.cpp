// Pooling, with channels last.
#include <limits>

#include "converters/formats/saved_model/windows.h"

namespace onnxkit::to_tensorflow {
namespace {

ValueId pool(WriteCall& call, std::string_view op, ValueId x, const Windows& windows) {
  std::vector<Given> given = {
      {"input", x}, {"ksize", for_all_axes(windows.kernel, 1)}, {"strides", for_all_axes(windows.strides, 1)}};
  state_padding(given, windows, false);
  return call.emit(op, std::move(given), with_elem(images_of(call.output_type()), call.type_of(x).elem));
}

std::optional<Windows> windows_of_pool(WriteCall& call) {
  return pool_windows(call, 3, "it does not pool over one to three axes");
}

/// Over two axes where the value has one.
ValueId pool_images(WriteCall& call, std::string_view op, ValueId x, const Windows& windows) {
  const bool is_volume = windows.kernel.size() == 3;
  return pool(call, is_volume ? (op == "MaxPool" ? "MaxPool3D" : "AvgPool3D") : op, with_two_spatial_axes(call, x),
              with_two_spatial_axes(windows));
}

/// What no element is below.
double lowest(ElementType elem) {
  switch (elem) {
    case ElementType::uint8:
      return 0;
    case ElementType::int8:
      return std::numeric_limits<std::int8_t>::lowest();
    default:
      return -std::numeric_limits<double>::infinity();
  }
}

void map_max_pool(WriteCall& call) {
  auto windows = windows_of_pool(call);
  if (!windows) return;
  const ElementType elem = call.elem(0);
  if (elem != ElementType::uint8 && elem != ElementType::int8 && !is_real(call)) return;
  // Kernels over bytes lack variants; those over reals keep their order.
  const bool is_byte = is_integer(elem);
  const ValueId x = padded(call, call.input(0), *windows, lowest(elem));
  const ValueId result = pool_images(call, "MaxPool", is_byte ? cast(call, x, ElementType::float32) : x, *windows);
  give_spatial(call, is_byte ? cast(call, result, elem) : result);
}

void map_average_pool(WriteCall& call) {
  const auto windows = windows_of_pool(call);
  if (!windows || !is_real(call)) return;
  const bool counts_pads = call.integer("count_include_pad", 0) != 0;
  Windows explicit_windows = *windows;
  if (counts_pads && windows->has_pads()) explicit_windows.is_same = false;
  const bool is_corrected = !explicit_windows.is_same && windows->has_pads();
  const ValueId x = padded(call, call.input(0), explicit_windows, 0);
  ValueId mean = pool_images(call, "AvgPool", x, explicit_windows);
  if (is_corrected) mean = counted_mean(call, mean, *windows, counts_pads);
  give_spatial(call, mean);
}

/// (sum |x|^p)^(1/p): the mean of the powers, times how many they are.
void map_lp_pool(WriteCall& call) {
  auto windows = windows_of_pool(call);
  if (!windows || !is_real(call)) return;
  if (call.text("auto_pad", "NOTSET").starts_with("SAME"))
    for (std::size_t a = 0; a < windows->kernel.size(); ++a)
      if (!call.size(0, a + 1)) return call.refuse("its padding depends on sizes that are not known");
  const auto p = static_cast<double>(call.integer("p", 2));
  windows->is_same = windows->is_same && !windows->has_pads();
  double count = 1;
  for (const std::int64_t size : windows->kernel) count *= static_cast<double>(size);
  const ValueId x = padded(call, call.input(0), *windows, 0);
  const ValueId powers = binary(call, "Pow", unary(call, "Abs", x), p);
  const ValueId sum = binary(call, "Mul", pool_images(call, "AvgPool", powers, *windows), count);
  give_spatial(call, binary(call, "Pow", sum, 1 / p));
}

}  // namespace

void register_pooling(Writers& writers);
void register_pooling(Writers& writers) {
  writers.add(
      {"onnxkit.channels_last::MaxPool1D", "onnxkit.channels_last::MaxPool2D", "onnxkit.channels_last::MaxPool3D"},
      map_max_pool);
  writers.add({"onnxkit.channels_last::AveragePool1D", "onnxkit.channels_last::AveragePool2D",
               "onnxkit.channels_last::AveragePool3D"},
              map_average_pool);
  writers.add({"onnxkit.channels_last::LpPool1D", "onnxkit.channels_last::LpPool2D"}, map_lp_pool);
}

}  // namespace onnxkit::to_tensorflow
