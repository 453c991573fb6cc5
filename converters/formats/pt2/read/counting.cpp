// Counts: how many elements lie below a value, in a range, or have an index; indices that are repeated.
#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"
#include "converters/formats/pt2/sizes.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

Val total(Call& call, Val x) { return call.onnx.emit("ReduceSum", {x}, {{"keepdims", std::int64_t{0}}}); }

/// How many flags of the last axis are true.
Val count_of(Call& call, Val flags, ElementType type) {
  auto& onnx = call.onnx;
  return onnx.emit("ReduceSum", {onnx.cast(flags, type), onnx.integers({-1})}, {{"keepdims", std::int64_t{0}}});
}

/// Whether each element is among the others: it is compared with each.
void map_is_in(Call& call) {
  auto& onnx = call.onnx;
  const bool is_number = call.has("element");
  const std::string_view name = is_number ? "element" : "elements";
  const std::string_view among = call.has("test_element") ? "test_element" : "test_elements";
  const ElementType type = promoted(call, name, among);
  Val x = call.number(name, type), others = onnx.reshape(call.number(among, type), {-1});
  if (is_number) x = onnx.reshape(x, std::initializer_list<std::int64_t>{});
  const bool is_inverted = call.flag("invert", false);
  if (onnx.element_count(x) == 0 || onnx.element_count(others) == 0)
    return call.result(
        number_like(call.onnx, onnx.cast(onnx.integers({is_inverted ? 1 : 0}), ElementType::boolean), x));
  const Val same = onnx.emit("Equal", {onnx.unsqueeze(x, {-1}), others});
  const Val is_in = onnx.cast(count_of(call, same, ElementType::int32), ElementType::boolean);
  call.result(is_inverted ? onnx.emit("Not", {is_in}) : is_in);
}

/// The place of each value among ascending ones: how many are less, or not greater when `right`. NaN goes behind all.
void find_places(Call& call, std::string_view sequence_name, std::string_view values_name) {
  auto& onnx = call.onnx;
  const ElementType type = promoted(call, sequence_name, values_name);
  Val sequence = call.number(sequence_name, type), values = call.number(values_name, type);
  const foreign::Argument* given = call.argument(values_name);
  const bool is_number = given && !given->as<foreign::ValueId>();
  if (is_number) values = onnx.reshape(values, std::initializer_list<std::int64_t>{});
  if (call.has("sorter")) {
    const Val order = call.tensor("sorter");
    sequence = onnx.emit("GatherElements", {sequence, order}, {{"axis", std::int64_t{-1}}});
  }
  const ElementType type_of_places = call.flag("out_int32", false) ? ElementType::int32 : ElementType::int64;
  if (onnx.element_count(sequence) == 0 || onnx.element_count(values) == 0)
    return call.result(number_like(call.onnx, onnx.scalar_integer(type_of_places, 0), values));
  // Rows of a sequence with several axes belong to the rows of the values.
  if (call.rank(sequence) > 1) sequence = onnx.unsqueeze(sequence, {-2});
  const bool is_right = call.flag("right", false) || call.text("side") == "right";
  const Val is_behind = onnx.emit(is_right ? "Greater" : "GreaterOrEqual", {sequence, onnx.unsqueeze(values, {-1})});
  call.result(count_of(call, onnx.emit("Not", {is_behind}), type_of_places));
}

void map_search(Call& call) { find_places(call, "sorted_sequence", "self"); }
void map_bucket(Call& call) { find_places(call, "boundaries", "self"); }

/// Adds up `weights` at these indices of a vector.
Val added_at(Call& call, Val size, Val at, Val weights) {
  auto& onnx = call.onnx;
  const Val nothing = onnx.emit("Expand", {onnx.scalar(onnx.elem(weights), 0), size});
  return onnx.emit("ScatterElements", {nothing, at, weights},
                   {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}});
}

Val ones_like(Call& call, Val x, ElementType type) { return number_like(call.onnx, call.onnx.scalar(type, 1), x); }

