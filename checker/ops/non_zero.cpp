// NonZero: a row for each axis of the input, a column for each element that is not zero.
#include <algorithm>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

/// The positions, when it is known of every element whether it is zero.
std::optional<Constant> positions(InferContext& context, const Constant& input) {
  const std::size_t rank = input.shape.size();
  std::vector<std::vector<std::int64_t>> found;
  bool known = true;
  build_value(input.type, input.shape, [&](std::span<const std::int64_t> at) {
    const Scalar& element = input.elements[flat_index(input.shape, at)];
    const auto real = element.constant_real();
    const bool is_zero = real == 0.0;
    const bool never_zero =
        (real && !is_zero) || (element.is_integer() && context.dims().never_equal(element.dim(), 0));
    known = known && (is_zero || never_zero);
    if (never_zero) found.emplace_back(at.begin(), at.end());
    return Scalar();
  });
  if (!known) return std::nullopt;
  return build_value(ElementType::int64, {static_cast<std::int64_t>(rank), static_cast<std::int64_t>(found.size())},
                     [&](std::span<const std::int64_t> at) {
                       return Scalar::integer(found[static_cast<std::size_t>(at[1])][static_cast<std::size_t>(at[0])]);
                     });
}

void infer_non_zero(InferContext& context) {
  const auto rank = context.input_rank(0);
  const Constant* input = movable_value(context, 0);
  if (input && !input->shape.empty()) {
    if (auto value = positions(context, *input)) return context.set_value(0, std::move(*value));
  }
  // Of a scalar implementations make either no row or one.
  const bool rank_is_clear = rank && *rank > 0;
  context.set_shape(0,
                    {rank_is_clear ? Dim(static_cast<std::int64_t>(*rank)) : Dim(),
                     context.data_dependent("nonzero", "the number of nonzero elements decides the size at run time")});
}

}  // namespace

void register_non_zero(InferRegistry& registry) {
  registry.add("NonZero", all_versions(), infer_non_zero, {.inputs = {{0, Role::counted}}});
}

}  // namespace onnxkit::checker
