// Rows summed up by groups, and losses of classes.
#include <optional>
#include <string>

#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

/// The least or the greatest number of a type.
double edge_of(ElementType type, bool is_lowest) {
  const double edge = type == ElementType::int32     ? 2147483647.0
                      : type == ElementType::float32 ? 3.40282346638528859811704183484516925e38
                      : type == ElementType::float64 ? 1.79769313486231570814527423731704357e308
                                                     : 0;
  return is_lowest && type == ElementType::int32 ? -edge - 1 : is_lowest ? -edge : edge;
}

/// What a group without rows has.
std::optional<double> start_of(std::string_view op, ElementType type) {
  if (op == "UnsortedSegmentSum") return 0;
  if (op == "UnsortedSegmentProd") return 1;
  const double edge = edge_of(type, op == "UnsortedSegmentMax");
  return edge == 0 ? std::nullopt : std::optional(edge);
}

/// Rows of a negative group are left out: they go into one more, which is cut off.
void map_unsorted_segments(Call& call) {
  auto& onnx = call.onnx;
  const Val data = call.tensor("data");
  const std::string_view op = call.node.op;
  const auto start = start_of(op, onnx.elem(data));
  if (!start) return call.refuse("groups of this element type");
  const Val groups = onnx.cast(call.tensor("segment_ids"), ElementType::int64);
  const auto grouped = static_cast<std::int64_t>(call.rank(groups));
  const Val count = as_sizes(call, "num_segments");
  const Val whole = onnx.emit("Add", {count, onnx.integers({1})});
  const Val row = onnx.emit("Shape", {data}, {{"start", grouped}});
  const Val empty = onnx.emit("Expand", {onnx.scalar(onnx.elem(data), *start), onnx.joined({whole, row})});
  const Val is_left_out = onnx.emit("Less", {groups, onnx.scalar_integer(ElementType::int64, 0)});
  const Val places = onnx.unsqueeze(onnx.emit("Where", {is_left_out, count, groups}), {-1});
  const std::string reduction = op.ends_with("Sum")    ? "add"
                                : op.ends_with("Prod") ? "mul"
                                : op.ends_with("Max")  ? "max"
                                                       : "min";
  const Val filled = onnx.emit("ScatterND", {empty, places, data}, {{"reduction", reduction}});
  call.result(onnx.emit("Slice", {filled, onnx.integers({0}), count, onnx.integers({0})}));
}

/// The loss of each row, and what a step of training goes by.
void map_sparse_cross_entropy(Call& call) {
  auto& onnx = call.onnx;
  const Val features = call.tensor("features"), labels = onnx.cast(call.tensor("labels"), ElementType::int64);
  const ElementType type = onnx.elem(features);
  const Val loss = onnx.emit("SoftmaxCrossEntropyLoss", {features, labels}, {{"reduction", std::string("none")}});
  const Val values = onnx.reals(type, {2}, std::vector<double>{0, 1});
  const Val classes = onnx.emit("OneHot", {labels, onnx.size_of(features, 1), values});
  call.results({loss, onnx.emit("Sub", {onnx.emit("Softmax", {features}), classes})});
}

/// The same for labels that are shares of all classes.
void map_cross_entropy(Call& call) {
  auto& onnx = call.onnx;
  const Val features = call.tensor("features"), labels = call.tensor("labels");
  const Val products = onnx.emit("Mul", {labels, onnx.emit("LogSoftmax", {features})});
  const Val sum = onnx.emit("ReduceSum", {products, onnx.integers({-1})}, {{"keepdims", std::int64_t{0}}});
  call.results({onnx.emit("Neg", {sum}), onnx.emit("Sub", {onnx.emit("Softmax", {features}), labels})});
}

}  // namespace

void register_segments(Mappings& mappings);
void register_segments(Mappings& mappings) {
  for (const std::string_view op :
       {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"})
    mappings.add(op, {"data", "segment_ids", "num_segments"}, map_unsorted_segments);
  mappings.add("SparseSoftmaxCrossEntropyWithLogits", {"features", "labels"}, map_sparse_cross_entropy,
               {"loss", "backprop"});
  mappings.add("SoftmaxCrossEntropyWithLogits", {"features", "labels"}, map_cross_entropy, {"loss", "backprop"});
}

}  // namespace onnxkit::saved_model