/// Up to the largest element, and `minlength` counts at least.
void map_count_of_each(Call& call) {
  auto& onnx = call.onnx;
  const Val x = onnx.cast(call.tensor("self"), ElementType::int64), one = onnx.integers({1});
  const Val least = onnx.emit("Sub", {call.size("minlength", 0), one});
  const Val largest = onnx.emit("ReduceMax", {onnx.emit("Concat", {x, least}, {{"axis", std::int64_t{0}}})},
                                {{"keepdims", std::int64_t{1}}});
  Val weights;
  if (call.has("weights")) {
    weights = call.tensor("weights");
    // Sums are of float32 or float64.
    if (onnx.elem(weights) != ElementType::float32) weights = onnx.cast(weights, ElementType::float64);
  } else {
    weights = ones_like(call, x, ElementType::int64);
  }
  call.result(added_at(call, onnx.emit("Add", {largest, one}), x, weights));
}

/// The ends of a histogram: those given, else the least and the largest element; never the same.
struct Ends {
  Val low, high;
};

Ends ends_of_histogram(Call& call, Val x) {
  auto& onnx = call.onnx;
  const ElementType type = onnx.elem(x);
  double low = call.real("min", 0), high = call.real("max", 0);
  const auto count = onnx.element_count(x);
  if (low == high && count != 0) {
    const std::vector<ir::Attr> drop = {{"keepdims", std::int64_t{0}}};
    if (!count) call.refuse("a histogram of a range without a width");
    const Val least = onnx.emit("ReduceMin", {x}, drop), largest = onnx.emit("ReduceMax", {x}, drop);
    const Val gap = onnx.cast(onnx.emit("Equal", {least, largest}), type);
    return {onnx.emit("Sub", {least, gap}), onnx.emit("Add", {largest, gap})};
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  return {onnx.scalar(type, low), onnx.scalar(type, high)};
}

/// The last bin includes its upper end. What lies in no bin goes to one more, which is cut off.
void map_histogram(Call& call) {
  auto& onnx = call.onnx;
  const Val x = onnx.reshape(call.tensor("self"), {-1});
  const ElementType type = onnx.elem(x);
  const std::int64_t bins = call.integer("bins", 100);
  constexpr std::int64_t most = 1 << 24;
  if (!is_floating(type)) return call.refuse("a histogram of integers");
  if (bins < 1 || bins > most) return call.refuse("so many bins");
  const Ends ends = ends_of_histogram(call, x);
  const Val width = onnx.emit("Sub", {ends.high, ends.low});
  const Val count = onnx.scalar(type, static_cast<double>(bins));
  const Val scaled = onnx.emit("Div", {onnx.emit("Mul", {onnx.emit("Sub", {x, ends.low}), count}), width});
  const Val is_inside =
      onnx.emit("And", {onnx.emit("GreaterOrEqual", {x, ends.low}), onnx.emit("LessOrEqual", {x, ends.high})});
  const Val inside = onnx.emit("Where", {is_inside, scaled, count});
  const Val last = onnx.scalar_integer(ElementType::int64, bins - 1);
  const Val bin = onnx.emit("Min", {onnx.cast(inside, ElementType::int64), last});
  const Val at = onnx.emit("Where", {is_inside, bin, onnx.scalar_integer(ElementType::int64, bins)});
  const Val counts = added_at(call, onnx.integers({bins + 1}), at, ones_like(call, x, type));
  call.result(onnx.emit("Slice", {counts, onnx.integers({0}), onnx.integers({bins})}));
}

/// A new last axis with a one at the place that each element names; as long as the largest asks for where no length is given.
void map_one_hot(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  Val classes = call.size("num_classes", -1);
  if (onnx.constant_integers(classes) == std::vector<std::int64_t>{-1}) {
    if (onnx.element_count(x) == 0) return call.refuse("the number of classes of nothing");
    const Val largest = onnx.emit("ReduceMax", {onnx.reshape(x, {-1})}, {{"keepdims", std::int64_t{1}}});
    classes = onnx.emit("Add", {largest, onnx.integers({1})});
  }
  // Runtimes want an axis.
  const bool is_number = call.rank(x) == 0;
  const Val at = is_number ? onnx.reshape(x, {1}) : x, depth = onnx.squeeze(classes, {0});
  const Val result = onnx.emit("OneHot", {at, depth, onnx.integers({0, 1})}, {{"axis", std::int64_t{-1}}});
  call.result(is_number ? onnx.squeeze(result, {0}) : result);
}

// ---- repetition

/// 0 as often as the first says, 1 as often as the second ... : how many have ended at each place.
Val repeated_places(Call& call, Val repeats, Val count) {
  auto& onnx = call.onnx;
  const Val first = onnx.scalar_integer(ElementType::int64, 0);
  const Val ends = onnx.emit("CumSum", {repeats, first});
  const Val marks =
      added_at(call, onnx.emit("Add", {count, onnx.integers({1})}), ends, ones_like(call, repeats, ElementType::int64));
  const Val zero = onnx.integers({0});
  return onnx.emit("Slice", {onnx.emit("CumSum", {marks, first}), zero, count, zero});
}

Val count_of_repeated(Call& call, Val repeats) {
  auto& onnx = call.onnx;
  if (call.has("output_size")) return call.size("output_size", 0);
  return onnx.reshape(total(call, repeats), {1});
}

void map_places_repeated(Call& call) {
  const Val repeats = call.onnx.cast(call.tensor("repeats"), ElementType::int64);
  call.result(repeated_places(call, repeats, count_of_repeated(call, repeats)));
}

/// Each row of an axis as often as its number says; of all elements where no axis is given.
void map_rows_repeated(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  if (!call.has("dim") || call.rank(x) == 0) x = onnx.reshape(x, {-1});
  const std::int64_t axis = call.axis("dim", 0, call.rank(x));
  Val repeats = onnx.cast(call.tensor("repeats"), ElementType::int64);
  const bool is_one = call.rank(repeats) == 0 || onnx.size(repeats, 0) == 1;
  if (is_one) repeats = onnx.emit("Expand", {repeats, onnx.size_of(x, axis)});
  const Val at = repeated_places(call, repeats, count_of_repeated(call, repeats));
  call.result(onnx.emit("Gather", {x, at}, {{"axis", axis}}));
}

/// Each row of an axis the same number of times: a new axis behind it that becomes part of it.
void map_all_repeated(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  if (!call.has("dim") || call.rank(x) == 0) x = onnx.reshape(x, {-1});
  const std::size_t rank = call.rank(x);
  const std::int64_t axis = call.axis("dim", 0, rank);
  const Val repeats = call.size("repeats", 1);
  if (onnx.constant_integers(repeats) == std::vector<std::int64_t>{0}) return call.refuse("no repetition");
  std::vector<Val> whole(rank + 1, onnx.integers({1})), sizes;
  whole[static_cast<std::size_t>(axis) + 1] = repeats;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(rank); ++i) sizes.push_back(onnx.size_of(x, i));
  Val& size = sizes[static_cast<std::size_t>(axis)];
  size = onnx.emit("Mul", {size, repeats});
  const Val wide = onnx.emit("Expand", {onnx.unsqueeze(x, {axis + 1}), onnx.joined(whole)});
  call.result(onnx.emit("Reshape", {wide, onnx.joined(sizes)}, {{"allowzero", std::int64_t{1}}}));
}

}  // namespace

void register_counting(Mappings& mappings);
void register_counting(Mappings& mappings) {
  mappings.add({"aten.isin.Tensor_Tensor", "aten.isin.Tensor_Scalar", "aten.isin.Scalar_Tensor"}, map_is_in);
  mappings.add({"aten.searchsorted.Tensor", "aten.searchsorted.Scalar"}, map_search);
  mappings.add({"aten.bucketize.Tensor", "aten.bucketize.Scalar"}, map_bucket);
  mappings.add("aten.bincount.default", map_count_of_each);
  mappings.add("aten.histc.default", map_histogram);
  mappings.add("aten.one_hot.default", map_one_hot);
  mappings.add("aten.repeat_interleave.Tensor", map_places_repeated);
  mappings.add("aten.repeat_interleave.self_Tensor", map_rows_repeated);
  mappings.add("aten.repeat_interleave.self_int", map_all_repeated);
}

}  // namespace onnxkit::pt2
