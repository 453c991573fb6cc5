// Convolutions and products between DequantizeLinear and QuantizeLinear, as quantizers write them, become operators on integers: QLinearConv,
// QLinearMatMul, and MatMulInteger with a Mul where no QuantizeLinear follows. A Relu or Clip in front of QuantizeLinear becomes a Clip of integers, or
// nothing where its bounds are those of the type. Sums are exact then, so a result in the middle between two integers may round to the other one.
#include <algorithm>
#include <cmath>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

class IntegerProductSearch {
 public:
  explicit IntegerProductSearch(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    for (std::size_t at = 0; at < subject_.graph().nodes.size(); ++at) {
      const ir::Node& node = subject_.graph().nodes[at];
      if (Subject::is_op(node, "QuantizeLinear")) match_quantized(at);
    }
    for (std::size_t at = 0; at < subject_.graph().nodes.size(); ++at) {
      const ir::Node& node = subject_.graph().nodes[at];
      if (rewriting_.is_taken(at)) continue;
      if (Subject::is_op(node, "MatMul") || Subject::is_op(node, "Gemm")) match_float(at);
    }
    return rewriting_.finish();
  }

 private:
  /// Integers with scales and zero points.
  struct Affine {
    ir::ValueId stored = ir::ValueId::none, scale = ir::ValueId::none, zero = ir::ValueId::none;
    std::int64_t axis = 1;
    std::vector<double> scales = {};
  };

  /// What a QuantizeLinear or DequantizeLinear states, with a constant scale of float32.
  std::optional<Affine> affine_of(const ir::Node& node) const {
    Affine affine{.stored = node.inputs[0], .scale = node.inputs[1], .zero = input_of(node, 2)};
    if (integer_of(node, "block_size", 0) != 0 || integer_of(node, "precision", 0) != 0) return std::nullopt;
    if (subject_.type(affine.scale) != ElementType::float32) return std::nullopt;
    const auto dims = subject_.dims(affine.scale);
    auto scales = subject_.reals(affine.scale);
    if (!dims || dims->size() > 1 || !scales || scales->empty()) return std::nullopt;
    const auto is_ordinary = [](double scale) { return std::isfinite(scale) && scale != 0; };
    if (!std::all_of(scales->begin(), scales->end(), is_ordinary)) return std::nullopt;
    if (affine.zero != ir::ValueId::none && !subject_.is_constant(affine.zero)) return std::nullopt;
    affine.scales = *std::move(scales);
    affine.axis = integer_of(node, "axis", 1);
    return affine;
  }

  std::optional<Affine> dequantized(ir::ValueId id) const {
    const ir::Node* node = subject_.writer(id, "DequantizeLinear");
    if (!node || subject_.type(id) != ElementType::float32) return std::nullopt;
    return affine_of(*node);
  }

  std::optional<Affine> image_of(ir::ValueId id) const {
    auto affine = dequantized(id);
    if (!affine || affine->scales.size() != 1 || !is_byte(subject_.type(affine->stored))) return std::nullopt;
    return affine;
  }

  /// The image; without one the reason, where the value comes from integers all the same.
  std::optional<Affine> image_or_miss(std::size_t at, ir::ValueId id) {
    auto image = image_of(id);
    if (!image && subject_.writer(id, "DequantizeLinear"))
      rewriting_.miss(at, "what is multiplied is not of integers of 8 bits with one constant scale");
    return image;
  }

  /// Constant weights of 8 bits around zero, with one scale or one for each filter on this axis.
  std::optional<Affine> weights_of(ir::ValueId id, std::int64_t axis) const {
    auto affine = dequantized(id);
    if (!affine || !subject_.is_constant(affine->stored)) return std::nullopt;
    const auto dims = subject_.dims(affine->stored);
    if (!dims || static_cast<std::int64_t>(dims->size()) <= axis) return std::nullopt;
    const std::int64_t counted =
        affine->axis < 0 ? affine->axis + static_cast<std::int64_t>(dims->size()) : affine->axis;
    const auto filters = static_cast<std::size_t>((*dims)[static_cast<std::size_t>(axis)]);
    if (affine->scales.size() != 1 && (counted != axis || affine->scales.size() != filters)) return std::nullopt;
    const ElementType type = subject_.type(affine->stored);
    const std::int64_t middle = type == ElementType::uint8 ? 128 : 0;
    if (!is_byte(type) || (affine->zero == ir::ValueId::none && middle != 0)) return std::nullopt;
    if (affine->zero == ir::ValueId::none) return affine;
    const auto zeros = integers_of(affine->zero);
    const bool are_middle =
        zeros && std::all_of(zeros->begin(), zeros->end(), [&](std::int64_t zero) { return zero == middle; });
    return are_middle ? affine : std::nullopt;
  }

