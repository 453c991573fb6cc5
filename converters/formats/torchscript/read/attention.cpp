// The operators that nn.MultiheadAttention and nn.TransformerEncoderLayer are in traces of eval mode without gradients.
#include <cmath>

#include "converters/formats/torchscript/mappings.h"

namespace onnxkit::torchscript {
namespace {

using foreign::Call;
using foreign::Val;

Val linear(Call& call, Val x, Val weight, Val bias) {
  return call.onnx.emit("Add", {call.onnx.emit("MatMul", {x, call.onnx.transpose(weight, {1, 0})}), bias});
}

/// Rows of the weights of queries, keys and values, which lie one behind the other.
Val third(Call& call, Val packed, std::int64_t index, std::int64_t width) {
  return call.onnx.emit("Slice", {packed, call.onnx.integers({index * width}),
                                  call.onnx.integers({(index + 1) * width}), call.onnx.integers({0})});
}

struct AttentionSizes {
  std::int64_t width = 1, heads = 1;
};

/// Over [batch, length, width].
Val attend(Call& call, const std::vector<Val>& sources, AttentionSizes sizes) {
  auto& onnx = call.onnx;
  const Val weight = call.tensor("qkv_weight"), bias = call.tensor("qkv_bias");
  const std::int64_t head_width = sizes.width / sizes.heads;
  std::vector<Val> heads;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const Val projected =
        linear(call, sources[i], third(call, weight, index, sizes.width), third(call, bias, index, sizes.width));
    const Val split = onnx.reshape(projected, {0, 0, sizes.heads, head_width});
    heads.push_back(
        onnx.transpose(split, i == 1 ? std::vector<std::int64_t>{0, 2, 3, 1} : std::vector<std::int64_t>{0, 2, 1, 3}));
  }
  const double scale = 1 / std::sqrt(static_cast<double>(head_width));
  const Val query = onnx.emit("Mul", {heads[0], onnx.scalar(onnx.elem(heads[0]), scale)});
  const Val weights = onnx.emit("Softmax", {onnx.emit("MatMul", {query, heads[1]})}, {{"axis", std::int64_t{-1}}});
  const Val mixed = onnx.transpose(onnx.emit("MatMul", {weights, heads[2]}), {0, 2, 1, 3});
  return linear(call, onnx.reshape(mixed, {0, 0, sizes.width}), call.tensor("proj_weight"), call.tensor("proj_bias"));
}

/// Refuses what a head cannot be made of.
AttentionSizes sizes_of_heads(Call& call, std::string_view heads_name, Val source) {
  AttentionSizes sizes{call.integer("embed_dim", 0), call.integer(heads_name, 0)};
  if (call.has("mask"))
    call.refuse("masks of the fused attention are not converted", "trace the module with gradients enabled");
  const bool fits = sizes.heads > 0 && sizes.width > 0 && sizes.width % sizes.heads == 0;
  if (!fits || call.rank(source) != 3) call.refuse("the number of heads does not divide the width");
  return fits ? sizes : AttentionSizes{};
}

void map_multi_head_attention(Call& call) {
  const std::vector<Val> sources = {call.tensor("query"), call.tensor("key"), call.tensor("value")};
  const AttentionSizes sizes = sizes_of_heads(call, "num_head", sources[0]);
  call.results({attend(call, sources, sizes), Val{}});
}

Val normalized(Call& call, Val x, std::string_view weight, std::string_view bias) {
  return call.onnx.emit("LayerNormalization", {x, call.tensor(weight), call.tensor(bias)},
                        {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(call.real("eps", 1e-5))}});
}

Val gelu(Call& call, Val x) {
  auto& onnx = call.onnx;
  const ElementType type = onnx.elem(x);
  const Val erf = onnx.emit("Erf", {onnx.emit("Div", {x, onnx.scalar(type, std::sqrt(2.0))})});
  const Val factor = onnx.emit("Add", {erf, onnx.scalar(type, 1)});
  return onnx.emit("Mul", {onnx.emit("Mul", {x, factor}), onnx.scalar(type, 0.5)});
}

Val feed_forward(Call& call, Val x) {
  const Val inner = linear(call, x, call.tensor("ffn_weight_1"), call.tensor("ffn_bias_1"));
  const Val active = call.flag("use_gelu", false) ? gelu(call, inner) : call.onnx.emit("Relu", {inner});
  return linear(call, active, call.tensor("ffn_weight_2"), call.tensor("ffn_bias_2"));
}

void map_encoder_layer(Call& call) {
  auto& onnx = call.onnx;
  const Val x = call.tensor("src");
  const AttentionSizes sizes = sizes_of_heads(call, "num_heads", x);
  const bool norm_first = call.flag("norm_first", false);
  const auto norm_1 = [&](Val value) { return normalized(call, value, "norm_weight_1", "norm_bias_1"); };
  const auto norm_2 = [&](Val value) { return normalized(call, value, "norm_weight_2", "norm_bias_2"); };
  const Val source = norm_first ? norm_1(x) : x;
  Val sum = onnx.emit("Add", {x, attend(call, {source, source, source}, sizes)});
  if (!norm_first) sum = norm_1(sum);
  sum = onnx.emit("Add", {sum, feed_forward(call, norm_first ? norm_2(sum) : sum)});
  call.result(norm_first ? sum : norm_2(sum));
}

}  // namespace

void register_attention(Mappings& mappings);
void register_attention(Mappings& mappings) {
  mappings.add("aten._native_multi_head_attention.default", map_multi_head_attention);
  mappings.add("aten._transformer_encoder_layer_fwd.default", map_encoder_layer);
}

}  // namespace onnxkit::torchscript
