#include "converters/opset/compose/pool_windows.h"

#include <algorithm>
#include <limits>

#include "converters/opset/compose/compose.h"
#include "converters/opset/engine/sizes.h"
#include "converters/opset/engine/storable.h"

namespace onnxkit::opset {
namespace {

using List = std::vector<std::int64_t>;

/// The cells of one window, as offsets in the plane.
struct Cells {
  List row_major, column_major;
};

/// All windows, the last axis fastest.
std::vector<Cells> cells_of_windows(const std::vector<WindowsOfAxis>& axes, const List& images) {
  std::vector<Cells> windows = {{{0}, {0}}};
  std::int64_t stride = 1;  // of the axis in column-major order
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    std::vector<Cells> more;
    for (const Cells& outer : windows) {
      for (const List& covered : axes[axis]) {
        Cells& cells = more.emplace_back();
        for (std::size_t i = 0; i < outer.row_major.size(); ++i) {
          for (const std::int64_t at : covered) {
            cells.row_major.push_back(outer.row_major[i] * images[axis] + at);
            cells.column_major.push_back(outer.column_major[i] + at * stride);
          }
        }
      }
    }
    windows = std::move(more);
    stride *= images[axis];
  }
  return windows;
}

}  // namespace

void greatest_of_windows(Step& step, const std::vector<WindowsOfAxis>& axes, const List& images, bool column_major) {
  const ValueId x = step.input(0);
  const ElementType type = step.need_elem(x);
  const std::int64_t plane = storable_count(images);
  List positions, kernel;
  for (const WindowsOfAxis& axis : axes) {
    positions.push_back(static_cast<std::int64_t>(axis.size()));
    std::size_t most = 0;
    for (const List& covered : axis) most = std::max(most, covered.size());
    kernel.push_back(static_cast<std::int64_t>(most));
  }
  const std::int64_t count = storable_count(positions), taps = storable_count(kernel);
  storable_count(List{count, taps});
  std::vector<double> from, places, begins;
  for (const Cells& cells : cells_of_windows(axes, images)) {
    if (cells.row_major.empty()) refuse("a window lies in the padding");
    begins.push_back(static_cast<double>(places.size()));
    // Cells come first, so that no padding is found where all of them are the least number.
    for (std::size_t i = 0; i < static_cast<std::size_t>(taps); ++i) {
      const bool is_cell = i < cells.row_major.size();
      from.push_back(static_cast<double>(is_cell ? cells.row_major[i] : plane));
      places.push_back(static_cast<double>(is_cell ? (column_major ? cells.column_major : cells.row_major)[i] : 0));
    }
  }
  const ValueId planes = reshape(step, x, {-1, plane}, "planes");
  const ValueId padded = pad(step, planes, type, {0, 0, 0, 1}, -std::numeric_limits<double>::infinity(), "padded");
  const ValueId windows = step.add("Gather", {padded, step.numbers(ElementType::int64, {count, taps}, from, "cells")},
                                   {{"axis", std::int64_t{1}}}, "windows");
  std::vector<Size> sizes = {size_of(step, x, 0), size_of(step, x, 1)};
  for (const std::int64_t size : positions) sizes.emplace_back(size);
  const ValueId shape = as_shape(step, sizes);
  if (step.output(0) != ValueId::none)
    step.emit("Reshape", {reduce(step, "ReduceMax", windows, {2}, false, "greatest"), shape}, {step.output(0)});
  const ValueId at = step.add("ArgMax", {windows}, {{"axis", std::int64_t{2}}, {"keepdims", std::int64_t{0}}}, "tap");
  const ValueId which = step.add("Add", {at, step.numbers(ElementType::int64, {count}, begins, "begins")}, {}, "cell");
  const auto all_taps = static_cast<std::int64_t>(places.size());
  const ValueId place = step.add("Gather", {step.numbers(ElementType::int64, {all_taps}, places, "places"), which},
                                 {{"axis", std::int64_t{0}}}, "place");
  const ValueId numbers = unsqueeze(step, count_up(step, product(step, sizes[0], sizes[1])), {1}, "plane");
  const ValueId offset = step.add("Mul", {numbers, step.scalar(plane, "plane_size")}, {}, "offset");
  step.emit("Reshape", {step.add("Add", {place, offset}, {}, "indices"), shape}, {step.output(1)});
  step.replace();
  step.note("the windows are laid out, and the place of the greatest element is found in each");
}

}  // namespace onnxkit::opset
