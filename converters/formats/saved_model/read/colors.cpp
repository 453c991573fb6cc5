// Colors as hue, saturation and value, and what changes them in pictures. Channels stand last.
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

/// Three channels, each with an axis of one element.
struct Channels {
  Val first, second, third;
};

Channels color_channels(Call& call, Val x) {
  const std::vector<Val> parts = foreign::split_equally(call.onnx, x, static_cast<std::int64_t>(call.rank(x)) - 1, 3);
  return {parts[0], parts[1], parts[2]};
}
Val joined(Call& call, const Channels& parts) {
  return call.onnx.emit("Concat", {parts.first, parts.second, parts.third}, {{"axis", std::int64_t{-1}}});
}

/// Arithmetic with numbers of one type.
struct Sums {
  OnnxBuilder& onnx;
  ElementType type;

  Val number(double value) const { return onnx.scalar(type, value); }
  Val add(Val a, double b) const { return onnx.emit("Add", {a, number(b)}); }
  Val times(Val a, Val b) const { return onnx.emit("Mul", {a, b}); }
  Val minus(Val a, Val b) const { return onnx.emit("Sub", {a, b}); }
  Val where(Val condition, Val a, Val b) const { return onnx.emit("Where", {condition, a, b}); }
  Val within_one(Val value) const { return onnx.emit("Clip", {value, number(0), number(1)}); }
};

/// Hue in turns from 0 to 1. Of a grey the hue is 0, of black the saturation, too.
Channels hues(Call& call, const Channels& rgb) {
  auto& onnx = call.onnx;
  const auto [r, g, b] = rgb;
  const Sums sums{onnx, onnx.elem(r)};
  const Val zero = sums.number(0);
  const Val value = onnx.emit("Max", {r, g, b}), range = sums.minus(value, onnx.emit("Min", {r, g, b}));
  const Val saturation = sums.where(onnx.emit("Greater", {value, zero}), onnx.emit("Div", {range, value}), zero);
  const Val sixth = onnx.emit("Div", {sums.number(1.0 / 6), range});
  const Val by_blue = sums.add(sums.times(sixth, sums.minus(r, g)), 4.0 / 6);
  const Val by_green = sums.add(sums.times(sixth, sums.minus(b, r)), 2.0 / 6);
  const Val by_red = sums.times(sixth, sums.minus(g, b));
  const Val others = sums.where(onnx.emit("Equal", {g, value}), by_green, by_blue);
  const Val turned = sums.where(onnx.emit("Equal", {r, value}), by_red, others);
  const Val hue = sums.where(onnx.emit("Greater", {range, zero}), turned, zero);
  return {sums.where(onnx.emit("Less", {hue, zero}), sums.add(hue, 1), hue), saturation, value};
}

Channels colors(Call& call, const Channels& hsv) {
  auto& onnx = call.onnx;
  const Sums sums{onnx, onnx.elem(hsv.first)};
  const Val sixths = sums.times(hsv.first, sums.number(6));
  const Val rest = sums.minus(sums.number(1), hsv.second);
  // How much of a primary color a hue has, by its distance from the place given.
  const auto shade = [&](double place, bool is_far) {
    const Val distance = onnx.emit("Abs", {sums.add(sixths, -place)});
    const Val pure = sums.within_one(is_far ? sums.add(distance, -1) : sums.minus(sums.number(2), distance));
    return sums.times(onnx.emit("Add", {rest, sums.times(hsv.second, pure)}), hsv.third);
  };
  return {shade(3, true), shade(2, false), shade(4, false)};
}

void map_to_hues(Call& call) { call.result(joined(call, hues(call, color_channels(call, call.tensor("images"))))); }
void map_to_colors(Call& call) { call.result(joined(call, colors(call, color_channels(call, call.tensor("images"))))); }

void map_hue(Call& call) {
  auto& onnx = call.onnx;
  Channels hsv = hues(call, color_channels(call, call.tensor("images")));
  const Val moved = onnx.emit("Add", {hsv.first, onnx.cast(call.tensor("delta"), onnx.elem(hsv.first))});
  hsv.first = onnx.emit("Sub", {moved, onnx.emit("Floor", {moved})});
  call.result(joined(call, colors(call, hsv)));
}
void map_saturation(Call& call) {
  auto& onnx = call.onnx;
  Channels hsv = hues(call, color_channels(call, call.tensor("images")));
  const Sums sums{onnx, onnx.elem(hsv.first)};
  hsv.second = sums.within_one(sums.times(hsv.second, onnx.cast(call.tensor("scale"), sums.type)));
  call.result(joined(call, colors(call, hsv)));
}

/// Distances from the mean of each channel.
void map_contrast(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("images");
  if (call.rank(x) < 3) return call.refuse("its input has no rows and columns");
  const Val mean = onnx.emit("ReduceMean", {x, onnx.integers({-3, -2})});
  const Val factor = onnx.cast(call.tensor("contrast_factor"), onnx.elem(x));
  call.result(onnx.emit("Add", {onnx.emit("Mul", {onnx.emit("Sub", {x, mean}), factor}), mean}));
}

}  // namespace

void register_colors(Mappings& mappings);
void register_colors(Mappings& mappings) {
  mappings.add("RGBToHSV", {"images"}, map_to_hues);
  mappings.add("HSVToRGB", {"images"}, map_to_colors);
  mappings.add("AdjustHue", {"images", "delta"}, map_hue);
  mappings.add("AdjustSaturation", {"images", "scale"}, map_saturation);
  mappings.add("AdjustContrastv2", {"images", "contrast_factor"}, map_contrast);
}

}  // namespace onnxkit::saved_model
