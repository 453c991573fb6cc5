#include "converters/opset/engine/apply.h"

#include <algorithm>

#include <fmt/core.h>

namespace onnxkit::opset {
namespace {

void edit(ir::Model& model, ir::Node& node, Patch& patch) {
  if (patch.op_type) node.op_type = model.keep(*patch.op_type);
  if (patch.inputs) node.inputs = std::move(*patch.inputs);
  if (patch.outputs) node.outputs = std::move(*patch.outputs);
  if (patch.inputs || patch.outputs) {
    while (!node.inputs.empty() && node.inputs.back() == ValueId::none) node.inputs.pop_back();
    while (!node.outputs.empty() && node.outputs.back() == ValueId::none) node.outputs.pop_back();
  }
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

/// What the file says of a node that goes passes to the node that now writes its first output.
void hand_over(ir::Node& node, std::vector<ir::Node>& added) {
  const auto first =
      std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != ValueId::none; });
  if (first == node.outputs.end() || added.empty()) return;
  auto heir = std::find_if(added.rbegin(), added.rend(), [&](const ir::Node& candidate) {
    return std::find(candidate.outputs.begin(), candidate.outputs.end(), *first) != candidate.outputs.end();
  });
  if (heir == added.rend()) heir = added.rbegin();
  heir->name = node.name;
  heir->doc_string = node.doc_string;
  heir->metadata_props = std::move(node.metadata_props);
  heir->device_configurations = std::move(node.device_configurations);
  heir->unknown_fields = node.unknown_fields;
}

/// Names the values of a patch and puts their real ids in place of the ones that the patch knows them by.
class NewValues {
 public:
  NewValues(const Patch& patch, const ir::Node& node, std::size_t first, ir::Graph& graph, FreshNames& names)
      : first_(first) {
    const auto named =
        std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != ValueId::none; });
    const std::string stem(named == node.outputs.end() ? std::string_view("value") : graph.name_of(*named));
    for (const std::string& hint : patch.new_values)
      ids_.push_back(graph.intern(names.make(fmt::format("{}_{}", stem, hint))));
    for (const Patch::Body& body : patch.bodies) {
      for (const auto& [id, hint] : body.made) body.graph->rename(id, names.make(fmt::format("{}_{}", stem, hint)));
    }
  }

  void resolve(std::vector<ValueId>& values) const {
    for (ValueId& id : values) {
      if (id != ValueId::none && ir::index_of(id) >= first_) id = ids_[ir::index_of(id) - first_];
    }
  }
  void resolve(ir::Node& node) const {
    resolve(node.inputs);
    resolve(node.outputs);
  }

 private:
  std::size_t first_;  ///< a patch counts its values from here
  std::vector<ValueId> ids_;
};

}  // namespace

std::vector<std::size_t> apply(std::vector<PatchedNode>& patches, ir::Model& model, ir::Graph& graph, Lineage& lineage,
                               FreshNames& names, std::vector<ir::Node>& gone) {
  std::vector<ir::Node> nodes;
  Lineage after;
  std::vector<std::size_t> changed;
  nodes.reserve(graph.nodes.size() + patches.size());
  const std::size_t first_new = graph.values.size();
  const auto location = [&](ir::Node&& node, std::size_t from, bool is_new) {
    if (is_new) changed.push_back(nodes.size());
    nodes.push_back(std::move(node));
    after.origin.push_back(lineage.origin[from]);
    after.blocked.push_back(!is_new && lineage.blocked[from]);
  };
  auto next = patches.begin();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    ir::Node& node = graph.nodes[i];
    if (next == patches.end() || next->node != i) {
      location(std::move(node), i, false);
      continue;
    }
    Patch& patch = next->patch;
    ++next;
    const NewValues values(patch, node, first_new, graph, names);
    for (ir::Node& added : patch.added) values.resolve(added);
    if (patch.replaces) {
      hand_over(node, patch.added);
    } else {
      edit(model, node, patch);
      values.resolve(node);
    }
    if (patch.finish) patch.finish(model, node, patch.added);
    const std::size_t before = std::min(patch.before, patch.added.size());
    for (std::size_t k = 0; k < before; ++k) location(std::move(patch.added[k]), i, true);
    if (patch.replaces) {
      gone.push_back(std::move(node));
    } else {
      location(std::move(node), i, true);
    }
    for (std::size_t k = before; k < patch.added.size(); ++k) location(std::move(patch.added[k]), i, true);
  }
  graph.nodes = std::move(nodes);
  lineage = std::move(after);
  return changed;
}

}  // namespace onnxkit::opset
