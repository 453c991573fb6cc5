// Elements by their place in the order of an axis: medians, quantiles, the most frequent one. NaN is greater than all numbers.
#include <limits>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// A tensor and the axis along which it is ordered.
struct Row {
  Val x;        ///< in a type that TopK takes in all runtimes
  Val is_nan;   ///< none of integers
  Val numbers;  ///< x with infinity in place of NaN
  std::int64_t axis = 0;
  ElementType type = ElementType::undefined;  ///< of the result
  bool is_whole = false;                      ///< all elements, of all axes
  bool is_number = false;                     ///< there is no axis
};

Row row_of(Call& call, std::int64_t fallback_axis, bool is_whole = false) {
  auto& onnx = call.onnx;
  Row row;
  row.x = call.tensor("self");
  row.type = onnx.elem(row.x);
  const std::size_t rank = call.rank(row.x);
  row.is_number = rank == 0;
  row.is_whole = is_whole;
  row.axis = call.axis("dim", fallback_axis, rank);
  if (!is_floating(row.type) && row.type != ElementType::int64) row.x = onnx.cast(row.x, ElementType::int32);
  if (row.is_number || row.is_whole) row.x = onnx.reshape(row.x, {-1});
  row.numbers = row.x;
  if (!is_floating(row.type)) return row;
  row.is_nan = onnx.emit("IsNaN", {row.x});
  const Val infinity = onnx.scalar(row.type, std::numeric_limits<double>::infinity());
  row.numbers = onnx.emit("Where", {row.is_nan, infinity, row.x});
  return row;
}

/// The same for operators that take all elements where no axis is given.
Row row_or_whole(Call& call) { return row_of(call, 0, !call.has("dim")); }

Val nan_of(Call& call, const Row& row) { return call.onnx.scalar(row.type, std::numeric_limits<double>::quiet_NaN()); }

/// The least `count` in ascending order, and where they were.
std::vector<Val> least(Call& call, const Row& row, Val count) {
  return call.onnx.emit_many(2, "TopK", {row.numbers, count}, {{"axis", row.axis}, {"largest", std::int64_t{0}}});
}

/// The last along the axis, of which one place stays.
Val last_of(Call& call, const Row& row, Val x) {
  return call.onnx.emit("Gather", {x, call.onnx.integers({-1})}, {{"axis", row.axis}});
}

Val count_of(Call& call, const Row& row, Val flags) {
  auto& onnx = call.onnx;
  return onnx.emit("ReduceSum", {onnx.cast(flags, ElementType::int64), onnx.integers({row.axis})},
                   {{"keepdims", std::int64_t{1}}});
}

Val numbers_along(Call& call, const Row& row) { return count_of(call, row, call.onnx.emit("Not", {row.is_nan})); }

Val first_true(Call& call, const Row& row, Val flags) {
  return call.onnx.emit("ArgMax", {call.onnx.cast(flags, ElementType::int32)}, {{"axis", row.axis}});
}

/// The result of one place on the axis: in the type of the tensor, without the axis where it is not kept.
Val finished(Call& call, const Row& row, Val x, bool is_value = true) {
  const bool keeps = call.flag("keepdim", false) && !row.is_number && !row.is_whole;
  if (!keeps) x = call.onnx.squeeze(x, {row.axis});
  return is_value ? call.onnx.cast(x, row.type) : x;
}

void finish(Call& call, const Row& row, Val value, Val place) {
  std::vector<Val> results = {finished(call, row, value)};
  if (call.node.outputs.size() > 1) results.push_back(finished(call, row, place, false));
  call.results(results);
}

/// The lower one of two in the middle; NaN, and the place of the first, where there is any.
void map_median(Call& call) {
  auto& onnx = call.onnx;
  const Row row = row_or_whole(call);
  if (call.refused()) return;
  const Val size = onnx.size_of(row.x, row.axis);
  const auto known = onnx.size(row.x, static_cast<std::size_t>(row.axis));
  if (known == 0) return call.refuse("the median of nothing");
  const Val count = known ? onnx.integers({(*known + 1) / 2})
                          : onnx.emit("Div", {onnx.emit("Add", {size, onnx.integers({1})}), onnx.integers({2})});
  const std::vector<Val> lower = least(call, row, count);
  Val value = last_of(call, row, lower[0]), place = last_of(call, row, lower[1]);
  if (row.is_nan) {
    const Val has_nan = onnx.cast(count_of(call, row, row.is_nan), ElementType::boolean);
    value = onnx.emit("Where", {has_nan, nan_of(call, row), value});
    place = onnx.emit("Where", {has_nan, first_true(call, row, row.is_nan), place});
  }
  finish(call, row, value, place);
}

