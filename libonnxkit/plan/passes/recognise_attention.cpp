// softmax(scale * Q K^T + mask) V over heads: Attention. The scale may stand before or behind the product, the scores be capped by c * tanh(x / c), the
// mask be added or chosen by Where, the softmax be computed in float32 between two Casts, and keys and values be repeated for groups of heads or, of
// one head, broadcast over all. Batch and heads may be one axis, as PyTorch's bmm has them: each is a batch of one head then. Two masks are summed
// once for all layers that add them, as T5 adds its position bias and a mask.
// Where a query may see no key at all, Softmax of infinities gives NaN and Attention 0: an attribute says so.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"
#include "libonnxkit/spec/pattern_attributes.h"

namespace onnxkit::plan {
namespace {

/// Numbers so low that what is added to them does not count.
bool hides(double bias, ElementType type) { return type == ElementType::float16 ? bias <= -65504 : bias <= -1e30; }

class AttentionSearch {
 public:
  explicit AttentionSearch(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    for (std::size_t at = 0; at < subject_.graph().nodes.size(); ++at) {
      if (Subject::is_op(subject_.graph().nodes[at], "MatMul")) match(at);
    }
    return rewriting_.finish();
  }

 private:
  struct Found {
    ir::ValueId q = ir::ValueId::none, transposed_k = ir::ValueId::none, v = ir::ValueId::none;
    std::vector<ir::ValueId> masks = {};        ///< that are added
    ir::ValueId condition = ir::ValueId::none;  ///< that chooses scores where it is true
    double hidden = 0;                          ///< the score where it is false
    bool is_inverted = false;                   ///< it chooses them where it is false
    double scale = 1, softcap = 0;
    bool in_float32 = false;
    bool zeroes_nans = false;  ///< weights that are NaN become 0
    bool has_heads = true;     ///< on an axis of their own
  };

  void match(std::size_t at) {
    const ir::Node& root = subject_.graph().nodes[at];
    if (root.inputs.size() != 2) return;
    Found found;
    found.v = root.inputs[1];
    const ir::ValueId shown = without_nans(root.inputs[0]), weights = before_cast(shown, ElementType::float32);
    found.in_float32 = weights != shown;
    found.zeroes_nans = shown != root.inputs[0];
    const ir::Node* softmax = subject_.writer(weights, "Softmax");
    if (!softmax) return;
    const checker::Shape* const shape = subject_.shape(weights);
    if (!shape || (shape->size() != 4 && shape->size() != 3))
      return rewriting_.miss(at, "the scores are " + sizes_text(subject_, weights) + ", not of three or four axes");
    found.has_heads = shape->size() == 4;
    const std::int64_t axis = integer_of(*softmax, "axis", -1);
    if (axis != -1 && axis + 1 != static_cast<std::int64_t>(shape->size()))
      return rewriting_.miss(at, fmt::format("Softmax is along axis {}", axis));
    ir::ValueId scores = softmax->inputs[0];
    if (found.in_float32) scores = before_cast(scores, subject_.type(shown));
    if (found.in_float32 && scores == softmax->inputs[0])
      return rewriting_.miss(at, "Softmax is behind one Cast, not between two");
    if (!masked_product(scores, found))
      return rewriting_.miss(at, "what Softmax reads is not a product of queries and keys, scaled, masked or neither");
    if (!subject_.same_shape(scores, weights)) return rewriting_.miss(at, "the scores are repeated");
    if (found.softcap > 0 && subject_.splits_capped_attention())
      return rewriting_.miss(at, "the scores are capped, and libraries are faster with products");
    put(at, found);
  }

  /// What a Cast between real numbers of at most 32 bits reads, if that is `from`, else the value.
  ir::ValueId before_cast(ir::ValueId id, ElementType from) const {
    const ir::Node* cast = subject_.writer(id, "Cast");
    const bool is_one = cast && subject_.type(cast->inputs[0]) == from && is_narrow_real(from) &&
                        is_narrow_real(subject_.type(id)) && subject_.type(id) != from;
    return is_one ? cast->inputs[0] : id;
  }

