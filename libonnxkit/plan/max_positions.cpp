#include <algorithm>
#include <limits>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/images.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// Elements of a window that one map compares, and all of them.
constexpr std::int64_t taps_of_map = 9, most_window_taps = 81;
/// Of a padded image, whose positions each plan holds: 64 MiB.
constexpr std::int64_t most_positions = std::int64_t{1} << 23;

/// The number of each element in its channel, -1 in what is around the image.
View padded_positions(LowerCall& call, const Dims& image, const Dims& padded, const Dims& begin) {
  call.spend_on_tables(element_count(padded), sizeof(std::int64_t));
  const bool by_columns = call.integer("storage_order") == 1;
  std::vector<std::int64_t> numbers;
  Dims index(image.size(), 0);
  for (std::int64_t i = 0; i < element_count(padded); ++i) {
    std::int64_t rest = i, number = 0, step = 1;
    bool is_inside = true;
    for (std::size_t axis = padded.size(); axis-- > 0;) {
      index[axis] = rest % padded[axis] - begin[axis];
      rest /= padded[axis];
      is_inside = is_inside && index[axis] >= 0 && index[axis] < image[axis];
    }
    for (std::size_t k = 0; k < image.size(); ++k) {
      const std::size_t axis = by_columns ? k : image.size() - 1 - k;
      number += index[axis] * step;
      step *= image[axis];
    }
    numbers.push_back(is_inside ? number : -1);
  }
  return call.constant(numbers, padded);
}

/// The elements that the windows have at one of their places.
View at_tap(View view, std::size_t leading, const Window& g, std::int64_t tap, const Dims& out) {
  for (std::size_t axis = g.kernel.size(); axis-- > 0;) {
    view = sliced(view, leading + axis, tap % g.kernel[axis] * g.dilations[axis], g.strides[axis], out[2 + axis]);
    tap /= g.kernel[axis];
  }
  return view;
}

struct Greatest {
  View value, position;
};

/// The greatest of some elements of each window, and of those before: the first of equals; NaN is above all.
class GreatestOfTaps {
 public:
  GreatestOfTaps(Lane lane, double least, const std::optional<Greatest>& before) : lane_(lane) {
    most_ = before ? next(before->value) : e_.constant(lane, least);
    at_ = before ? next(before->position) : e_.integer(-1);
  }

  /// `keeps_value`: the last instruction is that of the value.
  void compare(const View& values, const View& places, bool keeps_value) {
    const Number value = next(values), place = next(places);
    Number is_better = e_.apply(Operation::logical_or, e_.apply(Operation::less, most_, value),
                                e_.apply(Operation::less, at_, e_.integer(0)));
    if (lane_ != Lane::i64) {
      const Number is_first_nan =
          e_.apply(Operation::less, e_.apply(Operation::is_nan, most_), e_.apply(Operation::is_nan, value));
      is_better = e_.apply(Operation::logical_or, is_better, is_first_nan);
    }
    const Number is_inside = e_.apply(Operation::less_or_equal, e_.integer(0), place);
    is_better = e_.apply(Operation::logical_and, is_better, is_inside);
    const Number most = most_, at = at_;
    if (keeps_value) at_ = e_.apply(Operation::select, is_better, place, at);
    most_ = e_.apply(Operation::select, is_better, value, most);
    if (!keeps_value) at_ = e_.apply(Operation::select, is_better, place, at);
  }

  View made(LowerCall& call, ElementType stored, const Dims& dims) {
    return mapped(call, e_, std::move(inputs_), stored, dims);
  }

 private:
  Number next(const View& view) {
    inputs_.push_back(view);
    return e_.input(inputs_.size() - 1, lane_of(view.type));
  }

  Lane lane_;
  Expression e_;
  std::vector<View> inputs_;
  Number most_ = 0, at_ = 0;
};