/// The median of the numbers among the elements; NaN where there are none.
void map_median_of_numbers(Call& call) {
  auto& onnx = call.onnx;
  const Row row = row_or_whole(call);
  if (!row.is_nan) return map_median(call);
  if (call.refused()) return;
  if (onnx.size(row.x, static_cast<std::size_t>(row.axis)) == 0) return call.refuse("the median of nothing");
  const Val one = onnx.integers({1}), count = numbers_along(call, row);
  const Val middle = onnx.emit("Sub", {onnx.emit("Div", {onnx.emit("Add", {count, one}), onnx.integers({2})}), one});
  const std::vector<Val> sorted = least(call, row, onnx.size_of(row.x, row.axis));
  const Val chosen = onnx.emit("GatherElements", {sorted[0], middle}, {{"axis", row.axis}});
  const Val is_empty = onnx.emit("Equal", {count, onnx.integers({0})});
  // Infinity may stand for NaN: the place is that of an element which is equal.
  finish(call, row, onnx.emit("Where", {is_empty, nan_of(call, row), chosen}),
         first_true(call, row, onnx.emit("Equal", {row.x, chosen})));
}

void map_kth_least(Call& call) {
  auto& onnx = call.onnx;
  const Row row = row_of(call, -1);
  if (call.refused()) return;
  const Val k = call.size("k", 1);
  const std::vector<Val> lower = least(call, row, k);
  Val value = last_of(call, row, lower[0]), place = last_of(call, row, lower[1]);
  if (row.is_nan) {
    const Val is_beyond = onnx.emit("Less", {numbers_along(call, row), k});
    const Val is_place = onnx.emit("And", {onnx.emit("Not", {is_beyond}), onnx.emit("Equal", {row.x, value})});
    place = first_true(call, row, onnx.emit("Or", {is_place, onnx.emit("And", {is_beyond, row.is_nan})}));
    value = onnx.emit("Where", {is_beyond, nan_of(call, row), value});
  }
  finish(call, row, value, place);
}

/// The least of the most frequent elements, and where the last of them is. Each is compared with each along the axis.
void map_mode(Call& call) {
  auto& onnx = call.onnx;
  const Row row = row_of(call, -1);
  if (call.refused()) return;
  if (onnx.size(row.x, static_cast<std::size_t>(row.axis)) == 0) return call.refuse("the most frequent of nothing");
  const std::int64_t last = static_cast<std::int64_t>(call.rank(row.x)) - 1;
  std::vector<std::int64_t> order;
  for (std::int64_t axis = 0; axis <= last; ++axis)
    if (axis != row.axis) order.push_back(axis);
  order.push_back(row.axis);
  const Val x = onnx.transpose(row.x, order), numbers = onnx.transpose(row.numbers, order);
  const Val same = onnx.emit("Equal", {onnx.unsqueeze(x, {-1}), onnx.unsqueeze(x, {-2})});
  const std::vector<ir::Attr> keep = {{"keepdims", std::int64_t{1}}}, drop = {{"keepdims", std::int64_t{0}}};
  const Val along = onnx.integers({-1});
  const Val counts = onnx.emit("ReduceSum", {onnx.cast(same, ElementType::int32), along}, drop);
  const Val is_most = onnx.emit("Equal", {counts, onnx.emit("ReduceMax", {counts, along}, keep)});
  // Behind the largest element stands none that is not among the most frequent.
  const Val largest = onnx.emit("ReduceMax", {numbers, along}, keep);
  const Val value = onnx.emit("ReduceMin", {onnx.emit("Where", {is_most, x, largest}), along}, keep);
  const Val place = onnx.emit("ArgMax", {onnx.cast(onnx.emit("Equal", {x, value}), ElementType::int32)},
                              {{"axis", std::int64_t{-1}}, {"select_last_index", std::int64_t{1}}});
  const bool keeps = call.flag("keepdim", false) && !row.is_number;
  const auto back = [&](Val y) {
    y = onnx.squeeze(y, {-1});
    return keeps ? onnx.unsqueeze(y, {row.axis}) : y;
  };
  call.results({onnx.cast(back(value), row.type), back(place)});
}

/// All elements in order along the first axis.
void map_sort_of_rows(Call& call) {
  auto& onnx = call.onnx;
  Row row = row_of(call, 0);
  if (row.is_number || call.refused()) return call.result(call.tensor("self"));
  const Val size = onnx.size_of(row.x, 0);
  Val sorted = least(call, row, size)[0];
  if (row.is_nan) {
    const Val zero = onnx.scalar_integer(ElementType::int64, 0), one = onnx.scalar_integer(ElementType::int64, 1);
    std::vector<std::int64_t> sizes(call.rank(row.x), 1);
    sizes.front() = -1;
    const Val place = onnx.reshape(onnx.emit("Range", {zero, onnx.squeeze(size, {0}), one}), sizes);
    const Val is_number = onnx.emit("Less", {place, numbers_along(call, row)});
    sorted = onnx.emit("Where", {is_number, sorted, nan_of(call, row)});
  }
  call.result(onnx.cast(sorted, row.type));
}

// ---- quantiles

/// The row with its axis behind all others.
Row turned_row(Call& call) {
  auto& onnx = call.onnx;
  Row row = row_or_whole(call);
  std::vector<std::int64_t> order;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(call.rank(row.x)); ++axis)
    if (axis != row.axis) order.push_back(axis);
  order.push_back(row.axis);
  for (Val* part : {&row.x, &row.numbers, &row.is_nan})
    if (*part) *part = onnx.transpose(*part, order);
  row.axis = static_cast<std::int64_t>(order.size()) - 1;
  return row;
}

