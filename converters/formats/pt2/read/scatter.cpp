// Elements and rows that are written to places which tensors give, or are combined with what is there.
#include <functional>
#include <limits>
#include <numeric>

#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"
#include "converters/formats/pt2/sizes.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// What becomes of elements that go to one place.
struct Merging {
  std::string name = "none";  ///< ONNX's
  bool is_mean = false;
  bool includes_self = true;  ///< whether what is at the place takes part
};

Merging merging_of(Call& call) {
  Merging reduction;
  const std::string_view asked = call.text("reduce");
  if (asked == "add" || asked == "sum" || asked == "mean") reduction.name = "add";
  if (asked == "multiply" || asked == "prod") reduction.name = "mul";
  if (asked == "amax") reduction.name = "max";
  if (asked == "amin") reduction.name = "min";
  if (!asked.empty() && reduction.name == "none") call.refuse("this reduction of a scatter");
  reduction.is_mean = asked == "mean";
  reduction.includes_self = call.flag("include_self", true);
  return reduction;
}

template <class T>
Val extreme(Call& call, ElementType type, bool is_least) {
  const T value = is_least ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  return call.onnx.scalar_integer(type, static_cast<std::int64_t>(value));
}

/// The number that a reduction begins with: it changes nothing.
Val neutral_of(Call& call, const Merging& reduction, ElementType type) {
  if (reduction.name == "add") return call.onnx.scalar(type, 0);
  if (reduction.name == "mul") return call.onnx.scalar(type, 1);
  const bool is_least = reduction.name == "max";
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (is_floating(type)) return call.onnx.scalar(type, is_least ? -infinity : infinity);
  if (type == ElementType::uint8) return extreme<std::uint8_t>(call, type, is_least);
  if (type == ElementType::int8) return extreme<std::int8_t>(call, type, is_least);
  if (type == ElementType::int16) return extreme<std::int16_t>(call, type, is_least);
  if (type == ElementType::int32) return extreme<std::int32_t>(call, type, is_least);
  return extreme<std::int64_t>(call, type, is_least);
}

/// Of integers rounded down.
Val quotient(Call& call, Val x, Val count) {
  auto& onnx = call.onnx;
  if (!is_floating(onnx.elem(x))) x = onnx.emit("Sub", {x, onnx.emit("Mod", {x, count})});
  return onnx.emit("Div", {x, count});
}

/// Writes updates into a tensor, by a reduction of ONNX.
using Write = std::function<Val(Val x, Val updates, const std::string& reduction)>;

Val merged(Call& call, const Merging& reduction, Val x, Val updates, const Write& write) {
  auto& onnx = call.onnx;
  if (reduction.name == "none") return write(x, updates, "none");
  const ElementType type = onnx.elem(x);
  // Runtimes combine neither flags nor short floating numbers.
  const bool is_short = type == ElementType::float16 || type == ElementType::bfloat16;
  const ElementType inside = is_short ? ElementType::float32 : type == ElementType::boolean ? ElementType::int32 : type;
  x = onnx.cast(x, inside);
  updates = onnx.cast(updates, inside);
  const auto start = [&](Val of) {
    if (reduction.includes_self) return of;
    return write(of, number_like(call.onnx, neutral_of(call, reduction, onnx.elem(of)), updates), "none");
  };
  Val result = write(start(x), updates, reduction.name);
  if (reduction.is_mean) {
    const Val one = onnx.scalar(onnx.elem(x), 1);
    result = quotient(call, result,
                      write(start(number_like(call.onnx, one, x)), number_like(call.onnx, one, updates), "add"));
  }
  return onnx.cast(result, type);
}

/// A number counts as a vector of one.
Val with_an_axis(Call& call, Val x) { return call.rank(x) == 0 ? call.onnx.reshape(x, {1}) : x; }

Val as_before(Call& call, Val x, bool is_number) { return is_number ? call.onnx.squeeze(x, {0}) : x; }

void map_scatter(Call& call) {
  auto& onnx = call.onnx;
  const Val given = call.tensor("self");
  const bool is_number = call.rank(given) == 0;
  const std::int64_t axis = call.axis("dim", 0, call.rank(given));
  const Val x = with_an_axis(call, given), index = with_an_axis(call, call.tensor("index"));
  Val source;
  if (!call.has("src")) {
    source = number_like(call.onnx, call.number("value", onnx.elem(x)), index);
  } else {
    // The source may be larger than the index.
    source = with_an_axis(call, call.tensor("src"));
    const std::vector<std::int64_t> starts(call.rank(index), 0);
    source = onnx.emit("Slice", {source, onnx.integers(starts), onnx.emit("Shape", {index})});
  }
  Merging reduction = merging_of(call);
  if (call.node.op.starts_with("aten.scatter_add.")) reduction.name = "add";
  const Write write = [&](Val to, Val updates, const std::string& name) {
    return onnx.emit("ScatterElements", {to, index, updates}, {{"axis", axis}, {"reduction", name}});
  };
  call.result(as_before(call, merged(call, reduction, x, source, write), is_number));
}

