#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

bool all_constant(Step& step) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (!step.constant_real(step.input(i))) return false;
  }
  return true;
}

/// False when the numbers are too large or too many for it.
bool fold_integers(Step& step, ElementType type) {
  const auto number = [&](std::size_t input) { return step.constant_integers(step.input(input))->front(); };
  for (std::size_t i = 0; i < 3; ++i) {
    const auto values = step.constant_integers(step.input(i));
    constexpr std::int64_t limit = std::int64_t{1} << 52;
    if (!values || values->size() != 1 || values->front() > limit || values->front() < -limit) return false;
  }
  const std::int64_t start = number(0), limit = number(1), delta = number(2);
  if (delta == 0) refuse("delta is 0");
  std::vector<double> values;
  for (std::int64_t at = start; delta > 0 ? at < limit : at > limit; at += delta) {
    if (static_cast<std::int64_t>(values.size()) == most_foldable) return false;
    values.push_back(static_cast<double>(at));
  }
  const auto count = static_cast<std::int64_t>(values.size());
  step.emit("Identity", {step.numbers(type, {count}, values, "range")}, {step.output(0)});
  return true;
}

ValueId scalar_of(Step& step, ValueId x) {
  if (step.rank(x) == 0) return x;
  return step.add("Reshape", {x, step.vector(std::vector<std::int64_t>())}, {}, "scalar");
}

/// On one side of zero both.
ValueId same_side(Step& step, ValueId x, ValueId backwards) {
  return step.add("Equal", {step.add("Less", {x, step.scalar(0)}, {}, "below"), backwards}, {}, "same_side");
}

ValueId as_count(Step& step, ValueId condition, ValueId nonzero) {
  const ValueId is_zero = step.add("Equal", {nonzero, step.scalar(0)}, {}, "is_zero");
  const ValueId is_not_zero = step.add("Not", {is_zero}, {}, "is_not_zero");
  return cast(step, step.add("And", {condition, is_not_zero}, {}, "counts"), ElementType::int64, "one_or_none");
}

struct Quotient {
  ValueId floor, rest;  ///< the rest is 0 or on the side of delta
};

Quotient floor_divide(Step& step, ValueId x, ValueId delta, ValueId backwards) {
  const ValueId truncated = step.add("Div", {x, delta}, {}, "truncated");
  const ValueId rest = step.add("Sub", {x, step.add("Mul", {truncated, delta}, {}, "multiple")}, {}, "rest");
  const ValueId opposite = step.add("Not", {same_side(step, rest, backwards)}, {}, "opposite");
  const ValueId too_much = as_count(step, opposite, rest);
  return {step.add("Sub", {truncated, too_much}, {}, "floor"),
          step.add("Add", {rest, step.add("Mul", {too_much, delta}, {}, "shift")}, {}, "rest")};
}

/// ceil((limit - start) / delta) without the difference, which int64 need not hold: that of the quotients, and 1 where that of the rests is on the side
/// of delta.
ValueId integer_count(Step& step, ValueId start, ValueId limit, ValueId delta) {
  const ValueId zero = step.scalar(0);
  const ValueId backwards = step.add("Less", {delta, zero}, {}, "backwards");
  const Quotient of_limit = floor_divide(step, limit, delta, backwards);
  const Quotient of_start = floor_divide(step, start, delta, backwards);
  const ValueId rest = step.add("Sub", {of_limit.rest, of_start.rest}, {}, "difference");
  const ValueId whole = step.add("Sub", {of_limit.floor, of_start.floor}, {}, "whole");
  const ValueId one_more = as_count(step, same_side(step, rest, backwards), rest);
  const ValueId count = step.add("Add", {whole, one_more}, {}, "count");
  return step.add("Where", {step.add("Less", {count, zero}, {}, "none"), zero, count}, {}, "count");
}

/// start + i * delta; reals in float64, which holds the product of a count and a float32.
void count_and_scale(Step& step, ElementType type) {
  const bool whole = is_integer(type);
  const ElementType wide = type == ElementType::int64 ? type : ElementType::float64;
  ValueId numbers[3];
  for (std::size_t i = 0; i < 3; ++i) numbers[i] = scalar_of(step, step.input(i));
  const auto sizes = promised_sizes(step, step.output(0));
  const bool is_known = sizes && sizes->size() == 1;
  ValueId count = ValueId::none;
  if (is_known) {
    // Nothing is to be counted.
  } else if (whole) {
    ValueId wider[3];
    for (std::size_t i = 0; i < 3; ++i) wider[i] = cast(step, numbers[i], ElementType::int64, "wide");
    count = integer_count(step, wider[0], wider[1], wider[2]);
  } else {
    const ValueId distance = step.add("Sub", {numbers[1], numbers[0]}, {}, "distance");
    const ValueId steps = step.add("Ceil", {step.add("Div", {distance, numbers[2]}, {}, "quotient")}, {}, "steps");
    count = cast(step, step.add("Max", {steps, step.number(type, 0)}, {}, "count"), ElementType::int64, "count");
  }
  const ValueId positions = count_up(step, is_known ? Size(sizes->front()) : Size::of(unsqueeze(step, count, {0})));
  const ValueId as_numbers = wide == ElementType::int64 ? positions : cast(step, positions, wide, "places");
  const ValueId scaled = step.add("Mul", {as_numbers, cast(step, numbers[2], wide, "delta")}, {}, "scaled");
  const ValueId sum = step.add("Add", {scaled, cast(step, numbers[0], wide, "start")}, {}, "sum");
  step.emit("Cast", {sum}, {step.output(0)}, {cast_target(step, type)});
}

void count_with_older(Step& step) {
  const ElementType type = step.need_elem(step.input(0));
  step.replace();
  if (is_integer(type) && all_constant(step) && fold_integers(step, type)) return;
  count_and_scale(step, type);
}

/// Half precision is computed in the type of `stash_type` and rounded at the end.
void without_half(Step& step) {
  const ElementType type = step.elem(step.input(0));
  const std::int64_t stash = step.integer("stash_type");
  step.remove("stash_type");
  if (type != ElementType::float16 && type != ElementType::bfloat16) return;
  if (stash != static_cast<std::int64_t>(ElementType::float32) &&
      stash != static_cast<std::int64_t>(ElementType::float64))
    refuse(fmt::format("Range 11 does not compute in stash_type {}", stash));
  for (std::size_t i = 0; i < 3; ++i)
    step.set_input(i, cast(step, step.input(i), static_cast<ElementType>(stash), "wide"));
  const ValueId wide = intercept_output(step, 0, "wide");
  step.then();
  cast_into(step, wide, type, step.output(0));
  step.note("computed in the type of stash_type");
}

}  // namespace

void register_range(StepRegistry& registry) {
  registry.introduced({"Range"}, 11, adapt("rewritten as a constant, or using NonZero to count", count_with_older));
  registry.change({"Range"}, 27, compatible("stash_type affects the new types only"),
                  adapt("removed stash_type", without_half));
}

}  // namespace onnxkit::opset
