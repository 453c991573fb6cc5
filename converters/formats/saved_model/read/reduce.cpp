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

/// Products of 1, 2, 4 and so on neighbours: each step multiplies with what lies a distance before, where that is not outside.
void map_cumulative_product(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("x");
  const std::size_t rank = call.rank(x);
  const auto axis = static_cast<std::size_t>(known_axis(call, "axis", rank));
  const bool is_reverse = call.flag("reverse", false);
  const auto size = axis < rank ? onnx.size(x, axis) : std::nullopt;
  if (!size) return call.refuse("the size of its axis is not known");
  const Val one = onnx.scalar(onnx.elem(x), 1);
  const auto moved = [&](std::int64_t distance) {
    std::vector<std::int64_t> pads(2 * rank, 0);
    pads[axis] = is_reverse ? -distance : distance;
    pads[axis + rank] = -pads[axis];
    return onnx.emit("Pad", {x, onnx.integers(pads), one});
  };
  if (call.flag("exclusive", false) && *size > 0) x = moved(1);
  for (std::int64_t distance = 1; distance < *size; distance *= 2) x = onnx.emit("Mul", {x, moved(distance)});
  call.result(x);
}

/// How many elements of sorted rows come before each value; all of them do where they are not above it, as for a NaN.
template <bool counts_equal>
void map_bound(Call& call) {
  auto& onnx = call.onnx;
  const Val rows = onnx.unsqueeze(call.tensor("sorted_inputs"), {1}),
            values = onnx.unsqueeze(call.tensor("values"), {2});
  const Val is_before =
      counts_equal ? onnx.emit("Not", {onnx.emit("Less", {values, rows})}) : onnx.emit("Less", {rows, values});
  const Val counted = onnx.emit("ReduceSum", {onnx.cast(is_before, ElementType::int32), onnx.integers({2})},
                                {{"keepdims", std::int64_t{0}}});
  call.result(onnx.cast(counted, call.elem("out_type", ElementType::int32)));
}

void map_bucketize(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  const std::vector<double> bounds = call.reals("boundaries");
  const bool is_double = onnx.elem(x) == ElementType::float64;
  const ElementType type = is_double ? ElementType::float64 : ElementType::float32;
  const Val known = onnx.reals(type, {static_cast<std::int64_t>(bounds.size())}, bounds);
  // A NaN is below no boundary.
  const Val reaches = onnx.emit("Not", {onnx.emit("Less", {onnx.unsqueeze(onnx.cast(x, type), {-1}), known})});
  const Val counted = onnx.emit("ReduceSum", {onnx.cast(reaches, ElementType::int32), onnx.integers({-1})},
                                {{"keepdims", std::int64_t{0}}});
  call.result(counted);
}

/// Whether each number is there, how often, or the sum of its weights.
void count_numbers(Call& call, Val numbers, bool is_binary) {
  auto& onnx = call.onnx;
  const Val weights = call.tensor("weights"), size = onnx.squeeze(as_sizes(call, "size"), {0});
  const ElementType type = onnx.elem(weights);
  const Val zero = onnx.scalar_integer(ElementType::int64, 0), one = onnx.scalar_integer(ElementType::int64, 1);
  const Val all = onnx.emit("Range", {zero, size, one});
  const Val is_there = onnx.emit("Equal", {onnx.unsqueeze(onnx.cast(numbers, ElementType::int64), {-1}), all});
  Val counted = onnx.cast(is_there, type);
  const auto given = onnx.element_count(weights);
  // Weights that are none are an empty vector.
  if (!given && call.rank(weights) < 2) return call.refuse("it is not known whether it has weights");
  if (given.value_or(1) != 0 && !is_binary)
    counted = onnx.emit(
        "Mul", {counted, onnx.unsqueeze(onnx.rank(numbers) == 1 ? onnx.reshape(weights, {-1}) : weights, {-1})});
  call.result(onnx.emit(is_binary ? "ReduceMax" : "ReduceSum", {counted, onnx.integers({-2})},
                        {{"keepdims", std::int64_t{0}}}));
}
void map_bincount(Call& call) { count_numbers(call, call.onnx.reshape(call.tensor("arr"), {-1}), false); }
void map_dense_bincount(Call& call) {
  const Val numbers = call.tensor("input");
  const std::size_t rank = call.rank(numbers);
  if (rank != 1 && rank != 2) return call.refuse("its numbers are neither a vector nor a matrix");
  count_numbers(call, numbers, call.flag("binary_output", false));
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
  mappings.add("Cumprod", {"x", "axis"}, map_cumulative_product);
  mappings.add("LowerBound", {"sorted_inputs", "values"}, map_bound<false>);
  mappings.add("UpperBound", {"sorted_inputs", "values"}, map_bound<true>);
  mappings.add("Bucketize", {"input"}, map_bucketize);
  mappings.add("Bincount", {"arr", "size", "weights"}, map_bincount);
  mappings.add("DenseBincount", {"input", "size", "weights"}, map_dense_bincount);
  mappings.add("TopKV2", {"input", "k"}, map_top_k, {"values", "indices"});
  mappings.add("Unique", {"x"}, map_unique, {"y", "idx"});
  mappings.add("UniqueWithCounts", {"x"}, map_unique, {"y", "idx", "count"});
  mappings.add("Where", {"condition"}, map_where);
}

}  // namespace onnxkit::saved_model
