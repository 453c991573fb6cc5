#include "libonnxkit/ir/patch.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/rename.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::ir {
namespace {

using NewNames = std::unordered_map<std::string_view, Text>;

/// Reads the second name where it read the first, unless that is a value of its own. Returns whether anything changed.
bool replace_captured(Graph& graph, const NewNames& names) {
  std::unordered_map<ValueId, Text> captured;
  NewNames inside = names;  // what its bodies capture
  for (const auto& [old, by] : names) {
    const ValueId id = graph.find(old);
    if (id == ValueId::none) continue;
    if (defines(graph, id))
      inside.erase(old);
    else
      captured.emplace(id, by);
  }
  bool changed = false;
  const auto replace = [&](ValueId& id) {
    const auto found = captured.find(id);
    if (found == captured.end()) return;
    id = graph.intern(found->second);
    changed = true;
  };
  for (Node& node : graph.nodes) {
    std::for_each(node.inputs.begin(), node.inputs.end(), replace);
    for_each_subgraph(node, [&](Graph& inner, std::size_t) { changed |= replace_captured(inner, inside); });
  }
  for (ValueInfo& output : graph.outputs) replace(output.value);
  return changed;
}

/// What the file says of a node that goes passes to the node that now writes its first output.
void hand_over(Node& node, std::vector<Node>& inserted) {
  const auto first =
      std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != ValueId::none; });
  if (first == node.outputs.end() || inserted.empty()) return;
  auto heir = std::find_if(inserted.rbegin(), inserted.rend(), [&](const Node& candidate) {
    return std::find(candidate.outputs.begin(), candidate.outputs.end(), *first) != candidate.outputs.end();
  });
  if (heir == inserted.rend()) heir = inserted.rbegin();
  heir->name = node.name;
  heir->doc_string = node.doc_string;
  heir->metadata_props = std::move(node.metadata_props);
  heir->device_configurations = std::move(node.device_configurations);
  heir->unknown_fields = node.unknown_fields;
}

}  // namespace

bool Patch::empty() const {
  return changes_.empty() && replaced_.empty() && initializers_.empty() && dropped_.empty() && renamed_.empty() &&
         order_.empty() && declared_.empty() && inputs_.empty() && outputs_.empty();
}

ValueId Patch::value(Text name, std::optional<DeclaredType> type) {
  made_.push_back({name, std::move(type)});
  return static_cast<ValueId>(graph_->values.size() + made_.size() - 1);
}

void Patch::insert_before(std::size_t at, Node node) {
  Change& change = changes_[at];
  change.inserted.insert(change.inserted.begin() + static_cast<std::ptrdiff_t>(change.before++), std::move(node));
}

void Patch::insert_behind(std::size_t at, Node node) { changes_[at].inserted.push_back(std::move(node)); }

void Patch::remove(std::size_t node) { changes_[node].removes = true; }

void Patch::edit(std::size_t node, Edit change) { changes_[node].edits.push_back(std::move(change)); }

/// Outputs of nodes and initializers that the patch takes away and adds, those that stay where they are left out.
Patch::Definitions Patch::changed_definitions() const {
  Definitions found;
  const auto lose = [&](const std::vector<ValueId>& ids) { found.lost.insert(ids.begin(), ids.end()); };
  const auto gain = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id != ValueId::none) ++found.gained[id];
    }
  };
  lose(dropped_);
  for (const auto& [id, tensor] : initializers_) ++found.gained[id];
  for (const auto& [node, change] : changes_) {
    if (node < graph_->nodes.size() && (change.removes || change.outputs)) lose(graph_->nodes[node].outputs);
    if (change.outputs && !change.removes) gain(*change.outputs);
    for (const Node& inserted : change.inserted) gain(inserted.outputs);
  }
  found.lost.erase(ValueId::none);
  return found;
}

std::string_view Patch::value_name(ValueId id) const {
  return is_new(id) ? made_at(id).name.view() : graph_->name_of(id);
}

