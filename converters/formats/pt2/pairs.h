#pragma once

#include "converters/foreign/call.h"

namespace onnxkit::pt2 {

/// Places along the first axis, two and two.
struct Pairs {
  foreign::Val first, second;
};

/// Each pair of rows once, the first before the second; `with_itself` each row with itself, too.
Pairs pairs_of_rows(foreign::Call& call, foreign::Val x, bool with_itself = false);

}  // namespace onnxkit::pt2