  /// Weights of queries that see no key are 0, as exporters write for PyTorch: Where(IsNaN(w), 0, w).
  ir::ValueId without_nans(ir::ValueId id) const {
    const ir::Node* choice = subject_.writer(id, "Where");
    const ir::Node* test = choice ? subject_.writer(choice->inputs[0], "IsNaN") : nullptr;
    if (!test || test->inputs[0] != choice->inputs[2] || subject_.scalar(choice->inputs[1]) != 0 ||
        !subject_.same_shape(id, choice->inputs[2]))
      return id;
    return choice->inputs[2];
  }

  bool masked_product(ir::ValueId id, Found& found) const {
    if (product_with_masks(id, found)) return true;
    const ir::Node* choice = subject_.writer(id, "Where");
    if (!choice || choice->inputs.size() != 3) return false;
    for (const std::size_t at : {1U, 2U}) {
      const auto hidden = subject_.scalar(choice->inputs[3 - at]);
      if (!hidden || !hides(*hidden, subject_.type(id)) || !scaled_product(choice->inputs[at], found)) continue;
      found.condition = choice->inputs[0];
      found.hidden = *hidden;
      found.is_inverted = at == 2;
      return true;
    }
    return false;
  }

  bool product_with_masks(ir::ValueId id, Found& found) const {
    constexpr std::size_t most_masks = 2;
    if (scaled_product(id, found)) return true;
    const ir::Node* sum = subject_.writer(id, "Add");
    if (!sum || sum->inputs.size() != 2 || found.masks.size() == most_masks) return false;
    for (const std::size_t at : {0U, 1U}) {
      Found tried = found;
      tried.masks.push_back(sum->inputs[1 - at]);
      if (!product_with_masks(sum->inputs[at], tried)) continue;
      found = std::move(tried);
      return true;
    }
    return false;
  }

  ir::ValueId without_scale(ir::ValueId id, double& scale) const {
    for (auto scaled = times_scalar(subject_, id); scaled; scaled = times_scalar(subject_, id)) {
      scale *= scaled->scalar;
      id = scaled->of;
    }
    return id;
  }

  /// Times one number that follows from sizes which are known later, as 1 / sqrt(size of a head) may.
  bool waits_for_scale(ir::ValueId id) const {
    const ir::Node* scaled = subject_.writer(id, "Mul");
    if (!scaled) scaled = subject_.writer(id, "Div");
    return subject_.is_generic() && scaled && std::ranges::any_of(scaled->inputs, [&](ir::ValueId input) {
             const auto dims = subject_.dims(input);
             return dims && element_count(*dims) == 1;
           });
  }

  bool scaled_product(ir::ValueId id, Found& found) const {
    double scale = 1, softcap = 0;
    ir::ValueId scores = without_scale(id, scale);
    if (const ir::Node* bent = subject_.writer(scores, "Tanh")) {
      softcap = scale;
      if (!(softcap > 0) || !fits_attribute(softcap, subject_.type(id))) return false;
      scores = without_scale(bent->inputs[0], scale);
    }
    const ir::Node* product = subject_.writer(scores, "MatMul");
    if (!product || product->inputs.size() != 2) return false;
    found.q = without_scale(product->inputs[0], scale);
    found.transposed_k = without_scale(product->inputs[1], scale);
    const ir::Node* const turned = subject_.writer(found.transposed_k, "Transpose");
    if (waits_for_scale(found.q) || waits_for_scale(found.transposed_k) ||
        (turned && waits_for_scale(turned->inputs[0])))
      return false;
    found.scale = scale;
    found.softcap = softcap;
    return std::isfinite(scale) && scale != 0;
  }