std::string_view Patch::first_name(const Node& node) const {
  const auto first =
      std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != ValueId::none; });
  return first == node.outputs.end() ? std::string_view() : value_name(*first);
}

std::optional<std::string> Patch::check_names() const {
  std::unordered_set<std::string_view> names;
  const auto is_taken = [&](Text name) {
    return name.empty() || graph_->find(name) != ValueId::none || !names.insert(name).second;
  };
  const auto refused = [](Text name) { return fmt::format("the name {} is taken", quote(name)); };
  for (const Made& made : made_) {
    if (is_taken(made.name)) return refused(made.name);
  }
  for (const auto& [id, name] : renamed_) {
    if (is_taken(name)) return refused(name);
  }
  return std::nullopt;
}

bool Patch::is_order() const {
  if (order_.empty()) return true;
  std::vector<bool> is_placed(graph_->nodes.size(), false);
  for (const std::size_t node : order_) {
    if (node >= is_placed.size() || is_placed[node]) return false;
    is_placed[node] = true;
  }
  const auto moves_nodes = [](const auto& entry) { return entry.second.removes || !entry.second.inserted.empty(); };
  return order_.size() == is_placed.size() && std::none_of(changes_.begin(), changes_.end(), moves_nodes);
}

std::optional<std::string> Patch::check(const Uses& uses, const Agree& agree) const {
  if (auto fault = check_names()) return fault;
  if (!is_order()) return "the order of nodes names one twice or not at all, or nodes come and go as well";
  const auto name_of = [this](ValueId id) { return quote(value_name(id)); };
  const Definitions definitions = changed_definitions();
  const auto& [lost, gained] = definitions;
  for (const auto& [id, count] : gained) {
    const bool was_defined = !is_new(id) && uses.producer(id) >= 0 && !lost.contains(id);
    if (count + (was_defined ? 1 : 0) > 1) return fmt::format("{} is written twice", name_of(id));
  }
  const auto is_missing = [&](ValueId id) {
    return id != ValueId::none && !definitions.gained.contains(id) && (is_new(id) || definitions.lost.contains(id));
  };
  std::unordered_set<ValueId> replaced;
  for (const auto& [old, by] : replaced_) {
    if (is_new(old) || uses.is_output(old)) return fmt::format("{} is an output of the graph", name_of(old));
    if (is_missing(by)) return fmt::format("nothing writes {}", name_of(by));
    replaced.insert(old);
    if (!agree) continue;
    const DeclaredType* type = is_new(by) && made_at(by).type ? &*made_at(by).type : nullptr;
    if (auto fault = agree(old, by, type))
      return fmt::format("{} cannot stand for {}: {}", name_of(by), name_of(old), *fault);
  }
  const auto first_missing = [&](const std::vector<ValueId>& inputs) -> std::optional<std::string> {
    for (const ValueId id : inputs) {
      if (is_missing(id) && !replaced.contains(id)) return fmt::format("nothing writes {}", name_of(id));
    }
    return std::nullopt;
  };
  for (const auto& [node, change] : changes_) {
    for (const Node& inserted : change.inserted) {
      if (auto fault = first_missing(inserted.inputs)) return fault;
    }
    if (change.removes || !change.inputs) continue;
    if (auto fault = first_missing(*change.inputs)) return fault;
  }
  for (const ValueId id : lost) {
    if (!is_missing(id) || replaced.contains(id)) continue;
    if (uses.is_output(id)) return fmt::format("nothing writes the output {}", name_of(id));
    for (const std::uint32_t reader : uses.consumers(id)) {
      const auto change = changes_.find(reader);
      if (change == changes_.end() || (!change->second.removes && !change->second.inputs))
        return fmt::format("nothing writes {}", name_of(id));
    }
  }
  return std::nullopt;
}

/// Does the work of splice, one part of the graph after the other.
class Splicer {
 public:
  Splicer(Graph& graph, Patch& patch) : graph_(graph), patch_(patch) {}

