#include "converters/opset/engine/sizes.h"

#include "converters/opset/compose/compose.h"
#include "converters/opset/compose/loops.h"
#include "libonnxkit/base/checked.h"

namespace onnxkit::opset {
namespace {

/// Values that the step itself made are not known to anybody yet.
const checker::Shape* known_shape(const Step& step, ValueId x) {
  return ir::index_of(x) < step.graph().values.size() ? step.shape(x) : nullptr;
}

Size combined(Step& step, std::string_view op, const Size& a, const Size& b) {
  return Size::of(step.add(op, {as_vector(step, a), as_vector(step, b)}, {}, "size"));
}

Size representable(std::optional<std::int64_t> size) {
  if (!size) refuse("a size is too large");
  return *size;
}

}  // namespace

Size size_of(Step& step, ValueId x, std::int64_t axis) {
  if (const checker::Shape* shape = known_shape(step, x)) {
    const auto rank = static_cast<std::int64_t>(shape->size());
    const std::int64_t counted = axis < 0 ? axis + rank : axis;
    if (counted < 0 || counted >= rank) refuse("an input has fewer axes than the operator needs");
    const checker::Dim size = (*shape)[static_cast<std::size_t>(counted)];
    if (size.is_constant()) return size.constant();
    axis = counted;
  }
  if (step.opset_after() < 15) {
    const ValueId shape = step.add("Shape", {x}, {}, "shape");
    return Size::of(step.add("Gather", {shape, step.vector(std::vector<std::int64_t>{axis})}, {}, "size"));
  }
  if (axis == -1) return Size::of(step.add("Shape", {x}, {{"start", axis}}, "size"));
  return Size::of(step.add("Shape", {x}, {{"start", axis}, {"end", axis + 1}}, "size"));
}

Size sum(Step& step, const Size& a, const Size& b) {
  if (a.known && b.known) return representable(checked_add(*a.known, *b.known));
  if (a.known && *a.known == 0) return b;
  return b.known && *b.known == 0 ? a : combined(step, "Add", a, b);
}

Size difference(Step& step, const Size& a, const Size& b) {
  if (a.known && b.known) return representable(checked_sub(*a.known, *b.known));
  return b.known && *b.known == 0 ? a : combined(step, "Sub", a, b);
}

Size product(Step& step, const Size& a, const Size& b) {
  if (a.known && b.known) return representable(checked_mul(*a.known, *b.known));
  if (a.known && *a.known == 1) return b;
  return b.known && *b.known == 1 ? a : combined(step, "Mul", a, b);
}

Size quotient(Step& step, const Size& a, const Size& b) {
  if (b.known && *b.known < 1) refuse("a size is divided by none");
  if (a.known && b.known) return *a.known / *b.known;
  return b.known && *b.known == 1 ? a : combined(step, "Div", a, b);
}

std::optional<std::int64_t> length_of_axis_list(const Step& step, ValueId vector) {
  const checker::Shape* shape = vector == ValueId::none ? nullptr : known_shape(step, vector);
  if (!shape || shape->size() != 1 || !shape->front().is_constant()) return std::nullopt;
  const std::int64_t length = shape->front().constant();
  return length >= 0 && length <= static_cast<std::int64_t>(checker::max_rank) ? std::optional(length) : std::nullopt;
}

ValueId as_vector(Step& step, const Size& size) {
  return size.known ? step.vector(std::vector<std::int64_t>{*size.known}, "size") : size.computed;
}

ValueId as_scalar(Step& step, const Size& size) {
  return size.known ? step.scalar(*size.known, "size") : squeeze(step, size.computed, {0});
}

ValueId as_shape(Step& step, const std::vector<Size>& sizes) {
  std::vector<std::int64_t> known;
  std::vector<ValueId> parts;
  bool all_known = true;
  const auto flush = [&] {
    if (!known.empty()) parts.push_back(step.vector(known, "sizes"));
    known.clear();
  };
  for (const Size& size : sizes) all_known = all_known && size.known.has_value();
  for (const Size& size : sizes) {
    if (size.known) {
      known.push_back(*size.known);
      continue;
    }
    flush();
    parts.push_back(size.computed);
  }
  if (all_known) return step.vector(known, "shape");
  flush();
  return parts.size() == 1 ? parts.front() : step.add("Concat", std::move(parts), {{"axis", std::int64_t{0}}}, "shape");
}

ValueId count_up(Step& step, const Size& size) {
  constexpr std::int64_t longest_list = 4096;  // far below most_foldable: a Range is one node
  if (size.known && *size.known <= longest_list) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < *size.known; ++i) all.push_back(i);
    return step.vector(all, "range");
  }
  if (step.opset_after() >= 11)
    return step.add("Range", {step.scalar(0), as_scalar(step, size), step.scalar(1)}, {}, "range");
  if (step.opset_after() < 9) return counted_by_loop(step, as_vector(step, size));
  const ValueId ones = step.value("ones");
  const std::int64_t one = 1;
  ir::Tensor tensor;
  tensor.dims = {1};
  tensor.data_type = static_cast<std::int32_t>(ElementType::int64);
  tensor.raw_data = step.keep({reinterpret_cast<const char*>(&one), sizeof(one)});
  step.emit("ConstantOfShape", {as_vector(step, size)}, {ones})
      .attributes.push_back(step.attribute("value", std::move(tensor)));
  return squeeze(step, step.add("NonZero", {ones}, {}, "positions"), {0}, "range");
}

ValueId reshape_to(Step& step, ValueId x, const std::vector<Size>& sizes) {
  return step.add("Reshape", {x, as_shape(step, sizes)}, {}, "reshaped");
}

ValueId transpose(Step& step, ValueId x, std::vector<std::int64_t> perm) {
  return step.add("Transpose", {x}, {{"perm", std::move(perm)}}, "transposed");
}

}  // namespace onnxkit::opset