  /// [batch, heads, length, size] that is written as [batch, heads * n, length, size], each head n times; or the value itself.
  ir::ValueId before_repetition(ir::ValueId id) const {
    const ir::Node* flat = subject_.writer(id, "Reshape");
    const ir::Node* expand = flat ? subject_.writer(flat->inputs[0], "Expand") : nullptr;
    if (!expand) return id;
    const std::int32_t writer = subject_.uses().producer(expand->inputs[0]);
    if (writer < 0) return id;
    const ir::Node& spread = subject_.graph().nodes[static_cast<std::size_t>(writer)];
    if (!Subject::is_op(spread, "Unsqueeze") && !Subject::is_op(spread, "Reshape")) return id;
    const checker::Shape* const source = subject_.shape(spread.inputs[0]);
    const checker::Shape* const apart = subject_.shape(expand->inputs[0]);
    const checker::Shape* const repeated = subject_.shape(flat->inputs[0]);
    const checker::Shape* const whole = subject_.shape(id);
    if (!source || !apart || !repeated || !whole || source->size() != 4 || repeated->size() != 5) return id;
    const checker::Shape& s = *source;
    const ir::Dim n = (*repeated)[2], heads = subject_.dim_pool().mul(s[1], n);
    const bool fits = *apart == checker::Shape{s[0], s[1], 1, s[2], s[3]} &&
                      *repeated == checker::Shape{s[0], s[1], n, s[2], s[3]} &&
                      *whole == checker::Shape{s[0], heads, s[2], s[3]};
    return fits ? spread.inputs[0] : id;
  }

  /// The keys as [batch, heads, length, size], heads only where the scores have them, perhaps by a Transpose that is put before `root`.
  struct Keys {
    ir::ValueId source = ir::ValueId::none;
    std::vector<std::int64_t> order;  ///< empty: as they are
  };
  Keys keys(Found& found) const {
    const std::vector<std::int64_t> as_they_are =
        found.has_heads ? std::vector<std::int64_t>{0, 1, 2, 3} : std::vector<std::int64_t>{0, 1, 2};
    const auto turned = [](std::vector<std::int64_t> order) {
      std::swap(order[order.size() - 1], order[order.size() - 2]);
      return order;
    };
    const ir::Node* transpose = subject_.writer(found.transposed_k, "Transpose");
    const ir::Attribute* perm = transpose ? transpose->find_attribute("perm") : nullptr;
    const auto* order = perm ? perm->as<std::vector<std::int64_t>>() : nullptr;
    if (!order || order->size() != as_they_are.size()) return {found.transposed_k, turned(as_they_are)};
    Keys made = {transpose->inputs[0], turned(*order)};
    if (made.order == as_they_are) {
      made.order.clear();
      made.source = without_scale(made.source, found.scale);
    }
    return made;
  }

