#include "converters/formats/saved_model/windows.h"

namespace onnxkit::to_tensorflow {

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
  const ValueId wide = pad(call, x, for_all_axes(windows.begins, 0), for_all_axes(windows.ends, 0), value);
  windows.begins.assign(windows.begins.size(), 0);
  windows.ends = windows.begins;
  return wide;
}

}  // namespace onnxkit::to_tensorflow
