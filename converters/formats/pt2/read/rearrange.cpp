// Elements in another order, and more of them around.
#include <algorithm>
#include <limits>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// PyTorch lists pads from the last axis on, before and after each; ONNX all before, then all after.
Val onnx_pads(Call& call, std::size_t rank) {
  auto& onnx = call.onnx;
  const Val given = call.sizes(call.has("pad") ? "pad" : "padding");
  const auto known = onnx.size(given, 0);
  if (!known || *known % 2 != 0 || *known > static_cast<std::int64_t>(2 * rank)) {
    call.refuse("the list of pads has not two for an axis");
    return given;
  }
  const auto axes = static_cast<std::size_t>(*known / 2);
  const auto constant = onnx.constant_integers(given);
  std::vector<Val> before(rank, onnx.integers({0})), after(rank, onnx.integers({0}));
  for (std::size_t i = 0; i < axes; ++i) {
    const auto at = static_cast<std::int64_t>(2 * i);
    const auto pad = [&](std::int64_t place) {
      if (constant) return onnx.integers({(*constant)[static_cast<std::size_t>(place)]});
      return onnx.emit("Slice", {given, onnx.integers({place}), onnx.integers({place + 1})});
    };
    before[rank - 1 - i] = pad(at);
    after[rank - 1 - i] = pad(at + 1);
  }
  before.insert(before.end(), after.begin(), after.end());
  return onnx.joined(before);
}

bool removes_elements(Call& call, Val pads) {
  const auto known = call.onnx.constant_integers(pads);
  return known && std::any_of(known->begin(), known->end(), [](std::int64_t pad) { return pad < 0; });
}

/// What one end of an axis gets may come from elements that the other end loses.
void pad_and_crop(Call& call, Val x, Val pads) {
  auto& onnx = call.onnx;
  std::vector<std::int64_t> added = *onnx.constant_integers(pads), starts, ends;
  const std::size_t rank = added.size() / 2;
  constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < rank; ++i) {
    starts.push_back(std::max<std::int64_t>(0, -added[i]));
    ends.push_back(added[rank + i] < 0 ? added[rank + i] : to_the_end);
  }
  for (std::int64_t& pad : added) pad = std::max<std::int64_t>(0, pad);
  const Val padded = onnx.emit("Pad", {x, onnx.integers(added)}, {{"mode", std::string("edge")}});
  call.result(onnx.emit("Slice", {padded, onnx.integers(starts), onnx.integers(ends)}));
}

void pad_with(Call& call, const std::string& mode) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Val pads = onnx_pads(call, call.rank(x));
  if (mode == "edge" && removes_elements(call, pads)) return pad_and_crop(call, x, pads);
  if (mode == "wrap" && !call.has_opset(19)) return;
  std::vector<Val> inputs = {x, pads};
  if (mode == "constant" && call.has("value")) inputs.push_back(call.number("value", onnx.elem(x)));
  call.result(onnx.emit("Pad", inputs, {{"mode", mode}}));
}

void map_pad(Call& call) {
  const std::string_view mode = call.text("mode", "constant");
  pad_with(call, mode == "replicate" ? "edge" : mode == "circular" ? "wrap" : std::string(mode));
}

void map_reflection_pad(Call& call) { pad_with(call, "reflect"); }
void map_replication_pad(Call& call) { pad_with(call, "edge"); }

Val part_of(Call& call, Val x, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step = 1) {
  auto& onnx = call.onnx;
  return onnx.emit("Slice",
                   {x, onnx.integers({start}), onnx.integers({end}), onnx.integers({axis}), onnx.integers({step})});
}

