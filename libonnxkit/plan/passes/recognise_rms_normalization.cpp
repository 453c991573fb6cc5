// x / sqrt(mean(x^2) + epsilon), then a scale: RMSNormalization. Models in half precision compute it in float32, between two Casts.
#include <algorithm>

#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

class RmsNormalizationSearch {
 public:
  explicit RmsNormalizationSearch(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    const auto& nodes = subject_.graph().nodes;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      if (Subject::is_op(nodes[at], "Div") || Subject::is_op(nodes[at], "Mul")) match(at);
    }
    return rewriting_.finish();
  }

 private:
  struct Found {
    ir::ValueId x = ir::ValueId::none, scale = ir::ValueId::none, result = ir::ValueId::none;
    std::size_t root = 0;
    std::int64_t axis = 0;
    double epsilon = 0;
  };

  void match(std::size_t at) {
    Found found;
    found.result = subject_.graph().nodes[at].outputs[0];
    found.root = at;
    const auto quotient = over_root(subject_, found.result);
    const auto radicand = quotient ? plus_scalar(subject_, quotient->radicand) : std::nullopt;
    const auto mean = radicand ? mean_over_last(subject_, radicand->of) : std::nullopt;
    const auto square = mean ? squared(subject_, mean->of) : std::nullopt;
    if (!square) return;
    const auto miss = [&](const char* reason) { rewriting_.miss(at, reason); };
    if (*square != quotient->numerator)
      return miss("the mean of squares is of another value than the one that is divided");
    if (radicand->scalar < 0) return miss("a negative number is added under the root");
    found.x = quotient->numerator;
    found.axis = mean->axis;
    found.epsilon = radicand->scalar;
    const auto inner = last_dims(subject_, found.x, found.axis);
    if (!is_narrow_real(subject_.type(found.x))) return miss("x is not real of 32 bits or less");
    if (!inner) return miss("x is of unknown size");
    if (!fits_attribute(found.epsilon, subject_.type(found.x))) return miss("epsilon is not a float");
    inner_ = *inner;
    if (element_count(inner_) == 0) return miss("x has no elements");
    Found longer = found;
    if ((with_casts(longer) && put(longer))) return;
    longer = found;
    if (with_scale(longer) && put(longer)) return;
    put(found);
  }

  /// The normalized value goes back to the narrow type that it came from.
  bool with_casts(Found& found) const {
    const ir::Node* widening = subject_.writer(found.x, "Cast");
    const auto narrowing = only_reader(subject_, found.result, "Cast");
    if (!widening || !narrowing || subject_.type(found.x) != ElementType::float32) return false;
    const ElementType narrow = subject_.type(widening->inputs[0]);
    const ir::Node& back = subject_.graph().nodes[*narrowing];
    if ((narrow != ElementType::float16 && narrow != ElementType::bfloat16) || subject_.type(back.outputs[0]) != narrow)
      return false;
    found.x = widening->inputs[0];
    found.root = *narrowing;
    found.result = back.outputs[0];
    with_scale(found);
    return true;
  }

  bool with_scale(Found& found) const {
    const auto reader = only_reader(subject_, found.result, "Mul");
    if (!reader) return false;
    const ir::Node& node = subject_.graph().nodes[*reader];
    const auto scale = other_input(node, found.result);
    const auto dims = scale ? subject_.dims(*scale) : std::nullopt;
    if (!dims || *dims != inner_ || subject_.type(*scale) != subject_.type(found.result)) return false;
    found.scale = *scale;
    found.root = *reader;
    found.result = node.outputs[0];
    return true;
  }

  bool put(Found found) {
    if (!rewriting_.is_free(found.root, {found.x, found.scale})) return false;
    const ElementType type = subject_.type(found.x);
    if (found.scale == ir::ValueId::none)
      found.scale = rewriting_.reals("ones", type, inner_,
                                     std::vector<double>(static_cast<std::size_t>(element_count(inner_)), 1));
    const auto rank = static_cast<std::int64_t>(subject_.shape(found.x)->size());
    rewriting_.replace(found.root,
                       ir::make_node(subject_.model(), "RMSNormalization", {found.x, found.scale}, {found.result},
                                     {{"axis", found.axis - rank}, {"epsilon", static_cast<float>(found.epsilon)}}));
    return true;
  }

  Subject& subject_;
  Rewriting rewriting_;
  Dims inner_;  ///< the sizes of the normalized axes
};

}  // namespace

void register_recognise_rms_normalization(PassRegistry& registry);
void register_recognise_rms_normalization(PassRegistry& registry) {
  registry.add(
      {.name = "recognise_rms_normalization", .stage = Stage::recognise, .run = [](Subject& subject) -> Result<bool> {
         return has_operator(subject, "RMSNormalization") && RmsNormalizationSearch(subject).run();
       }});
}

}  // namespace onnxkit::plan
