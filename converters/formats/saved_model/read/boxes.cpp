// Boxes of objects: the best of those that overlap, and what images show in them.
#include <algorithm>
#include <limits>

#include "converters/foreign/boxes.h"
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

Val best_boxes(Call& call) {
  auto& onnx = call.onnx;
  constexpr double usual_overlap = 0.5;
  const auto bound = [&](std::string_view name, double fallback) {
    const Val given = call.number(name, ElementType::float32, fallback);
    return onnx.reshape(given, {1});
  };
  std::vector<Val> bounds = {bound("iou_threshold", usual_overlap)};
  if (call.has("score_threshold")) bounds.push_back(bound("score_threshold", 0));
  const Val best =
      foreign::best_boxes(onnx, call.tensor("boxes"), call.tensor("scores"), as_sizes(call, "max_output_size"), bounds);
  return onnx.cast(best, ElementType::int32);
}

void map_non_max_suppression(Call& call) { call.result(best_boxes(call)); }

/// Zeros behind a vector, up to `size` elements.
Val filled_up(OnnxBuilder& onnx, Val vector, Val size) {
  const Val missing = onnx.emit("Sub", {size, onnx.size_of(vector, 0)});
  return onnx.emit("Pad", {vector, onnx.joined({onnx.integers({0}), missing})});
}

/// How many there are, and zeros behind them where the node asks for it; the newest form gives their scores, too.
template <bool has_scores>
void map_counted_suppression(Call& call) {
  auto& onnx = call.onnx;
  Val found = best_boxes(call);
  const Val count = onnx.cast(onnx.squeeze(onnx.size_of(found, 0), {0}), ElementType::int32);
  const bool is_padded = call.flag("pad_to_max_output_size", false);
  const auto given = [&](Val vector) {
    return is_padded ? filled_up(onnx, vector, as_sizes(call, "max_output_size")) : vector;
  };
  if (!has_scores) return call.results({given(found), count});
  const foreign::Tensor* sigma = call.stored("soft_nms_sigma");
  const bool is_hard = sigma && std::ranges::all_of(sigma->bytes, [](std::byte byte) { return byte == std::byte{0}; });
  if (!is_hard) return call.refuse("scores are lowered by overlap, which ONNX's operator does not do");
  const Val scores = onnx.emit("Gather", {call.tensor("scores"), found}, {{"axis", std::int64_t{0}}});
  call.results({given(found), given(scores), count});
}

// ---- best boxes of each class, for several images

/// Scores of what NonMaxSuppression keeps, and the least number for all else: [images, classes * boxes].
Val kept_scores(Call& call, Val boxes, Val scores, bool is_shared, std::int64_t pairs) {
  auto& onnx = call.onnx;
  // Boxes that are other ones for each class are those of as many images.
  const std::int64_t count = *onnx.size(scores, 2);
  if (!is_shared) boxes = onnx.reshape(onnx.transpose(boxes, {0, 2, 1, 3}), {-1, count, 4});
  const Val given = is_shared ? scores : onnx.reshape(scores, {-1, 1, count});
  const auto bound = [&](std::string_view name) { return onnx.reshape(call.tensor(name), {1}); };
  const Val rows = onnx.emit("NonMaxSuppression", {is_shared ? onnx.squeeze(boxes, {2}) : boxes, given,
                                                   as_sizes(call, "max_output_size_per_class"), bound("iou_threshold"),
                                                   bound("score_threshold")});
  const Val least = onnx.scalar(ElementType::float32, -std::numeric_limits<float>::infinity());
  const Val none = onnx.emit("Expand", {least, onnx.emit("Shape", {given})});
  const Val kept = onnx.emit("ScatterND", {none, rows, onnx.emit("GatherND", {given, rows})});
  return onnx.reshape(kept, {-1, pairs});
}

