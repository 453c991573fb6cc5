#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "checker/infer/infer_context.h"

// What many operators say about shapes, each with the finding that belongs to it.
namespace onnxkit::checker {

/// `axis` of a tensor of this rank, negative ones counted from the end when `allow_negative`. Reports axis-range at `at` and answers
/// nullopt when it is outside.
std::optional<std::size_t> resolve_axis(InferContext& context, std::int64_t axis, std::size_t rank, Where at,
                                        bool allow_negative = true);
/// All of them; reports repeated ones too (axis-range). nullopt when one is wrong.
std::optional<std::vector<std::size_t>> resolve_axes(InferContext& context, std::span<const std::int64_t> axes,
                                                     std::size_t rank, Where at, bool allow_negative = true);

/// The size that two sizes which must be equal have: the more telling one. Reports `code` when they can never be equal.
Dim require_equal(InferContext& context, Dim a, Dim b, const Finding& finding);

/// Numpy broadcasting. Reports broadcast-mismatch. nullopt when a rank is unknown.
/// `inputs` are node input indices, for the message.
std::optional<Shape> broadcast(InferContext& context, std::span<const std::size_t> inputs);
/// The size of two broadcast against each other; unknown when they can never be. One symbol per pair, so that equal pairs stay equal.
Dim broadcast_dim(InferContext& context, Dim a, Dim b);

/// Product of sizes; unknown when one is unknown or it grows too large.
Dim product(InferContext& context, std::span<const Dim> sizes);

/// True when the input's rank is known and is not one of the allowed; then reports rank-mismatch.
bool rank_differs(InferContext& context, std::size_t input, std::size_t expected);
bool rank_below(InferContext& context, std::size_t input, std::size_t least);

/// Makes the output's element type the one that an integer attribute names (Cast's `to`, `dtype` ...), or `fallback` when the attribute is
/// absent. Reports attribute-value when there is no such type or the output may not have it.
void set_elem_from_attribute(InferContext& context, std::size_t output, std::string_view attribute,
                             ElementType fallback);

/// The one element of a scalar or one-element tensor input as a size, symbolic perhaps; unknown when its content is not followed.
Dim scalar_size(InferContext& context, std::size_t input);

/// The input's shape must be `expected`, where unknown sizes admit any. Reports rank-mismatch or shape-mismatch with `why` as the message
/// ("one bias for each filter") and answers false then; true when nothing is proven wrong, also when the input is omitted.
bool require_shape(InferContext& context, std::size_t input, const Shape& expected, std::string_view why);

/// The input must be broadcastable to `target` (never the other way round), where unknown sizes admit any. Reports broadcast-mismatch.
bool require_broadcast_to(InferContext& context, std::size_t input, const Shape& target, std::string_view why);

/// The input is a scalar, which files also spell as a vector of one. Reports rank-mismatch or shape-mismatch.
bool require_single_element(InferContext& context, std::size_t input, std::string_view why);

/// The size is a multiple of `parts` (> 0). Reports divisibility when it never is.
bool require_divisible(InferContext& context, Dim size, std::int64_t parts, Where at, std::string_view why);

/// An integer attribute in [least, most]. Reports attribute-value and answers false otherwise.
bool require_in_range(InferContext& context, std::string_view attribute, std::int64_t value, std::int64_t least,
                      std::int64_t most = std::numeric_limits<std::int64_t>::max());

}  // namespace onnxkit::checker