/// Elements that leave an axis at one end come back at the other. Without axes the tensor is one long vector.
void map_roll(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::vector<std::int64_t> shifts = call.integers("shifts");
  constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();
  const auto rolled = [&](Val whole, std::int64_t axis, std::int64_t shift) {
    if (const auto size = onnx.size(whole, static_cast<std::size_t>(axis)); size && *size > 0) shift %= *size;
    if (shift < -end) call.refuse("the shift is out of range");
    shift = std::max(shift, -end);
    if (shift == 0) return whole;
    return onnx.emit("Concat", {part_of(call, whole, axis, -shift, end), part_of(call, whole, axis, 0, -shift)},
                     {{"axis", axis}});
  };
  if (!call.has("dims") || call.integers("dims").empty()) {
    if (shifts.size() != 1) return call.refuse("one shift is wanted without axes");
    const Val flat = rolled(onnx.reshape(x, {-1}), 0, shifts.front());
    return call.result(onnx.emit("Reshape", {flat, onnx.emit("Shape", {x})}));
  }
  const std::vector<std::int64_t> axes = call.axes("dims", call.rank(x));
  if (axes.size() != shifts.size()) return call.refuse("a shift for each axis is wanted");
  Val result = x;
  for (std::size_t i = 0; i < axes.size(); ++i) result = rolled(result, axes[i], shifts[i]);
  call.result(result);
}

void map_flip(Call& call) {
  Val x = call.tensor("self");
  if (call.integers("dims").empty()) return call.result(x);  // no axes, not all
  for (const std::int64_t axis : call.axes("dims", call.rank(x)))
    x = part_of(call, x, axis, -1, std::numeric_limits<std::int64_t>::min(), -1);
  call.result(x);
}

template <std::int64_t axis>
void map_flip_axis(Call& call) {
  const Val x = call.tensor("self");
  call.result(part_of(call, x, axis, -1, std::numeric_limits<std::int64_t>::min(), -1));
}

/// Quarter turns in the plane of two axes, from the first towards the second.
void map_quarter_turns(Call& call) {
  Val x = call.tensor("self");
  const std::size_t rank = call.rank(x);
  const std::vector<std::int64_t> plane = call.has("dims") ? call.axes("dims", rank) : std::vector<std::int64_t>{0, 1};
  if (call.refused() || plane.size() != 2 || plane[0] == plane[1] || rank < 2)
    return call.refuse("a plane has two axes");
  const auto flipped = [&](Val value, std::int64_t axis) {
    return part_of(call, value, axis, -1, std::numeric_limits<std::int64_t>::min(), -1);
  };
  const std::int64_t turns = ((call.integer("k", 1) % 4) + 4) % 4;
  if (turns == 0) return call.result(x);
  if (turns == 2) return call.result(flipped(flipped(x, plane[0]), plane[1]));
  std::vector<std::int64_t> order;
  for (std::size_t axis = 0; axis < rank; ++axis) order.push_back(static_cast<std::int64_t>(axis));
  std::swap(order[static_cast<std::size_t>(plane[0])], order[static_cast<std::size_t>(plane[1])]);
  call.result(call.onnx.transpose(flipped(x, plane[turns == 1 ? 1 : 0]), order));
}

/// Differences of neighbours, n times.
void map_difference(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("self");
  const std::int64_t axis = call.axis("dim", -1, call.rank(x));
  if (call.has("prepend")) x = onnx.emit("Concat", {call.tensor("prepend"), x}, {{"axis", axis}});
  if (call.has("append")) x = onnx.emit("Concat", {x, call.tensor("append")}, {{"axis", axis}});
  const bool is_boolean = onnx.elem(x) == ElementType::boolean;
  const std::int64_t times = call.integer("n", 1);
  constexpr std::int64_t most = 64;
  if (times > most) return call.refuse("differences of so many orders");
  for (std::int64_t i = 0; i < times; ++i) {
    const Val later = part_of(call, x, axis, 1, std::numeric_limits<std::int64_t>::max()),
              earlier = part_of(call, x, axis, 0, -1);
    x = onnx.emit(is_boolean ? "Xor" : "Sub", {later, earlier});
  }
  call.result(x);
}