  void put(std::size_t at, Found& found) {
    const ir::ValueId result = subject_.graph().nodes[at].outputs[0];
    const auto q = with_heads(found.q, found), k = with_heads(found.transposed_k, found),
               v = with_heads(found.v, found);
    if (!q || !k || !v || !subject_.has_elements(result))
      return rewriting_.miss(at, "queries, keys and values are not all of known sizes and as many axes as the scores");
    const ir::Dim batch = (*q)[0], heads = (*q)[1], length = (*q)[2], total = (*k)[3];
    if (subject_.type(found.q) != subject_.type(result))
      return rewriting_.miss(at, "the result is of another type than the queries");
    if (!is_narrow_real(subject_.type(found.q)))
      return rewriting_.miss(at, "the queries are not real of 32 bits or less");
    const bool is_shared = (*k)[1].is(1) && (*v)[1].is(1);
    const bool has_heads = (*k)[1] == heads && (*v)[1] == heads;
    if ((*k)[0] != batch || (*v)[0] != batch || (!has_heads && !is_shared) || !subject_.has_elements(found.v))
      return rewriting_.miss(at, fmt::format("queries {}, keys {} and values {} are repeated over batch or heads",
                                             sizes_text(subject_, found.q), sizes_text(subject_, found.transposed_k),
                                             sizes_text(subject_, found.v)));
    const checker::Shape of_scores =
        found.has_heads ? checker::Shape{batch, heads, length, total} : checker::Shape{batch, length, total};
    if (!mask_fits(found, of_scores))
      return rewriting_.miss(at, "a mask is of another type than the queries or does not spread over the scores");
    Keys key = keys(found);
    ir::ValueId value = found.v;
    if (key.order.empty()) {
      const ir::ValueId few_keys = before_repetition(key.source), few_values = before_repetition(value);
      if (few_keys != key.source && few_values != value &&
          (*subject_.shape(few_keys))[1] == (*subject_.shape(few_values))[1])
        key.source = few_keys, value = few_values;
    }
    if (found.scale == 0 || !fits_attribute(found.scale, subject_.type(found.q)))
      return rewriting_.miss(at, "the scale is not a float");
    std::vector<ir::ValueId> leaves = {found.q, key.source, value, found.condition};
    leaves.insert(leaves.end(), found.masks.begin(), found.masks.end());
    if (!rewriting_.is_free(at, leaves)) return;
    std::vector<ir::ValueId> inputs = {found.q, key.source, value};
    if (!key.order.empty()) inputs[1] = rewriting_.add(at, "Transpose", {key.source}, {{"perm", key.order}});
    if (const ir::ValueId mask = mask_of(at, found); mask != ir::ValueId::none) inputs.push_back(mask);
    if (!found.has_heads) add_heads(at, found, inputs);
    std::vector<ir::Attr> attributes = {{"scale", static_cast<float>(found.scale)}};
    if (found.softcap > 0) attributes.push_back({"softcap", static_cast<float>(found.softcap)});
    if (found.in_float32) attributes.push_back({"softmax_precision", static_cast<std::int64_t>(ElementType::float32)});
    if (!found.zeroes_nans && (!found.masks.empty() || std::isinf(found.hidden)))
      attributes.push_back({spec::nan_without_keys, std::int64_t{1}});
    if (found.condition != ir::ValueId::none) attributes.push_back({spec::mask_replaces, std::int64_t{1}});
    if (found.has_heads)
      return rewriting_.replace(at,
                                ir::make_node(subject_.model(), "Attention", std::move(inputs), {result}, attributes));
    const ir::ValueId apart = rewriting_.add(at, "Attention", std::move(inputs), attributes);
    rewriting_.replace(at, ir::make_node(subject_.model(), "Squeeze", {apart, head_axis()}, {result}, {}));
  }

  /// The sizes with an axis of one head where there is none; nothing for other numbers of axes.
  std::optional<checker::Shape> with_heads(ir::ValueId id, const Found& found) const {
    const checker::Shape* const shape = subject_.shape(id);
    if (!shape || shape->size() != (found.has_heads ? 4 : 3)) return std::nullopt;
    checker::Shape whole = *shape;
    if (!found.has_heads) whole.insert(whole.begin() + 1, ir::Dim(1));
    return whole;
  }

  ir::ValueId head_axis() {
    constexpr std::int64_t axis[] = {1};
    if (head_axis_ == ir::ValueId::none) head_axis_ = rewriting_.integers(axis);
    return head_axis_;
  }

  /// A mask of two axes goes for all batches as it is.
  void add_heads(std::size_t at, const Found& found, std::vector<ir::ValueId>& inputs) {
    const std::size_t with_batches = mask_axes(found) == 3 ? inputs.size() : 3;  // queries, keys and values have them
    for (std::size_t i = 0; i < with_batches; ++i)
      inputs[i] = rewriting_.add(at, "Unsqueeze", {inputs[i], head_axis()});
  }

