// Where: condition and both answers are broadcast against each other.
#include <array>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/shared/value_moves.h"

namespace onnxkit::checker {
namespace {

const Scalar& broadcast_element(const Constant& value, std::span<const std::int64_t> at) {
  const auto tail = at.last(value.shape.size());
  std::vector<std::int64_t> source(tail.begin(), tail.end());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (value.shape[i] == 1) source[i] = 0;
  }
  return value.elements[flat_index(value.shape, source)];
}

bool same(const Scalar& a, const Scalar& b) {
  if (a.is_integer() && b.is_integer()) return a.dim() == b.dim();
  return a.constant_real() && a.constant_real() == b.constant_real();
}

void choose_elements(InferContext& context) {
  const Constant* condition = movable_value(context, 0);
  const Constant* yes = movable_value(context, 1);
  const Constant* no = movable_value(context, 2);
  if (!yes && !no) return;
  set_picked(context, yes ? yes->type : no->type, [&](std::span<const std::int64_t> at) {
    const Dim chosen = condition ? broadcast_element(*condition, at).dim() : Dim();
    const Scalar if_true = yes ? broadcast_element(*yes, at) : Scalar();
    const Scalar if_false = no ? broadcast_element(*no, at) : Scalar();
    if (chosen.is_constant()) return chosen.is(0) ? if_false : if_true;
    return same(if_true, if_false) ? if_true : Scalar();
  });
}

void infer_where(InferContext& context) {
  constexpr std::array<std::size_t, 3> inputs = {0, 1, 2};
  context.lose_shape(0, "the rank of an input is unknown");
  auto shape = broadcast(context, inputs);
  if (!shape) return;
  context.set_shape(0, std::move(*shape));
  choose_elements(context);
}

}  // namespace

void register_where(InferRegistry& registry) {
  registry.add("Where", all_versions(), infer_where, {.inputs = {{1, Role::moved}, {2, Role::moved}}});
}

}  // namespace onnxkit::checker
