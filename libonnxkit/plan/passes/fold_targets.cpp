// Reshape and Expand ask for sizes that a model computes. Where these are symbols that the reshaped value has as well, a constant says the same: 0 for a size
// that stays, -1 for one that follows from the others, 1 for an axis that is not repeated.
#include <optional>
#include <vector>

#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

using Target = std::optional<std::vector<std::int64_t>>;

class TargetFolding {
 public:
  explicit TargetFolding(Subject& subject) : subject_(subject), rewriting_(subject) {}

  bool run() {
    for (std::size_t at = 0; at < subject_.graph().nodes.size(); ++at) {
      const ir::Node& node = subject_.graph().nodes[at];
      const bool is_reshape = Subject::is_op(node, "Reshape");
      if ((!is_reshape && !Subject::is_op(node, "Expand")) || node.inputs.size() != 2) continue;
      if (node.inputs[1] == ir::ValueId::none || subject_.is_constant(node.inputs[1])) continue;
      const checker::Shape* const shape = subject_.shape(node.inputs[0]);
      const auto& asked = subject_.info(node.inputs[1]).value;
      if (!shape || !asked || (is_reshape && integer_of(node, "allowzero", 0) != 0)) continue;
      const Target target = is_reshape ? of_reshape(*shape, asked->dims()) : of_expand(*shape, asked->dims());
      if (target) rewriting_.patch().set_inputs(at, {node.inputs[0], rewriting_.integers(*target)});
    }
    return rewriting_.finish();
  }

 private:
  /// 0 takes the size at that place and -1 what is left, in the constant as in what the model computes.
  Target of_reshape(const checker::Shape& from, const checker::Shape& to) {
    std::vector<std::int64_t> target;
    int open = 0;              // sizes that -1 has to stand for
    bool may_be_zero = false;  // another size: nothing is left for -1 then
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      const ir::Dim size = to[axis];
      const std::int64_t least = subject_.dim_pool().lower_bound(size).value_or(-1);
      const bool stays = !size.is_constant() && axis < from.size() && from[axis] == size;
      const bool is_open = !size.is_constant() && !stays;
      if (size.is_constant() ? size.constant() < -1 : is_open && least < 0) return std::nullopt;
      target.push_back(size.is_constant() ? size.constant() : stays ? 0 : -1);
      open += is_open;
      may_be_zero = may_be_zero || (!is_open && least < 1);
    }
    return open == 0 || (open == 1 && !may_be_zero && elements(from) == elements(to)) ? Target(target) : std::nullopt;
  }

  static Target of_expand(const checker::Shape& from, const checker::Shape& to) {
    std::vector<std::int64_t> target;
    for (std::size_t axis = 0; axis < to.size(); ++axis) {
      const bool stays = axis + from.size() >= to.size() && from[axis + from.size() - to.size()] == to[axis];
      if (!to[axis].is_constant() && !stays) return std::nullopt;
      target.push_back(to[axis].is_constant() ? to[axis].constant() : 1);
    }
    return target;
  }

  ir::Dim elements(const checker::Shape& shape) {
    ir::Dim product = 1;
    for (const ir::Dim size : shape) product = subject_.dim_pool().mul(product, size);
    return product;
  }

  Subject& subject_;
  Rewriting rewriting_;
};

}  // namespace

void register_fold_targets(PassRegistry& registry);
void register_fold_targets(PassRegistry& registry) {
  registry.add({.name = "fold_targets",
                .stage = Stage::fold,
                .run = [](Subject& subject) -> Result<bool> { return TargetFolding(subject).run(); },
                .is_exact = true,
                .simplifies = Simplifies::yes});
}

}  // namespace onnxkit::plan
