// Integrals by trapezoids, and slopes, of values at places along an axis.
#include <limits>
#include <numeric>

#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/promotion.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

constexpr std::int64_t end_of_axis = std::numeric_limits<std::int64_t>::max();

/// The type of the result, and the one that it is computed in: integers are computed in double precision.
struct Types {
  ElementType result, inside;
};

Types types_of(ElementType type) {
  if (is_floating(type)) return {type, type};
  return {ElementType::float32, ElementType::float64};
}

/// In PyTorch sums of short integers wrap around.
void refuse_short_integers(Call& call, Val x) {
  const ElementType type = call.onnx.elem(x);
  if (!is_floating(type) && type != ElementType::int64) call.refuse("differences of short integers");
}

Val piece_of(Call& call, Val x, std::int64_t axis, std::int64_t start, std::int64_t end) {
  auto& onnx = call.onnx;
  return onnx.emit("Slice", {x, onnx.integers({start}), onnx.integers({end}), onnx.integers({axis})});
}

Val from_each_to_next(Call& call, Val x, std::int64_t axis) {
  return call.onnx.emit("Sub", {piece_of(call, x, axis, 1, end_of_axis), piece_of(call, x, axis, 0, -1)});
}

/// A vector along this axis, beside tensors of that rank.
Val along_axis(Call& call, Val x, std::int64_t axis, std::size_t rank) {
  std::vector<std::int64_t> sizes(rank, 1);
  sizes[static_cast<std::size_t>(axis)] = -1;
  return call.onnx.reshape(x, sizes);
}

/// The places of the values: a vector lies along the axis, others are broadcast after their differences are taken.
Val steps_of(Call& call, ElementType type, std::int64_t axis, std::size_t rank) {
  auto& onnx = call.onnx;
  Val x = onnx.cast(call.tensor("x"), type);
  const std::size_t own = call.rank(x);
  if (own > rank || own == 0) call.refuse("places of another rank than the values");
  if (call.refused()) return x;
  if (own == 1) return from_each_to_next(call, along_axis(call, x, axis, rank), axis);
  std::vector<std::int64_t> front(rank - own);
  std::iota(front.begin(), front.end(), 0);
  return from_each_to_next(call, onnx.unsqueeze(x, front), axis);
}

/// The mean of the values at both ends of each step, times the step; or, without places, the sum of both ends.
struct Areas {
  Val values;
  Types types;
  std::int64_t axis = 0;
};

Areas values_of(Call& call) {
  Areas areas;
  const Val y = call.tensor("y");
  const std::size_t rank = call.rank(y);
  areas.axis = call.axis("dim", -1, rank);
  const ElementType given = call.onnx.elem(y);
  areas.types = types_of(call.has("x") ? promoted(call, "y", "x") : given);
  refuse_short_integers(call, y);
  if (call.has("x")) refuse_short_integers(call, call.tensor("x"));
  if (rank == 0) call.refuse("the integral of a number");
  if (call.onnx.size(y, static_cast<std::size_t>(areas.axis)) == 0) call.refuse("the integral of nothing");
  areas.values = call.onnx.cast(y, areas.types.inside);
  return areas;
}

Val sums_of_neighbours(Call& call, const Areas& areas) {
  return call.onnx.emit("Add", {piece_of(call, areas.values, areas.axis, 1, end_of_axis),
                                piece_of(call, areas.values, areas.axis, 0, -1)});
}

Val sum_along(Call& call, Val x, std::int64_t axis) {
  return call.onnx.emit("ReduceSum", {x, call.onnx.integers({axis})}, {{"keepdims", std::int64_t{0}}});
}

void map_integral(Call& call) {
  auto& onnx = call.onnx;
  const Areas areas = values_of(call);
  if (call.refused()) return;
  const ElementType type = areas.types.inside;
  const Val half = onnx.scalar(type, 0.5);
  if (call.has("x")) {
    const Val steps = steps_of(call, type, areas.axis, call.rank(areas.values));
    if (call.refused()) return;
    const Val sum = sum_along(call, onnx.emit("Mul", {sums_of_neighbours(call, areas), steps}), areas.axis);
    return call.result(onnx.cast(onnx.emit("Mul", {sum, half}), areas.types.result));
  }
  const auto at = [&](std::int64_t place) {
    return onnx.emit("Gather", {areas.values, onnx.scalar_integer(ElementType::int64, place)}, {{"axis", areas.axis}});
  };
  const Val ends = onnx.emit("Mul", {onnx.emit("Add", {at(0), at(-1)}), half});
  const Val sum = onnx.emit("Sub", {sum_along(call, areas.values, areas.axis), ends});
  const double step = call.real("dx", 1);
  call.result(onnx.cast(step == 1 ? sum : onnx.emit("Mul", {sum, onnx.scalar(type, step)}), areas.types.result));
}

