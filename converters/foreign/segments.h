#pragma once

#include <string>

#include "converters/foreign/call.h"

// Rows reduced by the groups that they belong to.
namespace onnxkit::foreign {

/// Rows reduced by their groups, of which there are `count`: a vector of one. `reduction` is that of ScatterND.
Val grouped(Call& call, Val data, Val groups, Val count, const std::string& reduction);
/// The same for groups in any order, of which negative ones are left out.
Val unsorted_segments(Call& call, Val data, Val groups, Val count, const std::string& reduction);

}  // namespace onnxkit::foreign
