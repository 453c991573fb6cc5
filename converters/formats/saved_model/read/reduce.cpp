// Reductions over axes, and places of elements.
#include <algorithm>

#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

Val reduced(Call& call, std::string_view op, Val x) {
  auto& onnx = call.onnx;
  const std::vector<std::int64_t> axes = known_integers(call, "reduction_indices");
  const std::int64_t keeps = call.flag("keep_dims", false) ? 1 : 0;
  if (axes.empty()) return x;
  return onnx.emit(op, {x, onnx.integers(axes)}, {{"keepdims", keeps}});
}

template <const char* const& op>
void map_reduction(Call& call) {
  call.result(reduced(call, op, call.tensor("input")));
}
constexpr const char *sum_op = "ReduceSum", *mean_op = "ReduceMean", *product_op = "ReduceProd",
                     *maximum_op = "ReduceMax", *minimum_op = "ReduceMin", *norm_op = "ReduceL2";

/// ONNX reduces booleans from opset 20 on.
template <const char* const& op>
void map_flags(Call& call) {
  auto& onnx = call.onnx;
  const Val numbers = onnx.cast(call.tensor("input"), ElementType::int32);
  call.result(onnx.cast(reduced(call, op, numbers), ElementType::boolean));
}

void map_place_of_extreme(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  const std::int64_t axis = known_axis(call, "dimension", call.rank(x));
  const Val place = onnx.emit(call.node.op, {x}, {{"axis", axis}, {"keepdims", std::int64_t{0}}});
  call.result(onnx.cast(place, call.elem("output_type", ElementType::int64)));
}

void map_cumulative_sum(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("x");
  const std::int64_t axis = known_axis(call, "axis", call.rank(x));
  const std::int64_t exclusive = call.flag("exclusive", false) ? 1 : 0, reverse = call.flag("reverse", false) ? 1 : 0;
  call.result(onnx.emit("CumSum", {x, onnx.scalar_integer(ElementType::int64, axis)},
                        {{"exclusive", exclusive}, {"reverse", reverse}}));
}

void map_top_k(Call& call) {
  auto& onnx = call.onnx;
  std::vector<Val> found = onnx.emit_many(2, "TopK", {call.tensor("input"), as_sizes(call, "k")});
  found[1] = onnx.cast(found[1], call.elem("index_type", ElementType::int32));
  call.results(found);
}

/// Elements in the order in which they first appear.
void map_unique(Call& call) {
  auto& onnx = call.onnx;
  const ElementType index = call.elem("out_idx", ElementType::int32);
  const std::vector<Val> found = onnx.emit_many(4, "Unique", {call.tensor("x")}, {{"sorted", std::int64_t{0}}});
  call.results({found[0], onnx.cast(found[2], index), onnx.cast(found[3], index)});
}

/// Places of what is not zero, a row for each.
void map_where(Call& call) {
  auto& onnx = call.onnx;
  call.result(onnx.transpose(onnx.emit("NonZero", {call.tensor("condition")}), {1, 0}));
}

}  // namespace

void register_reduce(Mappings& mappings);
void register_reduce(Mappings& mappings) {
  mappings.add("Sum", {"input", "reduction_indices"}, map_reduction<sum_op>);
  mappings.add("Mean", {"input", "reduction_indices"}, map_reduction<mean_op>);
  mappings.add("Prod", {"input", "reduction_indices"}, map_reduction<product_op>);
  mappings.add("Max", {"input", "reduction_indices"}, map_reduction<maximum_op>);
  mappings.add("Min", {"input", "reduction_indices"}, map_reduction<minimum_op>);
  mappings.add("EuclideanNorm", {"input", "reduction_indices"}, map_reduction<norm_op>);
  mappings.add("Any", {"input", "reduction_indices"}, map_flags<maximum_op>);
  mappings.add("All", {"input", "reduction_indices"}, map_flags<minimum_op>);
  mappings.add_all({"ArgMax", "ArgMin"}, {"input", "dimension"}, map_place_of_extreme);
  mappings.add("Cumsum", {"x", "axis"}, map_cumulative_sum);
  mappings.add("TopKV2", {"input", "k"}, map_top_k, {"values", "indices"});
  mappings.add("Unique", {"x"}, map_unique, {"y", "idx"});
  mappings.add("UniqueWithCounts", {"x"}, map_unique, {"y", "idx", "count"});
  mappings.add("Where", {"condition"}, map_where);
}

}  // namespace onnxkit::saved_model
