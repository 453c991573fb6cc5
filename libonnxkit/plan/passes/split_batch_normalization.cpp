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
  /// Scale, bias, mean or variance of float32 or float64.
  std::optional<std::vector<double>> statistic(const ir::Node& node, std::size_t input) const {
    const ElementType type = subject_.type(node.inputs[input]);
    if (type != ElementType::float32 && type != ElementType::float64) return std::nullopt;
    const auto content = subject_.content(node.inputs[input]);
    return content ? std::optional(to_reals(*content)) : std::nullopt;
  }

  void split(std::size_t at) {
    const ir::Node& node = subject_.graph().nodes[at];
    if (!Subject::is_op(node, "BatchNormalization") || node.inputs.size() != 5 || node.outputs.size() != 1) return;
    if (rewriting_.is_taken(at)) return;
    if (integer_of(node, "training_mode", 0) != 0) return rewriting_.miss(at, "it trains");
    const ElementType type = subject_.type(node.inputs[0]);
    const auto dims = subject_.dims(node.inputs[0]);
    // Narrower types would round between the two.
    if ((type != ElementType::float32 && type != ElementType::float64) || !dims || dims->size() < 2)
      return rewriting_.miss(at, "x is narrower than float32, or has no channels");
    std::vector<double> statistics[4];
    for (std::size_t i = 0; i < 4; ++i) {
      auto found = statistic(node, i + 1);
      if (!found || static_cast<std::int64_t>(found->size()) != (*dims)[1])
        return rewriting_.miss(at, "its statistics are not constant");
      statistics[i] = *std::move(found);
    }
    const ir::Attribute* stated = node.find_attribute("epsilon");
    const auto* epsilon = stated ? stated->as<float>() : nullptr;
    std::vector<double> factors, offsets;
    for (std::size_t c = 0; c < statistics[0].size(); ++c) {
      factors.push_back(statistics[0][c] /
                        std::sqrt(statistics[3][c] + static_cast<double>(epsilon ? *epsilon : 1e-5F)));
      offsets.push_back(statistics[1][c] - statistics[2][c] * factors.back());
    }
    const auto is_finite = [&](double x) { return std::isfinite(round_to(type, x)); };
    if (!std::all_of(factors.begin(), factors.end(), is_finite) ||
        !std::all_of(offsets.begin(), offsets.end(), is_finite))
      return rewriting_.miss(at, "a factor of its statistics is not finite");
    if (!rewriting_.is_free(at, {node.inputs.begin(), node.inputs.end()})) return;
    Dims by_channel(dims->size() - 1, 1);
    by_channel[0] = (*dims)[1];
    const std::string stem(subject_.graph().name_of(node.outputs[0]));
    const ir::ValueId factor = rewriting_.reals(stem + "_factor", type, by_channel, factors);
    const ir::ValueId offset = rewriting_.reals(stem + "_offset", type, by_channel, offsets);
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
