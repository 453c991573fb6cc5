// Operators that compare positions: of extremes, of what is one, of a triangle, within a sequence.
#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// The first or last position that holds the extreme of its line.
template <Reduction extreme>
Unlowered lower_arg_extreme(LowerCall& call) {
  if (!has_lane(call.input_type(0))) return "elements cannot be computed";
  const View x = stored_as(call, call.input(0), wide_type(call.input(0).type));
  if (x.size() == 0 || x.rank() == 0) return "without elements";
  const std::size_t axis = counted_axis(call.integer("axis"), x.rank());
  give(call, extreme_positions(call, extreme, x, axis, call.integer("select_last_index") != 0));
  return std::nullopt;
}

Unlowered lower_one_hot(LowerCall& call) {
  if (!has_lane(call.input_type(0)) || !has_lane(call.output_type(0))) return "elements cannot be computed";
  const View& index = call.input(0);
  const View& values = call.input(2);
  const Dims dims = call.output_dims(0);
  if (element_count(dims) == 0 || values.size() != 2) return "without elements";
  const std::size_t axis = counted_axis(call.integer("axis", -1), dims.size());
  Dims spread = index.dims;
  spread.insert(spread.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  const View places = reshaped_or_copied(call, index, spread);
  const View pair = reshaped_or_copied(call, values, {2});
  const auto one = [&](std::int64_t at) { return picked(pair, 0, at); };
  Expression e;
  const Number given = e.convert(e.input(0, lane_of(index.type)), Lane::i64);
  const Number is_negative = e.apply(Operation::less, given, e.integer(0));
  const Number at =
      e.apply(Operation::select, is_negative, e.apply(Operation::add, given, e.integer(dims[axis])), given);
  const Number is_hot = e.apply(Operation::equal, at, e.input(1, Lane::i64));
  const Lane lane = lane_of(values.type);
  const Number on = e.input(3, lane), off = e.input(2, lane);
  e.apply(Operation::select, is_hot, on, off);
  give(call, mapped(call, e, {places, positions_along(call, dims, axis), one(0), one(1)}, values.type, dims));
  return std::nullopt;
}

Unlowered lower_trilu(LowerCall& call) {
  if (!has_lane(call.output_type(0))) return "elements cannot be computed";
  const View& x = call.input(0);
  if (x.rank() < 2 || x.size() == 0) return "without elements";
  const bool is_upper = call.integer("upper", 1) != 0;
  // Which places stay is the same for all matrices.
  const Dims matrix = {x.dims[x.rank() - 2], x.dims[x.rank() - 1]};
  std::vector<View> places = {positions_along(call, matrix, 0), positions_along(call, matrix, 1)};
  Expression inside;
  const Number row = inside.input(0, Lane::i64), column = inside.input(1, Lane::i64);
  const Number above = inside.apply(Operation::subtract, column, row);
  Number k = 0;
  if (call.has_input(1)) {
    places.push_back(reshaped_or_copied(call, call.input(1), {}));
    k = inside.input(2, Lane::i64);
  } else {
    k = inside.integer(0);
  }
  if (is_upper)
    inside.apply(Operation::less_or_equal, k, above);
  else
    inside.apply(Operation::less_or_equal, above, k);
  const View stays = mapped(call, inside, std::move(places), ElementType::boolean, matrix);
  Expression e;
  const Lane lane = lane_of(x.type);
  const Number number = e.input(0, lane);
  const Number zero = lane == Lane::i64 ? e.integer(0) : e.constant(lane, 0);
  e.apply(Operation::select, e.input(1, Lane::i64), number, zero);
  give(call, mapped(call, e, {x, stays}, x.type, x.dims));
  return std::nullopt;
}

/// One at the first of the greatest.
Unlowered lower_hardmax(LowerCall& call) {
  if (call.since() < 13) return "an old version";
  const View x = stored_as(call, call.input(0), wide_type(call.input(0).type));
  if (x.size() == 0 || x.rank() == 0) return "without elements";
  const std::size_t axis = counted_axis(call.integer("axis", -1), x.rank());
  give(call, marked_greatest(call, x, axis));
  return std::nullopt;
}

/// Slices taken at computed times; a length beyond the axis of time, or below 0, ends the run with an error.
Unlowered lower_reverse_sequence(LowerCall& call) {
  const View x = call.input(0);
  const std::int64_t batch_axis = call.integer("batch_axis", 1), time_axis = call.integer("time_axis", 0);
  if (x.rank() < 2 || x.size() == 0 || batch_axis + time_axis != 1 || batch_axis * time_axis != 0)
    return "without elements or of other axes";
  const View rows = call.contiguous(x);
  const std::int64_t batches = x.dims[static_cast<std::size_t>(batch_axis)],
                     times = x.dims[static_cast<std::size_t>(time_axis)], width = x.size() / (batches * times);
  if (call.input(1).size() != batches) return "lengths of another number";
  const bool by_time = time_axis == 0;
  const Dims grid = {x.dims[0], x.dims[1]};
  Expression e;
  const Number batch = e.input(0, Lane::i64), time = e.input(1, Lane::i64), length = e.input(2, Lane::i64);
  const Number turned = e.apply(Operation::subtract, e.apply(Operation::subtract, length, e.integer(1)), time);
  const Number at = e.apply(Operation::select, e.apply(Operation::less, time, length), turned, time);
  const Number outer = by_time ? at : batch, inner = by_time ? batch : at;
  const Number place = e.apply(Operation::add, e.apply(Operation::multiply, outer, e.integer(grid[1])), inner);
  const Number is_outside = e.apply(Operation::logical_or, e.apply(Operation::less, length, e.integer(0)),
                                    e.apply(Operation::less, e.integer(times), length));
  e.apply(Operation::select, is_outside, e.integer(batches * times), place);
  const View lengths = reshaped_or_copied(call, call.input(1), by_time ? Dims{1, batches} : Dims{batches, 1});
  const View places = mapped(call, e,
                             {positions_along(call, grid, static_cast<std::size_t>(batch_axis)),
                              positions_along(call, grid, static_cast<std::size_t>(time_axis)), lengths},
                             ElementType::int64, grid);
  const View result = call.make(x.type, {1, batches * times, width});
  call.emit(gather_step, {reshaped(rows, {1, batches * times, width}), reshaped(places, {batches * times})}, {result});
  call.set_output(0, reshaped(result, x.dims));
  return std::nullopt;
}

}  // namespace

void register_positions(LoweringRegistry& registry);
void register_positions(LoweringRegistry& registry) {
  registry.add("ArgMax", since(12), lower_arg_extreme<Reduction::maximum>);
  registry.add("ArgMin", since(12), lower_arg_extreme<Reduction::minimum>);
  registry.add("OneHot", since(11), lower_one_hot);
  registry.add("Trilu", all_versions(), lower_trilu);
  registry.add("Hardmax", all_versions(), lower_hardmax);
  registry.add("ReverseSequence", all_versions(), lower_reverse_sequence);
}

}  // namespace onnxkit::plan
