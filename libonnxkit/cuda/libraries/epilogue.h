#pragma once

#include <optional>

#include "libonnxkit/cuda/step.h"
#include "libonnxkit/plan/epilogue_links.h"

namespace onnxkit::cuda {

using plan::EpilogueLink;
using plan::sum_of;

/// What the expression does to its input 0, as far as libraries have operations for it.
std::vector<EpilogueLink> links_of(const plan::Expression& expression);

/// A map in place on the output that does what the expression does behind instruction `done`. Nothing when it would read what the library overwrote.
std::optional<plan::Step> rest_of(const plan::Step& step, const plan::Expression& expression,
                                  plan::Expression::Number done, const plan::Plan& plan);

/// Whether the bytes of two views may be the same.
bool may_overlap(const plan::Plan& plan, const View& a, const View& b);

/// Bytes that divide the address of a view's first element, at most 256.
std::uint32_t alignment_of(const plan::Plan& plan, const View& view);

}  // namespace onnxkit::cuda
