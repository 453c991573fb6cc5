#include <fmt/format.h>

#include "converters/opset/compose/coordinates.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// The number of tuples, when it is known.
std::optional<std::int64_t> tuples(const Step& step) {
  const checker::Shape* shape = step.shape(step.input(1));
  if (!shape) return std::nullopt;
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < shape->size(); ++i) {
    if (!(*shape)[i].is_constant()) return std::nullopt;
    count *= (*shape)[i].constant();
    if (count > most_rounds) return count;
  }
  return count;
}

/// Tuple by tuple: read, combined, written back.
void reduce_in_rounds_scatter_nd(Step& step) {
  const std::string reduction = step.string("reduction", "none");
  if (reduction == "none") return step.remove("reduction");
  if (step.opset_after() >= 16 && reduction != "min" && reduction != "max") return;
  const ElementType type = step.need_elem(step.input(0));
  const std::int64_t count = coordinates_of(step, step.input(0), step.input(1));
  const auto rounds = tuples(step);
  if (!rounds) refuse_unknown("the number of updates is unknown");
  if (*rounds > most_rounds)
    refuse(fmt::format("reduction {} over more than {} updates would require as many rounds", reduction, most_rounds));
  ValueId data = step.input(0);
  step.replace();
  step.note(fmt::format("reduction {}: elements are read, combined and written back", reduction));
  if (*rounds == 0) {
    step.emit("Identity", {data}, {step.output(0)});
    return;
  }
  const ValueId indices = reshape(step, step.input(1), {*rounds, count}, "tuples");
  const ValueId rest = sizes_of(step, data, count, to_the_end);
  const ValueId number = step.vector(std::vector<std::int64_t>{*rounds});
  const ValueId shape = step.add("Concat", {number, rest}, {{"axis", std::int64_t{0}}}, "update_shape");
  const ValueId updates = step.add("Reshape", {with_zero_sizes(step, step.input(2), shape), shape}, {}, "updates");
  for (std::int64_t i = 0; i < *rounds; ++i) {
    const ValueId index = slice(step, indices, 0, i, i + 1, "index");
    const ValueId update = slice(step, updates, 0, i, i + 1, "update");
    const ValueId combined = reduced(step, reduction, type, step.add("GatherND", {data, index}, {}, "old"), update);
    const ValueId result = i + 1 == *rounds ? step.output(0) : step.value("partial");
    step.emit("ScatterND", {data, index, combined}, {result});
    data = result;
  }
}

/// Scatter into rows: the axes that a tuple names made one, and all others.
void scatter_rows(Step& step) {
  const ValueId data = step.input(0), indices = step.input(1);
  const std::int64_t count = coordinates_of(step, data, indices);
  const std::int64_t rank = step.need_rank(indices);
  const ValueId row = reshape(step, row_of(step, data, indices, count), {-1, 1}, "row");
  const ValueId rows = step.add("Flatten", {data}, {{"axis", count}}, "rows");
  const ValueId updates = step.add("Flatten", {step.input(2)}, {{"axis", rank - 1}}, "update_rows");
  const ValueId row_indices = step.add("Expand", {row, step.add("Shape", {updates}, {}, "shape")}, {}, "row_indices");
  const ValueId scattered = step.add("Scatter", {rows, row_indices, updates}, {{"axis", std::int64_t{0}}}, "scattered");
  const ValueId shape = step.add("Shape", {data}, {}, "data_shape");
  step.emit("Reshape", {with_zero_sizes(step, scattered, shape), shape}, {step.output(0)});
  step.replace();
}

}  // namespace

void register_scatter_nd(StepRegistry& registry) {
  registry.introduced({"ScatterND"}, 11, adapt("rewritten as Scatter of rows", scatter_rows));
  registry.types({"ScatterND"}, {13});
  registry.change({"ScatterND"}, 16, compatible("the default of reduction is the older behaviour"),
                  adapt("removed reduction", reduce_in_rounds_scatter_nd));
  registry.change({"ScatterND"}, 18, compatible("min and max are new"),
                  adapt("reductions min and max rewritten in rounds", reduce_in_rounds_scatter_nd));
}

}  // namespace onnxkit::opset
