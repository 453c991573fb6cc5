// What detectors do with their boxes: TFLite_Detection_PostProcess, a custom operator that the runtime has.
#include <cmath>
#include <limits>

#include "converters/formats/tflite/lower.h"

namespace onnxkit::tflite {
namespace {

constexpr auto real_type = ElementType::float32;

Val number(Call& call, double value) { return call.onnx.scalar(real_type, value); }

Val part_of(OnnxBuilder& onnx, Val value, std::int64_t from, std::int64_t to) {
  return onnx.emit("Slice", {value, onnx.integers({from}), onnx.integers({to}), onnx.integers({-1})});
}

/// Corners (ymin, xmin, ymax, xmax) of boxes that are stated by center and size in units of their anchors: [1, boxes, 4].
Val corners(Call& call) {
  auto& onnx = call.onnx;
  const Val boxes = real(call, "boxes"), anchors = real(call, "anchors");
  const auto scales = [&](const char* y, const char* x) {
    const double both[] = {call.real(y, 0), call.real(x, 0)};
    if (both[0] == 0 || both[1] == 0) call.refuse("a scale of its boxes is missing");
    return onnx.reals(real_type, {2}, both);
  };
  const Val sizes = part_of(onnx, anchors, 2, 4);
  const Val moved = onnx.emit("Div", {part_of(onnx, boxes, 0, 2), scales("y_scale", "x_scale")});
  const Val center = onnx.emit("Add", {onnx.emit("Mul", {moved, sizes}), part_of(onnx, anchors, 0, 2)});
  const Val grown = onnx.emit("Exp", {onnx.emit("Div", {part_of(onnx, boxes, 2, 4), scales("h_scale", "w_scale")})});
  const Val half = onnx.emit("Mul", {onnx.emit("Mul", {grown, number(call, 0.5)}), sizes});
  const std::vector<Val> ends = {onnx.emit("Sub", {center, half}), onnx.emit("Add", {center, half})};
  return onnx.emit("Concat", ends, {{"axis", std::int64_t{-1}}});
}

/// Rows, of which there are `most` at most, and zeros behind them.
Val filled_up(OnnxBuilder& onnx, Val rows, std::int64_t most) {
  const Val missing = onnx.emit("Sub", {onnx.integers({most}), onnx.size_of(rows, 0)});
  const bool is_matrix = onnx.rank(rows).value_or(1) == 2;
  const Val none = onnx.integers({0});
  return onnx.emit("Pad", {rows, is_matrix ? onnx.joined({none, none, missing, none}) : onnx.joined({none, missing})});
}

/// NonMaxSuppression keeps scores above its bound, the kernel those that reach it: the bound is the number before.
std::vector<Val> suppressed(Call& call, Val boxes, Val scores, std::int64_t most) {
  auto& onnx = call.onnx;
  const auto bound = static_cast<float>(call.real("nms_score_threshold", 0));
  const float below = std::nextafter(bound, -std::numeric_limits<float>::infinity());
  const double overlap[] = {call.real("nms_iou_threshold", 0)}, least[] = {below};
  const Val found = onnx.emit(
      "NonMaxSuppression",
      {boxes, scores, onnx.integers({most}), onnx.reals(real_type, {1}, overlap), onnx.reals(real_type, {1}, least)});
  std::vector<Val> columns;
  for (const std::int64_t column : {1, 2})
    columns.push_back(onnx.squeeze(part_of(onnx, found, column, column + 1), {1}));
  return columns;
}

Val picked(OnnxBuilder& onnx, Val rows, Val places) {
  return onnx.emit("Gather", {rows, places}, {{"axis", std::int64_t{0}}});
}

/// Boxes, classes and scores of what was found, and how much that is.
void give_detections(Call& call, Val boxes, Val classes, Val scores, std::int64_t most) {
  auto& onnx = call.onnx;
  const Val count = onnx.cast(onnx.size_of(scores, 0), real_type);
  std::vector<Val> results;
  for (const Val rows : {boxes, onnx.cast(classes, real_type), scores})
    results.push_back(onnx.unsqueeze(filled_up(onnx, rows, most), {0}));
  results.push_back(count);
  give(call, results);
}

/// Each box once, by the best of its classes.
void detect_fast(Call& call, Val boxes, Val scores, std::int64_t most) {
  auto& onnx = call.onnx;
  if (call.integer("max_classes_per_detection", 0) != 1) return call.refuse("it gives several classes of each box");
  const Val best = onnx.emit("ReduceMax", {scores, onnx.integers({-1})}, {{"keepdims", std::int64_t{0}}});
  const Val best_class = onnx.emit("ArgMax", {scores}, {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{0}}});
  const Val places = suppressed(call, boxes, onnx.unsqueeze(best, {1}), most)[1];
  const auto of_image = [&](Val value) { return picked(onnx, onnx.squeeze(value, {0}), places); };
  give_detections(call, of_image(boxes), of_image(best_class), of_image(best), most);
}

/// For each class by itself, then the best of all.
void detect_by_class(Call& call, Val boxes, Val scores, std::int64_t most) {
  auto& onnx = call.onnx;
  const Val by_class = onnx.transpose(scores, {0, 2, 1});
  const std::vector<Val> found = suppressed(call, boxes, by_class, call.integer("detections_per_class", 100));
  const Val pairs =
      onnx.emit("Concat", {onnx.unsqueeze(found[0], {1}), onnx.unsqueeze(found[1], {1})}, {{"axis", std::int64_t{1}}});
  const Val of_found = onnx.emit("GatherND", {onnx.squeeze(by_class, {0}), pairs});
  const Val count = onnx.emit("Min", {onnx.size_of(of_found, 0), onnx.integers({most})});
  const std::vector<Val> top = onnx.emit_many(2, "TopK", {of_found, count});
  give_detections(call, picked(onnx, onnx.squeeze(boxes, {0}), picked(onnx, found[1], top[1])),
                  picked(onnx, found[0], top[1]), top[0], most);
}

void map_detection_post_process(Call& call) {
  auto& onnx = call.onnx;
  const Val boxes = corners(call);
  Val scores = real(call, "scores");
  const std::int64_t classes = call.integer("num_classes", 0), most = call.integer("max_detections", 0);
  const auto given = onnx.size(scores, 2);
  constexpr std::int64_t limit = 1 << 20;
  if (!given || classes < 1 || *given < classes || *given > classes + 1 || most < 1 || most > limit)
    return call.refuse("its classes or its number of detections are not as they must be");
  // The class before the first one is the background.
  if (*given > classes) scores = part_of(onnx, scores, 1, *given);
  if (call.flag("use_regular_nms", false)) return detect_by_class(call, boxes, scores, most);
  detect_fast(call, boxes, scores, most);
}

}  // namespace

void register_boxes(Mappings& mappings);
void register_boxes(Mappings& mappings) {
  mappings.add("CUSTOM TFLite_Detection_PostProcess", {"boxes", "scores", "anchors"}, map_detection_post_process);
}

}  // namespace onnxkit::tflite
