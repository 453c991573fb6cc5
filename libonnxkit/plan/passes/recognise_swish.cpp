// x * sigmoid(alpha * x): Swish.
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

bool match_swish(const Subject& subject, Rewriting& rewriting, ir::Model& model, std::size_t at) {
  const ir::Node& root = subject.graph().nodes[at];
  if (!Subject::is_op(root, "Mul") || root.inputs.size() != 2) return false;
  for (const std::size_t i : {1U, 0U}) {
    const ir::Node* curve = subject.writer(root.inputs[i], "Sigmoid");
    if (!curve) continue;
    const ir::ValueId x = root.inputs[1 - i];
    double alpha = 1;
    if (curve->inputs[0] != x) {
      const auto inner = times_scalar(subject, curve->inputs[0]);
      if (!inner || inner->of != x) {
        rewriting.miss(at, "Sigmoid is of another value than the one that it is multiplied with");
        continue;
      }
      alpha = inner->scalar;
      if (!fits_attribute(alpha, subject.type(x))) {
        rewriting.miss(at, "alpha is not a float");
        continue;
      }
    }
    if (!rewriting.is_free(at, {x})) continue;
    std::vector<ir::Attr> attributes;
    if (alpha != 1) attributes.push_back({"alpha", static_cast<float>(alpha)});
    rewriting.replace(at, ir::make_node(model, "Swish", {x}, {root.outputs[0]}, attributes));
    return true;
  }
  return false;
}

Result<bool> recognise_swish(Subject& subject) {
  if (!has_operator(subject, "Swish")) return false;
  Rewriting rewriting(subject);
  for (std::size_t at = 0; at < subject.graph().nodes.size(); ++at)
    match_swish(subject, rewriting, subject.model(), at);
  return rewriting.finish();
}

}  // namespace

void register_recognise_swish(PassRegistry& registry);
void register_recognise_swish(PassRegistry& registry) {
  registry.add({.name = "recognise_swish", .stage = Stage::recognise, .run = recognise_swish});
}

}  // namespace onnxkit::plan
