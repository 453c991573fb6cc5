// min(max(x + 3, 0), 6) / 6: HardSigmoid; times x: HardSwish.
#include <fmt/core.h>

#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

/// The smaller or larger of a value and a scalar.
std::optional<WithScalar> bounded(const Subject& subject, ir::ValueId id, std::string_view op) {
  const ir::Node* node = subject.writer(id, op);
  if (!node || node->inputs.size() != 2) return std::nullopt;
  for (const std::size_t at : {1U, 0U}) {
    const auto bound = subject.scalar(node->inputs[at]);
    if (bound && subject.same_shape(node->inputs[1 - at], id)) return WithScalar{node->inputs[1 - at], *bound};
  }
  return std::nullopt;
}

/// v where the value is min(max(v, 0), 6).
std::optional<ir::ValueId> from_0_to_6(const Subject& subject, ir::ValueId id) {
  if (const ir::Node* clip = subject.writer(id, "Clip")) {
    if (subject.scalar(input_of(*clip, 1)) != 0 || subject.scalar(input_of(*clip, 2)) != 6) return std::nullopt;
    return clip->inputs[0];
  }
  const auto least = bounded(subject, id, "Min");
  if (!least || least->scalar != 6) return std::nullopt;
  if (const ir::Node* relu = subject.writer(least->of, "Relu")) return relu->inputs[0];
  const auto most = bounded(subject, least->of, "Max");
  return most && most->scalar == 0 ? std::optional(most->of) : std::nullopt;
}

class HardSwishSearch {
 public:
  explicit HardSwishSearch(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    const auto& nodes = subject_.graph().nodes;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const ir::Node& node = nodes[at];
      if (!Subject::is_op(node, "Mul") && !Subject::is_op(node, "Div")) continue;
      if (node.inputs.size() == 2) swish_with_sigmoid(at, node) || swish_divided_last(at, node);
    }
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const ir::Node& node = nodes[at];
      if (!Subject::is_op(node, "Mul") && !Subject::is_op(node, "Div")) continue;
      const auto x = sigmoid_argument(node.outputs[0]);
      if (!x) note_miss(at, node);
      if (x && rewriting_.is_free(at, {*x}))
        rewriting_.replace(at, ir::make_node(subject_.model(), "HardSigmoid", {*x}, {node.outputs[0]},
                                             {{"alpha", 1.0F / 6}, {"beta", 0.5F}}));
    }
    return rewriting_.finish();
  }

 private:
  /// v of min(max(v, 0), 6), or of its product with another value.
  std::optional<ir::ValueId> clipped_factor(ir::ValueId id) const {
    if (const auto clipped = from_0_to_6(subject_, id)) return clipped;
    const ir::Node* product = subject_.writer(id, "Mul");
    if (!product || product->inputs.size() != 2) return std::nullopt;
    const auto first = from_0_to_6(subject_, product->inputs[0]);
    return first ? first : from_0_to_6(subject_, product->inputs[1]);
  }

  /// What began as min(max(x + 3, 0), 6) times a number.
  void note_miss(std::size_t at, const ir::Node& node) {
    const auto scaled = times_scalar(subject_, node.outputs[0]);
    const auto clipped = scaled ? clipped_factor(scaled->of) : std::nullopt;
    const auto shifted = clipped ? plus_scalar(subject_, *clipped) : std::nullopt;
    if (!shifted) return;
    if (shifted->scalar != 3) rewriting_.miss(at, fmt::format("{} is added to x, not 3", shifted->scalar));
    rewriting_.miss(at, fmt::format("the factor is {:.7g}, not 1/6", scaled->scalar));
  }

  /// The attribute of HardSigmoid is a float, which float64 tells from 1/6.
  bool is_sixth(double factor, ir::ValueId id) const {
    return subject_.type(id) != ElementType::float64 && is_near(factor, 1.0 / 6, subject_.type(id));
  }

  /// x where the value is min(max(x + 3, 0), 6) / 6, in a few nodes.
  std::optional<ir::ValueId> sigmoid_argument(ir::ValueId id) const {
    const auto scaled = times_scalar(subject_, id);
    if (!scaled || !is_sixth(scaled->scalar, id)) return std::nullopt;
    return relu6_argument(scaled->of);
  }
  std::optional<ir::ValueId> relu6_argument(ir::ValueId id) const {
    const auto inner = from_0_to_6(subject_, id);
    const auto shifted = inner ? plus_scalar(subject_, *inner) : std::nullopt;
    return shifted && shifted->scalar == 3 ? std::optional(shifted->of) : std::nullopt;
  }

  bool put(std::size_t at, ir::ValueId x) {
    const ir::ValueId output = subject_.graph().nodes[at].outputs[0];
    if (!has_operator(subject_, "HardSwish") || !subject_.same_shape(x, output)) return false;
    if (!rewriting_.is_free(at, {x})) return false;
    rewriting_.replace(at, ir::make_node(subject_.model(), "HardSwish", {x}, {output}));
    return true;
  }

  /// x * HardSigmoid(x), as one node or several.
  bool swish_with_sigmoid(std::size_t at, const ir::Node& node) {
    if (node.op_type != "Mul") return false;
    for (const std::size_t i : {1U, 0U}) {
      const ir::ValueId x = node.inputs[1 - i];
      std::optional<ir::ValueId> argument = sigmoid_argument(node.inputs[i]);
      const ir::Node* whole = subject_.writer(node.inputs[i], "HardSigmoid");
      if (whole && is_sixth(real_of(*whole, "alpha", 0.2F), x) &&
          is_near(real_of(*whole, "beta", 0.5F), 0.5, ElementType::float32))
        argument = whole->inputs[0];
      if (argument == x && put(at, x)) return true;
    }
    return false;
  }

  /// x * min(max(x + 3, 0), 6) / 6.
  bool swish_divided_last(std::size_t at, const ir::Node& node) {
    const auto scaled = times_scalar(subject_, node.outputs[0]);
    const ir::Node* product = scaled ? subject_.writer(scaled->of, "Mul") : nullptr;
    if (!product || product->inputs.size() != 2 || !is_sixth(scaled->scalar, node.outputs[0])) return false;
    for (const std::size_t i : {1U, 0U}) {
      const ir::ValueId x = product->inputs[1 - i];
      if (relu6_argument(product->inputs[i]) == x && put(at, x)) return true;
    }
    return false;
  }

  Subject& subject_;
  Rewriting rewriting_;
};

}  // namespace

void register_recognise_hard_swish(PassRegistry& registry);
void register_recognise_hard_swish(PassRegistry& registry) {
  registry.add({.name = "recognise_hard_swish", .stage = Stage::recognise, .run = [](Subject& subject) -> Result<bool> {
                  return HardSwishSearch(subject).run();
                }});
}

}  // namespace onnxkit::plan
