// Pooled elements back at their places, and grids of affine maps.
#include <algorithm>

#include "converters/formats/pt2/mappings.h"
#include "converters/formats/pt2/sizes.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// Elements of a list of sizes, each a vector of one.
std::vector<Val> single_sizes(Call& call, Val sizes) {
  auto& onnx = call.onnx;
  const auto count = onnx.size(sizes, 0).value_or(0);
  const auto known = onnx.constant_integers(sizes);
  std::vector<Val> each;
  for (std::int64_t i = 0; i < count; ++i)
    each.push_back(known ? onnx.integers({(*known)[static_cast<std::size_t>(i)]})
                         : onnx.emit("Slice", {sizes, onnx.integers({i}), onnx.integers({i + 1})}));
  return each;
}

/// Zeros, but for the elements at their places in the plane.
template <std::size_t spatial>
void map_unpool(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  const std::vector<Val> wanted = single_sizes(call, call.sizes("output_size"));
  if (wanted.size() != spatial || rank < spatial + 1) return call.refuse("a size for each pooled axis is wanted");
  std::vector<Val> whole, planes;
  for (std::size_t axis = 0; axis + spatial < rank; ++axis)
    planes.push_back(onnx.size_of(x, static_cast<std::int64_t>(axis)));
  whole = planes;
  Val area = wanted.front();
  for (std::size_t i = 1; i < spatial; ++i) area = product_of_sizes(onnx, area, wanted[i]);
  whole.insert(whole.end(), wanted.begin(), wanted.end());
  std::vector<std::int64_t> flat(rank - spatial, 0);
  flat.push_back(-1);
  planes.push_back(area);
  const Val zeros = onnx.emit("Expand", {onnx.scalar(onnx.elem(x), 0), onnx.joined(planes)});
  const Val places = onnx.reshape(call.tensor("indices"), flat);
  const Val filled = onnx.emit("ScatterElements", {zeros, places, onnx.reshape(x, flat)}, {{"axis", std::int64_t{-1}}});
  call.result(onnx.emit("Reshape", {filled, onnx.joined(whole)}));
}

/// The coordinates -1 to 1 along an axis of this size: of the first and the last element, or of the edges around them.
Val coordinates(Call& call, ElementType type, Val size, bool aligned) {
  auto& onnx = call.onnx;
  constexpr std::int64_t most = 1 << 16;
  const auto known = onnx.constant_integers(size);
  if (known && known->front() >= 0 && known->front() <= most) {
    const auto count = static_cast<double>(known->front()), span = aligned ? std::max(count - 1, 1.0) : count;
    std::vector<double> values;
    for (double i = 0; i < count; ++i) values.push_back((2 * i + 1 - count) / span);
    return onnx.reals(type, {known->front()}, values);
  }
  const auto number = [&](std::int64_t value) { return onnx.scalar_integer(ElementType::int64, value); };
  const Val places = onnx.emit("Range", {number(0), onnx.squeeze(size, {0}), number(1)});
  const Val last = onnx.emit("Sub", {size, onnx.integers({1})});
  // (2 i - (n - 1)) / (n - 1), or / n; of one element 0.
  const Val twice = onnx.emit("Sub", {onnx.emit("Mul", {places, onnx.integers({2})}), last});
  const Val span = aligned ? onnx.emit("Max", {last, onnx.integers({1})}) : size;
  return onnx.emit("Div", {onnx.cast(twice, type), onnx.cast(span, type)});
}

/// Each place of the result times the matrix of its batch: a column for each coordinate, the last for a shift.
void map_affine_grid(Call& call) {
  auto& onnx = call.onnx;
  const Val theta = call.tensor("theta");
  const ElementType type = onnx.elem(theta);
  const std::vector<Val> sizes = single_sizes(call, call.sizes("size"));
  if (sizes.size() != 4 && sizes.size() != 5) return call.refuse("images have two or three axes");
  const auto axes = static_cast<std::int64_t>(sizes.size()) - 2;
  const bool aligned = call.flag("align_corners", false);
  const auto column = [&](std::int64_t at) {
    std::vector<std::int64_t> middle;
    for (std::int64_t i = 0; i < axes; ++i) middle.push_back(1 + i);
    const Val index = onnx.scalar_integer(ElementType::int64, at);
    return onnx.unsqueeze(onnx.emit("Gather", {theta, index}, {{"axis", std::int64_t{2}}}), middle);
  };
  Val grid = column(axes);
  for (std::int64_t i = axes; i-- > 0;) {
    // Coordinate 0 is that of the last axis.
    std::vector<std::int64_t> along(static_cast<std::size_t>(axes) + 1, 1);
    along[static_cast<std::size_t>(axes - 1 - i)] = -1;
    const Val places =
        onnx.reshape(coordinates(call, type, sizes[static_cast<std::size_t>(axes + 1 - i)], aligned), along);
    grid = onnx.emit("Add", {onnx.emit("Mul", {places, column(i)}), grid});
  }
  call.result(grid);
}

}  // namespace

void register_unpooling(Mappings& mappings);
void register_unpooling(Mappings& mappings) {
  mappings.add("aten.max_unpool2d.default", map_unpool<2>);
  mappings.add("aten.max_unpool3d.default", map_unpool<3>);
  mappings.add("aten.affine_grid_generator.default", map_affine_grid);
}

}  // namespace onnxkit::pt2
