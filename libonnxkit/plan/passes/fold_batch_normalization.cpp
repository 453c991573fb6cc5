// What scales and moves the channels behind a Conv, ConvTranspose, Gemm or MatMul with constant weights goes into the weights and the bias, computed in
// double: BatchNormalization, and Mul, Div, Add and Sub with one constant for each channel. Weights of 16 bits are not scaled.
#include <algorithm>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"
#include "libonnxkit/plan/scaled.h"

namespace onnxkit::plan {
namespace {

/// y = factor[c] * x + offset[c].
struct Affine {
  std::vector<double> factors, offsets;
  bool scales = false, moves = false;
};

class AffineFolding {
 public:
  explicit AffineFolding(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    for (std::size_t at = 0; at < subject_.graph().nodes.size(); ++at) fold(at);
    return rewriting_.finish();
  }

 private:
  /// A node with weights: where its channels lie in the result and in the weights.
  struct Producer {
    std::size_t channel_axis = 1;  ///< of the result
    std::int64_t channels = 0;
    Dims weights;
    std::optional<std::vector<double>> bias;  ///< nothing for a bias that is not constant
  };

  std::optional<Producer> producer(const ir::Node& node) const {
    const bool is_conv = Subject::is_op(node, "Conv") || Subject::is_op(node, "ConvTranspose");
    const bool is_gemm = Subject::is_op(node, "Gemm"), is_product = Subject::is_op(node, "MatMul");
    if ((!is_conv && !is_gemm && !is_product) || !subject_.has_one_reader(node.outputs[0])) return std::nullopt;
    const checker::Shape* const result = subject_.shape(node.outputs[0]);
    const checker::Shape* const x = subject_.shape(input_of(node, 0));
    const auto weights = subject_.dims(input_of(node, 1));
    if (!result || !x || !weights || result->size() < 2 || !subject_.is_constant(node.inputs[1])) return std::nullopt;
    if (is_product && (weights->size() != 2 || result->size() != x->size())) return std::nullopt;
    if (is_gemm && (real_of(node, "alpha", 1) != 1 || real_of(node, "beta", 1) != 1)) return std::nullopt;
    Producer made;
    made.weights = *weights;
    made.channel_axis = is_conv ? 1 : result->size() - 1;
    if (!(*result)[made.channel_axis].is_constant()) return std::nullopt;
    made.channels = (*result)[made.channel_axis].constant();
    made.bias = std::vector<double>(static_cast<std::size_t>(made.channels), 0);
    if (const ir::ValueId bias = input_of(node, 2); bias != ir::ValueId::none) {
      made.bias = subject_.reals(bias);
      // Gemm may have a number for each row.
      if (const auto dims = subject_.dims(bias); is_gemm && dims && dims->size() > 1 && dims->front() != 1)
        return std::nullopt;
      const auto size = made.bias ? static_cast<std::int64_t>(made.bias->size()) : 0;
      if (size == 1 && made.channels != 1) made.bias->assign(static_cast<std::size_t>(made.channels), (*made.bias)[0]);
      if (!made.bias || static_cast<std::int64_t>(made.bias->size()) != made.channels) return std::nullopt;
    }
    return made;
  }

  void fold(std::size_t at) {
    const ir::Node& node = subject_.graph().nodes[at];
    if (rewriting_.is_taken(at) || node.outputs.empty() || node.outputs[0] == ir::ValueId::none) return;
    if (!has_reader_to_fold(node)) return;
    auto from = producer(node);
    if (!from)
      return note_miss(node, "weights and bias of the " + std::string(node.op_type.view()) +
                                 " in front are not constant, or scaled by attributes");
    Affine affine;
    affine.factors.assign(static_cast<std::size_t>(from->channels), 1);
    affine.offsets.assign(static_cast<std::size_t>(from->channels), 0);
    ir::ValueId result = node.outputs[0];
    std::size_t root = at;
    while (follow(*from, affine, result, root)) {
    }
    // A MatMul has no bias: a sum alone is in its place already.
    const bool is_product = node.op_type == "MatMul";
    if (root == at) return note_miss(node, "its statistics are not constant, or it trains");
    if (is_product && !affine.scales) return;
    put(node, *from, affine, root, result);
  }

