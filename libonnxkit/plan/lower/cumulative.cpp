#include "libonnxkit/plan/compose.h"

// CumSum and CumProd: a step of their own, or maps where the backend has none.
namespace onnxkit::plan {
namespace {

View reversed(const View& view, std::size_t axis) {
  return sliced(view, axis, view.dims[axis] - 1, -1, view.dims[axis]);
}

/// What each element is combined with, in maps: parts of lines along an axis, each once.
class Doubling {
 public:
  Doubling(LowerCall& call, Operation operation, ElementType type, std::size_t axis)
      : call_(call), type_(type), axis_(axis) {
    const Lane lane = lane_of(type);
    const std::int64_t unit = operation == Operation::multiply ? 1 : 0;
    if (lane == Lane::i64)
      neutral_.integer(unit);
    else
      neutral_.constant(lane, static_cast<double>(unit));
    same_.input(0, lane);
    combined_.apply(operation, combined_.input(0, lane), combined_.input(1, lane));
  }

  /// All elements one place on, the neutral one in front.
  View moved_on(const View& x) {
    const View moved = call_.make(type_, x.dims);
    call_.emit_map(neutral_, {}, part(moved, 0, 1));
    copy_start(x, moved, x.dims[axis_] - 1, 1);
    return moved;
  }

  /// Of all elements up to each one: of twice as many in each step.
  View totals(View x) {
    const std::int64_t size = x.dims[axis_];
    for (std::int64_t step = 1; step < size; step *= 2) {
      const View next = call_.make_sums(type_, x.dims);
      copy_start(x, next, step, 0);
      call_.emit_map(combined_, {part(x, step, size - step), part(x, 0, size - step)}, part(next, step, size - step));
      x = next;
    }
    return x;
  }

 private:
  View part(const View& view, std::int64_t start, std::int64_t count) const {
    return sliced(view, axis_, start, 1, count);
  }
  void copy_start(const View& from, const View& to, std::int64_t count, std::int64_t place) {
    if (count > 0) call_.emit_map(same_, {part(from, 0, count)}, part(to, place, count));
  }

  LowerCall& call_;
  ElementType type_;
  std::size_t axis_;
  Expression neutral_, same_, combined_;
};

View totals_in_maps(LowerCall& call, View x, std::size_t axis, const CumulativeParameters& parameters) {
  // A part of a product may be infinite or 0 where the whole is not.
  const ElementType type = parameters.is_product && lane_of(x.type) == Lane::f32 ? ElementType::float64 : x.type;
  x = stored_as(call, x, type);
  if (parameters.is_reverse) x = reversed(x, axis);
  Doubling doubling(call, parameters.is_product ? Operation::multiply : Operation::add, type, axis);
  if (parameters.is_exclusive) x = doubling.moved_on(x);
  x = doubling.totals(x);
  return parameters.is_reverse ? reversed(x, axis) : x;
}

View totals_along(LowerCall& call, const View& x, std::size_t axis, const CumulativeParameters& parameters) {
  const LinedAxis lined = lined_axis(call, x, axis);
  const View result = call.make(x.type, lined.rows.dims);
  if (call.emit_if_taken(cumulative_step, {lined.rows}, {result}, parameters)) return lined.restored(result);
  return totals_in_maps(call, x, axis, parameters);
}

template <bool is_product>
Unlowered lower_cumulative(LowerCall& call) {
  const auto stated = call.constant_integers(1);
  if (!stated || stated->size() != 1) return "the axis is not constant";
  if (!has_lane(call.output_type(0))) return "elements cannot be computed";
  const View given = call.input(0);
  if (given.size() == 0 || given.rank() == 0) return "without elements";
  CumulativeParameters parameters;
  parameters.is_product = is_product;
  parameters.is_exclusive = call.integer("exclusive") != 0;
  parameters.is_reverse = call.integer("reverse") != 0;
  const View x = stored_as(call, given, wide_type(given.type));
  give(call, totals_along(call, x, counted_axis(stated->front(), x.rank()), parameters));
  return std::nullopt;
}

}  // namespace

void register_cumulative(LoweringRegistry& registry);
void register_cumulative(LoweringRegistry& registry) {
  registry.add("CumSum", all_versions(), lower_cumulative<false>);
  registry.add("CumProd", all_versions(), lower_cumulative<true>);
}

}  // namespace onnxkit::plan
