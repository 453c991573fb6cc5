#include "converters/opset/engine/apply.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <unordered_map>

#include <fmt/core.h>

#include "libonnxkit/ir/patch.h"
#include "libonnxkit/ir/uses.h"

namespace onnxkit::opset {
namespace {

void edit(ir::Model& model, ir::Node& node, Patch& patch) {
  if (patch.op_type) node.op_type = model.keep(*patch.op_type);
  std::erase_if(node.attributes, [&](const ir::Attribute& attribute) {
    return std::find(patch.removed.begin(), patch.removed.end(), attribute.name.view()) != patch.removed.end();
  });
  for (const auto& [from, to] : patch.renamed) {
    for (ir::Attribute& attribute : node.attributes) {
      if (attribute.name == std::string_view(from)) attribute.name = model.keep(to);
    }
  }
  for (ir::Attribute& attribute : patch.set) {
    const auto old = std::find_if(node.attributes.begin(), node.attributes.end(), [&](const ir::Attribute& candidate) {
      return candidate.name.view() == attribute.name.view();
    });
    if (old == node.attributes.end()) {
      node.attributes.push_back(std::move(attribute));
    } else {
      attribute.doc_string = old->doc_string;
      *old = std::move(attribute);
    }
  }
}

std::vector<ValueId> without_omitted_at_end(std::vector<ValueId> values) {
  while (!values.empty() && values.back() == ValueId::none) values.pop_back();
  return values;
}

/// Names the values of one node's patch, and puts the ids that they have in the graph's patch in place of its own.
class NewValues {
 public:
  NewValues(const Patch& patch, const ir::Node& node, ir::Patch& change, ir::FreshNames& names)
      : first_(change.graph().values.size()) {
    const auto named =
        std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != ValueId::none; });
    const std::string stem(named == node.outputs.end() ? std::string_view("value") : change.graph().name_of(*named));
    for (const std::string& hint : patch.new_values)
      ids_.push_back(change.value(names.make(fmt::format("{}_{}", stem, hint))));
    for (const Patch::Body& body : patch.bodies) {
      for (const auto& [id, hint] : body.made) body.graph->rename(id, names.make(fmt::format("{}_{}", stem, hint)));
    }
  }

  std::vector<ValueId> resolve(std::vector<ValueId> values) const {
    for (ValueId& id : values) {
      if (id != ValueId::none && ir::index_of(id) >= first_) id = ids_[ir::index_of(id) - first_];
    }
    return values;
  }

 private:
  std::size_t first_;  ///< a patch counts its values from here
  std::vector<ValueId> ids_;
};

void add(PatchedNode& patched, ir::Model& model, ir::Patch& change, ir::FreshNames& names) {
  Patch& patch = patched.patch;
  const ir::Node& node = change.graph().nodes[patched.node];
  const NewValues values(patch, node, change, names);
  const std::size_t before = std::min(patch.before, patch.added.size());
  for (std::size_t k = 0; k < patch.added.size(); ++k) {
    ir::Node& added = patch.added[k];
    added.inputs = values.resolve(std::move(added.inputs));
    added.outputs = values.resolve(std::move(added.outputs));
    if (k < before) {
      change.insert_before(patched.node, std::move(added));
    } else {
      change.insert_behind(patched.node, std::move(added));
    }
  }
  if (patch.replaces) {
    change.remove(patched.node);
  } else {
    if (patch.inputs || patch.outputs) {
      change.set_inputs(patched.node,
                        without_omitted_at_end(values.resolve(patch.inputs ? *patch.inputs : node.inputs)));
      change.set_outputs(patched.node,
                         without_omitted_at_end(values.resolve(patch.outputs ? *patch.outputs : node.outputs)));
    }
    change.edit(patched.node, [&](ir::Node& changed, std::vector<ir::Node>&) { edit(model, changed, patch); });
  }
  if (patch.finish) {
    change.edit(patched.node,
                [&](ir::Node& changed, std::vector<ir::Node>& inserted) { patch.finish(model, changed, inserted); });
  }
}

/// A patch may leave an output unwritten because those that read it need it no longer. Where a reader was refused and stays, so does the node.
void withhold_removals(std::vector<PatchedNode>& patches, const ir::Graph& graph, const ir::Uses& uses,
                       Lineage& lineage) {
  std::unordered_map<std::size_t, const Patch*> by_node;
  for (const PatchedNode& patched : patches) by_node.emplace(patched.node, &patched.patch);
  const auto reads_on = [&](std::uint32_t reader, ValueId value) {
    const auto found = by_node.find(reader);
    if (found == by_node.end()) return true;
    const Patch& patch = *found->second;
    if (patch.replaces) return false;
    const std::vector<ValueId>& inputs = patch.inputs ? *patch.inputs : graph.nodes[reader].inputs;
    return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
  };
  const auto is_missed = [&](const Patch& patch, ValueId output) {
    const auto writes = [&](const ir::Node& added) {
      return std::find(added.outputs.begin(), added.outputs.end(), output) != added.outputs.end();
    };
    if (output == ValueId::none || std::any_of(patch.added.begin(), patch.added.end(), writes)) return false;
    const auto readers = uses.consumers(output);
    return uses.is_output(output) ||
           std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) { return reads_on(reader, output); });
  };
  std::vector<std::size_t> pending;
  for (const PatchedNode& patched : patches) pending.push_back(patched.node);
  while (!pending.empty()) {
    const std::size_t at = pending.back();
    pending.pop_back();
    const auto found = by_node.find(at);
    if (found == by_node.end() || !found->second->replaces) continue;
    const ir::Node& node = graph.nodes[at];
    if (std::none_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId output) { return is_missed(*found->second, output); }))
      continue;
    lineage.blocked[at] = true;
    by_node.erase(found);
    // The node stays, and with it what it reads.
    for (const ValueId input : uses.reads(at)) {
      if (uses.producer(input) >= 0) pending.push_back(static_cast<std::size_t>(uses.producer(input)));
    }
  }
  std::erase_if(patches, [&](const PatchedNode& patched) { return !by_node.contains(patched.node); });
}

}  // namespace

std::vector<std::size_t> apply(std::vector<PatchedNode>& patches, ir::Model& model, ir::Graph& graph, Lineage& lineage,
                               ir::FreshNames& names, std::vector<ir::Node>& gone) {
  const ir::Uses uses(graph);
  withhold_removals(patches, graph, uses, lineage);
  ir::Patch change(graph);
  for (PatchedNode& patched : patches) add(patched, model, change, names);
  assert(!change.check(uses));
  ir::Splice spliced = ir::splice(graph, std::move(change));
  Lineage after;
  for (const std::size_t from : spliced.origin) {
    after.origin.push_back(lineage.origin[from]);
    after.blocked.push_back(lineage.blocked[from]);
  }
  for (const std::size_t node : spliced.changed) after.blocked[node] = false;
  lineage = std::move(after);
  std::move(spliced.removed.begin(), spliced.removed.end(), std::back_inserter(gone));
  return std::move(spliced.changed);
}

}  // namespace onnxkit::opset
