// com.microsoft: MoE and QMoE, mixtures of experts: each row is multiplied by the layers of the experts that its router ranks highest.
#include <algorithm>
#include <limits>

#include "libonnxkit/plan/elementwise.h"

namespace onnxkit::plan {
namespace {

using Number = Expression::Number;

/// One layer of all experts.
struct ExpertLayer {
  View weights;  ///< [experts, inputs, outputs]; the bytes of `blocks` if there are some
  std::int64_t experts = 0, outputs = 0, inputs = 0;
  std::shared_ptr<const BlockedWeights> blocks = {};
  std::optional<Tensor> numbers = {};  ///< of the blocks
  std::optional<View> bias = {};       ///< [experts, outputs]
};

void require(bool holds, const char* what) {
  if (!holds) throw Misfit(what);
}

std::optional<View> bias_of(LowerCall& call, std::size_t bias, const ExpertLayer& layer) {
  if (!call.has_input(bias)) return std::nullopt;
  require(call.input_dims(bias) == Dims{layer.experts, layer.outputs}, "a bias of other sizes");
  return call.contiguous(call.as_real(call.input(bias)));
}

ExpertLayer real_layer(LowerCall& call, std::size_t weights, std::size_t bias) {
  const View w = call.is_stored_constant(weights) ? call.input(weights) : call.as_real(call.input(weights));
  require(w.rank() == 3 && w.size() > 0, "weights of other axes, or without elements");
  constexpr std::int64_t swapped[] = {0, 2, 1};
  ExpertLayer layer{.weights = permuted(w, swapped), .experts = w.dims[0], .outputs = w.dims[1], .inputs = w.dims[2]};
  layer.bias = bias_of(call, bias, layer);
  return layer;
}

/// The inputs of a quantized layer.
struct PackedInputs {
  std::size_t weights, scales, bias, zeros;
};

/// Numbers [experts, outputs, packed inputs] with scales, and perhaps packed zero points, by row or by block of a row.
ExpertLayer packed_layer(LowerCall& call, const PackedInputs& inputs) {
  const std::int64_t bits = call.integer("expert_weight_bits", 4);
  const auto numbers = call.constant_content(inputs.weights), scales = call.constant_content(inputs.scales),
             zeros = call.constant_content(inputs.zeros);
  require(numbers && scales && (zeros || !call.has_input(inputs.zeros)), "the weights are not constant");
  require(numbers->type() == ElementType::uint8 && numbers->dims().size() == 3 && numbers->size() > 0,
          "weights that are no packed numbers of three axes");
  const std::int64_t experts = numbers->dims()[0], outputs = numbers->dims()[1], width = numbers->dims()[2];
  const std::int64_t length = width * (8 / bits), stated = call.integer("block_size");
  const bool has_blocks = stated > 0;
  const std::int64_t size = has_blocks ? stated : length;
  constexpr std::int64_t most_numbers = 1 << 20;
  require(length <= most_numbers && length % size == 0 && (size % 8 == 0 || size == length), "blocks of another size");
  BlockedWeights blocks{.n = experts * outputs, .k = length, .bits = bits, .size = (size + 7) / 8 * 8};
  // Those of a row's blocks, or of an expert's rows where a row is one block, begin with a byte.
  const std::int64_t together = has_blocks ? blocks.blocks() : outputs, zero_bytes = (together * bits + 7) / 8;
  require(has_blocks || !zeros || experts == 1 || zero_bytes * 8 == together * bits, "zero points with gaps");
  require(is_narrow_real(scales->type()) && scales->size() == blocks.n * blocks.blocks(), "scales of another number");
  require(!zeros || (zeros->type() == ElementType::uint8 &&
                     zeros->size() == blocks.n * blocks.blocks() / together * zero_bytes),
          "zero points of another number");
  blocks.zero = static_cast<float>(1U << static_cast<std::uint32_t>(bits - 1));
  blocks.scales = *scales;
  if (zeros) blocks.zeros = *zeros;
  blocks.number_strides = {.column = length, .row = 1};
  blocks.scale_strides = {.column = blocks.blocks(), .row = 1};
  blocks.zero_strides = {.column = has_blocks ? zero_bytes * 8 / bits : 1, .row = 1};
  ExpertLayer layer{.weights = call.input(inputs.weights), .experts = experts, .outputs = outputs, .inputs = length};
  layer.blocks = std::make_shared<const BlockedWeights>(std::move(blocks));
  layer.numbers = *numbers;
  layer.bias = bias_of(call, inputs.bias, layer);
  return layer;
}

/// The rows of `from` that are chosen, [1, count, width].
View chosen_rows(LowerCall& call, const View& from, const View& choices) {
  const std::int64_t count = choices.size(), width = from.dims[1];
  const View result = call.make(from.type, {1, count, width});
  call.emit(gather_step, {reshaped(from, {1, from.dims[0], width}), reshaped(choices, {count})}, {result});
  return result;
}

/// x [rows, chosen, inputs] through the layer of the chosen experts, without its bias.
View through(LowerCall& call, const View& x, const ExpertLayer& layer, const View& choices) {
  const View output = call.make(ElementType::float32, {x.dims[0], x.dims[1], layer.outputs});
  GroupedProductParameters parameters;
  parameters.blocks = layer.blocks;
  if (!layer.blocks || !call.emit_if_taken(grouped_product_step, {x, layer.weights, choices}, {output}, parameters)) {
    View weights = layer.weights;
    if (layer.blocks) {
      constexpr std::int64_t swapped[] = {0, 2, 1};
      const View reals = unpacked(call, *layer.blocks, *layer.numbers);
      weights = permuted(reshaped(reals, {layer.experts, layer.outputs, layer.inputs}), swapped);
    }
    call.emit(grouped_product_step, {x, weights, choices}, {output}, GroupedProductParameters());
  }
  return output;
}

/// The numbers that a map reads of each result of a layer: the sum, and the bias of the expert if there is one.
struct Biased {
  View sums;
  std::optional<View> bias;