void map_combined_suppression(Call& call) {
  auto& onnx = call.onnx;
  const Val boxes = call.tensor("boxes"), scores = onnx.transpose(call.tensor("scores"), {0, 2, 1});
  const auto classes = onnx.size(scores, 1), count = onnx.size(scores, 2), kinds = onnx.size(boxes, 2);
  const std::vector<std::int64_t> total = known_integers(call, "max_total_size"),
                                  per_class = known_integers(call, "max_output_size_per_class");
  if (call.refused() || !classes || !count || !kinds || total.size() != 1 || per_class.size() != 1)
    return call.refuse("the number of its boxes or classes is not known");
  constexpr std::int64_t limit = 1 << 24;
  if (*classes > limit || *count > limit || per_class.front() > limit || total.front() > limit)
    return call.refuse("its boxes are too many");
  const std::int64_t pairs = *classes * *count;
  const bool pads_by_class = call.flag("pad_per_class", false);
  const std::int64_t most = pads_by_class ? std::min(total.front(), per_class.front() * *classes) : total.front();
  const bool is_shared = *kinds == 1;
  const Val kept = kept_scores(call, boxes, scores, is_shared, pairs);
  std::vector<Val> best = onnx.emit_many(2, "TopK", {kept, onnx.integers({std::min(most, pairs)})});
  const Val zero = onnx.scalar(ElementType::float32, 0);
  const Val is_none = onnx.emit("IsInf", {best[0]});
  const Val place = onnx.emit("Mod", {best[1], onnx.scalar_integer(ElementType::int64, *count)});
  const Val of_class = onnx.emit("Div", {best[1], onnx.scalar_integer(ElementType::int64, *count)});
  // Boxes in the order of the pairs, or of the boxes where classes share them.
  const Val table =
      is_shared ? onnx.squeeze(boxes, {2}) : onnx.reshape(onnx.transpose(boxes, {0, 2, 1, 3}), {-1, pairs, 4});
  Val found = onnx.emit("GatherND", {table, onnx.unsqueeze(is_shared ? place : best[1], {-1})},
                        {{"batch_dims", std::int64_t{1}}});
  if (call.flag("clip_boxes", true)) found = onnx.emit("Clip", {found, zero, onnx.scalar(ElementType::float32, 1)});
  const std::int64_t missing = std::max<std::int64_t>(most - pairs, 0);
  const auto given = [&](Val value, bool has_corners) {
    const Val shown = onnx.emit("Where", {has_corners ? onnx.unsqueeze(is_none, {2}) : is_none, zero, value});
    if (missing == 0) return shown;
    return onnx.emit(
        "Pad", {shown, has_corners ? onnx.integers({0, 0, 0, 0, missing, 0}) : onnx.integers({0, 0, 0, missing})});
  };
  const Val valid =
      onnx.emit("ReduceSum", {onnx.cast(onnx.emit("Not", {is_none}), ElementType::int32), onnx.integers({1})},
                {{"keepdims", std::int64_t{0}}});
  call.results(
      {given(found, true), given(best[0], false), given(onnx.cast(of_class, ElementType::float32), false), valid});
}

// ---- crops

/// Where the elements of each crop lie along an axis of the image: [boxes, size].
Val sampled_places(Call& call, Val boxes, std::int64_t low, Val image_size, std::int64_t count) {
  auto& onnx = call.onnx;
  const auto edge = [&](std::int64_t at) {
    return onnx.emit("Slice", {boxes, onnx.integers({at}), onnx.integers({at + 1}), onnx.integers({1})});
  };
  const auto number = [&](double value) { return onnx.scalar(ElementType::float32, value); };
  const Val last = onnx.emit("Sub", {onnx.cast(image_size, ElementType::float32), number(1)});
  const Val start = edge(low), end = edge(low + 2);
  if (count == 1) return onnx.emit("Mul", {onnx.emit("Mul", {onnx.emit("Add", {start, end}), number(0.5)}), last});
  std::vector<double> steps;
  for (std::int64_t i = 0; i < count; ++i) steps.push_back(static_cast<double>(i));
  const Val span = onnx.emit("Mul", {onnx.emit("Sub", {end, start}), last});
  const Val step = onnx.emit("Div", {span, number(static_cast<double>(count - 1))});
  const Val along = onnx.reals(ElementType::float32, {1, count}, steps);
  return onnx.emit("Add", {onnx.emit("Mul", {start, last}), onnx.emit("Mul", {along, step})});
}

struct Axis {
  Val inside, low, high,
      share;  ///< whether the image has the place, the elements around it, and the second one's share
};

/// Places outside are taken for 0, and replaced in the end.
Axis around(Call& call, Val places, Val image_size, bool is_nearest) {
  auto& onnx = call.onnx;
  const Val zero = onnx.scalar(ElementType::float32, 0);
  const Val last =
      onnx.emit("Sub", {onnx.cast(image_size, ElementType::float32), onnx.scalar(ElementType::float32, 1)});
  const Val inside =
      onnx.emit("And", {onnx.emit("GreaterOrEqual", {places, zero}), onnx.emit("LessOrEqual", {places, last})});
  const Val known = onnx.emit("Where", {inside, places, zero});
  // The kernel rounds halves away from zero.
  const Val half = onnx.scalar(ElementType::float32, 0.5);
  const Val low = onnx.emit("Floor", {is_nearest ? onnx.emit("Add", {known, half}) : known});
  const auto whole = [&](Val place) { return onnx.cast(place, ElementType::int64); };
  return {inside, whole(low), whole(onnx.emit("Ceil", {known})), onnx.emit("Sub", {known, low})};
}

