#include "converters/opset/compose/coordinates.h"
#include "converters/opset/compose/positions.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

/// The index in the batch in front of each tuple of indices.
void name_the_batch(Step& step) {
  const std::int64_t batch = step.integer("batch_dims");
  step.remove("batch_dims");
  if (batch == 0) return;
  const ValueId indices = step.input(1);
  const std::int64_t rank = step.need_rank(indices);
  if (batch < 0 || batch >= rank) refuse("batch_dims does not match the rank of the indices");
  const ValueId one = step.vector(std::vector<std::int64_t>{1});
  const ValueId shape =
      step.add("Concat", {sizes_of(step, indices, 0, -1), one}, {{"axis", std::int64_t{0}}}, "batch_shape");
  std::vector<ValueId> parts;
  for (std::int64_t i = 0; i < batch; ++i) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank - i), 1);
    sizes[0] = -1;
    const ValueId along = reshape(step, count_up(step, size_of(step, indices, i)), sizes, "along_axis");
    parts.push_back(step.add("Expand", {along, shape}, {}, "batch"));
  }
  parts.push_back(indices);
  step.set_input(1, step.add("Concat", parts, {{"axis", rank - 1}}, "indices"));
  step.note("batch positions become indices");
}

void gather_rows_gather_nd(Step& step) {
  const ValueId data = step.input(0), indices = step.input(1);
  const std::int64_t count = coordinates_of(step, data, indices);
  const ValueId row = row_of(step, data, indices, count);
  const ValueId rows = step.add("Flatten", {data}, {{"axis", count}}, "rows");
  const ValueId gathered = step.add("Gather", {rows, row}, {{"axis", std::int64_t{0}}}, "gathered");
  const ValueId shape = step.add("Concat", {sizes_of(step, indices, 0, -1), sizes_of(step, data, count, to_the_end)},
                                 {{"axis", std::int64_t{0}}}, "shape");
  step.emit("Reshape", {with_zero_sizes(step, gathered, shape), shape}, {step.output(0)});
  step.replace();
}

}  // namespace

void register_gather_nd(StepRegistry& registry) {
  registry.introduced({"GatherND"}, 11, adapt("rewritten as Gather of rows", gather_rows_gather_nd));
  registry.change({"GatherND"}, 12, compatible("the default of batch_dims is the older behaviour"),
                  adapt("removed batch_dims", name_the_batch));
  registry.types({"GatherND"}, {13});
}

}  // namespace onnxkit::opset
