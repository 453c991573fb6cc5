#pragma once

#include <array>
#include <string_view>

// Attributes that passes of plans give nodes beside those of the schema: what single nodes mean and the operator in their place has no words for.
// `check` refuses them in models.
namespace onnxkit::spec {

/// Of Attention: a query that sees no key gets NaN, as of a softmax of infinities, not 0.
inline constexpr std::string_view nan_without_keys = "nan_without_keys";
/// Of Attention: the mask is 0 where a score stays, and elsewhere what takes the score's place.
inline constexpr std::string_view mask_replaces = "mask_replaces";

inline constexpr std::array pattern_attributes = {nan_without_keys, mask_replaces};

}  // namespace onnxkit::spec
