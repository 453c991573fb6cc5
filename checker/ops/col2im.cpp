// Col2Im: [N, channels * block, blocks] becomes an image [N, channels, image sizes...].
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

void check_length_col2im(InferContext& context, std::string_view attribute, std::size_t expected) {
  const auto values = context.integers(attribute);
  if (!values || values->size() == expected) return;
  context.error({.code = "attribute-length",
                 .at = at_attribute(attribute),
                 .message = fmt::format("{} does not match the image", attribute),
                 .expected = fmt::format("{} entries", expected),
                 .found = fmt::format("{} entries", values->size())});
}

/// How many blocks lie in the image; unknown when anything is.
Dim block_count(InferContext& context, const Shape& image, const Shape& block) {
  const std::size_t axes = image.size();
  DimPool& dims = context.dims();
  const auto list = [&](std::string_view name, std::size_t size, std::int64_t fallback) {
    auto values = context.integers(name);
    return values && values->size() == size ? *values : std::vector<std::int64_t>(size, fallback);
  };
  const auto strides = list("strides", axes, 1), dilations = list("dilations", axes, 1),
             pads = list("pads", 2 * axes, 0);
  Dim total = 1;
  for (std::size_t i = 0; i < axes; ++i) {
    if (strides[i] <= 0 || dilations[i] <= 0) return {};
    const Dim padded = dims.add(dims.add(image[i], pads[i]), pads[i + axes]);
    const Dim reach = dims.add(dims.mul(dims.sub(block[i], 1), dilations[i]), 1);
    total = dims.mul(total, dims.add(dims.floor_div(dims.sub(padded, reach), strides[i]), 1));
  }
  return total;
}

Dim channels_col2im(InferContext& context, Dim rows, Dim block) {
  if (rows.is_unknown() || block.is_unknown()) return {};
  context.demand(SizeRelation::equal, context.dims().mod(rows, block), 0);
  if (rows.is_constant() && block.is_constant() && block.constant() > 0 && rows.constant() % block.constant() != 0) {
    context.error({.code = "divisibility",
                   .at = at_input(0),
                   .message = "axis 1 must be a multiple of the block size",
                   .expected = fmt::format("a multiple of {}", block.constant()),
                   .found = context.text(*context.input_shape(0))});
    return {};
  }
  return context.dims().floor_div(rows, block);
}

void infer_col2im(InferContext& context) {
  const Shape* columns = context.input_shape(0);
  const bool wrong = rank_differs(context, 0, 3);
  const auto image = sizes_from_content(context, 1);
  const auto block = sizes_from_content(context, 2);
  context.lose_shape_to_content(0, 1, "the size of the image is unknown");
  if (!image) return;
  for (const char* attribute : {"strides", "dilations"}) check_length_col2im(context, attribute, image->size());
  check_length_col2im(context, "pads", 2 * image->size());
  Shape result(2);
  result.insert(result.end(), image->begin(), image->end());
  const bool fits =
      !length_differs(context, 2, image->size(), "the block must have as many axes as the image") && block;
  if (columns && !wrong && fits && block->size() == image->size()) {
    result[0] = (*columns)[0];
    result[1] = channels_col2im(context, (*columns)[1], product(context, *block));
    const Dim blocks = block_count(context, *image, *block);
    if (!blocks.is_unknown()) {
      require_equal(context, blocks, (*columns)[2],
                    {.code = "shape-mismatch",
                     .at = at_input(0),
                     .message = "the last axis does not match the number of blocks in the image"});
    }
  }
  context.set_shape(0, std::move(result));
}

}  // namespace

void register_col2im(InferRegistry& registry) { registry.add("Col2Im", all_versions(), infer_col2im); }

}  // namespace onnxkit::checker
