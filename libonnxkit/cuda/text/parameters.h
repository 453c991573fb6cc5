#pragma once

#include <string>
#include <string_view>

#include "libonnxkit/cuda/step.h"

namespace onnxkit::cuda {

/// The parameters of a kernel whose operands are the inputs of a step, x0, x1 ..., then its outputs, y, y1 ...: "(const float* __restrict__ x0, float*
/// __restrict__ y)". What may lie where an output does is not __restrict__. With `has_fault` that of Launch::fault behind them.
std::string write_parameters(const plan::Step& step, const Preparation& preparation, bool has_fault = false);
/// The operands in that order.
std::vector<View> operands_of(const plan::Step& step);
/// Error not-supported when a kernel cannot read or write an operand.
Result<void> check_types(const plan::Step& step);

/// Error not-supported where a kernel whose `threads` threads look at `each` elements each would take long, as nothing stops it, or longer than the
/// reference: by one thread, or by all, which may make `most` of what they make of them ("comparisons").
Result<void> check_work(std::int64_t threads, std::int64_t each, std::string_view what,
                        std::int64_t most = std::int64_t{1} << 36);

/// What the numbers of a step are computed in: f64 when the output or the first input is float64, i64 when it is an integer.
plan::Lane number_lane(const plan::Step& step);

}  // namespace onnxkit::cuda