  Splice run(Undoable undoable) {
    if (undoable == Undoable::yes) remember();
    for (const Patch::Made& made : patch_.made_) graph_.intern(made.name);
    place_nodes();
    replace_values();
    change_initializers();
    declare();
    reorder();
    Renames names;
    for (const auto& [id, name] : patch_.renamed_) names.emplace(graph_.name_of(id), name);
    if (!names.empty()) rename_values(graph_, names);
    return std::move(result_);
  }

 private:
  void remember() {
    GraphBefore& before = result_.before.emplace();
    for (const Value& value : graph_.values) before.names.push_back(value.name);
    for (const Node& node : graph_.nodes) before.nodes.push_back(clone(node));
    for (const Tensor& tensor : graph_.initializers) before.initializers.push_back(clone(tensor));
    for (const SparseTensor& sparse : graph_.sparse_initializers) before.sparse_initializers.push_back(clone(sparse));
    for (const ValueInfo& input : graph_.inputs) before.inputs.push_back(clone(input));
    for (const ValueInfo& output : graph_.outputs) before.outputs.push_back(clone(output));
    for (const ValueInfo& info : graph_.value_infos) before.value_infos.push_back(clone(info));
    before.annotations = graph_.quantization_annotations;
  }

  void place(Node&& node, std::size_t origin, bool is_changed) {
    if (is_changed) result_.changed.push_back(nodes_.size());
    nodes_.push_back(std::move(node));
    result_.origin.push_back(origin);
  }

