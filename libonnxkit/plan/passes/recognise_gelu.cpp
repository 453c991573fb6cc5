// x / 2 * (1 + erf(x / sqrt(2))) and its tanh form, factors in any order: Gelu.
#include <cmath>

#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

constexpr double inverse_root_of_two = 0.70710678118654752440, root_of_two_over_pi = 0.79788456080286535588,
                 cubic = 0.044715;

class GeluSearch {
 public:
  explicit GeluSearch(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    for (const ir::Node& node : subject_.graph().nodes) {
      if (Subject::is_op(node, "Erf") || Subject::is_op(node, "Tanh")) match(node);
    }
    return rewriting_.finish();
  }

 private:
  struct Factors {
    std::size_t root = 0;
    double scalar = 1;
    ir::ValueId other = ir::ValueId::none;
  };

  void match(const ir::Node& curve) {
    const bool is_tanh = curve.op_type == "Tanh";
    const auto sum_at = only_reader(subject_, curve.outputs[0], "Add");
    if (!sum_at) return;
    const ir::ValueId sum = subject_.graph().nodes[*sum_at].outputs[0];
    const auto one = plus_scalar(subject_, sum);
    if (!one || one->of != curve.outputs[0] || one->scalar != 1) return;
    const auto factors = follow(sum);
    if (!factors || factors->other == ir::ValueId::none) return;
    if (try_with(*factors, factors->other, factors->scalar, curve.inputs[0], is_tanh)) return;
    if (const auto inner = times_scalar(subject_, factors->other))
      try_with(*factors, inner->of, factors->scalar * inner->scalar, curve.inputs[0], is_tanh);
  }

  /// What the sum is multiplied with, behind it: a scalar and one other value.
  std::optional<Factors> follow(ir::ValueId sum) const {
    Factors factors;
    ir::ValueId at = sum;
    constexpr int most_factors = 2;
    bool is_any = false;
    for (int i = 0; i < most_factors; ++i) {
      auto reader = only_reader(subject_, at, "Mul");
      if (!reader) reader = only_reader(subject_, at, "Div");
      if (!reader) break;
      const ir::Node& node = subject_.graph().nodes[*reader];
      const auto scaled = times_scalar(subject_, node.outputs[0]);
      if (scaled && scaled->of == at) {
        if (i > 0 && factors.scalar != 1) break;
        if (factors.other != ir::ValueId::none && !is_near(factors.scalar * scaled->scalar, 0.5, type(at))) break;
        factors.scalar *= scaled->scalar;
      } else {
        const auto other = other_input(node, at);
        if (factors.other != ir::ValueId::none || node.op_type != "Mul" || !other) break;
        factors.other = *other;
      }
      factors.root = *reader;
      at = node.outputs[0];
      is_any = true;
      if (factors.other != ir::ValueId::none && completes(factors)) break;
    }
    return is_any ? std::optional(factors) : std::nullopt;
  }

  ElementType type(ir::ValueId id) const { return subject_.type(id); }

  /// x / 2, with the half before or among the factors.
  bool completes(const Factors& factors) const {
    if (is_near(factors.scalar, 0.5, type(factors.other))) return true;
    const auto inner = times_scalar(subject_, factors.other);
    return inner && is_near(factors.scalar * inner->scalar, 0.5, type(factors.other)) && factors.scalar == 1;
  }

  bool try_with(const Factors& factors, ir::ValueId x, double scalar, ir::ValueId argument, bool is_tanh) {
    const ir::Node& root = subject_.graph().nodes[factors.root];
    const ElementType elements = type(x);
    if (!is_near(scalar, 0.5, elements) || !subject_.dims(x) || subject_.dims(x) != subject_.dims(root.outputs[0]))
      return false;
    const auto p = polynomial_in(subject_, x, argument);
    if (!p || (*p)[0] != 0 || (*p)[2] != 0) return false;
    const double slope = is_tanh ? root_of_two_over_pi : inverse_root_of_two;
    if (!is_near((*p)[1], slope, elements)) return false;
    if (is_tanh ? !is_near((*p)[3], slope * cubic, elements) : (*p)[3] != 0) return false;
    if (!rewriting_.is_free(factors.root, {x})) return false;
    std::vector<ir::Attr> attributes;
    if (is_tanh) attributes.push_back({"approximate", std::string("tanh")});
    rewriting_.replace(factors.root, ir::make_node(subject_.model(), "Gelu", {x}, {root.outputs[0]}, attributes));
    return true;
  }

  Subject& subject_;
  Rewriting rewriting_;
};

}  // namespace

void register_recognise_gelu(PassRegistry& registry);
void register_recognise_gelu(PassRegistry& registry) {
  registry.add({.name = "recognise_gelu", .stage = Stage::recognise, .run = [](Subject& subject) -> Result<bool> {
                  return has_operator(subject, "Gelu") && GeluSearch(subject).run();
                }});
}

}  // namespace onnxkit::plan
