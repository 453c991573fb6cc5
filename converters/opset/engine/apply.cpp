#include "converters/opset/engine/apply.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include <fmt/core.h>

#include "libonnxkit/ir/patch.h"

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

}  // namespace

std::vector<std::size_t> apply(std::vector<PatchedNode>& patches, ir::Model& model, ir::Graph& graph, Lineage& lineage,
                               ir::FreshNames& names, std::vector<ir::Node>& gone) {
  ir::Patch change(graph);
  for (PatchedNode& patched : patches) add(patched, model, change, names);
  assert(!change.check(ir::Uses(graph)));
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