  void place_nodes() {
    nodes_.reserve(graph_.nodes.size() + patch_.changes_.size());
    auto next = patch_.changes_.begin();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      Node& node = graph_.nodes[i];
      if (next == patch_.changes_.end() || next->first != i) {
        place(std::move(node), i, false);
        continue;
      }
      Patch::Change& change = next->second;
      ++next;
      if (change.removes) hand_over(node, change.inserted);
      if (change.inputs) node.inputs = *std::move(change.inputs);
      if (change.outputs) node.outputs = *std::move(change.outputs);
      for (const Patch::Edit& edit : change.edits) edit(node, change.inserted);
      for (std::size_t k = 0; k < change.before; ++k) place(std::move(change.inserted[k]), i, true);
      if (change.removes) {
        result_.removed.push_back(std::move(node));
      } else {
        place(std::move(node), i, change.changes_node());
      }
      for (std::size_t k = change.before; k < change.inserted.size(); ++k)
        place(std::move(change.inserted[k]), i, true);
    }
    if (next != patch_.changes_.end()) {
      for (Node& inserted : next->second.inserted) place(std::move(inserted), graph_.nodes.size(), true);
    }
    graph_.nodes = std::move(nodes_);
  }

  /// What stands for each replaced value in the end, where one stands for another in turn.
  std::unordered_map<ValueId, ValueId> replacements() const {
    std::unordered_map<ValueId, ValueId> all;
    for (auto pair = patch_.replaced_.rbegin(); pair != patch_.replaced_.rend(); ++pair) {
      const auto next = all.find(pair->second);
      all[pair->first] = next == all.end() ? pair->second : next->second;
    }
    return all;
  }

  void replace_values() {
    const auto all = replacements();
    if (all.empty()) return;
    NewNames names;
    for (const auto& [old, by] : all) names.emplace(graph_.name_of(old), graph_.values[index_of(by)].name);
    std::vector<bool> is_changed(graph_.nodes.size(), false);
    for (const std::size_t node : result_.changed) is_changed[node] = true;
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      for (ValueId& input : graph_.nodes[n].inputs) {
        const auto found = all.find(input);
        if (found == all.end()) continue;
        input = found->second;
        is_changed[n] = true;
      }
      for_each_subgraph(graph_.nodes[n], [&](Graph& inner, std::size_t) {
        if (replace_captured(inner, names)) is_changed[n] = true;
      });
    }
    result_.changed.clear();
    for (std::size_t n = 0; n < is_changed.size(); ++n)
      if (is_changed[n]) result_.changed.push_back(n);
  }

  void change_initializers() {
    const std::unordered_set<ValueId> dropped(patch_.dropped_.begin(), patch_.dropped_.end());
    const auto is_dropped = [&](std::string_view name) { return dropped.contains(graph_.find(name)); };
    if (!patch_.dropped_.empty()) {
      std::erase_if(graph_.initializers, [&](const Tensor& tensor) { return is_dropped(tensor.name); });
      std::erase_if(graph_.sparse_initializers,
                    [&](const SparseTensor& sparse) { return sparse.values && is_dropped(sparse.values->name); });
    }
    for (auto& [id, tensor] : patch_.initializers_) {
      tensor.name = graph_.values[index_of(id)].name;
      graph_.initializers.push_back(std::move(tensor));
    }
  }

  /// Types of new values come, those of replaced ones go.
  void declare() {
    if (!patch_.replaced_.empty()) {
      std::unordered_set<ValueId> replaced;
      for (const auto& [old, by] : patch_.replaced_) replaced.insert(old);
      std::erase_if(graph_.value_infos, [&](const ValueInfo& info) { return replaced.contains(info.value); });
    }
    for (Patch::Made& made : patch_.made_) {
      if (!made.type) continue;
      ValueInfo& info = graph_.value_infos.emplace_back();
      info.value = graph_.find(made.name);
      info.type = std::move(made.type);
    }
    for (auto& [index, type] : patch_.inputs_) graph_.inputs[index].type = std::move(type);
    for (auto& [index, type] : patch_.outputs_) graph_.outputs[index].type = std::move(type);
    if (!patch_.declared_.empty()) declare_values();
  }

  void declare_values() {
    std::unordered_map<ValueId, ValueInfo> before;
    for (const auto& [id, type] : patch_.declared_) before.try_emplace(id);
    std::erase_if(graph_.value_infos, [&](ValueInfo& info) {
      const auto found = before.find(info.value);
      if (found == before.end()) return false;
      found->second = std::move(info);
      return true;
    });
    for (auto& [id, type] : patch_.declared_) {
      if (!type) continue;
      ValueInfo& info = graph_.value_infos.emplace_back(std::move(before[id]));
      info.value = id;
      info.type = std::move(type);
    }
  }

  void reorder() {
    if (patch_.order_.empty()) return;
    std::vector<Node> nodes;
    nodes.reserve(patch_.order_.size());
    for (const std::size_t from : patch_.order_) nodes.push_back(std::move(graph_.nodes[from]));
    graph_.nodes = std::move(nodes);
    std::vector<std::size_t> now(patch_.order_.size());
    for (std::size_t i = 0; i < now.size(); ++i) now[patch_.order_[i]] = i;
    result_.origin = patch_.order_;
    for (std::size_t& changed : result_.changed) changed = now[changed];
    std::sort(result_.changed.begin(), result_.changed.end());
  }

  Graph& graph_;
  Patch& patch_;
  std::vector<Node> nodes_;
  Splice result_;
};

Splice splice(Graph& graph, Patch patch, Undoable undoable) { return Splicer(graph, patch).run(undoable); }

void undo(Graph& graph, Splice splice) {
  GraphBefore& before = *splice.before;
  // The table of names forgets the new values by being made anew.
  Graph rest = std::move(graph);
  graph = Graph();
  for (const Text name : before.names) graph.intern(name);
  graph.nodes = std::move(before.nodes);
  graph.initializers = std::move(before.initializers);
  graph.sparse_initializers = std::move(before.sparse_initializers);
  graph.value_infos = std::move(before.value_infos);
  graph.name = rest.name;
  graph.doc_string = rest.doc_string;
  graph.inputs = std::move(before.inputs);
  graph.outputs = std::move(before.outputs);
  graph.quantization_annotations = std::move(before.annotations);
  graph.metadata_props = std::move(rest.metadata_props);
  graph.unknown_fields = rest.unknown_fields;
}

}  // namespace onnxkit::ir
