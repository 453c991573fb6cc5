// Split: one output for each piece along `axis`. The sizes are an attribute until version 12 (in version 1 also an input), an input from 13
// on; from 18 on `num_outputs` asks for equal pieces of which the last may be smaller. Without sizes all pieces are equal.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

void complain(InferContext& context, Where at, std::string message, std::string expected, std::string found) {
  context.error({.code = "split-sizes",
                 .at = at,
                 .message = std::move(message),
                 .expected = std::move(expected),
                 .found = std::move(found)});
}

/// The sizes that the node states, unknown ones where unknown; nullopt when they are wrong.
std::optional<Shape> stated_sizes_split(InferContext& context, const IntegerList& list, Dim total) {
  const std::size_t count = context.output_count();
  if (list.length && *list.length != count) {
    complain(context, list.at, "the number of sizes differs from the number of outputs", fmt::format("{} sizes", count),
             fmt::format("{} sizes", *list.length));
    return std::nullopt;
  }
  Shape sizes(count);
  if (list.values) {
    sizes.assign(list.values->begin(), list.values->end());
  } else if (const Constant* value = movable_value(context, 1); value && value->elements.size() == count) {
    sizes = value->dims();
  }
  Dim sum = 0;
  std::size_t unknown_count = 0, unknown = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (sizes[i].is_constant() && sizes[i].constant() < 0) {
      complain(context, list.at, fmt::format("piece {} has a negative size", i), "sizes of 0 or more",
               context.text(sizes));
      return std::nullopt;
    }
    if (sizes[i].is_unknown()) {
      ++unknown_count;
      unknown = i;
    } else {
      sum = context.dims().add(sum, sizes[i]);
    }
  }
  if (total.is_unknown() || sum.is_unknown()) return sizes;
  if (unknown_count == 1) sizes[unknown] = context.dims().sub(total, sum);
  if (unknown_count == 0 && context.sizes_clash(sum, total)) {
    complain(context, list.at, "the sizes of the pieces do not add up to the size of the axis",
             fmt::format("a sum of {}", context.text(total)),
             fmt::format("{} in {}", context.text(sum), context.text(sizes)));
    return std::nullopt;
  }
  return sizes;
}

/// Until version 17 equal pieces must come out even.
std::optional<Shape> even_pieces(InferContext& context, Dim total) {
  const auto count = static_cast<std::int64_t>(context.output_count());
  if (total.is_constant() && total.constant() % count != 0) {
    context.error({.code = "divisibility",
                   .at = at_node(),
                   .message = "the axis is not divisible into equal pieces",
                   .expected = fmt::format("a size divisible by {}, the number of outputs", count),
                   .found = context.text(total)});
    return std::nullopt;
  }
  context.demand(SizeRelation::equal, context.dims().mod(total, count), 0);
  return Shape(context.output_count(), context.dims().floor_div(total, count));
}

std::optional<Shape> numbered_pieces(InferContext& context, Dim total) {
  const auto count = static_cast<std::int64_t>(context.output_count());
  const std::int64_t stated = context.integer("num_outputs");
  if (stated != count) {
    complain(context, at_attribute("num_outputs"), "the number of outputs differs from num_outputs",
             fmt::format("{}", count), fmt::format("{}", stated));
    return std::nullopt;
  }
  DimPool& dims = context.dims();
  const Dim piece = dims.ceil_div(total, count);
  const Dim last = dims.sub(total, dims.mul(piece, count - 1));
  if (last.is_constant() && last.constant() < 0) {
    complain(context, at_attribute("num_outputs"), "no elements are left for the last piece",
             fmt::format("pieces of {}", context.text(total)),
             fmt::format("{} pieces of {}", count - 1, context.text(piece)));
    return std::nullopt;
  }
  Shape sizes(context.output_count(), piece);
  sizes.back() = last;
  return sizes;
}

std::optional<Shape> piece_sizes(InferContext& context, Dim total) {
  const std::int32_t since = context.since();
  const bool by_input = since == 1 ? context.has_input(1) : since >= 13;
  const IntegerList list = by_input ? list_from_input(context, 1) : list_from_attribute(context, "split");
  const bool numbered = since >= 18 && context.has_attribute("num_outputs");
  if (since >= 18 && list.present == numbered) {
    context.error({.code = "exclusive-inputs",
                   .at = at_node(),
                   .message = list.present ? "both the sizes and num_outputs are given"
                                           : "neither the sizes nor num_outputs are given",
                   .expected = "either input 1 or attribute num_outputs",
                   .found = list.present ? "both" : "neither"});
    return std::nullopt;
  }
  if (list.present) return stated_sizes_split(context, list, total);
  return numbered ? numbered_pieces(context, total) : even_pieces(context, total);
}

void set_contents(InferContext& context, std::size_t axis, const Shape& pieces) {
  const Constant* value = movable_value(context, 0);
  const auto sizes = constant_sizes(pieces);
  if (!value || !sizes) return;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    std::vector<std::int64_t> piece = value->shape;
    piece[axis] = (*sizes)[i];
    if (begin + piece[axis] > value->shape[axis]) return;
    auto content = build_value(value->type, piece, [&](std::span<const std::int64_t> at) {
      std::vector<std::int64_t> source(at.begin(), at.end());
      source[axis] += begin;
      return value->elements[flat_index(value->shape, source)];
    });
    if (content) context.set_value(i, std::move(*content));
    begin += piece[axis];
  }
}

void infer_split(InferContext& context) {
  const Shape* shape = context.input_shape(0);
  if (!shape) {
    piece_sizes(context, Dim());
    for (std::size_t i = 0; i < context.output_count(); ++i) context.lose_shape(i, "the rank of the input is unknown");
    return;
  }
  const auto axis = resolve_axis(context, context.integer("axis", 0), shape->size(), at_attribute("axis"));
  if (!axis) return;
  const auto pieces = piece_sizes(context, (*shape)[*axis]);
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    Shape result = *shape;
    result[*axis] = pieces ? (*pieces)[i] : Dim();
    context.lose_shape_to_content(i, 1, "the sizes of the pieces are unknown");
    context.set_shape(i, std::move(result));
  }
  if (pieces) set_contents(context, *axis, *pieces);
}

}  // namespace

void register_split(InferRegistry& registry) {
  registry.add("Split", all_versions(), infer_split, {.inputs = {{0, Role::moved}, {1, Role::pieces}}});
}

}  // namespace onnxkit::checker