  /// Of the BatchNormalization that alone reads what the node writes.
  void note_miss(const ir::Node& node, std::string reason) {
    if (!subject_.has_one_reader(node.outputs[0])) return;
    const std::size_t reader = subject_.uses().consumers(node.outputs[0]).front();
    const bool has_weights = Subject::is_op(node, "Conv") || Subject::is_op(node, "ConvTranspose") ||
                             Subject::is_op(node, "Gemm") || Subject::is_op(node, "MatMul");
    if (has_weights && Subject::is_op(subject_.graph().nodes[reader], "BatchNormalization"))
      rewriting_.miss(reader, std::move(reason));
  }

  /// Cheap, as most nodes with weights have none.
  bool has_reader_to_fold(const ir::Node& node) const {
    if (!subject_.has_one_reader(node.outputs[0])) return false;
    const ir::Node& reader = subject_.graph().nodes[subject_.uses().consumers(node.outputs[0]).front()];
    if (Subject::is_op(reader, "BatchNormalization")) return true;
    if (!Subject::is_op(reader, "Mul") && !Subject::is_op(reader, "Div") && !Subject::is_op(reader, "Add") &&
        !Subject::is_op(reader, "Sub"))
      return false;
    const auto other = other_input(reader, node.outputs[0]);
    return other && subject_.is_constant(*other);
  }

  bool follow(const Producer& from, Affine& affine, ir::ValueId& result, std::size_t& root) const {
    if (!subject_.has_one_reader(result)) return false;
    const std::size_t at = subject_.uses().consumers(result).front();
    const ir::Node& reader = subject_.graph().nodes[at];
    if (reader.outputs.empty() || !subject_.same_shape(reader.outputs[0], result)) return false;
    if (subject_.type(reader.outputs[0]) != subject_.type(result)) return false;
    if (!normalize(reader, from, affine, result) && !combine(reader, from, affine, result)) return false;
    root = at;
    result = reader.outputs[0];
    return true;
  }

  bool normalize(const ir::Node& node, const Producer& from, Affine& affine, ir::ValueId x) const {
    if (!Subject::is_op(node, "BatchNormalization") || input_of(node, 0) != x || from.channel_axis != 1) return false;
    const auto channels = normalized_channels(subject_, node, from.channels);
    if (!channels) return false;
    for (std::size_t c = 0; c < affine.factors.size(); ++c) {
      affine.factors[c] *= channels->factors[c];
      affine.offsets[c] = affine.offsets[c] * channels->factors[c] + channels->offsets[c];
    }
    affine.scales = affine.moves = true;
    return true;
  }

  /// A constant that has one number for each channel, or one for all.
  std::optional<std::vector<double>> by_channel(const Producer& from, ir::ValueId id, std::size_t rank) const {
    const auto dims = subject_.is_constant(id) ? subject_.dims(id) : std::nullopt;
    if (!dims || dims->size() > rank) return std::nullopt;
    const std::size_t added = rank - dims->size();
    for (std::size_t axis = 0; axis < dims->size(); ++axis) {
      if ((*dims)[axis] != 1 && axis + added != from.channel_axis) return std::nullopt;
    }
    auto content = subject_.reals(id);
    if (!content || content->empty()) return std::nullopt;
    if (content->size() == 1) content->assign(static_cast<std::size_t>(from.channels), (*content)[0]);
    return static_cast<std::int64_t>(content->size()) == from.channels ? content : std::nullopt;
  }

  bool combine(const ir::Node& node, const Producer& from, Affine& affine, ir::ValueId x) const {
    const bool is_sum = Subject::is_op(node, "Add"), is_difference = Subject::is_op(node, "Sub");
    const bool is_product = Subject::is_op(node, "Mul"), is_quotient = Subject::is_op(node, "Div");
    if (!is_sum && !is_difference && !is_product && !is_quotient) return false;
    const auto other = other_input(node, x);
    if (!other || ((is_difference || is_quotient) && node.inputs[0] != x)) return false;
    const auto numbers = by_channel(from, *other, subject_.shape(x)->size());
    if (!numbers) return false;
    for (std::size_t c = 0; c < affine.factors.size(); ++c) {
      const double number = (*numbers)[c];
      if (is_quotient && number == 0) return false;
      if (is_sum || is_difference) affine.offsets[c] += is_sum ? number : -number;
      if (!is_product && !is_quotient) continue;
      affine.factors[c] *= is_product ? number : 1 / number;
      affine.offsets[c] *= is_product ? number : 1 / number;
    }
    (is_product || is_quotient ? affine.scales : affine.moves) = true;
    return true;
  }

