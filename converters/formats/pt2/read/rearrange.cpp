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

void pad_with(Call& call, const std::string& mode) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("self");
  const Val pads = onnx_pads(call, call.rank(x));
  if (mode == "wrap") return call.refuse("padding with the other end of an axis", "upgrade the model to opset 19");
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
  for (const std::int64_t axis : call.axes("dims", call.rank(x)))
    x = part_of(call, x, axis, -1, std::numeric_limits<std::int64_t>::min(), -1);
  call.result(x);
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
  mappings.add("aten.diff.default", map_difference);
  mappings.add("aten.pixel_shuffle.default", map_pixel_shuffle);
  mappings.add("aten._weight_norm.default", map_weight_norm);
}

}  // namespace onnxkit::pt2