  Biased part(std::int64_t start, std::int64_t step, std::int64_t count) const {
    const auto of = [&](const View& view) { return sliced(view, 2, start, step, count); };
    return {of(sums), bias ? std::optional(of(*bias)) : std::nullopt};
  }
  Number read(Expression& e, std::vector<View>& inputs) const {
    const auto next = [&](const View& view) {
      inputs.push_back(view);
      return e.input(inputs.size() - 1, Lane::f32);
    };
    const Number sum = next(sums);
    return bias ? e.apply(Operation::add, sum, next(*bias)) : sum;
  }
};

Biased biased(LowerCall& call, const View& x, const ExpertLayer& layer, const View& choices) {
  const View sums = through(call, x, layer, choices);
  if (!layer.bias) return {sums, std::nullopt};
  return {sums, reshaped(chosen_rows(call, *layer.bias, choices), sums.dims)};
}

/// Even results are gates, odd ones what they let through; both within swiglu_limit.
View gated(LowerCall& call, const Biased& x) {
  const std::int64_t count = x.sums.dims[2] / 2;
  const auto limit = call.find_real("swiglu_limit");
  Expression e;
  std::vector<View> inputs;
  Number gate = x.part(0, 2, count).read(e, inputs), other = x.part(1, 2, count).read(e, inputs);
  if (limit) {
    const Number most = e.constant(Lane::f32, *limit), least = e.constant(Lane::f32, -*limit);
    gate = e.apply(Operation::minimum, gate, most);
    other = e.apply(Operation::minimum, e.apply(Operation::maximum, other, least), most);
  }
  const Number let = e.apply(Operation::add, other, e.constant(Lane::f32, call.real("activation_beta", 0)));
  e.apply(Operation::multiply, swish_of(e, gate, call.real("activation_alpha", 1)), let);
  return mapped(call, e, std::move(inputs), ElementType::float32, {x.sums.dims[0], x.sums.dims[1], count});
}

View activated(LowerCall& call, const Biased& x) {
  const auto name = call.string("activation_type");
  if (name == "swiglu") return gated(call, x);
  Expression e;
  std::vector<View> inputs;
  const Number sum = x.read(e, inputs);
  if (name == "relu") {
    e.apply(Operation::maximum, sum, e.constant(Lane::f32, 0));
  } else if (name == "silu") {
    swish_of(e, sum);
  } else if (name == "gelu") {
    tanh_gelu(e, sum);
  } else {
    require(name == "identity", "the activation is unknown");
    if (!x.bias) return x.sums;
  }
  return mapped(call, e, std::move(inputs), ElementType::float32, x.sums.dims);
}

/// How much of a row's result comes of each expert that it takes.
enum class Weighting : std::uint8_t {
  among_all,     ///< the softmax of the ranks of all experts
  among_chosen,  ///< that of the chosen ones
  given,
  given_over_sum,  ///< by the sum of those of the chosen ones
};

struct Routing {
  View choices, weights;  ///< [rows, chosen]
};

/// Of equal ranks the last expert's counts as the highest, and a NaN as the lowest, so the first of turned ranks is asked for.
View chosen_experts(LowerCall& call, const View& ranks, std::int64_t count) {
  const std::int64_t rows = ranks.dims[0], experts = ranks.dims[1];
  Expression least;
  const Number rank = least.input(0, Lane::f32);
  least.apply(Operation::select, least.apply(Operation::is_nan, rank),
              least.constant(Lane::f32, -std::numeric_limits<double>::infinity()), rank);
  const View turned =
      mapped(call, least, {sliced(ranks, 1, experts - 1, -1, experts)}, ElementType::float32, ranks.dims);
  const View values = call.make(ElementType::float32, {rows, count}),
             places = call.make(ElementType::int64, {rows, count});
  call.emit(top_k_step, {turned}, {values, places}, TopKParameters());
  Expression back;
  back.apply(Operation::subtract, back.integer(experts - 1), back.input(0, Lane::i64));
  return mapped(call, back, {places}, ElementType::int64, places.dims);
}

/// The element of each row of scores [rows, experts] for each expert that it takes.
View scores_of(LowerCall& call, const View& scores, const View& choices) {
  Expression e;
  const Number row = e.input(0, Lane::i64), at = e.input(1, Lane::i64);
  e.apply(Operation::add, e.apply(Operation::multiply, row, e.integer(scores.dims[1])), at);
  const View places =
      mapped(call, e, {positions_along(call, choices.dims, 0), choices}, ElementType::int64, choices.dims);
  const View from = reshaped(call.contiguous(scores), {scores.size(), 1});
  return reshaped(chosen_rows(call, from, places), choices.dims);
}

View softmax(LowerCall& call, const View& x) {
  const View result = call.make(ElementType::float32, x.dims);
  call.emit(softmax_step, {call.contiguous(x)}, {result}, SoftmaxParameters());
  return result;
}

Routing routed(LowerCall& call, const View& ranks, std::int64_t count, Weighting weighting, const View& given) {
  const View choices = chosen_experts(call, ranks, count);
  switch (weighting) {
    case Weighting::among_all:
      return {choices, scores_of(call, softmax(call, ranks), choices)};
    case Weighting::among_chosen:
      return {choices, softmax(call, scores_of(call, ranks, choices))};
    default:
      break;
  }
  const View weights = scores_of(call, given, choices);
  if (weighting == Weighting::given) return {choices, weights};
  Expression e;
  e.apply(Operation::divide, e.input(0, Lane::f32), e.input(1, Lane::f32));
  const View sums = reshaped(reduced(call, Reduction::sum, weights, {false, true}), {ranks.dims[0], 1});
  return {choices, mapped(call, e, {weights, sums}, ElementType::float32, weights.dims)};
}

/// The results of the chosen experts times their weights, added.
View mixed(LowerCall& call, const Biased& results, const View& weights) {
  Expression e;
  std::vector<View> inputs;
  const Number result = results.read(e, inputs);
  inputs.push_back(reshaped(weights, {weights.dims[0], weights.dims[1], 1}));
  e.apply(Operation::multiply, result, e.input(inputs.size() - 1, Lane::f32));
  const View parts = mapped(call, e, std::move(inputs), ElementType::float32, results.sums.dims);
  return reduced(call, Reduction::sum, parts, {false, true, false});
}

void mix_experts(LowerCall& call, const ExpertLayer& first, const ExpertLayer& second, Weighting weighting,
                 std::size_t given) {
  const View x = call.as_real(call.input(0)), ranks = call.as_real(call.input(1));
  const std::int64_t count = call.integer("k", 1), width = first.inputs;
  require((x.rank() == 2 || x.rank() == 3) && x.size() > 0 && x.dims.back() == width, "an input of other sizes");
  const std::int64_t rows = x.size() / width;
  require(ranks.dims == Dims{rows, first.experts}, "ranks of other sizes");
  require(count >= 1 && count <= first.experts, "more experts for a row than there are");
  const bool is_gated = call.string("activation_type") == "swiglu";
  require(!is_gated || (call.integer("swiglu_fusion") == 1 && first.outputs % 2 == 0), "another form of swiglu");
  require(call.integer("use_sparse_mixer") == 0, "a sparse mixer");
  require(second.experts == first.experts && second.inputs == (is_gated ? first.outputs / 2 : first.outputs) &&
              second.outputs == width,
          "layers of other sizes");
  View weights = ranks;
  if (weighting == Weighting::given || weighting == Weighting::given_over_sum) {
    weights = call.as_real(call.input(given));
    require(weights.dims == ranks.dims, "weights of other sizes");
  }
  const Routing routing = routed(call, ranks, count, weighting, weights);
  const View lined = rows_side_by_side(call, reshaped_or_copied(call, x, {rows, 1, width}));
  const View repeated = broadcast_to(lined, Dims{rows, count, width});
  const View hidden = activated(call, biased(call, repeated, first, routing.choices));
  give(call, mixed(call, biased(call, hidden, second, routing.choices), routing.weights));
}

Unlowered lower_moe(LowerCall& call) {
  if (call.has_input(6)) return "a third layer of the experts";
  const bool normalizes = call.integer("normalize_routing_weights") != 0;
  mix_experts(call, real_layer(call, 2, 3), real_layer(call, 4, 5),
              normalizes ? Weighting::among_chosen : Weighting::among_all, 0);
  return std::nullopt;
}

/// As the reference has it: softmax over the chosen experts, unless they have weights of their own.
Unlowered lower_quantized_moe(LowerCall& call) {
  constexpr std::size_t router_weights = 14, third_layer = 8;
  if (call.is_exact()) return "its weights would be rounded to float32";
  const std::int64_t bits = call.integer("expert_weight_bits", 4);
  if (bits != 4 && bits != 8) return "weights of another width";
  for (const char* other : {"fc1_expert_weight_bits", "fc2_expert_weight_bits"})
    if (call.integer(other, bits) != bits) return "layers of different widths";
  if (call.string("quant_type") != "int" || call.integer("weights_prepacked", -1) == 1 || call.has_input(third_layer))
    return "another form of quantization";
  for (std::size_t i = router_weights + 1; i < call.input_count(); ++i)
    if (call.has_input(i)) return "global scales, or scales of activations";
  const bool normalizes = call.integer("normalize_routing_weights") != 0;
  const Weighting weighting = !call.has_input(router_weights) ? Weighting::among_chosen
                              : normalizes                    ? Weighting::given_over_sum
                                                              : Weighting::given;
  mix_experts(call, packed_layer(call, {2, 3, 4, 11}), packed_layer(call, {5, 6, 7, 12}), weighting, router_weights);
  return std::nullopt;
}

}  // namespace

void register_microsoft_moe(LoweringRegistry& registry);
void register_microsoft_moe(LoweringRegistry& registry) {
  registry.add("com.microsoft", "MoE", all_versions(), lower_moe);
  registry.add("com.microsoft", "QMoE", all_versions(), lower_quantized_moe);
}

}  // namespace onnxkit::plan
