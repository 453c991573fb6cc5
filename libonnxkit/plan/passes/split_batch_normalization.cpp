// A BatchNormalization with constant statistics that no weights in front of it take in becomes a Mul and an Add, whose constants are computed in
// double: that is three operations for each element instead of eight.
#include <algorithm>
#include <cmath>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

class NormalizationSplitting {
 public:
  explicit NormalizationSplitting(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    for (std::size_t at = 0; at < subject_.graph().nodes.size(); ++at) split(at);
    return rewriting_.finish();
  }

 private:
  void split(std::size_t at) {
    const ir::Node& node = subject_.graph().nodes[at];
    if (!Subject::is_op(node, "BatchNormalization") || node.inputs.empty() || node.outputs.empty()) return;
    if (rewriting_.is_taken(at)) return;
    if (integer_of(node, "training_mode", 0) != 0) return rewriting_.miss(at, "it trains");
    const ElementType type = subject_.type(node.inputs[0]);
    const checker::Shape* const shape = subject_.shape(node.inputs[0]);
    // Narrower types would round between the two.
    if ((type != ElementType::float32 && type != ElementType::float64) || !shape || shape->size() < 2 ||
        !(*shape)[1].is_constant())
      return rewriting_.miss(at, "x is narrower than float32, or has no channels");
    const std::int64_t count = (*shape)[1].constant();
    const auto channels = normalized_channels(subject_, node, count);
    if (!channels) return rewriting_.miss(at, "its statistics are not constant");
    const auto is_finite = [&](double x) { return std::isfinite(round_to(type, x)); };
    if (!std::all_of(channels->factors.begin(), channels->factors.end(), is_finite) ||
        !std::all_of(channels->offsets.begin(), channels->offsets.end(), is_finite))
      return rewriting_.miss(at, "a factor of its statistics is not finite");
    if (!rewriting_.is_free(at, {node.inputs.begin(), node.inputs.end()})) return;
    Dims by_channel(shape->size() - 1, 1);
    by_channel[0] = count;
    const std::string stem(subject_.graph().name_of(node.outputs[0]));
    const ir::ValueId factor = rewriting_.reals(stem + "_factor", type, by_channel, channels->factors);
    const ir::ValueId offset = rewriting_.reals(stem + "_offset", type, by_channel, channels->offsets);
    const ir::ValueId product = rewriting_.add(at, "Mul", {node.inputs[0], factor});
    rewriting_.replace(at, ir::make_node(subject_.model(), "Add", {product, offset}, {node.outputs[0]}));
  }

  Subject& subject_;
  Rewriting rewriting_;
};

}  // namespace

void register_split_batch_normalization(PassRegistry& registry);
void register_split_batch_normalization(PassRegistry& registry) {
  registry.add({.name = "split_batch_normalization",
                .stage = Stage::weights,
                .run = [](Subject& subject) -> Result<bool> { return NormalizationSplitting(subject).run(); }});
}

}  // namespace onnxkit::plan