/// Elements of the images at rows [boxes, height] and columns [boxes, width].
Val elements_at(Call& call, Val images, Val owner, Val rows, Val columns) {
  auto& onnx = call.onnx;
  const Val row = onnx.unsqueeze(rows, {2}), column = onnx.unsqueeze(columns, {1});
  const Val zeros = onnx.emit("Mul", {onnx.emit("Add", {row, column}), onnx.scalar_integer(ElementType::int64, 0)});
  std::vector<Val> parts;
  for (const Val place : {owner, row, column}) parts.push_back(onnx.unsqueeze(onnx.emit("Add", {zeros, place}), {3}));
  return onnx.emit("GatherND", {images, onnx.emit("Concat", parts, {{"axis", std::int64_t{3}}})});
}

void map_crop_and_resize(Call& call) {
  auto& onnx = call.onnx;
  const Val images = onnx.cast(call.tensor("image"), ElementType::float32), boxes = call.tensor("boxes");
  const std::vector<std::int64_t> size = known_integers(call, "crop_size");
  constexpr std::int64_t most = 1 << 16;
  if (size.size() != 2 || size[0] < 1 || size[1] < 1 || size[0] > most || size[1] > most)
    return call.refuse("the size of its crops is not two positive numbers");
  const std::string_view method = call.text("method", "bilinear");
  if (method != "bilinear" && method != "nearest") return call.refuse("its method of sampling is not known");
  const bool is_nearest = method == "nearest";
  const Val owner = onnx.unsqueeze(onnx.cast(call.tensor("box_ind"), ElementType::int64), {1, 2});
  const Val height = onnx.size_of(images, 1), width = onnx.size_of(images, 2);
  const Axis y = around(call, sampled_places(call, boxes, 0, height, size[0]), height, is_nearest);
  const Axis x = around(call, sampled_places(call, boxes, 1, width, size[1]), width, is_nearest);
  const auto mixed = [&](Val a, Val b, Val share) {
    return onnx.emit("Add", {a, onnx.emit("Mul", {onnx.emit("Sub", {b, a}), share})});
  };
  Val crop = elements_at(call, images, owner, y.low, x.low);
  if (!is_nearest) {
    const Val of_row = onnx.unsqueeze(x.share, {1, 3}), of_column = onnx.unsqueeze(y.share, {2, 3});
    const Val top = mixed(crop, elements_at(call, images, owner, y.low, x.high), of_row);
    const Val bottom = mixed(elements_at(call, images, owner, y.high, x.low),
                             elements_at(call, images, owner, y.high, x.high), of_row);
    crop = mixed(top, bottom, of_column);
  }
  const Val inside = onnx.emit("And", {onnx.unsqueeze(y.inside, {2, 3}), onnx.unsqueeze(x.inside, {1, 3})});
  const Val outside = onnx.scalar(ElementType::float32, call.real("extrapolation_value", 0));
  call.result(onnx.emit("Where", {inside, crop, outside}));
}

}  // namespace

void register_boxes(Mappings& mappings);
void register_boxes(Mappings& mappings) {
  mappings.add("NonMaxSuppression", {"boxes", "scores", "max_output_size"}, map_non_max_suppression);
  mappings.add("NonMaxSuppressionV2", {"boxes", "scores", "max_output_size", "iou_threshold"}, map_non_max_suppression);
  mappings.add("NonMaxSuppressionV3", {"boxes", "scores", "max_output_size", "iou_threshold", "score_threshold"},
               map_non_max_suppression);
  mappings.add("NonMaxSuppressionV4", {"boxes", "scores", "max_output_size", "iou_threshold", "score_threshold"},
               map_counted_suppression<false>, {"selected_indices", "valid_outputs"});
  mappings.add("NonMaxSuppressionV5",
               {"boxes", "scores", "max_output_size", "iou_threshold", "score_threshold", "soft_nms_sigma"},
               map_counted_suppression<true>, {"selected_indices", "selected_scores", "valid_outputs"});
  mappings.add("CombinedNonMaxSuppression",
               {"boxes", "scores", "max_output_size_per_class", "max_total_size", "iou_threshold", "score_threshold"},
               map_combined_suppression, {"nmsed_boxes", "nmsed_scores", "nmsed_classes", "valid_detections"});
  mappings.add("CropAndResize", {"image", "boxes", "box_ind", "crop_size"}, map_crop_and_resize);
}

}  // namespace onnxkit::saved_model
