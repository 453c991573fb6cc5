// Parts of values, and values made of parts.
#include <algorithm>

#include "converters/formats/saved_model/lower.h"

namespace onnxkit::saved_model {
namespace {

void map_strided_slice(Call& call) {
  const Val begin = call.tensor("begin"), end = call.tensor("end"), strides = call.tensor("strides");
  call.result(foreign::strided_slice(call, call.tensor("input"), begin, end, strides, foreign::slice_masks(call)));
}

void map_slice(Call& call) {
  call.result(foreign::slice_of_size(call, call.tensor("input"), call.tensor("begin"), call.tensor("size")));
}

/// The number of results that an attribute states; refuses one that is not positive.
std::size_t count_of(Call& call, std::string_view name) {
  constexpr std::int64_t most = 1 << 16;
  const std::int64_t count = call.integer(name, 0);
  if (count < 1 || count > most || static_cast<std::size_t>(count) < call.node.outputs.size()) {
    call.refuse("its number of results is damaged");
    return call.node.outputs.size();
  }
  return static_cast<std::size_t>(count);
}

void map_update_slice(Call& call) {
  call.result(foreign::updated_slice(call, call.tensor("input"), call.tensor("update"), call.tensor("indices")));
}

void map_split(Call& call) {
  const Val x = call.tensor("value");
  const std::int64_t axis = known_axis(call, "split_dim", call.rank(x));
  call.results(foreign::split_equally(call.onnx, x, axis, count_of(call, "num_split")));
}

void map_split_by_sizes(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("value"), sizes = as_sizes(call, "size_splits");
  const std::int64_t axis = known_axis(call, "split_dim", call.rank(x));
  std::vector<std::int64_t> known = onnx.constant_integers(sizes).value_or(std::vector<std::int64_t>());
  const auto open = std::find(known.begin(), known.end(), -1);
  const std::size_t count = count_of(call, "num_split");
  if (call.refused()) return;
  if (open == known.end()) return call.results(onnx.emit_many(count, "Split", {x, sizes}, {{"axis", axis}}));
  const auto whole = onnx.size(x, static_cast<std::size_t>(axis));
  if (!whole) return call.refuse("one of its sizes is open, and the size of the axis is not known");
  *open = 0;
  std::int64_t others = 0;
  for (const std::int64_t size : known) others += size;
  *open = *whole - others;
  call.results(onnx.emit_many(count, "Split", {x, onnx.integers(known)}, {{"axis", axis}}));
}

void map_concat(Call& call) {
  const std::vector<Val> values = call.tensors("values");
  if (values.empty()) return call.refuse("it has no inputs");
  const std::int64_t axis = known_axis(call, "axis", call.rank(values.front()));
  call.result(values.size() == 1 ? values.front() : call.onnx.emit("Concat", values, {{"axis", axis}}));
}

void map_pack(Call& call) {
  const std::vector<Val> values = call.tensors("values");
  if (values.empty()) return call.refuse("it has no inputs");
  call.result(foreign::stacked(call, values, call.axis("axis", 0, call.rank(values.front()) + 1)));
}

void map_unpack(Call& call) {
  const Val x = call.tensor("value");
  const std::int64_t axis = call.axis("axis", 0, call.rank(x));
  call.results(foreign::unstacked(call, x, axis, count_of(call, "num")));
}

void map_gather(Call& call) {
  const Val x = call.tensor(call.has("resource") ? "resource" : "params"), indices = call.tensor("indices");
  const std::int64_t batches = call.integer("batch_dims", 0);
  const std::int64_t axis = call.has("axis") ? known_axis(call, "axis", call.rank(x)) : batches;
  const std::int64_t counted = batches < 0 ? batches + static_cast<std::int64_t>(call.rank(indices)) : batches;
  call.result(foreign::gathered(call, x, indices, axis, counted));
}

void map_gather_nd(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("params");
  if (call.integer("batch_dims", 0) != 0) return call.refuse("it has batch dimensions");
  call.result(onnx.emit("GatherND", {x, onnx.cast(call.tensor("indices"), ElementType::int64)}));
}

/// Updates of one place add up.
void map_scatter_nd(Call& call) {
  auto& onnx = call.onnx;
  const Val updates = call.tensor("updates"), places = onnx.cast(call.tensor("indices"), ElementType::int64);
  const Val zeros = onnx.emit("Expand", {onnx.scalar(onnx.elem(updates), 0), as_sizes(call, "shape")});
  call.result(onnx.emit("ScatterND", {zeros, places, updates}, {{"reduction", std::string("add")}}));
}

void map_tensor_scatter(Call& call) {
  auto& onnx = call.onnx;
  Val updates = call.tensor("updates");
  const Val tensor = call.tensor("tensor"), places = onnx.cast(call.tensor("indices"), ElementType::int64);
  const std::string_view op = call.node.op;
  if (op == "TensorScatterSub") updates = onnx.emit("Neg", {updates});
  const char* reduction = op == "TensorScatterUpdate" ? "none"
                          : op == "TensorScatterMax"  ? "max"
                          : op == "TensorScatterMin"  ? "min"
                                                      : "add";
  call.result(onnx.emit("ScatterND", {tensor, places, updates}, {{"reduction", std::string(reduction)}}));
}

void map_pad(Call& call) {
  auto& onnx = call.onnx;
  std::vector<Val> inputs = {call.tensor("input"), foreign::pads_of_pairs(onnx, call.tensor("paddings"))};
  if (call.has("constant_values")) inputs.push_back(call.tensor("constant_values"));
  call.result(onnx.emit("Pad", inputs));
}

void map_mirror_pad(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  if (call.text("mode") == "SYMMETRIC")
    return call.result(foreign::mirrored_with_border(call, x, known_integers(call, "paddings")));
  const Val pads = foreign::pads_of_pairs(onnx, call.tensor("paddings"));
  call.result(onnx.emit("Pad", {x, pads}, {{"mode", std::string("reflect")}}));
}

void map_reverse(Call& call) {
  const std::vector<std::int64_t> axes = known_integers(call, "axis");
  call.result(foreign::reversed(call, call.tensor("tensor"), axes));
}

void map_reverse_sequence(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input"), lengths = onnx.cast(call.tensor("seq_lengths"), ElementType::int64);
  const std::int64_t time = call.integer("seq_dim", 0), batch = call.integer("batch_dim", 0);
  if (time > 1 || batch > 1 || time < 0 || batch < 0) return call.refuse("time and batch are not its first two axes");
  call.result(onnx.emit("ReverseSequence", {x, lengths}, {{"time_axis", time}, {"batch_axis", batch}}));
}

/// The end of an axis goes to its start, by as many places as the shift says.
void map_roll(Call& call) {
  auto& onnx = call.onnx;
  Val x = call.tensor("input");
  const std::vector<std::int64_t> shifts = known_integers(call, "shift"), axes = known_integers(call, "axis");
  if (call.refused() || shifts.size() != axes.size()) return call.refuse("its shifts and axes are not as many");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(call.rank(x)) : axes[i];
    const auto size = onnx.size(x, static_cast<std::size_t>(axis));
    if (!size) return call.refuse("the size of an axis is not known");
    const std::int64_t shift = *size == 0 ? 0 : ((shifts[i] % *size) + *size) % *size;
    if (shift == 0) continue;
    const auto parts = onnx.emit_many(2, "Split", {x, onnx.integers({*size - shift, shift})}, {{"axis", axis}});
    x = onnx.emit("Concat", {parts[1], parts[0]}, {{"axis", axis}});
  }
  call.result(x);
}

}  // namespace

