#include <cmath>

#include <fmt/format.h>

#include "converters/opset/compose/broadcast.h"
#include "converters/opset/compose/element_types.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

using Integers = std::vector<std::int64_t>;

std::optional<std::int64_t> whole_number(Step& step, std::size_t input) {
  const auto real = step.constant_real(step.input(input));
  if (!real) return std::nullopt;
  if (std::trunc(*real) != *real || !(std::abs(*real) < 9e15)) refuse(fmt::format("{} is not an integer", *real));
  return static_cast<std::int64_t>(*real);
}

ValueId as_vector(Step& step, std::size_t input) {
  const ValueId number = cast(step, step.input(input), ElementType::int64, "number");
  return step.add("Reshape", {number, step.vector(std::vector<std::int64_t>{1})}, {}, "number");
}

/// 1 everywhere but at the axis.
void one_axis_to_all(Step& step) {
  const auto axis = whole_number(step, 2), count = whole_number(step, 1);
  const auto rank = step.rank(step.input(0));
  step.drop_inputs(2);
  if (axis && count && rank) {
    const std::int64_t at = *axis < 0 ? *axis + *rank : *axis;
    if (at < 0 || at >= *rank) refuse(fmt::format("the tensor has no axis {}", *axis));
    Integers repeats(static_cast<std::size_t>(*rank), 1);
    repeats[static_cast<std::size_t>(at)] = *count;
    return step.set_input(1, step.vector(repeats, "repeats"));
  }
  const ValueId size = rank_of(step, step.input(0));
  ValueId before = axis ? step.vector(Integers{*axis}, "axis") : as_vector(step, 2);
  if (axis && *axis < 0) before = step.add("Add", {before, size}, {}, "axis");
  const ValueId one = step.vector(Integers{1}, "one");
  const ValueId behind = step.add("Sub", {step.add("Sub", {size, before}, {}, "rest"), one}, {}, "behind");
  const ValueId tiles = count ? step.vector(Integers{*count}, "tiles") : as_vector(step, 1);
  step.set_input(
      1, step.add("Concat", {ones(step, before), tiles, ones(step, behind)}, {{"axis", std::int64_t{0}}}, "repeats"));
  step.note("one repeat count per axis, computed at run time");
}

/// What version 1 counts in: the type of the data. Below these numbers all whole ones are exact.
std::int64_t exact_below(ElementType type) {
  switch (type) {
    case ElementType::float16:
      return 2048;
    case ElementType::float32:
      return 1 << 24;
    default:
      return std::int64_t{1} << 53;
  }
}

std::optional<std::vector<std::int64_t>> known_repeats(Step& step) {
  if (auto repeats = step.constant_integers(step.input(1))) return repeats;
  const auto in = step.sizes(step.input(0)), out = promised_sizes(step, step.output(0));
  if (!in || !out || in->size() != out->size()) return std::nullopt;
  std::vector<std::int64_t> repeats;
  for (std::size_t i = 0; i < in->size(); ++i) {
    if ((*in)[i] == 0) return std::nullopt;
    repeats.push_back((*out)[i] / (*in)[i]);
  }
  return repeats;
}

void one_tile_for_each_axis(Step& step) {
  const auto repeats = known_repeats(step);
  if (!repeats)
    refuse(
        "repeats is computed at run time, but version 1 stores it in the type of the data, which may not represent it "
        "exactly");
  const ElementType given = step.need_elem(step.input(0));
  // Booleans and integers of 32 bits are exact in float64.
  const bool is_cast =
      given == ElementType::boolean || (is_integer(given) && storage_bits(given) >= 8 && storage_bits(given) <= 32);
  const ElementType type = is_cast ? ElementType::float64 : given;
  if (type != ElementType::float16 && type != ElementType::float32 && type != ElementType::float64)
    throw Refusal{"type-not-there", fmt::format("Tile 1 does not allow {} as its input", name_of(type))};
  std::vector<Link> links;
  for (std::size_t i = 0; i < repeats->size(); ++i) {
    const std::int64_t count = (*repeats)[i];
    if (count == 1) continue;
    if (count > exact_below(type)) refuse(fmt::format("{} repeats are not exact in {}", count, name_of(type)));
    const ValueId tiles = step.number(type, static_cast<double>(count), "tiles");
    links.push_back({"Tile", {tiles, step.number(type, static_cast<double>(i), "axis")}, {}});
  }
  if (is_cast) {
    const ValueId repeated = step.value("wide");
    chain(step, cast(step, step.input(0), type, "wide"), std::move(links), repeated);
    cast_into(step, repeated, given, step.output(0));
  } else {
    chain(step, step.input(0), std::move(links), step.output(0));
  }
  step.replace();
}

}  // namespace

void register_tile(StepRegistry& registry) {
  registry.change({"Tile"}, 6, adapt("one axis becomes one repeat count per axis", one_axis_to_all),
                  adapt("one Tile per repeated axis", one_tile_for_each_axis));
  registry.types({"Tile"}, {13});
}

}  // namespace onnxkit::opset