void map_running_integral(Call& call) {
  auto& onnx = call.onnx;
  const Areas areas = values_of(call);
  if (call.refused()) return;
  const ElementType type = areas.types.inside;
  Val each = sums_of_neighbours(call, areas);
  if (call.has("x")) {
    const Val steps = steps_of(call, type, areas.axis, call.rank(areas.values));
    if (call.refused()) return;
    each = onnx.emit("Mul", {each, steps});
  }
  const double step = call.has("x") ? 1 : call.real("dx", 1);
  const Val sum = onnx.emit("CumSum", {onnx.emit("Mul", {each, onnx.scalar(type, step / 2)}),
                                       onnx.scalar_integer(ElementType::int64, areas.axis)});
  call.result(onnx.cast(sum, areas.types.result));
}

// ---- slopes

/// Of three neighbours the weights by which their sum is a slope.
struct Weights {
  Val first, second, third;
};

Val weighted(Call& call, Val x, std::int64_t axis, std::int64_t first, const Weights& weights) {
  auto& onnx = call.onnx;
  const auto part = [&](std::int64_t at) {
    // Of all inner places, or of one at an edge.
    const bool is_inner = first == end_of_axis;
    const std::int64_t start = is_inner ? at : first + at;
    const std::int64_t end = is_inner ? at - 2 : start + 1;
    return piece_of(call, x, axis, start, end == 0 ? end_of_axis : end);
  };
  const Val sum =
      onnx.emit("Add", {onnx.emit("Mul", {part(0), weights.first}), onnx.emit("Mul", {part(1), weights.second})});
  return onnx.emit("Add", {sum, onnx.emit("Mul", {part(2), weights.third})});
}

/// Of the parabola through three places, whose distances are `a` and `b`, the slope at the one in the middle.
Weights middle_weights(Call& call, Val a, Val b) {
  auto& onnx = call.onnx;
  const Val both = onnx.emit("Add", {a, b});
  return {onnx.emit("Neg", {onnx.emit("Div", {b, onnx.emit("Mul", {a, both})})}),
          onnx.emit("Div", {onnx.emit("Sub", {b, a}), onnx.emit("Mul", {a, b})}),
          onnx.emit("Div", {a, onnx.emit("Mul", {b, both})})};
}

/// The slope at the first of them; with the distances exchanged and the sign turned, that at the last.
Weights edge_weights(Call& call, Val a, Val b) {
  auto& onnx = call.onnx;
  const Val both = onnx.emit("Add", {a, b});
  return {onnx.emit("Neg", {onnx.emit("Div", {onnx.emit("Add", {a, both}), onnx.emit("Mul", {a, both})})}),
          onnx.emit("Div", {both, onnx.emit("Mul", {a, b})}),
          onnx.emit("Neg", {onnx.emit("Div", {a, onnx.emit("Mul", {b, both})})})};
}

Weights last_weights(Call& call, Val a, Val b) {
  const Weights turned = edge_weights(call, b, a);
  const auto negative = [&](Val x) { return call.onnx.emit("Neg", {x}); };
  return {negative(turned.third), negative(turned.second), negative(turned.first)};
}

/// Distances along the axis, all alike or one for each step.
struct Steps {
  Val all;              ///< shaped to lie along the axis
  bool is_same = true;  ///< a number
};

Val step_at(Call& call, const Steps& steps, std::int64_t axis, std::int64_t start, std::int64_t end) {
  return steps.is_same ? steps.all : piece_of(call, steps.all, axis, start, end);
}

