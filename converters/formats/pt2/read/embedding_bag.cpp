// Rows of a table, summed, averaged or their maximum over bags of indices.
#include <limits>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

constexpr std::int64_t bag_sum = 0, bag_mean = 1, bag_maximum = 2;

/// The bag of each index: how many bags begin up to it, less one.
Val bags_of(Call& call, Val indices, Val offsets) {
  auto& onnx = call.onnx;
  const Val zero = onnx.integers({0}), one = onnx.integers({1}), count = onnx.size_of(indices, 0);
  // The last bags may be empty and begin behind the end.
  const Val nothing = onnx.emit("Expand", {zero, onnx.emit("Add", {count, one})});
  const Val begins = onnx.emit("Expand", {one, onnx.emit("Shape", {offsets})});
  const Val marks = onnx.emit("ScatterElements", {nothing, offsets, begins},
                              {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}});
  const Val begun = onnx.emit("CumSum", {marks, onnx.scalar_integer(ElementType::int64, 0)});
  return onnx.emit("Sub", {onnx.emit("Slice", {begun, zero, count, zero}), one});
}

/// The index that counts for nothing; none when there is none.
std::optional<std::int64_t> padding_of(Call& call, Val weight) {
  if (!call.has("padding_idx")) return std::nullopt;
  const std::int64_t padding = call.integer("padding_idx", -1);
  if (padding >= 0) return padding;
  if (!call.node.op.ends_with(".padding_idx")) return std::nullopt;
  const auto rows = call.onnx.size(weight, 0);
  if (!rows) call.refuse("the index of padding counts from the end of a table whose size is not known");
  return padding + rows.value_or(0);
}

void map_embedding_bag(Call& call) {
  auto& onnx = call.onnx;
  const Val weight = call.tensor("weight"), indices = onnx.cast(call.tensor("indices"), ElementType::int64);
  Val offsets = onnx.cast(call.tensor("offsets"), ElementType::int64);
  const std::int64_t mode = call.integer("mode", bag_sum);
  if (call.rank(indices) != 1 || call.rank(offsets) != 1) return call.refuse("the indices of bags are not a vector");
  if (mode < bag_sum || mode > bag_maximum) return call.refuse("this mode of bags");
  if (call.has("per_sample_weights") && mode != bag_sum) return call.refuse("only sums of bags have weights");
  if (!call.has_opset(18)) return;
  const std::optional<std::int64_t> padding = padding_of(call, weight);
  if (call.flag("include_last_offset", false))
    offsets = onnx.emit("Slice", {offsets, onnx.integers({0}), onnx.integers({-1}), onnx.integers({0})});
  const ElementType type = onnx.elem(weight);
  const Val zero = onnx.scalar(type, 0), one = onnx.scalar(type, 1);
  Val rows = onnx.emit("Gather", {weight, indices}, {{"axis", std::int64_t{0}}});
  if (call.has("per_sample_weights"))
    rows = onnx.emit("Mul", {rows, onnx.unsqueeze(call.tensor("per_sample_weights"), {1})});
  const double neutral = mode == bag_maximum ? -std::numeric_limits<double>::infinity() : 0;
  Val counted = onnx.emit("Expand", {one, onnx.emit("Shape", {indices})});
  if (padding) {
    const Val is_padding = onnx.emit("Equal", {indices, onnx.scalar_integer(ElementType::int64, *padding)});
    rows = onnx.emit("Where", {onnx.unsqueeze(is_padding, {1}), onnx.scalar(type, neutral), rows});
    counted = onnx.emit("Where", {is_padding, zero, counted});
  }
  const Val bags = onnx.unsqueeze(bags_of(call, indices, offsets), {1});
  const Val bag_count = onnx.size_of(offsets, 0);
  const std::string reduction = mode == bag_maximum ? "max" : "add";
  const Val start =
      onnx.emit("Expand", {onnx.scalar(type, neutral), onnx.joined({bag_count, onnx.size_of(weight, 1)})});
  Val result = onnx.emit("ScatterND", {start, bags, rows}, {{"reduction", reduction}});
  if (mode != bag_sum) {
    const Val counts = onnx.unsqueeze(onnx.emit("ScatterND", {onnx.emit("Expand", {zero, bag_count}), bags, counted},
                                                {{"reduction", std::string("add")}}),
                                      {1});
    result = mode == bag_mean ? onnx.emit("Div", {result, onnx.emit("Max", {counts, one})})
                              : onnx.emit("Where", {onnx.emit("Equal", {counts, zero}), zero, result});
  }
  std::vector<Val> results(call.node.outputs.size());
  results.front() = result;
  call.results(results);
}

}  // namespace

void register_embedding_bag(Mappings& mappings);
void register_embedding_bag(Mappings& mappings) {
  mappings.add({"aten.embedding_bag.default", "aten.embedding_bag.padding_idx", "aten._embedding_bag.default",
                "aten._embedding_bag_forward_only.default"},
               map_embedding_bag);
}

}  // namespace onnxkit::pt2
