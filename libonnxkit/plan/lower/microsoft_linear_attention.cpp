// com.microsoft: what models put around linear attention: LinearAttentionGate, GatedRMSNorm, GatedAdd.
#include "libonnxkit/plan/elementwise.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

constexpr char gates_of_other_sizes[] = "operands of other sizes";
constexpr char only_narrow[] = "only for real numbers of 32 bits and less";

Unlowered lower_linear_attention_gate(LowerCall& call) {
  if (!is_narrow_real(call.output_type(0))) return only_narrow;
  const View a = call.as_real(call.input(0)), bias = call.as_real(call.input(1)), scale = call.as_real(call.input(2));
  if (a.rank() != 3 || bias.dims != Dims{a.dims[2]} || scale.dims != bias.dims) return gates_of_other_sizes;
  Expression e;
  const Number sum = e.apply(Operation::add, e.input(0, Lane::f32), e.input(1, Lane::f32));
  e.apply(Operation::multiply, e.input(2, Lane::f32), softplus_of(e, sum));
  give(call, mapped(call, e, {a, bias, scale}, ElementType::float32, a.dims));
  if (!call.has_output(1)) return std::nullopt;
  if (!call.has_input(3)) return "beta is asked for without b";
  Expression rate;
  rate.apply(Operation::sigmoid, rate.input(0, Lane::f32));
  const View b = call.as_real(call.input(3));
  call.set_output(1, mapped(call, rate, {b}, ElementType::float32, b.dims));
  return std::nullopt;
}

Unlowered lower_gated_rms_norm(LowerCall& call) {
  if (!is_narrow_real(call.output_type(0))) return only_narrow;
  const View x = call.as_real(call.input(0)), scale = call.contiguous(call.as_real(call.input(1))),
             gate = call.as_real(call.input(2));
  const std::int64_t size = scale.size();
  if (x.size() == 0 || size == 0 || scale.rank() != 1 || x.rank() == 0 || x.dims.back() % size != 0 ||
      gate.dims != x.dims)
    return gates_of_other_sizes;
  const View rows = call.contiguous(reshaped_or_copied(call, x, {x.size() / size, size}));
  const View normalized = call.make(ElementType::float32, rows.dims);
  NormalizeParameters parameters;
  parameters.epsilon = static_cast<double>(call.real("epsilon", 1e-5F));
  parameters.centers = false;
  call.emit(normalize_step, {rows, scale}, {normalized}, parameters);
  Expression e;
  const Number number = e.input(0, Lane::f32), given = e.input(1, Lane::f32);
  const bool is_sigmoid = call.string("activation") == "sigmoid";
  e.apply(Operation::multiply, number, is_sigmoid ? e.apply(Operation::sigmoid, given) : swish_of(e, given));
  give(call, mapped(call, e, {reshaped(normalized, x.dims), gate}, ElementType::float32, x.dims));
  return std::nullopt;
}

Unlowered lower_gated_add(LowerCall& call) {
  if (!is_narrow_real(call.output_type(0))) return only_narrow;
  const View x = call.as_real(call.input(0)), y = call.as_real(call.input(1)), gate = call.as_real(call.input(2));
  Dims gates = x.dims;
  if (gates.empty() || y.dims != x.dims) return gates_of_other_sizes;
  gates.back() = 1;
  if (gate.dims != gates) return gates_of_other_sizes;
  Expression e;
  const Number number = e.input(0, Lane::f32),
               product = e.apply(Operation::multiply, e.input(1, Lane::f32), e.input(2, Lane::f32));
  const ElementType type = call.output_type(0);
  e.apply(Operation::add, number, is_16_bit_real(type) ? e.round_to(product, type) : product);
  give(call, mapped(call, e, {x, y, gate}, ElementType::float32, x.dims));
  return std::nullopt;
}

}  // namespace

void register_microsoft_linear_attention(LoweringRegistry& registry);
void register_microsoft_linear_attention(LoweringRegistry& registry) {
  registry.add("com.microsoft", "LinearAttentionGate", all_versions(), lower_linear_attention_gate);
  registry.add("com.microsoft", "GatedRMSNorm", all_versions(), lower_gated_rms_norm);
  registry.add("com.microsoft", "GatedAdd", all_versions(), lower_gated_add);
}

}  // namespace onnxkit::plan
