// x / 2 * (1 + erf(x / sqrt(2))) and its tanh form, factors in any order: Gelu.
#include <cmath>
#include <string>

#include <fmt/core.h>

#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::plan {
namespace {

constexpr double inverse_root_of_two = 0.70710678118654752440, root_of_two_over_pi = 0.79788456080286535588,
                 cubic = 0.044715;

class GeluSearch {
 public:
  explicit GeluSearch(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    const auto& nodes = subject_.graph().nodes;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      if (Subject::is_op(nodes[at], "Erf") || Subject::is_op(nodes[at], "Tanh")) match(at);
    }
    return rewriting_.finish();
  }

 private:
  struct Factors {
    std::size_t root = 0;
    double scalar = 1;
    ir::ValueId other = ir::ValueId::none;
  };

  void match(std::size_t at) {
    const ir::Node& curve = subject_.graph().nodes[at];
    const bool is_tanh = curve.op_type == "Tanh";
    const auto sum_at = only_reader(subject_, curve.outputs[0], "Add");
    const auto one = sum_at ? plus_scalar(subject_, subject_.graph().nodes[*sum_at].outputs[0]) : std::nullopt;
    if (!one || one->of != curve.outputs[0]) {  // most Tanh are no GELU
      if (!is_tanh) rewriting_.miss(at, "no Add of 1 reads it alone: " + readers_text(subject_, curve.outputs[0]));
      return;
    }
    if (one->scalar != 1) return rewriting_.miss(at, fmt::format("{} is added to it, not 1", one->scalar));
    const ir::ValueId sum = subject_.graph().nodes[*sum_at].outputs[0];
    const auto factors = follow(sum);
    if (!factors || factors->other == ir::ValueId::none)
      return rewriting_.miss(at, "no Mul by x reads the sum alone: " + readers_text(subject_, sum));
    std::string reason = try_with(*factors, factors->other, factors->scalar, curve.inputs[0], is_tanh);
    if (reason.empty()) return;
    if (const auto inner = times_scalar(subject_, factors->other))
      reason = try_with(*factors, inner->of, factors->scalar * inner->scalar, curve.inputs[0], is_tanh);
    if (!reason.empty()) rewriting_.miss(at, std::move(reason));
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

  /// Why not; empty when it was put there, and when the miss is noted already.
  std::string try_with(const Factors& factors, ir::ValueId x, double scalar, ir::ValueId argument, bool is_tanh) {
    const ir::Node& root = subject_.graph().nodes[factors.root];
    const ElementType elements = type(x);
    if (!is_near(scalar, 0.5, elements)) return fmt::format("the sum is multiplied with x and {}, not 0.5", scalar);
    if (!subject_.same_shape(x, root.outputs[0]))
      return fmt::format("x is {}, the result {}", sizes_text(subject_, x), sizes_text(subject_, root.outputs[0]));
    const auto p = polynomial_in(subject_, x, argument);
    if (!p || (*p)[0] != 0 || (*p)[2] != 0)
      return fmt::format("its argument is not a multiple of {}{}", quote(subject_.graph().name_of(x)),
                         is_tanh ? " and its cube" : "");
    const double slope = is_tanh ? root_of_two_over_pi : inverse_root_of_two;
    if (!is_near((*p)[1], slope, elements))
      return fmt::format("x is multiplied with {:.7g}, not {:.7g}", (*p)[1], slope);
    if (is_tanh ? !is_near((*p)[3], slope * cubic, elements) : (*p)[3] != 0)
      return fmt::format("the cube of x is multiplied with {:.7g}, not {:.7g}", (*p)[3], is_tanh ? slope * cubic : 0);
    if (!rewriting_.is_free(factors.root, {x})) return {};
    std::vector<ir::Attr> attributes;
    if (is_tanh) attributes.push_back({"approximate", std::string("tanh")});
    rewriting_.replace(factors.root, ir::make_node(subject_.model(), "Gelu", {x}, {root.outputs[0]}, attributes));
    return {};
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
