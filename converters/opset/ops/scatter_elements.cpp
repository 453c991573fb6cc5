#include <fmt/format.h>

#include "converters/opset/compose/coordinates.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

/// Within one position of the indices along the axis no element is written twice: read, combined, written back, position by position.
void reduce_in_rounds_scatter_elements(Step& step) {
  const std::string reduction = step.string("reduction", "none");
  if (reduction == "none") return step.remove("reduction");
  if (step.opset_after() >= 16 && reduction != "min" && reduction != "max") return;
  const ValueId indices = step.input(1), updates = step.input(2);
  const checker::Shape* shape = step.shape(indices) ? step.shape(indices) : step.shape(updates);
  std::int64_t axis = step.integer("axis");
  if (shape && axis < 0) axis += static_cast<std::int64_t>(shape->size());
  const bool is_known = shape && axis >= 0 && axis < static_cast<std::int64_t>(shape->size()) &&
                        (*shape)[static_cast<std::size_t>(axis)].is_constant();
  if (!is_known) refuse_unknown("the number of updates along the axis is unknown");
  const std::int64_t rounds = (*shape)[static_cast<std::size_t>(axis)].constant();
  if (rounds > most_rounds)
    refuse(fmt::format("reduction {} over {} updates along the axis would require as many rounds", reduction, rounds));
  const ElementType type = step.need_elem(step.input(0));
  ValueId data = step.input(0);
  for (std::int64_t i = 0; i < rounds; ++i) {
    const ValueId index = rounds == 1 ? indices : slice(step, indices, axis, i, i + 1, "index");
    const ValueId update = rounds == 1 ? updates : slice(step, updates, axis, i, i + 1, "update");
    const ValueId old = step.add("GatherElements", {data, index}, {{"axis", axis}}, "old");
    const ValueId combined = reduced(step, reduction, type, old, update);
    const ValueId result = i + 1 == rounds ? step.output(0) : step.value("partial");
    step.emit("ScatterElements", {data, index, combined}, {result}, {{"axis", axis}});
    data = result;
  }
  if (rounds == 0) step.emit("Identity", {data}, {step.output(0)});
  step.replace();
  step.note(fmt::format("reduction {}: elements are read, combined and written back", reduction));
}

/// For each index the place in the flat data that it means: a constant for its own place, and the index times the stride of its axis.
ValueId places_of(Step& step, const std::vector<std::int64_t>& data, const std::vector<std::int64_t>& indices,
                  std::size_t axis) {
  std::vector<std::int64_t> strides(data.size(), 1);
  for (std::size_t i = data.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * data[i];
  const std::int64_t count = storable_count(indices);
  std::vector<double> own;
  for (std::int64_t at = 0; at < count; ++at) {
    std::int64_t rest = at, place = 0;
    for (std::size_t i = indices.size(); i-- > 0; rest /= indices[i])
      place += i == axis ? 0 : rest % indices[i] * strides[i];
    own.push_back(static_cast<double>(place));
  }
  const ValueId index = nonnegative_indices(step, step.input(0), step.input(1), static_cast<std::int64_t>(axis));
  const ValueId flat = reshape(step, index, {-1}, "flat_indices");
  const ValueId moved = step.add("Mul", {flat, step.scalar(strides[axis], "stride")}, {}, "along_axis");
  return step.add("Add", {moved, step.numbers(ElementType::int64, {count}, own, "elsewhere")}, {}, "places");
}

/// One update after the other: Gather takes each element from its place, the one that changes from behind, where the update is put.
void scatter_by_loop(Step& step) {
  const auto data = step.sizes(step.input(0)), indices = step.sizes(step.input(1));
  if (!data || !indices || data->empty() || indices->size() != data->size())
    refuse_unknown("the sizes of data and indices must be known in order to write element by element");
  const std::int64_t axis = counted_from_front(step, step.integer("axis"), step.input(0));
  if (axis < 0 || axis >= static_cast<std::int64_t>(data->size())) refuse("the axis does not exist");
  const ElementType type = step.need_elem(step.input(0));
  const std::int64_t count = storable_count(*data), updates = storable_count(*indices);
  if (updates == 0 || count == 0) {
    step.emit("Identity", {step.input(0)}, {step.output(0)});
    return step.replace();
  }
  const ValueId start = reshape(step, step.input(0), {-1}, "flat");
  const ValueId places = places_of(step, *data, *indices, static_cast<std::size_t>(axis));
  const ValueId values = reshape(step, step.input(2), {-1}, "values");
  const ValueId numbers = count_up(step, Size(count));
  const std::vector<ValueId> given = {
      step.scalar(updates, "count"), step.number(ElementType::boolean, 1), start, places, values, numbers};
  step.begin_body();
  const ValueId iteration = step.body_input("iteration", ElementType::int64, 0);
  const ValueId runs_on = step.body_input("condition", ElementType::boolean, 0);
  const ValueId before = step.body_input("before", type, 1), all = step.body_input("places", ElementType::int64, 1);
  const ValueId news = step.body_input("values", type, 1), own = step.body_input("numbers", ElementType::int64, 1);
  const auto kept = [&](ValueId value, ElementType of) { step.body_output(step.add("Identity", {value}), of, 1); };
  step.body_output(step.add("Identity", {runs_on}, {}, "condition"), ElementType::boolean, 0);
  const ValueId at = unsqueeze(step, iteration, {0}, "at");
  const ValueId update = step.add("Gather", {news, at}, {{"axis", std::int64_t{0}}}, "update");
  const ValueId place = step.add("Gather", {all, at}, {{"axis", std::int64_t{0}}}, "place");
  const ValueId is_it = cast(step, step.add("Equal", {own, place}, {}, "is_it"), ElementType::int64, "is_it");
  const ValueId behind = step.add("Sub", {step.scalar(count, "behind"), own}, {}, "way");
  const ValueId from = step.add("Add", {own, step.add("Mul", {is_it, behind}, {}, "moved")}, {}, "from");
  const ValueId both = step.add("Concat", {before, update}, {{"axis", std::int64_t{0}}}, "both");
  step.body_output(step.add("Gather", {both, from}, {{"axis", std::int64_t{0}}}, "after"), type, 1);
  kept(all, ElementType::int64);
  kept(news, type);
  kept(own, ElementType::int64);
  ir::Attribute body = step.end_body("body");
  const ValueId result = step.value("written");
  step.emit("Loop", given, {result, step.value("unused"), step.value("unused"), step.value("unused")})
      .attributes.push_back(std::move(body));
  step.emit("Reshape", {result, step.vector(*data, "shape")}, {step.output(0)});
  step.replace();
}

void to_scatter(Step& step) {
  indices_from_front(step, 0, 1, step.integer("axis"));
  step.set_op("Scatter");
}

}  // namespace

void register_scatter_elements(StepRegistry& registry) {
  registry.introduced({"Scatter"}, 9,
                      adapt("rewritten as a Loop that writes one element after the other", scatter_by_loop));
  registry.deprecated({"Scatter"}, 11,
                      adapt("becomes ScatterElements", [](Step& step) { step.set_op("ScatterElements"); }));
  registry.introduced({"ScatterElements"}, 11, adapt("becomes Scatter", to_scatter));
  registry.types({"ScatterElements"}, {13});
  registry.change({"ScatterElements"}, 16, compatible("the default of reduction is the older behaviour"),
                  adapt("removed reduction", reduce_in_rounds_scatter_elements));
  registry.change({"ScatterElements"}, 18, compatible("min and max are new"),
                  adapt("reductions min and max rewritten in rounds", reduce_in_rounds_scatter_elements));
}

}  // namespace onnxkit::opset