  static ChannelOrder order_of(const ir::Node& node, const Producer& from) {
    ChannelOrder order;
    std::size_t axis = 0;
    if (node.op_type == "ConvTranspose") axis = 1, order.groups = integer_of(node, "group", 1);
    if (has_channels_last(node)) axis = 1;
    order.rows = axis == 0 ? 1 : from.weights[0] / order.groups;
    order.channels = from.weights[axis];
    order.inner = element_count(std::span(from.weights).subspan(axis + 1));
    return order;
  }

  static bool has_channels_last(const ir::Node& node) {
    return node.op_type == "MatMul" || (node.op_type == "Gemm" && integer_of(node, "transB", 0) == 0);
  }

  bool fits(const ir::Node& node, const Producer& from) const {
    const std::int64_t groups = node.op_type == "ConvTranspose" ? integer_of(node, "group", 1) : 1;
    if (element_count(from.weights) == 0 || groups < 1 || from.weights[0] % groups != 0) return false;
    if (node.op_type == "ConvTranspose") return from.weights[1] * groups == from.channels;
    return from.weights[has_channels_last(node) ? 1 : 0] == from.channels;
  }

  void put(const ir::Node& node, const Producer& from, const Affine& affine, std::size_t root, ir::ValueId result) {
    const ElementType type = subject_.type(node.inputs[1]);
    ir::ValueId weights = node.inputs[1];
    std::optional<Tensor> scaled;
    if (affine.scales) {
      // Rounded once more they would move sums whose terms cancel further than the model's own rounding does.
      if (is_16_bit_real(type)) return rewriting_.miss(root, "scaled weights of 16 bits would lose digits");
      const auto content = is_floating(type) ? subject_.content(weights) : std::nullopt;
      if (!content || !fits(node, from)) return;
      scaled = scaled_channels(*content, affine.factors, order_of(node, from));
      if (!scaled) return;
    }
    std::vector<double> bias = *from.bias;
    for (std::size_t c = 0; c < bias.size(); ++c) bias[c] = bias[c] * affine.factors[c] + affine.offsets[c];
    const bool is_product = node.op_type == "MatMul";
    std::vector<ir::ValueId> leaves(node.inputs.begin(), node.inputs.end());
    if (!rewriting_.is_free(root, leaves)) return;
    const std::string stem(subject_.graph().name_of(node.inputs[1]));
    if (scaled) weights = rewriting_.constant(stem, *scaled);
    const bool has_bias = affine.moves || input_of(node, 2) != ir::ValueId::none;
    const ir::ValueId sum =
        has_bias ? rewriting_.reals(stem + "_bias", type, {from.channels}, bias) : ir::ValueId::none;
    ir::Node folded = ir::clone(node);
    folded.inputs = {node.inputs[0], weights};
    if (has_bias && !is_product) folded.inputs.push_back(sum);
    folded.outputs = {result};
    if (is_product && has_bias) {
      const ir::ValueId product = rewriting_.add(root, "MatMul", {node.inputs[0], weights});
      folded = ir::make_node(subject_.model(), "Add", {product, sum}, {result});
    }
    rewriting_.replace(root, std::move(folded));
  }

  Subject& subject_;
  Rewriting rewriting_;
};

}  // namespace

void register_fold_batch_normalization(PassRegistry& registry);
void register_fold_batch_normalization(PassRegistry& registry) {
  registry.add({.name = "fold_batch_normalization",
                .stage = Stage::weights,
                .run = [](Subject& subject) -> Result<bool> { return AffineFolding(subject).run(); },
                .simplifies = Simplifies::on_request});
}

}  // namespace onnxkit::plan