  std::optional<std::vector<std::int64_t>> integers_of(ir::ValueId id) const {
    const auto content = subject_.content(id);
    if (!content || content->size() > 65536) return std::nullopt;
    const std::vector<double> numbers = to_reals(*content);
    return std::vector<std::int64_t>(numbers.begin(), numbers.end());
  }

  ir::ValueId integer(ElementType type, std::int64_t value, const Dims& dims = {}) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(element_count(dims)), static_cast<std::byte>(value));
    return rewriting_.constant("zero", *Tensor::from_bytes(type, dims, std::move(bytes)));
  }

  ir::ValueId zero_of(const Affine& affine, ElementType type) {
    return affine.zero != ir::ValueId::none ? affine.zero : integer(type, 0);
  }

  /// The zero point of weights, of the sizes of their scale.
  ir::ValueId zero_of_weights(const Affine& weights) {
    const ElementType type = subject_.type(weights.stored);
    const auto dims = weights.zero == ir::ValueId::none ? std::nullopt : subject_.dims(weights.zero);
    const auto wanted = subject_.dims(weights.scale);
    if (dims && wanted && *dims == *wanted) return weights.zero;
    return integer(type, type == ElementType::uint8 ? 128 : 0, wanted.value_or(Dims()));
  }

  // ---- with QuantizeLinear behind

  struct Bounds {
    double lower = -INFINITY, upper = INFINITY;
  };

  /// Through a Relu or a Clip with constant bounds.
  std::optional<ir::ValueId> through_bounds(ir::ValueId id, Bounds& bounds) const {
    if (const ir::Node* relu = subject_.writer(id, "Relu")) {
      bounds.lower = 0;
      return relu->inputs[0];
    }
    const ir::Node* clip = subject_.writer(id, "Clip");
    if (!clip) return id;
    for (const std::size_t i : {1U, 2U}) {
      const ir::ValueId bound = input_of(*clip, i);
      if (bound == ir::ValueId::none) continue;
      const auto number = subject_.scalar(bound);
      if (!number || std::isnan(*number)) return std::nullopt;
      (i == 1 ? bounds.lower : bounds.upper) = *number;
    }
    return clip->inputs[0];
  }

  struct Quantizer {
    Affine to;
    ElementType type = ElementType::undefined;
    std::int64_t zero = 0;
    Bounds bounds = {};

    std::int64_t least() const { return static_cast<std::int64_t>(least_of(type)); }
    std::int64_t greatest() const { return static_cast<std::int64_t>(greatest_of(type)); }
    std::int64_t quantized(double real) const {
      const double whole = std::nearbyint(static_cast<float>(real) / static_cast<float>(to.scales[0]));
      const auto low = static_cast<double>(least()), high = static_cast<double>(greatest());
      return static_cast<std::int64_t>(std::clamp(whole + static_cast<double>(zero), low, high));
    }
  };

  void match_quantized(std::size_t at) {
    const ir::Node& root = subject_.graph().nodes[at];
    Quantizer quantizer;
    quantizer.type = subject_.type(root.outputs[0]);
    const auto inner = through_bounds(root.inputs[0], quantizer.bounds);
    if (!inner || subject_.type(*inner) != ElementType::float32 || !is_byte(quantizer.type)) return;
    const ir::Node* convolution = subject_.writer(*inner, "Conv");
    const ir::Node* product = convolution ? nullptr : subject_.writer(*inner, "MatMul");
    if (!convolution && !product) return;
    const auto to = affine_of(root);
    if (!to || to->scales.size() != 1 || quantizer.bounds.lower > quantizer.bounds.upper) return;
    quantizer.to = *to;
    if (to->zero != ir::ValueId::none) {
      const auto zero = integers_of(to->zero);
      if (!zero || zero->size() != 1) return;
      quantizer.zero = zero->front();
    }
    if (convolution)
      match_convolution(at, *convolution, quantizer);
    else
      match_product(at, *product, quantizer);
  }

  /// A bias of int32 whose scales are those of the sums: one, or one for each filter.
  std::optional<ir::ValueId> bias_of(const ir::Node& convolution, const Affine& x, const Affine& weights) const {
    const ir::ValueId id = input_of(convolution, 2);
    if (id == ir::ValueId::none) return id;
    const auto bias = dequantized(id);
    if (!bias || subject_.type(bias->stored) != ElementType::int32 || !subject_.is_constant(bias->stored))
      return std::nullopt;
    if (bias->zero != ir::ValueId::none) {
      const auto zeros = integers_of(bias->zero);
      if (!zeros || std::any_of(zeros->begin(), zeros->end(), [](std::int64_t zero) { return zero != 0; }))
        return std::nullopt;
    }
    const auto dims = subject_.dims(bias->stored);
    if (!dims || dims->size() != 1) return std::nullopt;
    const auto filters = static_cast<std::size_t>((*dims)[0]);
    const auto fit = [&](std::size_t scales) { return scales == 1 || scales == filters; };
    if (!fit(bias->scales.size()) || !fit(weights.scales.size())) return std::nullopt;
    const std::size_t count = std::max(bias->scales.size(), weights.scales.size());
    for (std::size_t i = 0; i < count; ++i) {
      const double stated = bias->scales[bias->scales.size() == 1 ? 0 : i];
      const double exact = x.scales[0] * weights.scales[weights.scales.size() == 1 ? 0 : i];
      if (!(std::abs(stated - exact) <= 1e-6 * exact)) return std::nullopt;
    }
    return bias->stored;
  }

  static constexpr const char* sums_overflow = "the sums of integers may overflow";

  /// Whether int32 holds sums of so many products of bytes with this bias.
  bool sums_fit(std::int64_t terms, ir::ValueId bias) const {
    constexpr double greatest_product = 255 * 128;
    double greatest_bias = 0;
    if (bias != ir::ValueId::none) {
      const auto content = subject_.content(bias);
      if (!content) return false;
      for (const double number : to_reals(*content)) greatest_bias = std::max(greatest_bias, std::abs(number));
    }
    return static_cast<double>(terms) * greatest_product + greatest_bias < 0x1p31;
  }

  void match_convolution(std::size_t at, const ir::Node& convolution, const Quantizer& quantizer) {
    const auto x = image_or_miss(at, convolution.inputs[0]);
    if (!x) return;
    const auto weights = weights_of(convolution.inputs[1], 0);
    if (!weights) return rewriting_.miss(at, "the weights are not constant integers of 8 bits around zero");
    const auto bias = bias_of(convolution, *x, *weights);
    if (!bias) return rewriting_.miss(at, "the bias is not an integer with the scale of the sums");
    const Dims filters = subject_.dims(weights->stored).value_or(Dims());
    if (!sums_fit(element_count(std::span(filters).subspan(1)), *bias)) return rewriting_.miss(at, sums_overflow);
    if (!rewriting_.is_free(at, {convolution.inputs[0], convolution.inputs[1], input_of(convolution, 2)})) return;
    std::vector<ir::ValueId> inputs = {x->stored,
                                       x->scale,
                                       zero_of(*x, subject_.type(x->stored)),
                                       weights->stored,
                                       weights->scale,
                                       zero_of_weights(*weights),
                                       quantizer.to.scale,
                                       zero_of(quantizer.to, quantizer.type)};
    if (*bias != ir::ValueId::none) inputs.push_back(*bias);
    ir::Node node = ir::make_node(subject_.model(), "QLinearConv", std::move(inputs), {}, {});
    for (const ir::Attribute& attribute : convolution.attributes) node.attributes.push_back(ir::clone(attribute));
    put(at, std::move(node), quantizer);
  }

  void match_product(std::size_t at, const ir::Node& product, const Quantizer& quantizer) {
    const auto a = image_or_miss(at, product.inputs[0]);
    if (!a) return;
    const checker::Shape* const shape = subject_.shape(a->stored);
    const auto b_dims = subject_.dims(product.inputs[1]);
    if (!shape || shape->size() < 2 || !b_dims || b_dims->size() != 2) return;
    const auto b = weights_of(product.inputs[1], 1);
    if (!b) return rewriting_.miss(at, "the weights are not constant integers of 8 bits around zero");
    if (!sums_fit((*b_dims)[0], ir::ValueId::none)) return rewriting_.miss(at, sums_overflow);
    if (!rewriting_.is_free(at, {product.inputs[0], product.inputs[1]})) return;
    put(at,
        ir::make_node(subject_.model(), "QLinearMatMul",
                      {a->stored, a->scale, zero_of(*a, subject_.type(a->stored)), b->stored, b->scale,
                       zero_of_weights(*b), quantizer.to.scale, zero_of(quantizer.to, quantizer.type)},
                      {}, {}),
        quantizer);
  }

  /// The node in the place of the QuantizeLinear, with what is left of bounds.
  void put(std::size_t at, ir::Node node, const Quantizer& quantizer) {
    const ir::ValueId result = subject_.graph().nodes[at].outputs[0];
    std::int64_t lower = quantizer.quantized(quantizer.bounds.lower),
                 upper = quantizer.quantized(quantizer.bounds.upper);
    if (quantizer.to.scales[0] < 0) std::swap(lower, upper);
    if (lower == quantizer.least() && upper == quantizer.greatest()) {
      node.outputs = {result};
      return rewriting_.replace(at, std::move(node));
    }
    const Text name = subject_.fresh_name("unbounded");
    const ir::ValueId unbounded = rewriting_.patch().value(name);
    node.outputs = {unbounded};
    node.name = subject_.name_beside(at, name.view());
    rewriting_.patch().insert_before(at, std::move(node));
    rewriting_.replace(
        at, ir::make_node(subject_.model(), "Clip",
                          {unbounded, integer(quantizer.type, lower), integer(quantizer.type, upper)}, {result}, {}));
  }

  // ---- without

  void match_float(std::size_t at) {
    const ir::Node& root = subject_.graph().nodes[at];
    const bool is_gemm = Subject::is_op(root, "Gemm");
    const auto a = image_or_miss(at, root.inputs[0]);
    const auto b_dims = subject_.dims(root.inputs[1]);
    if (!a || !b_dims || b_dims->size() != 2) return;
    const bool is_turned = is_gemm && integer_of(root, "transB", 0) != 0;
    const auto is_one = [&](std::string_view name) { return real_of(root, name, 1) == 1; };
    if (is_gemm && (integer_of(root, "transA", 0) != 0 || !is_one("alpha") || !is_one("beta"))) return;
    const auto b = weights_of(root.inputs[1], is_turned ? 0 : 1);
    if (!b) return rewriting_.miss(at, "the weights are not constant integers of 8 bits around zero");
    std::vector<double> scales = b->scales;
    for (double& scale : scales) scale *= a->scales[0];
    const auto is_float = [](double scale) { return fits_attribute(scale, ElementType::float32); };
    if (!std::all_of(scales.begin(), scales.end(), is_float))
      return rewriting_.miss(at, "a product of scales is not a float");
    if (!sums_fit((*b_dims)[is_turned ? 1 : 0], ir::ValueId::none)) return rewriting_.miss(at, sums_overflow);
    const ir::ValueId bias = is_gemm ? input_of(root, 2) : ir::ValueId::none;
    if (!rewriting_.is_free(at, {root.inputs[0], root.inputs[1], bias})) return;
    ir::ValueId weights = b->stored;
    if (is_turned) weights = rewriting_.add(at, "Transpose", {weights}, {{"perm", std::vector<std::int64_t>{1, 0}}});
    const ir::ValueId sums = rewriting_.add(
        at, "MatMulInteger", {a->stored, weights, zero_of(*a, subject_.type(a->stored)), zero_of_weights(*b)});
    const ir::ValueId reals =
        rewriting_.add(at, "Cast", {sums}, {{"to", static_cast<std::int64_t>(ElementType::float32)}});
    const ir::ValueId scale =
        rewriting_.reals("scale", ElementType::float32,
                         scales.size() == 1 ? Dims() : Dims{static_cast<std::int64_t>(scales.size())}, scales);
    if (bias == ir::ValueId::none)
      return rewriting_.replace(at, ir::make_node(subject_.model(), "Mul", {reals, scale}, {root.outputs[0]}, {}));
    const ir::ValueId scaled = rewriting_.add(at, "Mul", {reals, scale});
    rewriting_.replace(at, ir::make_node(subject_.model(), "Add", {scaled, bias}, {root.outputs[0]}, {}));
  }

  Subject& subject_;
  Rewriting rewriting_;
};

}  // namespace

void register_recognise_integer_products(PassRegistry& registry);
void register_recognise_integer_products(PassRegistry& registry) {
  registry.add({.name = "recognise_integer_products",
                .stage = Stage::recognise,
                .run = [](Subject& subject) -> Result<bool> {
                  return has_operator(subject, "QuantizeLinear") && IntegerProductSearch(subject).run();
                },
                .wants_integer_steps = true});
}

}  // namespace onnxkit::plan
