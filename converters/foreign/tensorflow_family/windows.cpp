#include "converters/foreign/tensorflow_family/windows.h"

#include <algorithm>
#include <string>

namespace onnxkit::tensorflow_family {

std::optional<Windows> pool_windows(WriteCall& call, std::size_t most_axes, std::string_view reason) {
  const Ints kernel = call.integers("kernel_shape");
  if (kernel.empty() || kernel.size() > most_axes) call.refuse(std::string(reason));
  if (call.refused()) return std::nullopt;
  Windows windows = windows_of(call, kernel);
  if (std::any_of(windows.dilations.begin(), windows.dilations.end(), [](std::int64_t d) { return d != 1; }))
    call.refuse("windows of pooling have no dilations there");
  return call.refused() ? std::nullopt : std::optional(windows);
}

Ints for_all_axes(const Ints& spatial, std::int64_t border) {
  Ints all = {border};
  all.insert(all.end(), spatial.begin(), spatial.end());
  all.push_back(border);
  return all;
}

ValueId with_two_spatial_axes(WriteCall& call, ValueId x) {
  const Type& type = call.type_of(x);
  return type.shape && type.shape->size() == 3 ? expand_dims(call, x, 1) : x;
}

Type images_of(Type type) {
  if (type.shape && type.shape->size() == 3) type.shape->insert(type.shape->begin() + 1, Dim(1));
  return type;
}

void give_spatial(WriteCall& call, ValueId result) {
  if (const Type& type = call.output_type(); type.shape && type.shape->size() == 3)
    result = squeeze(call, result, {1}, type);
  call.result(result);
}

ValueId counted_mean(WriteCall& call, ValueId mean, const Windows& windows, bool counts_pads) {
  auto factors = foreign::mean_factors(call, windows, counts_pads);
  if (!factors || factors->is_one()) return mean;
  if (windows.kernel.size() == 1) factors->dims.insert(factors->dims.begin() + 1, 1);
  return binary(call, "Mul", mean, call.reals_tensor(call.elem(0), factors->dims, factors->values));
}

}  // namespace onnxkit::tensorflow_family
