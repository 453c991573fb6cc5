// An If whose condition is constant becomes the nodes of the branch that it takes.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/rename.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/rewriting.h"

namespace onnxkit::plan {
namespace {

class TakingBranches {
 public:
  explicit TakingBranches(Subject& subject) : subject_(subject), graph_(subject.graph()), patch_(graph_) {}

  bool run() {
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      const ir::Node& node = graph_.nodes[at];
      if (!Subject::is_op(node, "If") || node.inputs.size() != 1) continue;
      const auto taken = condition(node.inputs[0]);
      const ir::Attribute* const branch = taken ? node.find_attribute(*taken ? "then_branch" : "else_branch") : nullptr;
      if (branch && branch->graph()) take(at, ir::clone(*branch->graph()));
    }
    if (patch_.empty()) return false;
    subject_.splice(std::move(patch_));
    return true;
  }

 private:
  std::optional<bool> condition(ir::ValueId id) const {
    const auto content = subject_.content(id);
    if (!content || content->type() != ElementType::boolean || content->size() != 1) return std::nullopt;
    return content->bytes()[0] != std::byte{0};
  }

  /// The output of the If that a value of the branch is, where it is one only.
  ir::ValueId result_of(const ir::Node& node, const ir::Graph& branch, ir::ValueId id) const {
    ir::ValueId result = ir::ValueId::none;
    for (std::size_t i = 0; i < std::min(branch.outputs.size(), node.outputs.size()); ++i) {
      if (branch.outputs[i].value != id || node.outputs[i] == ir::ValueId::none) continue;
      if (result != ir::ValueId::none) return ir::ValueId::none;
      result = node.outputs[i];
    }
    return result;
  }

  /// By value of the branch: whether one of its nodes writes it, whether it stores it.
  struct Definitions {
    std::vector<bool> is_written, is_stored;
  };
  static Definitions definitions_in(const ir::Graph& branch) {
    Definitions found = {std::vector<bool>(branch.values.size(), false),
                         std::vector<bool>(branch.values.size(), false)};
    for (const ir::Node& inner : branch.nodes)
      for (const ir::ValueId id : inner.outputs)
        if (id != ir::ValueId::none) found.is_written[ir::index_of(id)] = true;
    for (const ir::Tensor& tensor : branch.initializers) {
      const ir::ValueId id = branch.find(tensor.name.view());
      if (id != ir::ValueId::none) found.is_stored[ir::index_of(id)] = true;
    }
    return found;
  }

  void take(std::size_t at, ir::Graph branch) {
    const ir::Node& node = graph_.nodes[at];
    const bool has_all = branch.outputs.size() >= node.outputs.size() &&
                         std::ranges::none_of(branch.outputs, [](const ir::ValueInfo& output) {
                           return output.value == ir::ValueId::none;
                         });
    if (!has_all || !branch.sparse_initializers.empty() || !branch.inputs.empty()) return;
    const Definitions own = definitions_in(branch);
    std::vector<ir::ValueId> here(branch.values.size(), ir::ValueId::none);  // what stands for a value of the branch
    std::vector<std::pair<std::size_t, Text>> made;
    ir::Renames renames;
    for (std::size_t i = 0; i < here.size(); ++i) {
      const auto id = static_cast<ir::ValueId>(i);
      if (!own.is_written[i] && !own.is_stored[i]) {
        here[i] = graph_.find(branch.name_of(id));
        if (here[i] == ir::ValueId::none) return;
        continue;
      }
      if (own.is_written[i]) here[i] = result_of(node, branch, id);
      if (here[i] == ir::ValueId::none) made.emplace_back(i, subject_.fresh_name(branch.name_of(id)));
      const Text name = here[i] == ir::ValueId::none ? made.back().second : graph_.values[ir::index_of(here[i])].name;
      if (name.view() != branch.name_of(id)) renames.emplace(branch.name_of(id), name);
    }
    if (!ir::rename_values(branch, renames)) return;
    for (const auto& [i, name] : made) here[i] = patch_.value(name);
    put(at, std::move(branch), here);
  }

  void put(std::size_t at, ir::Graph branch, const std::vector<ir::ValueId>& here) {
    const ir::Node& node = graph_.nodes[at];
    const auto moved = [&](ir::ValueId id) { return id == ir::ValueId::none ? id : here[ir::index_of(id)]; };
    for (ir::Tensor& tensor : branch.initializers) {
      const ir::ValueId id = branch.find(tensor.name.view());
      patch_.add_initializer(moved(id), std::move(tensor));
    }
    patch_.remove(at);
    for (ir::Node& inner : branch.nodes) {
      std::transform(inner.inputs.begin(), inner.inputs.end(), inner.inputs.begin(), moved);
      std::transform(inner.outputs.begin(), inner.outputs.end(), inner.outputs.begin(), moved);
      patch_.insert_before(at, std::move(inner));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ir::ValueId given = moved(branch.outputs[i].value);
      if (node.outputs[i] != ir::ValueId::none && given != node.outputs[i])
        patch_.insert_before(at, ir::make_node(subject_.model(), "Identity", {given}, {node.outputs[i]}));
    }
  }

  Subject& subject_;
  const ir::Graph& graph_;
  ir::Patch patch_;
};

}  // namespace

void register_take_branches(PassRegistry& registry);
void register_take_branches(PassRegistry& registry) {
  registry.add({.name = "take_branches",
                .stage = Stage::fold,
                .run = [](Subject& subject) -> Result<bool> { return TakingBranches(subject).run(); },
                .is_exact = true,
                .simplifies = Simplifies::yes});
}

}  // namespace onnxkit::plan
