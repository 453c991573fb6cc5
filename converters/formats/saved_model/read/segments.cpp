// Rows summed up by groups, and losses of classes.
#include <cstdint>
#include <limits>
#include <string>

#include "converters/foreign/segments.h"
#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

using foreign::grouped;

/// "add" of "SparseSegmentSum", and so on; means are sums at first.
std::string reduction_of(std::string_view op) {
  if (op.find("Prod") != op.npos) return "mul";
  if (op.find("Max") != op.npos) return "max";
  return op.find("Min") != op.npos ? "min" : "add";
}

void map_unsorted_segments(Call& call) {
  const Val groups = call.onnx.cast(call.tensor("segment_ids"), ElementType::int64);
  call.result(foreign::unsorted_segments(call, call.tensor("data"), groups, as_sizes(call, "num_segments"),
                                         reduction_of(call.node.op)));
}

/// How many rows each group has, with an axis of one element for each axis of the rows.
Val rows_of_groups(Call& call, Val groups, Val count, ElementType type, std::size_t rank) {
  auto& onnx = call.onnx;
  const Val ones = onnx.emit("Expand", {onnx.scalar(type, 1), onnx.emit("Shape", {groups})});
  const Val rows = grouped(call, ones, groups, count, "add");
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 1; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  return onnx.unsqueeze(rows, axes);
}

/// Groups are counted from 0 to the last one, in which the last row is. Extremes of a group without rows are 0.
void reduce_segments(Call& call, Val data) {
  auto& onnx = call.onnx;
  const std::string_view op = call.node.op;
  const Val groups = onnx.cast(call.tensor("segment_ids"), ElementType::int64);
  if (call.rank(groups) != 1) return call.refuse("its groups are not a vector");
  const Val last = onnx.emit("Slice", {groups, onnx.integers({-1}),
                                       onnx.integers({std::numeric_limits<std::int32_t>::max()}), onnx.integers({0})});
  const Val count =
      call.has("num_segments") ? as_sizes(call, "num_segments") : onnx.emit("Add", {last, onnx.integers({1})});
  const ElementType type = onnx.elem(data);
  const std::string reduction = reduction_of(op);
  const Val reduced = grouped(call, data, groups, count, reduction);
  const bool is_mean = op.find("Mean") != op.npos, is_root = op.find("SqrtN") != op.npos;
  if (!is_mean && !is_root && (reduction == "add" || reduction == "mul")) return call.result(reduced);
  const Val rows = rows_of_groups(call, groups, count, type, call.rank(data));
  const Val zero = onnx.scalar(type, 0);
  if (reduction != "add") return call.result(onnx.emit("Where", {onnx.emit("Equal", {rows, zero}), zero, reduced}));
  const Val divisor = onnx.emit("Max", {rows, onnx.scalar(type, 1)});
  call.result(onnx.emit("Div", {reduced, is_root ? onnx.emit("Sqrt", {divisor}) : divisor}));
}
void map_segments(Call& call) { reduce_segments(call, call.tensor("data")); }
void map_sparse_segments(Call& call) {
  reduce_segments(call,
                  call.onnx.emit("Gather", {call.tensor("data"), call.tensor("indices")}, {{"axis", std::int64_t{0}}}));
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
  for (const std::string_view op : {"SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin", "SegmentMean"})
    mappings.add(op, {"data", "segment_ids"}, map_segments);
  for (const std::string_view op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"})
    mappings.add(op, {"data", "indices", "segment_ids"}, map_sparse_segments);
  for (const std::string_view op :
       {"SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments"})
    mappings.add(op, {"data", "indices", "segment_ids", "num_segments"}, map_sparse_segments);
  mappings.add("SparseSoftmaxCrossEntropyWithLogits", {"features", "labels"}, map_sparse_cross_entropy,
               {"loss", "backprop"});
  mappings.add("SoftmaxCrossEntropyWithLogits", {"features", "labels"}, map_cross_entropy, {"loss", "backprop"});
}

}  // namespace onnxkit::saved_model
