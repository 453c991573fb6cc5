// Normalizations.
#include <algorithm>
#include <limits>
#include <optional>

#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {
namespace {

using foreign::Call;
using foreign::Val;

/// A parameter of one number for each channel, or that many equal ones.
Val channel_parameter(Call& call, std::string_view name, Val x, double fallback) {
  if (call.has(name)) return call.tensor(name);
  const auto channels = call.onnx.size(x, 1);
  if (!channels) {
    call.refuse("the number of channels is not known");
    return {};
  }
  const Val one = call.onnx.scalar(call.onnx.elem(x), fallback);
  return call.onnx.emit("Expand", {one, call.onnx.integers({*channels})});
}

/// Scales and shifts channels, which are axis 1.
Val scaled_channels(Call& call, Val x, Val normal) {
  auto& onnx = call.onnx;
  std::vector<std::int64_t> sizes(std::max<std::size_t>(call.rank(x), 2) - 1, 1);
  sizes.front() = -1;
  if (call.has("weight")) normal = onnx.emit("Mul", {normal, onnx.reshape(call.tensor("weight"), sizes)});
  if (call.has("bias")) normal = onnx.emit("Add", {normal, onnx.reshape(call.tensor("bias"), sizes)});
  return normal;
}

/// What a batch is normalized by, over all axes but the channels, which stay with size 1 beside them.
struct BatchStatistics {
  Val mean, variance, deviation, normal;
};

std::optional<BatchStatistics> statistics_of(Call& call, Val x) {
  auto& onnx = call.onnx;
  const std::size_t rank = call.rank(x);
  if (rank < 2) {
    call.refuse("the input has no channels");
    return std::nullopt;
  }
  std::vector<std::int64_t> axes = {0};
  for (std::size_t axis = 2; axis < rank; ++axis) axes.push_back(static_cast<std::int64_t>(axis));
  const Val along = onnx.integers(axes);
  const std::vector<ir::Attr> keeps = {{"keepdims", std::int64_t{1}}};
  BatchStatistics found;
  found.mean = onnx.emit("ReduceMean", {x, along}, keeps);
  const Val difference = onnx.emit("Sub", {x, found.mean});
  found.variance = onnx.emit("ReduceMean", {onnx.emit("Mul", {difference, difference}), along}, keeps);
  found.deviation = onnx.emit("Sqrt", {onnx.emit("Add", {found.variance, call.number("eps", onnx.elem(x), 1e-5)})});
  found.normal = scaled_channels(call, x, onnx.emit("Div", {difference, found.deviation}));
  return found;
}

/// By the statistics of the input itself; the native form returns them.
void map_own_batch_norm(Call& call) {
  auto& onnx = call.onnx;
  const auto found = statistics_of(call, call.tensor("input"));
  if (!found) return;
  std::vector<Val> results = {found->normal};
  if (call.node.outputs.size() > 1)
    results.insert(results.end(),
                   {onnx.reshape(found->mean, {-1}), onnx.reshape(onnx.emit("Reciprocal", {found->deviation}), {-1})});
  call.results(results);
}

/// What the native forms return outside of training: statistics that are empty, and the running ones as they are.
std::vector<Val> with_statistics(Call& call, Val x, Val normal) {
  auto& onnx = call.onnx;
  std::vector<Val> results = {normal};
  for (std::size_t i = 1; i < std::min<std::size_t>(call.node.outputs.size(), 3); ++i) {
    const ElementType declared = call.declared_elem(i);
    const Val zero = onnx.scalar(declared == ElementType::undefined ? onnx.elem(x) : declared, 0);
    results.push_back(onnx.emit("Expand", {zero, onnx.integers({0})}));
  }
  if (call.node.outputs.size() > 3)
    results.insert(results.end(), {call.tensor("running_mean"), call.tensor("running_var")});
  return results;
}

void map_batch_norm(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  if (!call.has("running_mean") && !call.has("running_var")) return map_own_batch_norm(call);
  if (call.flag("training", false) || !call.has("running_mean"))
    return call.refuse("batch normalization in training has no counterpart",
                       "call eval() on the module before exporting it, or run_decompositions() on the program");
  const Val scale = channel_parameter(call, "weight", x, 1), bias = channel_parameter(call, "bias", x, 0);
  const auto epsilon = static_cast<float>(call.real("eps", 1e-5));
  const Val normal =
      onnx.emit("BatchNormalization", {x, scale, bias, call.tensor("running_mean"), call.tensor("running_var")},
                {{"epsilon", epsilon}});
  call.results(with_statistics(call, x, normal));
}

/// In training: the running statistics take in a share of the batch's, of the variance as an estimate without bias.
void map_training_batch_norm(Call& call) {
  auto& onnx = call.onnx;
  if (!call.flag("training", true)) return map_batch_norm(call);
  const Val x = call.tensor("input");
  const auto found = statistics_of(call, x);
  if (!found) return;
  const ElementType elem = onnx.elem(x);
  const Val mean = onnx.reshape(found->mean, {-1}), variance = onnx.reshape(found->variance, {-1});
  const auto real = [&](Val whole) { return onnx.emit("Cast", {whole}, {{"to", static_cast<std::int64_t>(elem)}}); };
  const Val count = onnx.emit("Div", {real(onnx.emit("Size", {x})), real(onnx.emit("Size", {mean}))});
  const Val less = onnx.emit("Sub", {count, onnx.scalar(elem, 1)});
  const Val estimate = onnx.emit("Mul", {variance, onnx.emit("Div", {count, less})});
  const Val share = call.number("momentum", elem, 0.1);
  const Val rest = onnx.emit("Sub", {onnx.scalar(elem, 1), share});
  const auto mixed = [&](std::string_view running, Val now) {
    return onnx.emit("Add", {onnx.emit("Mul", {call.tensor(running), rest}), onnx.emit("Mul", {now, share})});
  };
  call.results({found->normal, mean, onnx.reshape(onnx.emit("Reciprocal", {found->deviation}), {-1}),
                mixed("running_mean", mean), mixed("running_var", estimate)});
}

void map_layer_norm(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  const std::vector<std::int64_t> sizes = call.integers("normalized_shape");
  const auto axis = -static_cast<std::int64_t>(sizes.size());
  const auto epsilon = static_cast<float>(call.real("eps", 1e-5));
  Val scale = call.tensor("weight");
  if (!scale) scale = onnx.emit("Expand", {onnx.scalar(onnx.elem(x), 1), onnx.integers(sizes)});
  std::vector<Val> inputs = {x, scale};
  if (call.has("bias")) inputs.push_back(call.tensor("bias"));
  call.results(
      onnx.emit_many(call.node.outputs.size(), "LayerNormalization", inputs, {{"axis", axis}, {"epsilon", epsilon}}));
}

/// Groups of channels as the channels of an instance normalization.
void map_group_norm(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  if (call.rank(x) < 2) return call.refuse("the input has no channels");
  const std::int64_t groups = call.integer(call.has("group") ? "group" : "num_groups", 1);
  const ElementType type = onnx.elem(x);
  const Val ones = onnx.emit("Expand", {onnx.scalar(type, 1), onnx.integers({groups})});
  const Val zeros = onnx.emit("Expand", {onnx.scalar(type, 0), onnx.integers({groups})});
  const auto epsilon = static_cast<float>(call.real("eps", 1e-5));
  const Val grouped = onnx.reshape(x, {0, groups, -1});
  const Val normal = onnx.emit("InstanceNormalization", {grouped, ones, zeros}, {{"epsilon", epsilon}});
  const Val whole = scaled_channels(call, x, onnx.emit("Reshape", {normal, onnx.emit("Shape", {x})}));
  if (call.node.outputs.size() == 1) return call.result(whole);
  // The native form gives the mean and the reciprocal deviation of each group, too.
  const std::vector<ir::Attr> drops = {{"keepdims", std::int64_t{0}}};
  const Val mean = onnx.emit("ReduceMean", {grouped, onnx.integers({2})}, drops);
  const Val gap = onnx.emit("Sub", {grouped, onnx.unsqueeze(mean, {2})});
  const Val variance = onnx.emit("ReduceMean", {onnx.emit("Mul", {gap, gap}), onnx.integers({2})}, drops);
  const Val deviation = onnx.emit("Sqrt", {onnx.emit("Add", {variance, onnx.scalar(type, call.real("eps", 1e-5))})});
  call.results({whole, mean, onnx.emit("Reciprocal", {deviation})});
}

void map_instance_norm(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("input");
  if (!call.flag("use_input_stats", true)) return map_batch_norm(call);
  const auto epsilon = static_cast<float>(call.real("eps", 1e-5));
  const Val scale = channel_parameter(call, "weight", x, 1), bias = channel_parameter(call, "bias", x, 0);
  call.result(onnx.emit("InstanceNormalization", {x, scale, bias}, {{"epsilon", epsilon}}));
}

/// x / sqrt(mean(x^2) + eps), of narrow types in float32, whose epsilon is the default.
void map_rms_norm(Call& call) {
  auto& onnx = call.onnx;
  const Val given = call.tensor("input");
  const ElementType type = onnx.elem(given);
  const ElementType wide = type == ElementType::float64 ? type : ElementType::float32;
  const Val x = onnx.cast(given, wide);
  std::vector<std::int64_t> axes;
  const auto count = static_cast<std::int64_t>(call.integers("normalized_shape").size());
  for (std::int64_t axis = -count; axis < 0; ++axis) axes.push_back(axis);
  const double epsilon =
      wide == ElementType::float64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
  const Val mean = onnx.emit("ReduceMean", {onnx.emit("Mul", {x, x}), onnx.integers(axes)});
  const Val root = onnx.emit("Sqrt", {onnx.emit("Add", {mean, call.number("eps", wide, epsilon)})});
  Val normal = onnx.emit("Div", {x, root});
  if (call.has("weight")) normal = onnx.emit("Mul", {normal, onnx.cast(call.tensor("weight"), wide)});
  call.result(onnx.cast(normal, type));
}

}  // namespace

void register_normalization(Mappings& mappings);
void register_normalization(Mappings& mappings) {
  mappings.add({"aten.batch_norm.default", "aten._native_batch_norm_legit_no_training.default",
                "aten._native_batch_norm_legit.no_stats", "aten._native_batch_norm_legit.default",
                "aten.native_batch_norm.default"},
               map_batch_norm);
  mappings.add("aten._native_batch_norm_legit_functional.default", map_training_batch_norm);
  mappings.add({"aten.layer_norm.default", "aten.native_layer_norm.default"}, map_layer_norm);
  mappings.add({"aten.group_norm.default", "aten.native_group_norm.default"}, map_group_norm);
  mappings.add("aten.instance_norm.default", map_instance_norm);
  mappings.add("aten.rms_norm.default", map_rms_norm);
}

}  // namespace onnxkit::pt2