  /// The axes of what is added to the scores.
  std::size_t mask_axes(const Found& found) const {
    std::size_t axes = 0;
    for (const ir::ValueId mask : found.masks) axes = std::max(axes, subject_.shape(mask)->size());
    if (found.condition != ir::ValueId::none) axes = std::max(axes, subject_.shape(found.condition)->size());
    return axes;
  }

  bool mask_fits(const Found& found, const checker::Shape& scores) const {
    const auto fits = [&](ir::ValueId mask) {
      return subject_.type(mask) == subject_.type(found.q) && spreads_over(mask, scores);
    };
    return std::all_of(found.masks.begin(), found.masks.end(), fits) &&
           (found.condition == ir::ValueId::none || spreads_over(found.condition, scores));
  }

  bool spreads_over(ir::ValueId mask, const checker::Shape& scores) const {
    const checker::Shape* const shape = subject_.shape(mask);
    if (!shape || shape->size() < 2 || shape->size() > scores.size() || shape->back() != scores.back()) return false;
    const std::size_t added = scores.size() - shape->size();
    for (std::size_t axis = 0; axis < shape->size(); ++axis) {
      if (!(*shape)[axis].is(1) && (*shape)[axis] != scores[axis + added]) return false;
    }
    return true;
  }

  /// What Attention adds to the scores. A condition becomes numbers, once for all layers that have it.
  ir::ValueId mask_of(std::size_t at, const Found& found) {
    if (found.masks.size() == 1) return found.masks.front();
    if (found.masks.size() == 2) return sum_of(at, found.masks);
    if (found.condition == ir::ValueId::none) return ir::ValueId::none;
    // Beside -65504 a score of float16 is gone when it is chosen, but not when it is added: the mean of rows without keys would hang on it.
    const bool is_narrow = subject_.type(found.q) == ElementType::float16;
    const ElementType type = is_narrow ? ElementType::float32 : subject_.type(found.q);
    for (const Bias& known : biases_) {
      if (known.condition == found.condition && known.hidden == found.hidden && known.type == type &&
          known.is_inverted == found.is_inverted)
        return known.made;
    }
    const double zero[] = {0}, hidden[] = {is_narrow && std::isfinite(found.hidden) ? -1e30 : found.hidden};
    const ir::ValueId shown = rewriting_.reals("shown", type, {}, zero),
                      covered = rewriting_.reals("hidden", type, {}, hidden);
    const ir::ValueId made = rewriting_.add(at, "Where",
                                            found.is_inverted ? std::vector{found.condition, covered, shown}
                                                              : std::vector{found.condition, shown, covered});
    biases_.push_back({found.condition, found.hidden, type, found.is_inverted, made});
    return made;
  }

  ir::ValueId sum_of(std::size_t at, const std::vector<ir::ValueId>& masks) {
    const auto [known, is_new] = sums_.try_emplace({masks[0], masks[1]}, ir::ValueId::none);
    if (is_new) known->second = rewriting_.add(at, "Add", {masks[1], masks[0]});
    return known->second;
  }

  struct Bias {
    ir::ValueId condition = ir::ValueId::none;
    double hidden = 0;
    ElementType type = ElementType::undefined;
    bool is_inverted = false;
    ir::ValueId made = ir::ValueId::none;
  };

  Subject& subject_;
  Rewriting rewriting_;
  std::vector<Bias> biases_;
  ir::ValueId head_axis_ = ir::ValueId::none;
  std::map<std::pair<ir::ValueId, ir::ValueId>, ir::ValueId> sums_;
};

}  // namespace

void register_recognise_attention(PassRegistry& registry);
void register_recognise_attention(PassRegistry& registry) {
  registry.add({.name = "recognise_attention", .stage = Stage::combine, .run = [](Subject& subject) -> Result<bool> {
                  return has_operator(subject, "Attention") && AttentionSearch(subject).run();
                }});
}

}  // namespace onnxkit::plan
