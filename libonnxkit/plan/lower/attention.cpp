#include <cmath>

#include "libonnxkit/plan/compose.h"

namespace onnxkit::plan {
namespace {

/// [batch, heads, rows, size], from that or from [batch, rows, heads * size], with the numbers of a row side by side.
std::optional<View> heads_of(LowerCall& call, std::size_t input, std::int64_t heads) {
  View view = call.as_real(call.input(input));
  if (view.rank() == 3) {
    if (heads <= 0 || view.dims[2] % heads != 0) return std::nullopt;
    const Dims split = {view.dims[0], view.dims[1], heads, view.dims[2] / heads};
    auto parts = reshaped(view, split);
    if (!parts) parts = reshaped(call.contiguous(view), split);
    constexpr std::int64_t order[] = {0, 2, 1, 3};
    view = permuted(*parts, order);
  }
  if (view.rank() != 4) return std::nullopt;
  return view.strides[3] == 1 || view.dims[3] == 1 ? view : call.contiguous(view);
}

Unlowered lower_attention(LowerCall& call) {
  if (!is_narrow_real(call.input_type(0)) || !is_narrow_real(call.output_type(0)))
    return "only for real numbers of 32 bits and less";
  if (call.has_input(4) || call.has_input(5) || call.has_input(6)) return "with past keys or lengths";
  if (call.has_output(1) || call.has_output(2) || call.has_output(3)) return "more than the result is asked for";
  if (call.integer("left_window_size", -1) >= 0 || call.integer("right_window_size", -1) >= 0) return "with a window";
  if (call.real("softcap") != 0) return "with softcap";
  const auto q = heads_of(call, 0, call.integer("q_num_heads"));
  const auto k = heads_of(call, 1, call.integer("kv_num_heads")), v = heads_of(call, 2, call.integer("kv_num_heads"));
  if (!q || !k || !v || q->size() == 0 || k->size() == 0 || v->size() == 0) return "operands of other ranks";
  if (k->dims[1] == 0 || q->dims[1] % k->dims[1] != 0) return "heads that do not share keys evenly";
  AttentionParameters parameters;
  const auto scale = call.find_real("scale");
  parameters.scale = scale ? static_cast<double>(*scale) : 1 / std::sqrt(static_cast<double>(q->dims[3]));
  parameters.is_causal = call.integer("is_causal") != 0;
  std::vector<View> inputs = {*q, *k, *v};
  if (call.has_input(3)) {
    if (!is_narrow_real(call.input_type(3))) return "a mask of truth values";
    const View mask = call.as_real(call.input(3));
    const Dims scores = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]};
    if (mask.rank() > 4 || (mask.rank() > 0 && mask.dims.back() != scores[3])) return "a mask of another length";
    const View spread = broadcast_to(mask, scores);
    inputs.push_back(spread.strides[3] == 1 || scores[3] == 1 ? spread : broadcast_to(call.contiguous(mask), scores));
  }
  const bool is_joined = call.output_dims(0).size() == 3;
  const Dims heads = {q->dims[0], q->dims[1], q->dims[2], v->dims[3]};
  View result = call.make(ElementType::float32, is_joined ? Dims{heads[0], heads[2], heads[1], heads[3]} : heads);
  View by_head = result;
  constexpr std::int64_t swapped[] = {0, 2, 1, 3};
  if (is_joined) by_head = permuted(result, swapped);
  call.emit(attention_step, std::move(inputs), {by_head}, parameters);
  call.set_output(0, *reshaped(result, call.output_dims(0)));
  return std::nullopt;
}

}  // namespace

void register_attention(LoweringRegistry& registry);
void register_attention(LoweringRegistry& registry) { registry.add("Attention", all_versions(), lower_attention); }

}  // namespace onnxkit::plan
