// Rows summed up by groups, and losses of classes.
#include <cstdint>
#include <limits>
#include <string>

#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

/// The least or the greatest number of a type; none of types that are not grouped.
Val edge_of(OnnxBuilder& onnx, ElementType type, bool is_lowest) {
  const auto real = [&]<typename Number>(Number) {
    using Limits = std::numeric_limits<Number>;
    return onnx.scalar(type, static_cast<double>(is_lowest ? Limits::lowest() : Limits::max()));
  };
  const auto whole = [&]<typename Number>(Number) {
    using Limits = std::numeric_limits<Number>;
    return onnx.scalar_integer(type, static_cast<std::int64_t>(is_lowest ? Limits::min() : Limits::max()));
  };
  if (type == ElementType::float32) return real(float{});
  if (type == ElementType::float64) return real(double{});
  if (type == ElementType::int32) return whole(std::int32_t{});
  return type == ElementType::int64 ? whole(std::int64_t{}) : Val{};
}

/// What a group without rows has.
Val start_of(OnnxBuilder& onnx, std::string_view op, ElementType type) {
  if (op == "UnsortedSegmentSum") return onnx.scalar(type, 0);
  if (op == "UnsortedSegmentProd") return onnx.scalar(type, 1);
  return edge_of(onnx, type, op == "UnsortedSegmentMax");
}

/// Rows of a negative group are left out: they go into one more, which is cut off.
void map_unsorted_segments(Call& call) {
  auto& onnx = call.onnx;
  const Val data = call.tensor("data");
  const std::string_view op = call.node.op;
  const Val start = start_of(onnx, op, onnx.elem(data));
  if (!start) return call.refuse("groups of this element type");
  const Val groups = onnx.cast(call.tensor("segment_ids"), ElementType::int64);
  const auto grouped = static_cast<std::int64_t>(call.rank(groups));
  const Val count = as_sizes(call, "num_segments");
  const Val whole = onnx.emit("Add", {count, onnx.integers({1})});
  const Val row = onnx.emit("Shape", {data}, {{"start", grouped}});
  const Val empty = onnx.emit("Expand", {start, onnx.joined({whole, row})});
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