void map_pixel_shuffle(Call& call) {
  const std::string mode = "CRD";
  call.result(call.onnx.emit("DepthToSpace", {call.tensor("self")},
                             {{"blocksize", call.integer("upscale_factor", 1)}, {"mode", mode}}));
}

/// Blocks of pixels become channels, those of one channel side by side.
void map_pixel_unshuffle(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const std::int64_t factor = call.integer("downscale_factor", 1);
  const std::size_t rank = call.rank(x);
  constexpr std::int64_t largest_block = 1 << 10;
  if (rank < 3 || factor < 1 || factor > largest_block) return call.refuse("the input has no channels and pixels");
  const auto height = onnx.size(x, rank - 2), width = onnx.size(x, rank - 1), channels = onnx.size(x, rank - 3);
  if (!height || !width || !channels) return call.refuse("the sizes of the image are not known");
  const Val blocks = onnx.reshape(x, {-1, *channels, *height / factor, factor, *width / factor, factor});
  const Val turned = onnx.transpose(blocks, {0, 1, 3, 5, 2, 4});
  std::vector<Val> sizes;
  for (std::size_t axis = 0; axis + 3 < rank; ++axis) sizes.push_back(onnx.size_of(x, static_cast<std::int64_t>(axis)));
  sizes.push_back(onnx.integers({*channels * factor * factor, *height / factor, *width / factor}));
  call.result(onnx.emit("Reshape", {turned, onnx.joined(sizes)}));
}

/// Channel i of each group, for one i after the other.
void map_channel_shuffle(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const auto channels = onnx.size(x, 1);
  const std::int64_t groups = call.integer("groups", 1);
  if (!channels || groups < 1) return call.refuse("the number of channels is not known");
  const Val grouped = onnx.reshape(x, {0, groups, *channels / groups, -1});
  call.result(onnx.emit("Reshape", {onnx.transpose(grouped, {0, 2, 1, 3}), onnx.emit("Shape", {x})}));
}

/// direction * (length / its norm), the norm taken over all axes but one.
void map_weight_norm(Call& call) {
  auto& onnx = call.onnx;
  const Val direction = call.tensor("v"), length = call.tensor("g");
  const std::size_t rank = call.rank(direction);
  const std::int64_t kept = call.axis("dim", 0, rank);
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis)
    if (axis != kept) axes.push_back(axis);
  const Val norm = onnx.emit("ReduceL2", {direction, onnx.integers(axes)}, {{"keepdims", std::int64_t{1}}});
  call.result(onnx.emit("Mul", {direction, onnx.emit("Div", {length, norm})}));
}

}  // namespace

void register_rearrange(Mappings& mappings);
void register_rearrange(Mappings& mappings) {
  mappings.add({"aten.pad.default", "aten.constant_pad_nd.default"}, map_pad);
  mappings.add({"aten.reflection_pad1d.default", "aten.reflection_pad2d.default", "aten.reflection_pad3d.default"},
               map_reflection_pad);
  mappings.add({"aten.replication_pad1d.default", "aten.replication_pad2d.default", "aten.replication_pad3d.default"},
               map_replication_pad);
  mappings.add("aten.roll.default", map_roll);
  mappings.add("aten.flip.default", map_flip);
  mappings.add("aten.flipud.default", map_flip_axis<0>);
  mappings.add("aten.fliplr.default", map_flip_axis<1>);
  mappings.add({"aten.pixel_unshuffle.default"}, map_pixel_unshuffle);
  mappings.add({"aten.channel_shuffle.default", "aten.native_channel_shuffle.default"}, map_channel_shuffle);
  mappings.add("aten.rot90.default", map_quarter_turns);
  mappings.add("aten.diff.default", map_difference);
  mappings.add("aten.pixel_shuffle.default", map_pixel_shuffle);
  mappings.add("aten._weight_norm.default", map_weight_norm);
}

}  // namespace onnxkit::pt2