void register_slice(Mappings& mappings);
void register_slice(Mappings& mappings) {
  mappings.add("StridedSlice", {"input", "begin", "end", "strides"}, map_strided_slice);
  mappings.add("XlaDynamicUpdateSlice", {"input", "update", "indices"}, map_update_slice);
  mappings.add("Slice", {"input", "begin", "size"}, map_slice);
  mappings.add("Split", {"split_dim", "value"}, map_split);
  mappings.add("SplitV", {"value", "size_splits", "split_dim"}, map_split_by_sizes);
  mappings.add("ConcatV2", {"values...", "axis"}, map_concat);
  mappings.add("Concat", {"axis", "values..."}, map_concat);
  mappings.add("Pack", {"values..."}, map_pack);
  mappings.add("Unpack", {"value"}, map_unpack);
  mappings.add("GatherV2", {"params", "indices", "axis"}, map_gather);
  mappings.add("Gather", {"params", "indices"}, map_gather);
  mappings.add("ResourceGather", {"resource", "indices"}, map_gather);
  mappings.add_all({"GatherNd", "ResourceGatherNd"}, {"params", "indices"}, map_gather_nd);
  mappings.add("ScatterNd", {"indices", "updates", "shape"}, map_scatter_nd);
  mappings.add_all(
      {"TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"},
      {"tensor", "indices", "updates"}, map_tensor_scatter);
  mappings.add("Pad", {"input", "paddings"}, map_pad);
  mappings.add("PadV2", {"input", "paddings", "constant_values"}, map_pad);
  mappings.add("MirrorPad", {"input", "paddings"}, map_mirror_pad);
  mappings.add("ReverseV2", {"tensor", "axis"}, map_reverse);
  mappings.add("ReverseSequence", {"input", "seq_lengths"}, map_reverse_sequence);
  mappings.add("Roll", {"input", "shift", "axis"}, map_roll);
}

}  // namespace onnxkit::saved_model
