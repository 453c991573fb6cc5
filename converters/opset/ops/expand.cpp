#include <algorithm>

#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

using Integers = std::vector<std::int64_t>;

/// So many ones in front of a vector of sizes.
ValueId with_ones(Step& step, std::int64_t count, ValueId sizes) {
  if (count <= 0) return sizes;
  const ValueId ones = step.vector(Integers(static_cast<std::size_t>(count), 1), "ones");
  return step.add("Concat", {ones, sizes}, {{"axis", std::int64_t{0}}}, "sizes");
}

/// Tile: an axis of one element is repeated as often as the shape says, 1 + (size == 1) * (wanted - 1) times.
void tile(Step& step) {
  const ValueId x = step.input(0), shape = step.input(1);
  const std::int64_t rank = step.need_rank(x);
  const auto length = length_of_axis_list(step, shape);
  if (!length) refuse_unknown("the length of the shape is unknown");
  const std::int64_t full = std::max(rank, *length);
  ValueId source = x;
  if (full > rank) {
    Integers axes;
    for (std::int64_t i = 0; i < full - rank; ++i) axes.push_back(i);
    source = step.add("Unsqueeze", {x}, {{"axes", axes}}, "of_full_rank");
  }
  const auto in = step.sizes(x);
  auto wanted = step.constant_integers(shape);
  if (const auto result = promised_sizes(step, step.output(0));
      !wanted && result && static_cast<std::int64_t>(result->size()) == full)
    wanted.emplace(result->end() - *length, result->end());
  ValueId repeats = ValueId::none;
  if (in && wanted) {
    Integers constant(static_cast<std::size_t>(full), 1);
    for (std::int64_t i = 0; i < full; ++i) {
      const std::int64_t from_x = i - (full - rank), from_shape = i - (full - *length);
      if ((from_x < 0 || (*in)[static_cast<std::size_t>(from_x)] == 1) && from_shape >= 0)
        constant[static_cast<std::size_t>(i)] = (*wanted)[static_cast<std::size_t>(from_shape)];
    }
    repeats = step.vector(constant, "repeats");
  } else {
    const ValueId ones = step.vector(Integers(static_cast<std::size_t>(full), 1), "ones");
    const ValueId sizes = with_ones(step, full - rank, step.add("Shape", {x}, {}, "shape"));
    const ValueId is_one = cast(step, step.add("Equal", {sizes, ones}, {}, "is_one"), ElementType::int64, "is_one");
    const ValueId more = step.add("Sub", {with_ones(step, full - *length, shape), ones}, {}, "more");
    repeats = step.add("Add", {step.add("Mul", {is_one, more}, {}, "if_one"), ones}, {}, "repeats");
  }
  step.emit("Tile", {source, repeats}, {step.output(0)});
  step.replace();
}

}  // namespace

void register_expand(StepRegistry& registry) {
  registry.introduced({"Expand"}, 8, adapt("rewritten as Tile", tile));
  registry.types({"Expand"}, {13});
}

}  // namespace onnxkit::opset
