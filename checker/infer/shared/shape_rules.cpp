#include "checker/infer/shared/shape_rules.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "checker/infer/type_rules.h"

namespace onnxkit::checker {

std::optional<std::size_t> resolve_axis(InferContext& context, std::int64_t axis, std::size_t rank, Where at,
                                        bool allow_negative) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  const std::int64_t least = allow_negative ? -signed_rank : 0;
  if (axis < least || axis >= signed_rank) {
    context.error({.code = "axis-range",
                   .at = at,
                   .message = fmt::format("axis {} does not exist in a tensor of rank {}", axis, rank),
                   .expected = rank == 0 ? "no axis" : fmt::format("{} to {}", least, signed_rank - 1),
                   .found = std::to_string(axis)});
    return std::nullopt;
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::optional<std::vector<std::size_t>> resolve_axes(InferContext& context, std::span<const std::int64_t> axes,
                                                     std::size_t rank, Where at, bool allow_negative) {
  std::vector<std::size_t> resolved;
  for (const std::int64_t axis : axes) {
    const auto one = resolve_axis(context, axis, rank, at, allow_negative);
    if (!one) return std::nullopt;
    if (std::find(resolved.begin(), resolved.end(), *one) != resolved.end()) {
      context.error({.code = "axis-range",
                     .at = at,
                     .message = fmt::format("axis {} is listed twice", axis),
                     .expected = "distinct axes",
                     .found = fmt::format("axis {} twice in a tensor of rank {}", *one, rank)});
      return std::nullopt;
    }
    resolved.push_back(*one);
  }
  return resolved;
}

Dim require_equal(InferContext& context, Dim a, Dim b, const Finding& finding) {
  if (a == b) return a;
  if (a.is_unknown() || b.is_unknown()) return a.is_unknown() ? b : a;
  if (context.sizes_clash(a, b)) {
    Finding said = finding;
    if (said.expected.empty()) said.expected = context.text(a);
    if (said.found.empty()) said.found = context.text(b);
    context.error(std::move(said));
    return a;
  }
  context.need_equal(a, b, finding.at);
  if (a.is_constant()) return a;
  if (b.is_constant()) return b;
  return context.dims().has_origin(a, ir::SymbolOrigin::lost) ? b : a;
}

Dim broadcast_dim(InferContext& context, Dim a, Dim b) {
  DimPool& dims = context.dims();
  context.demand(SizeRelation::broadcast, a, b);
  if (a == b) return a;
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  if (a.is_constant() && b.is_constant()) return {};
  // One of them is 1 or both are equal, so a size that cannot be 1 decides.
  if (!a.is_unknown() && dims.never_equal(a, 1)) return a;
  if (!b.is_unknown() && dims.never_equal(b, 1)) return b;
  if (a.is_unknown() || b.is_unknown()) return {};
  return dims.broadcast(a, b);
}

std::optional<Shape> broadcast(InferContext& context, std::span<const std::size_t> inputs) {
  std::size_t rank = 0;
  for (const std::size_t input : inputs) {
    const auto input_rank = context.input_rank(input);
    if (!input_rank) return std::nullopt;
    rank = std::max(rank, *input_rank);
  }
  Shape result(rank, Dim(1));
  for (const std::size_t input : inputs) {
    const Shape& shape = *context.input_shape(input);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      Dim& so_far = result[rank - shape.size() + i];
      const Dim here = shape[i];
      const bool clash = !so_far.is_unknown() && !here.is_unknown() && context.dims().never_equal(so_far, here) &&
                         context.dims().never_equal(so_far, 1) && context.dims().never_equal(here, 1);
      if (clash) {
        context.error(
            {.code = "broadcast-mismatch",
             .at = at_input(input),
             .message = fmt::format("shapes cannot be broadcast: axis {} of the result", rank - shape.size() + i),
             .expected = fmt::format("{} or 1 in axis {}", context.text(so_far), i),
             .found = context.text(shape)});
        return std::nullopt;
      }
      so_far = broadcast_dim(context, so_far, here);
    }
  }
  return result;
}

Dim product(InferContext& context, std::span<const Dim> sizes) {
  Dim total = 1;
  for (const Dim size : sizes) {
    if (size.is(0)) return 0;
    total = context.dims().mul(total, size);
  }
  return total;
}

bool rank_differs(InferContext& context, std::size_t input, std::size_t expected) {
  const auto rank = context.input_rank(input);
  if (!rank || *rank == expected) return false;
  context.error({.code = "rank-mismatch",
                 .at = at_input(input),
                 .message = fmt::format("{} requires a tensor of rank {}", context.schema().name, expected),
                 .expected = fmt::format("rank {}", expected),
                 .found = context.text(*context.input_shape(input))});
  return true;
}

bool rank_below(InferContext& context, std::size_t input, std::size_t least) {
  const auto rank = context.input_rank(input);
  if (!rank || *rank >= least) return false;
  context.error({.code = "rank-mismatch",
                 .at = at_input(input),
                 .message = fmt::format("{} requires a tensor of rank {} or more", context.schema().name, least),
                 .expected = fmt::format("rank {} or more", least),
                 .found = context.text(*context.input_shape(input))});
  return true;
}

void set_elem_from_attribute(InferContext& context, std::size_t output, std::string_view attribute,
                             ElementType fallback) {
  ElementType elem = fallback;
  if (const auto number = context.find_integer(attribute)) {
    const bool exists = *number > 0 && *number < element_type_count;
    elem = exists ? static_cast<ElementType>(*number) : ElementType::undefined;
    const spec::FormalParameter* formal = context.schema().output_at(output);
    const spec::TypeSet allowed = formal ? context.schema().constraints[formal->constraint].allowed : spec::TypeSet{};
    if (!exists || (formal && !allows(allowed, Type::tensor(elem)))) {
      context.error({.code = "attribute-value",
                     .at = at_attribute(attribute),
                     .message = exists ? fmt::format("{} cannot produce this type", context.schema().name)
                                       : "no element type has this number",
                     .expected = describe(allowed),
                     .found = exists ? std::string(name_of(elem)) : std::to_string(*number)});
      return;
    }
  }
  if (elem != ElementType::undefined) context.set_elem(output, elem);
}

Dim scalar_size(InferContext& context, std::size_t input) {
  const Constant* value = context.input_value(input);
  return value && value->elements.size() == 1 ? value->elements.front().dim() : Dim();
}

bool require_shape(InferContext& context, std::size_t input, const Shape& expected, std::string_view why) {
  const Shape* found = context.input_shape(input);
  if (!found) return true;
  const bool same_rank = found->size() == expected.size();
  bool differs = !same_rank;
  for (std::size_t axis = 0; same_rank && axis < expected.size(); ++axis)
    differs = context.sizes_clash(expected[axis], (*found)[axis]) || differs;
  if (!differs) return true;
  context.error({.code = same_rank ? "shape-mismatch" : "rank-mismatch",
                 .at = at_input(input),
                 .message = std::string(why),
                 .expected = context.text(expected),
                 .found = context.text(*found)});
  return false;
}

bool require_broadcast_to(InferContext& context, std::size_t input, const Shape& target, std::string_view why) {
  const Shape* found = context.input_shape(input);
  if (!found) return true;
  bool fits = found->size() <= target.size();
  const std::size_t ahead = fits ? target.size() - found->size() : 0;
  for (std::size_t axis = 0; fits && axis < found->size(); ++axis) {
    const Dim here = (*found)[axis];
    const Dim there = target[axis + ahead];
    context.demand(SizeRelation::stretched, here, there);
    const bool clash = !here.is_unknown() && !there.is_unknown() && context.dims().never_equal(here, there) &&
                       context.dims().never_equal(here, 1);
    fits = !clash;
  }
  if (fits) return true;
  context.error({.code = "broadcast-mismatch",
                 .at = at_input(input),
                 .message = std::string(why),
                 .expected = fmt::format("a shape that broadcasts to {}", context.text(target)),
                 .found = context.text(*found)});
  return false;
}

bool require_single_element(InferContext& context, std::size_t input, std::string_view why) {
  const auto rank = context.input_rank(input);
  return !rank || *rank == 0 || require_shape(context, input, {1}, why);
}

bool require_divisible(InferContext& context, Dim size, std::int64_t parts, Where at, std::string_view why) {
  const Dim rest = context.dims().mod(size, parts);
  if (!context.sizes_clash(rest, 0)) return true;
  context.error({.code = "divisibility",
                 .at = at,
                 .message = std::string(why),
                 .expected = fmt::format("a multiple of {}", parts),
                 .found = context.text(size)});
  return false;
}

bool require_in_range(InferContext& context, std::string_view attribute, std::int64_t value, std::int64_t least,
                      std::int64_t most) {
  if (value >= least && value <= most) return true;
  const bool open_ended = most == std::numeric_limits<std::int64_t>::max();
  context.error({.code = "attribute-value",
                 .at = at_attribute(attribute),
                 .message = fmt::format("{} cannot be {}", attribute, value),
                 .expected = open_ended ? fmt::format("{} or more", least) : fmt::format("{} to {}", least, most),
                 .found = std::to_string(value)});
  return false;
}

}  // namespace onnxkit::checker