/// Of the image that all windows together reach, or why there are no positions in it.
Unlowered padded_sizes(const Window& g, const Dims& x, const Dims& out, Dims& sizes) {
  std::int64_t room = most_positions;
  for (std::size_t i = 0; i + 2 < x.size(); ++i) {
    const std::int64_t reached = (out[2 + i] - 1) * g.strides[i] + (g.kernel[i] - 1) * g.dilations[i] + 1;
    sizes.push_back(std::max(reached, g.pads[i] + x[2 + i]));
    if (g.pads[i] < 0) return "the padding is negative";
    room /= sizes.back();
    if (room == 0) return "positions of the greatest in a large image are asked for";
  }
  return std::nullopt;
}

/// What is around the image has no position, so any number will do there.
View padded_image(LowerCall& call, const View& x, const Window& g, const Dims& sizes) {
  Dims dims = {x.dims[0], x.dims[1]};
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  if (dims == x.dims) return x;
  const View padded = call.make_like(x.type, dims, x);
  View inside = padded;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t begin = g.pads[i], end = begin + x.dims[2 + i];
    if (begin > 0) fill(call, sliced(inside, 2 + i, 0, 1, begin), 0);
    if (end < sizes[i]) fill(call, sliced(inside, 2 + i, end, 1, sizes[i] - end), 0);
    inside = sliced(inside, 2 + i, begin, 1, x.dims[2 + i]);
  }
  call.emit_copy(x, inside);
  return padded;
}

/// Positions in images of channels as positions in all of x; those below 0 stay.
View among_channels(LowerCall& call, const View& positions, const Dims& x) {
  Dims by_channel(x.size(), 1);
  by_channel[0] = x[0], by_channel[1] = x[1];
  const View channels = reshaped(positions_along(call, {x[0] * x[1]}, 0), by_channel);
  const std::int64_t area = element_count(std::span(x).subspan(2));
  Expression e;
  const Number at = e.input(0, Lane::i64);
  const Number in_all =
      e.apply(Operation::add, e.apply(Operation::multiply, e.input(1, Lane::i64), e.integer(area)), at);
  e.apply(Operation::select, e.apply(Operation::less, at, e.integer(0)), at, in_all);
  return mapped(call, e, {positions, channels}, ElementType::int64, positions.dims);
}

}  // namespace

Unlowered lower_max_positions(LowerCall& call, bool has_values) {
  const View x = call.input(0);
  if (!has_lane(x.type)) return "elements cannot be computed";
  const Dims out = call.output_dims(0);
  if (x.rank() < 3 || x.size() == 0 || element_count(out) == 0) return "without elements";
  const auto kernel = call.integers("kernel_shape");
  if (!kernel || kernel->size() + 2 != x.rank()) return "a window of another rank";
  const std::int64_t taps = element_count(*kernel);
  if (taps > most_window_taps) return "positions of the greatest in large windows are asked for";
  const Window g = window_geometry(call, *kernel);
  Dims sizes;
  if (auto reason = padded_sizes(g, x.dims, out, sizes)) return reason;
  const View padded = padded_image(call, x, g, sizes);
  const Dims image(x.dims.begin() + 2, x.dims.end());
  const View positions = padded_positions(call, image, sizes, Dims(g.pads.begin(), g.pads.begin() + std::ssize(image)));
  const Lane lane = lane_of(x.type);
  const double least =
      lane == Lane::i64 ? static_cast<double>(least_of(x.type)) : -std::numeric_limits<double>::infinity();
  std::optional<Greatest> found;
  for (std::int64_t first = 0; first < taps; first += taps_of_map) {
    const auto compared = [&](bool keeps_value) {
      GreatestOfTaps greatest(lane, least, found);
      for (std::int64_t tap = first; tap < std::min(taps, first + taps_of_map); ++tap)
        greatest.compare(at_tap(padded, 2, g, tap, out), at_tap(positions, 0, g, tap, out), keeps_value);
      return greatest.made(call, keeps_value ? x.type : ElementType::int64, out);
    };
    // The last value is only needed where no pool gave it.
    const bool needs_value = !has_values || first + taps_of_map < taps;
    const View value = needs_value ? compared(true) : padded, position = compared(false);
    found = {value, position};
  }
  if (!has_values && call.has_output(0)) give(call, found->value);
  call.set_output(1, among_channels(call, found->position, x.dims));
  return std::nullopt;
}

}  // namespace onnxkit::plan