/// Rows along an axis at the places of a vector are replaced, or combined with others. One row stands for all when it has no axes.
void write_rows(Call& call, Val rows, const Merging& reduction) {
  auto& onnx = call.onnx;
  const Val given = call.tensor("self"), x = with_an_axis(call, given);
  const std::size_t rank = call.rank(x);
  const std::int64_t axis = call.axis("dim", 0, rank);
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order.front(), order[static_cast<std::size_t>(axis)]);
  const Val turned = onnx.transpose(x, order);
  const Val at = onnx.reshape(onnx.cast(call.tensor("index"), ElementType::int64), {-1, 1});
  rows = onnx.cast(rows, onnx.elem(x));
  if (onnx.rank(rows) == 0) {
    rows = number_like(call.onnx, rows, onnx.emit("GatherND", {turned, at}));
  } else {
    rows = onnx.transpose(rows, order);
  }
  const Write write = [&](Val to, Val updates, const std::string& name) {
    return onnx.emit("ScatterND", {to, at, updates}, {{"reduction", name}});
  };
  const Val written = onnx.transpose(merged(call, reduction, turned, rows, write), order);
  call.result(as_before(call, written, call.rank(given) == 0));
}

void map_index_add(Call& call) {
  Val rows = call.tensor("source");
  if (call.real("alpha", 1) != 1) rows = call.onnx.emit("Mul", {rows, call.number("alpha", call.onnx.elem(rows))});
  write_rows(call, rows, {.name = "add"});
}

void map_index_copy(Call& call) { write_rows(call, call.tensor("source"), {}); }
void map_index_fill(Call& call) { write_rows(call, call.number("value", call.onnx.elem(call.tensor("self"))), {}); }
void map_index_reduce(Call& call) { write_rows(call, call.tensor("source"), merging_of(call)); }

/// The elements of the source, one after another, where the mask is true.
void map_masked_scatter(Call& call) {
  auto& onnx = call.onnx;
  const Val given = call.tensor("self"), mask = call.tensor("mask");
  const bool is_number = call.rank(given) == 0 && call.rank(mask) == 0;
  Val x = given, chosen = mask;
  const foreign::Shape *const sizes = onnx.shape(x), *const of_mask = onnx.shape(mask);
  if (!sizes || !of_mask || !(*sizes == *of_mask)) {
    // Each is as large as both together.
    x = onnx.emit("Where", {mask, x, x});
    chosen = onnx.emit("Expand", {mask, onnx.emit("Shape", {x})});
  }
  const Val places = onnx.transpose(onnx.emit("NonZero", {with_an_axis(call, chosen)}), {1, 0});
  const Val source = onnx.reshape(call.tensor("source"), {-1});
  const Val taken = onnx.emit("Slice", {source, onnx.integers({0}), onnx.size_of(places, 0)});
  call.result(as_before(call, onnx.emit("ScatterND", {with_an_axis(call, x), places, taken}), is_number));
}

/// At places among all elements, row by row.
void map_put(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::string reduction = call.flag("accumulate", false) ? "add" : "none";
  const Val written = onnx.emit(
      "ScatterElements",
      {onnx.reshape(x, {-1}), onnx.reshape(call.tensor("index"), {-1}), onnx.reshape(call.tensor("source"), {-1})},
      {{"axis", std::int64_t{0}}, {"reduction", reduction}});
  call.result(onnx.emit("Reshape", {written, onnx.emit("Shape", {x})}));
}

}  // namespace

void register_scatter(Mappings& mappings);
void register_scatter(Mappings& mappings) {
  mappings.add({"aten.scatter.src", "aten.scatter.value", "aten.scatter.reduce", "aten.scatter.value_reduce",
                "aten.scatter_add.default", "aten.scatter_reduce.two"},
               map_scatter);
  mappings.add("aten.index_add.default", map_index_add);
  mappings.add("aten.index_copy.default", map_index_copy);
  mappings.add({"aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor"}, map_index_fill);
  mappings.add("aten.index_reduce.default", map_index_reduce);
  mappings.add("aten.masked_scatter.default", map_masked_scatter);
  mappings.add("aten.put.default", map_put);
}

}  // namespace onnxkit::pt2