/// As PyTorch's lerp: from the end that is nearer, so that infinities at the other one matter alike.
Val between(Call& call, ElementType type, Val below, Val above, Val weight) {
  auto& onnx = call.onnx;
  const Val gap = onnx.emit("Sub", {above, below});
  const Val from_below = onnx.emit("Add", {below, onnx.emit("Mul", {weight, gap})});
  const Val rest = onnx.emit("Sub", {onnx.scalar(type, 1), weight});
  const Val from_above = onnx.emit("Sub", {above, onnx.emit("Mul", {gap, rest})});
  return onnx.emit("Where", {onnx.emit("Less", {weight, onnx.scalar(type, 0.5)}), from_below, from_above});
}

/// Elements at places that lie between others. Places are a vector, the same for all rows, or along the last axis.
Val at_places(Call& call, const Row& row, Val sorted, Val places, bool is_same) {
  auto& onnx = call.onnx;
  const std::string_view way = call.text("interpolation", "linear");
  const auto taken = [&](Val at) {
    return onnx.emit(is_same ? "Gather" : "GatherElements", {sorted, onnx.cast(at, ElementType::int64)},
                     {{"axis", std::int64_t{-1}}});
  };
  if (way == "lower") return taken(onnx.emit("Floor", {places}));
  if (way == "higher") return taken(onnx.emit("Ceil", {places}));
  if (way == "nearest") return taken(onnx.emit("Round", {places}));
  if (way != "linear" && way != "midpoint") call.refuse("this interpolation of quantiles");
  const Val floor = onnx.emit("Floor", {places});
  const Val below = taken(floor), above = taken(onnx.emit("Ceil", {places}));
  if (way == "linear") return between(call, row.type, below, above, onnx.emit("Sub", {places, floor}));
  const Val half = onnx.emit("Mul", {onnx.emit("Sub", {above, below}), onnx.scalar(row.type, 0.5)});
  return onnx.emit("Sub", {above, half});
}

/// Axes where they were, those of several quantiles in front.
Val with_axes_of_quantiles(Call& call, const Row& row, Val x, bool is_list, std::size_t rank) {
  auto& onnx = call.onnx;
  if (is_list) {
    std::vector<std::int64_t> order = {row.axis};
    for (std::int64_t axis = 0; axis < row.axis; ++axis) order.push_back(axis);
    x = onnx.transpose(x, order);
  } else {
    x = onnx.squeeze(x, {-1});
  }
  if (!call.flag("keepdim", false) || row.is_number) return x;
  const std::int64_t first = is_list ? 1 : 0;
  if (!row.is_whole) return onnx.unsqueeze(x, {call.axis("dim", 0, rank) + first});
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i) + first);
  return onnx.unsqueeze(x, axes);
}

template <bool ignores_nan>
void map_quantile(Call& call) {
  auto& onnx = call.onnx;
  const Row row = turned_row(call);
  if (!row.is_nan) return call.refuse("quantiles of integers");
  Val q = call.number("q", row.type);
  const bool is_list = call.rank(q) == 1;
  if (call.rank(q) > 1) return call.refuse("quantiles are a number or a vector");
  if (!is_list) q = onnx.reshape(q, {1});
  if (call.refused()) return;
  const Val size = onnx.size_of(row.x, row.axis), one = onnx.integers({1});
  const Val sorted = least(call, row, size)[0];
  const Val count = ignores_nan ? numbers_along(call, row) : size;
  Val places = onnx.emit("Mul", {q, onnx.cast(onnx.emit("Sub", {count, one}), row.type)});
  if (ignores_nan) places = onnx.emit("Max", {places, onnx.scalar(row.type, 0)});
  const Val chosen = at_places(call, row, sorted, places, !ignores_nan);
  const Val is_none = ignores_nan ? onnx.emit("Equal", {count, onnx.integers({0})})
                                  : onnx.cast(count_of(call, row, row.is_nan), ElementType::boolean);
  const Val result = onnx.emit("Where", {is_none, nan_of(call, row), chosen});
  call.result(with_axes_of_quantiles(call, row, result, is_list, call.rank(call.tensor("self"))));
}

}  // namespace

void register_order(Mappings& mappings);
void register_order(Mappings& mappings) {
  mappings.add({"aten.median.default", "aten.median.dim"}, map_median);
  mappings.add({"aten.nanmedian.default", "aten.nanmedian.dim"}, map_median_of_numbers);
  mappings.add("aten.kthvalue.default", map_kth_least);
  mappings.add("aten.mode.default", map_mode);
  mappings.add("aten.msort.default", map_sort_of_rows);
  mappings.add({"aten.quantile.default", "aten.quantile.scalar"}, map_quantile<false>);
  mappings.add({"aten.nanquantile.default", "aten.nanquantile.scalar"}, map_quantile<true>);
}

}  // namespace onnxkit::pt2