Val slope(Call& call, Val x, std::int64_t axis, const Steps& steps, std::int64_t edge_order) {
  auto& onnx = call.onnx;
  const auto step = [&](std::int64_t start, std::int64_t end) { return step_at(call, steps, axis, start, end); };
  const auto at_edge = [&](std::int64_t from, std::int64_t middle, std::int64_t to, Val gap) {
    const Val rise = onnx.emit("Sub", {piece_of(call, x, axis, middle, to), piece_of(call, x, axis, from, middle)});
    return onnx.emit("Div", {rise, gap});
  };
  Val inner, first, last;
  if (steps.is_same) {
    const Val rise = onnx.emit("Sub", {piece_of(call, x, axis, 2, end_of_axis), piece_of(call, x, axis, 0, -2)});
    inner = onnx.emit("Div", {rise, onnx.emit("Add", {steps.all, steps.all})});
  } else {
    inner = weighted(call, x, axis, end_of_axis, middle_weights(call, step(0, -1), step(1, end_of_axis)));
  }
  if (edge_order == 1) {
    first = at_edge(0, 1, 2, step(0, 1));
    last = at_edge(-2, -1, end_of_axis, step(-1, end_of_axis));
  } else {
    first = weighted(call, x, axis, 0, edge_weights(call, step(0, 1), step(1, 2)));
    last = weighted(call, x, axis, -3, last_weights(call, step(-2, -1), step(-1, end_of_axis)));
  }
  return onnx.emit("Concat", {first, inner, last}, {{"axis", axis}});
}

/// The distances along each of these axes, in order.
std::vector<Steps> steps_along(Call& call, const std::vector<std::int64_t>& axes, ElementType type, std::size_t rank) {
  auto& onnx = call.onnx;
  const foreign::Argument* given = call.argument("spacing");
  const auto* list = given ? given->as<foreign::Argument::List>() : nullptr;
  std::vector<Steps> steps;
  if (!list) {
    const Val same = onnx.scalar(type, call.real("spacing", 1));
    return std::vector<Steps>(axes.size(), {same, true});
  }
  if (list->size() != axes.size()) call.refuse("a distance for each axis is wanted");
  for (std::size_t i = 0; i < list->size() && !call.refused(); ++i) {
    if (!(*list)[i].as<foreign::ValueId>()) continue;
    const Val places = along_axis(call, onnx.cast(call.value_of((*list)[i]), type), axes[i], rank);
    steps.push_back({from_each_to_next(call, places, axes[i]), false});
  }
  if (!steps.empty()) return steps;
  for (const double step : call.reals("spacing")) steps.push_back({onnx.scalar(type, step), true});
  return steps;
}

void map_slopes(Call& call) {
  auto& onnx = call.onnx;
  const Val given = call.tensor("self");
  const std::size_t rank = call.rank(given);
  const std::int64_t edge_order = call.integer("edge_order", 1);
  if (rank == 0) return call.refuse("the slope of a number");
  if (edge_order != 1 && edge_order != 2) return call.refuse("this order at the edges");
  refuse_short_integers(call, given);
  ElementType type = onnx.elem(given);
  const foreign::Argument* spacing = call.argument("spacing");
  if (const auto* list = spacing ? spacing->as<foreign::Argument::List>() : nullptr)
    for (const foreign::Argument& item : *list)
      if (item.as<foreign::ValueId>()) type = promoted(type, onnx.elem(call.value_of(item)));
  const Types types = types_of(type);
  const Val x = onnx.cast(given, types.inside);
  const std::vector<std::int64_t> axes = call.axes("dim", rank);
  const std::vector<Steps> steps = steps_along(call, axes, types.inside, rank);
  if (call.refused()) return;
  std::vector<Val> results;
  for (std::size_t i = 0; i < axes.size(); ++i)
    results.push_back(onnx.cast(slope(call, x, axes[i], steps[i], edge_order), types.result));
  call.results(results);
}

}  // namespace

void register_differences(Mappings& mappings);
void register_differences(Mappings& mappings) {
  mappings.add({"aten.trapezoid.x", "aten.trapezoid.dx", "aten.trapz.x", "aten.trapz.dx"}, map_integral);
  mappings.add({"aten.cumulative_trapezoid.x", "aten.cumulative_trapezoid.dx"}, map_running_integral);
  mappings.add(
      {"aten.gradient.scalarint", "aten.gradient.scalararray", "aten.gradient.array", "aten.gradient.scalarrayint",
       "aten.gradient.scalarrayarray", "aten.gradient.tensorarrayint", "aten.gradient.tensorarray"},
      map_slopes);
}

}  // namespace onnxkit::pt2
