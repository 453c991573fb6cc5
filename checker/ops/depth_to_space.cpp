// DepthToSpace, SpaceToDepth: blocks of blocksize x blocksize move between the channels and the image.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"

namespace onnxkit::checker {
namespace {

std::optional<std::int64_t> block_size(InferContext& context) {
  const std::int64_t block = context.integer("blocksize");
  constexpr std::int64_t limit = 1 << 30;
  if (block > 0 && block < limit) return block;
  if (block <= 0) {
    context.error({.code = "attribute-value",
                   .at = at_attribute("blocksize"),
                   .message = "the block size must be positive",
                   .expected = "1 or more",
                   .found = std::to_string(block)});
  }
  return std::nullopt;
}

/// Wherever the model is valid the division comes out even.
Dim divided(InferContext& context, Dim size, std::int64_t divisor, std::string_view axis) {
  context.demand(SizeRelation::equal, context.dims().mod(size, divisor), 0);
  if (size.is_constant() && size.constant() % divisor != 0) {
    context.error({.code = "divisibility",
                   .at = at_input(0),
                   .message = fmt::format("the {} is not divisible into blocks", axis),
                   .expected = fmt::format("a multiple of {}", divisor),
                   .found = context.text(*context.input_shape(0))});
    return {};
  }
  return context.dims().floor_div(size, divisor);
}

void infer_depth_to_space(InferContext& context) {
  const auto block = block_size(context);
  context.set_shape(0, Shape(4));
  const Shape* shape = context.input_shape(0);
  if (rank_differs(context, 0, 4) || !shape || !block) return;
  DimPool& dims = context.dims();
  context.set_shape(0, {(*shape)[0], divided(context, (*shape)[1], *block * *block, "number of channels"),
                        dims.mul((*shape)[2], *block), dims.mul((*shape)[3], *block)});
}

void infer_space_to_depth(InferContext& context) {
  const auto block = block_size(context);
  context.set_shape(0, Shape(4));
  const Shape* shape = context.input_shape(0);
  if (rank_differs(context, 0, 4) || !shape || !block) return;
  context.set_shape(0,
                    {(*shape)[0], context.dims().mul((*shape)[1], *block * *block),
                     divided(context, (*shape)[2], *block, "height"), divided(context, (*shape)[3], *block, "width")});
}

}  // namespace

void register_depth_to_space(InferRegistry& registry) {
  registry.add("DepthToSpace", all_versions(), infer_depth_to_space);
  registry.add("SpaceToDepth", all_versions(), infer_space_to_depth);
}

}  // namespace onnxkit::checker
