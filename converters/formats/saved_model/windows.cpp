#include "converters/formats/saved_model/windows.h"

namespace onnxkit::to_tensorflow {

Ints for_all_axes(const Ints& spatial) {
  Ints all = {1};
  all.insert(all.end(), spatial.begin(), spatial.end());
  all.push_back(1);
  return all;
}

void state_padding(std::vector<Given>& given, const Windows& windows, bool can_be_explicit) {
  const bool is_explicit = can_be_explicit && !windows.is_same && windows.has_pads();
  const std::string_view padding = windows.is_same ? "SAME" : is_explicit ? "EXPLICIT" : "VALID";
  given.push_back({"padding", padding});
  if (!is_explicit) return;
  Ints pairs = {0, 0};
  for (std::size_t a = 0; a < windows.begins.size(); ++a)
    pairs.insert(pairs.end(), {windows.begins[a], windows.ends[a]});
  pairs.insert(pairs.end(), {0, 0});
  given.push_back({"explicit_paddings", pairs});
}

ValueId padded(WriteCall& call, ValueId x, Windows& windows, double value) {
  if (windows.is_same || !windows.has_pads()) return x;
  Ints begins = for_all_axes(windows.begins), ends = for_all_axes(windows.ends);
  begins.front() = begins.back() = ends.front() = ends.back() = 0;
  const ValueId wide = pad(call, x, begins, ends, value);
  windows.begins.assign(windows.begins.size(), 0);
  windows.ends = windows.begins;
  return wide;
}

Type images_of(Type type) {
  if (type.shape && type.shape->size() == 3) type.shape->insert(type.shape->begin() + 1, Dim(1));
  return type;
}

ValueId with_two_spatial_axes(WriteCall& call, ValueId x) {
  const Type& type = call.type_of(x);
  return type.shape && type.shape->size() == 3 ? expand_dims(call, x, 1) : x;
}

void give_spatial(WriteCall& call, ValueId result) {
  if (const Type& type = call.output_type(); type.shape && type.shape->size() == 3)
    result = squeeze(call, result, {1}, type);
  call.result(result);
}

}  // namespace onnxkit::to_tensorflow
