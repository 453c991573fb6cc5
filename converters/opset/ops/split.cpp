#include <cmath>

#include <fmt/format.h>

#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

std::vector<std::int64_t> whole_numbers(Step& step, std::size_t input) {
  const auto reals = step.constant_reals(step.input(input));
  if (!reals)
    refuse("the sizes of the pieces are computed at run time, and no operator of opset 2 splits at computed positions");
  std::vector<std::int64_t> sizes;
  for (const double real : *reals) {
    if (!(std::abs(real) < 9e15) || std::trunc(real) != real)
      refuse(fmt::format("{} is not a valid size of a piece", real));
    sizes.push_back(static_cast<std::int64_t>(real));
  }
  return sizes;
}

/// Version 1 has the sizes as an attribute or as an input of the type of the data.
void sizes_to_attribute(Step& step) {
  if (!step.has_input(1)) return step.drop_inputs(1);
  step.set({"split", whole_numbers(step, 1)});
  step.drop_inputs(1);
}

/// Sizes of the pieces, when the results tell.
std::optional<std::vector<std::int64_t>> sizes_from_results(Step& step) {
  const std::int64_t axis = step.integer("axis");
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < step.output_count(); ++i) {
    const auto shape = promised_shape(step, step.output(i));
    if (!shape) return std::nullopt;
    const std::int64_t at = axis < 0 ? axis + static_cast<std::int64_t>(shape->size()) : axis;
    if (at < 0 || at >= static_cast<std::int64_t>(shape->size())) return std::nullopt;
    const checker::Dim size = (*shape)[static_cast<std::size_t>(at)];
    if (!size.is_constant()) return std::nullopt;
    sizes.push_back(size.constant());
  }
  return sizes;
}

/// One Slice for each piece.
void cut_with_slice(Step& step) {
  const ValueId axis = step.vector(std::vector<std::int64_t>{step.integer("axis")}, "axis");
  ValueId begin = step.vector(std::vector<std::int64_t>{0}, "begin");
  for (std::size_t i = 0; i < step.output_count(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const ValueId size = slice(step, step.input(1), 0, index, index + 1, "size");
    const ValueId end = step.add("Add", {begin, size}, {}, "end");
    if (step.output(i) != ValueId::none) step.emit("Slice", {step.input(0), begin, end, axis}, {step.output(i)});
    begin = end;
  }
  step.replace();
  step.note("the sizes are computed at run time: rewritten as one Slice per piece");
}

void split_to_attribute(Step& step) {
  if (!step.has_input(1)) return step.drop_inputs(1);
  auto sizes = step.constant_integers(step.input(1));
  if (!sizes) sizes = sizes_from_results(step);
  if (!sizes) return cut_with_slice(step);
  step.set({"split", *sizes});
  step.drop_inputs(1);
}

void write_num_outputs(Step& step) {
  if (!step.has_input(1)) step.set({"num_outputs", static_cast<std::int64_t>(step.output_count())});
}

/// Equal pieces, the last of which may be smaller, by their sizes.
void write_sizes(Step& step) {
  if (!step.has("num_outputs")) return;
  step.remove("num_outputs");
  const auto count = static_cast<std::int64_t>(step.output_count());
  const std::int64_t axis = step.integer("axis");
  const checker::Shape* shape = step.shape(step.input(0));
  const std::int64_t at = axis < 0 && shape ? axis + static_cast<std::int64_t>(shape->size()) : axis;
  if (shape && at >= 0 && at < static_cast<std::int64_t>(shape->size()) &&
      (*shape)[static_cast<std::size_t>(at)].is_constant()) {
    const std::int64_t total = (*shape)[static_cast<std::size_t>(at)].constant();
    if (total % count == 0) return;
    std::vector<std::int64_t> sizes(step.output_count(), (total + count - 1) / count);
    sizes.back() = total - sizes.front() * (count - 1);
    return step.set_input(1, step.vector(sizes, "sizes"));
  }
  const ValueId total = size_vector(step, step.input(0), axis);
  const auto one = [&](std::int64_t value) { return step.vector(std::vector<std::int64_t>{value}); };
  const ValueId piece = step.add("Div", {step.add("Add", {total, one(count - 1)}), one(count)}, {}, "piece");
  const ValueId last = step.add("Sub", {total, step.add("Mul", {piece, one(count - 1)})}, {}, "last");
  std::vector<ValueId> sizes(step.output_count(), piece);
  sizes.back() = last;
  step.set_input(1, step.add("Concat", sizes, {{"axis", std::int64_t{0}}}, "sizes"));
  step.note("num_outputs becomes sizes of the pieces, computed from the size of the axis");
}

}  // namespace

void register_split(StepRegistry& registry) {
  registry.change({"Split"}, 2, adapt("the sizes become an attribute", sizes_to_attribute),
                  compatible("version 1 has the attribute, too"));
  registry.change({"Split"}, 11, compatible("axis may also be negative"),
                  adapt("axis made non-negative", [](Step& step) { axis_from_front(step, "axis", 1); }));
  registry.change({"Split"}, 13, attribute_to_input("split", 1),
                  adapt("the sizes become an attribute", split_to_attribute));
  registry.change({"Split"}, 18, adapt("num_outputs is written out", write_num_outputs),
                  adapt("num_outputs becomes sizes of the pieces", write_sizes));
}

}  // namespace onnxkit::opset
