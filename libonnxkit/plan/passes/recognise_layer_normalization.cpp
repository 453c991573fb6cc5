// (x - mean) / sqrt(variance + epsilon), then a scale and a bias: LayerNormalization. TensorFlow multiplies x and its mean by one factor each:
// x * f + (bias - mean * f), where f is scale / sqrt(variance + epsilon).
#include <algorithm>

#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

class LayerNormalizationSearch {
 public:
  explicit LayerNormalizationSearch(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    const auto& nodes = subject_.graph().nodes;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      if (Subject::is_op(nodes[at], "Div") || Subject::is_op(nodes[at], "Mul")) match(at);
      if (Subject::is_op(nodes[at], "Add") && nodes[at].inputs.size() == 2) match_factors(at);
    }
    return rewriting_.finish();
  }

 private:
  struct Centered {
    ir::ValueId x = ir::ValueId::none;
    std::int64_t axis = 0;
  };

  /// x minus its mean.
  std::optional<Centered> centered(ir::ValueId id) const {
    const ir::Node* difference = subject_.writer(id, "Sub");
    if (!difference || difference->inputs.size() != 2) return std::nullopt;
    const auto mean = mean_over_last(subject_, difference->inputs[1]);
    if (!mean || mean->of != difference->inputs[0]) return std::nullopt;
    return Centered{mean->of, mean->axis};
  }

  /// x less a mean of x, over any axes.
  bool has_mean_taken(ir::ValueId id) const {
    const ir::Node* difference = subject_.writer(id, "Sub");
    if (!difference || difference->inputs.size() != 2) return false;
    const ir::Node* mean = subject_.writer(difference->inputs[1], "ReduceMean");
    return mean && mean->inputs[0] == difference->inputs[0];
  }

  void match(std::size_t at) {
    const ir::ValueId normalized = subject_.graph().nodes[at].outputs[0];
    const auto quotient = over_root(subject_, normalized);
    if (!quotient) return;
    const auto miss = [&](const char* reason) { rewriting_.miss(at, reason); };
    const auto deviation = centered(quotient->numerator);
    if (!deviation && has_mean_taken(quotient->numerator))
      return miss("the mean is not over known axes that are the last, with axes of size 1 in their place");
    if (!deviation) return;
    const auto radicand = plus_scalar(subject_, quotient->radicand);
    if (!radicand) return miss("no single constant is added to the variance under the root");
    if (radicand->scalar < 0) return miss("a negative number is added to the variance under the root");
    const auto variance = mean_over_last(subject_, radicand->of);
    const auto square = variance ? squared(subject_, variance->of) : std::nullopt;
    if (!square) return miss("what is under the root is not a mean of squares over the last axes");
    if (variance->axis != deviation->axis) return miss("mean and variance are over different axes");
    const auto again = centered(*square);
    if (*square != quotient->numerator && (!again || again->x != deviation->x || again->axis != deviation->axis))
      return miss("the variance is that of another value than the one that is divided");
    const auto inner = last_dims(subject_, deviation->x, deviation->axis);
    const ElementType type = subject_.type(deviation->x);
    if (!is_narrow_real(type)) return miss("x is not real of 32 bits or less");
    if (!inner) return miss("x is of unknown size");
    if (!fits_attribute(radicand->scalar, type)) return miss("epsilon is not a float");
    inner_ = *inner;
    if (element_count(inner_) == 0) return miss("x has no elements");
    put(at, normalized, *deviation, radicand->scalar, type);
  }

  /// x * f + rest, for either order of both.
  void match_factors(std::size_t at) {
    const ir::Node& sum = subject_.graph().nodes[at];
    for (const std::size_t side : {0U, 1U}) {
      const ir::Node* product = subject_.writer(sum.inputs[side], "Mul");
      if (!product || product->inputs.size() != 2) continue;
      for (const std::size_t place : {0U, 1U})
        if (match_factor(at, product->inputs[place], product->inputs[1 - place], sum.inputs[1 - side])) return;
    }
  }

  bool match_factor(std::size_t at, ir::ValueId x, ir::ValueId factor, ir::ValueId rest) {
    const auto quotient = over_root(subject_, factor);
    const auto radicand = quotient ? plus_scalar(subject_, quotient->radicand) : std::nullopt;
    const auto variance = radicand ? mean_over_last(subject_, radicand->of) : std::nullopt;
    const auto square = variance ? squared(subject_, variance->of) : std::nullopt;
    const auto deviation = square ? centered(*square) : std::nullopt;
    if (!deviation || deviation->x != x || deviation->axis != variance->axis) return false;
    const auto inner = last_dims(subject_, x, deviation->axis);
    const ElementType type = subject_.type(x);
    const ir::ValueId result = subject_.graph().nodes[at].outputs[0], bias = bias_in(rest, *deviation, factor);
    const auto miss = [&](const char* reason) { return rewriting_.miss(at, reason), false; };
    if (!inner || !is_narrow_real(type) || element_count(*inner) == 0) return miss("x is not real or of unknown size");
    inner_ = *inner;
    if (bias == ir::ValueId::none) return miss("what is added is not a bias less the mean times the same factor");
    if (!is_weight(quotient->numerator, type) || !is_weight(bias, type) || !subject_.same_shape(result, x))
      return miss("scale and bias are not weights of the normalized elements");
    if (radicand->scalar < 0 || !fits_attribute(radicand->scalar, type)) return miss("epsilon is not a float");
    if (rewriting_.is_free(at, {x, quotient->numerator, bias}))
      replace(at, *deviation, {x, quotient->numerator, bias}, result, radicand->scalar);
    return true;
  }

  /// b where the value is b - mean * factor or b + -mean * factor, in any order.
  ir::ValueId bias_in(ir::ValueId id, const Centered& deviation, ir::ValueId factor) const {
    const auto is_mean = [&](ir::ValueId value) {
      const auto mean = mean_over_last(subject_, value);
      return mean && mean->of == deviation.x && mean->axis == deviation.axis;
    };
    const auto is_product = [&](ir::ValueId value, bool negated) {
      const ir::Node* product = subject_.writer(value, "Mul");
      const auto other = product ? other_input(*product, factor) : std::nullopt;
      const ir::Node* negation = other && negated ? subject_.writer(*other, "Neg") : nullptr;
      return other && is_mean(negated ? input_of_or_none(negation) : *other);
    };
    const ir::Node* difference = subject_.writer(id, "Sub");
    if (difference && is_product(difference->inputs[1], false)) return difference->inputs[0];
    const ir::Node* sum = subject_.writer(id, "Add");
    for (const std::size_t side : {0U, 1U})
      if (sum && is_product(sum->inputs[side], true)) return sum->inputs[1 - side];
    return ir::ValueId::none;
  }

  static ir::ValueId input_of_or_none(const ir::Node* node) { return node ? node->inputs[0] : ir::ValueId::none; }

  /// One weight for each of the normalized elements.
  bool is_weight(ir::ValueId id, ElementType type) const {
    const auto dims = subject_.dims(id);
    if (!dims || subject_.type(id) != type || dims->size() < inner_.size()) return false;
    const auto added = static_cast<std::ptrdiff_t>(dims->size() - inner_.size());
    return std::equal(inner_.begin(), inner_.end(), dims->begin() + added) &&
           std::all_of(dims->begin(), dims->begin() + added, [](std::int64_t size) { return size == 1; });
  }

  /// The value that the normalized one is scaled with, or moved by, in the node that alone reads it.
  ir::ValueId weight_behind(std::size_t& root, ir::ValueId& value, std::string_view op, ElementType type) const {
    const auto reader = only_reader(subject_, value, op);
    if (!reader) return ir::ValueId::none;
    const ir::Node& node = subject_.graph().nodes[*reader];
    const auto other = other_input(node, value);
    if (!other || !is_weight(*other, type) || !subject_.same_shape(node.outputs[0], value)) return ir::ValueId::none;
    root = *reader;
    value = node.outputs[0];
    return *other;
  }

  void put(std::size_t root, ir::ValueId result, const Centered& from, double epsilon, ElementType type) {
    const std::size_t bare = root;
    const ir::ValueId normalized = result;
    ir::ValueId scale = weight_behind(root, result, "Mul", type);
    ir::ValueId bias = weight_behind(root, result, "Add", type);
    std::vector<ir::ValueId> leaves = {from.x, scale, bias};
    if (!rewriting_.is_free(root, leaves)) {
      root = bare, result = normalized, scale = bias = ir::ValueId::none;
      if (!rewriting_.is_free(root, {from.x})) return;
    }
    if (scale == ir::ValueId::none)
      scale = rewriting_.reals("ones", type, inner_,
                               std::vector<double>(static_cast<std::size_t>(element_count(inner_)), 1));
    std::vector<ir::ValueId> inputs = {from.x, scale};
    if (bias != ir::ValueId::none) inputs.push_back(bias);
    replace(root, from, std::move(inputs), result, epsilon);
  }

  void replace(std::size_t root, const Centered& from, std::vector<ir::ValueId> inputs, ir::ValueId result,
               double epsilon) {
    const auto rank = static_cast<std::int64_t>(subject_.shape(from.x)->size());
    rewriting_.replace(root, ir::make_node(subject_.model(), "LayerNormalization", std::move(inputs), {result},
                                           {{"axis", from.axis - rank}, {"epsilon", static_cast<float>(epsilon)}}));
  }

  Subject& subject_;
  Rewriting rewriting_;
  Dims inner_;  ///< the sizes of the normalized axes
};

}  // namespace

void register_recognise_layer_normalization(PassRegistry& registry);
void register_recognise_layer_normalization(PassRegistry& registry) {
  registry.add(
      {.name = "recognise_layer_normalization", .stage = Stage::recognise, .run = [](Subject& subject) -> Result<bool> {
         return has_operator(subject, "LayerNormalization") && LayerNormalizationSearch(subject).run();
       }});
}

}  // namespace onnxkit::plan
