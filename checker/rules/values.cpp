// Single assignment, order, scopes: every value is written once, before it is read, under a name of its own.
#include <algorithm>
#include <unordered_map>

#include <fmt/core.h>

#include "checker/rule_registry.h"
#include "libonnxkit/base/text/nearest.h"
#include "libonnxkit/ir/order.h"

namespace onnxkit::checker {
namespace {

using ir::index_of;
using ir::ValueId;

/// What defines each value of one graph.
enum class Definition : std::uint8_t { none, input, initializer, node };

struct GraphNames {
  const ir::GraphScope* scope;
  const GraphNames* outer;
  std::vector<Definition> defined;     ///< by ValueId, after the whole graph
  std::vector<std::int32_t> producer;  ///< by ValueId
};

/// The names that a graph at `scope` can see from outside: everything of the enclosing graphs that is defined before the node it hangs on.
enum class Outside : std::uint8_t { undefined, visible, later };

class GraphRule {
 public:
  explicit GraphRule(RuleContext& context) : context_(context) {}

  void run() {
    for (const auto& scope : context_.scopes) {
      const GraphNames* outer = scope->parent ? names_.at(scope->parent).get() : nullptr;
      auto names = std::make_unique<GraphNames>(GraphNames{scope.get(), outer, {}, ir::producers(*scope->graph)});
      names->defined.assign(scope->graph->values.size(), Definition::none);
      define_inputs(*names);
      define_initializers(*names);
      define_outputs_of_nodes(*names);
      check_reads(*names);
      check_graph_outputs(*names);
      names_.emplace(scope.get(), std::move(names));
    }
  }

 private:
  void define_inputs(GraphNames& names) {
    const ir::Graph& graph = *names.scope->graph;
    for (const ir::ValueInfo& input : graph.inputs) {
      if (input.value == ValueId::none) {
        context_.error("empty-name", context_.at(*names.scope), "an input has no name");
        continue;
      }
      const std::string_view name = graph.name_of(input.value);
      if (names.defined[index_of(input.value)] == Definition::input) {
        context_.error("duplicate-input", context_.at(*names.scope),
                       fmt::format("two inputs have the name {}", quote(name)));
      }
      names.defined[index_of(input.value)] = Definition::input;
      check_shadowing(names, name, [&] { return context_.at(*names.scope, "input", name); });
    }
  }

  void define_initializers(GraphNames& names) {
    const ir::Graph& graph = *names.scope->graph;
    const bool old_ir = context_.model.ir_version && *context_.model.ir_version < 4;
    std::vector<bool> seen(graph.values.size(), false);
    const auto define = [&](std::string_view name) {
      const ValueId id = graph.find(name);
      if (id == ValueId::none) {
        context_.error("empty-name", context_.at(*names.scope), "an initializer has no name");
        return;
      }
      const Location location = context_.at(*names.scope, "initializer", name);
      if (seen[index_of(id)]) {
        context_.error("duplicate-initializer", location,
                       fmt::format("two initializers have the name {}", quote(name)));
      }
      seen[index_of(id)] = true;
      const bool is_input = names.defined[index_of(id)] == Definition::input;
      if (!is_input) {
        check_shadowing(names, name, [&] { return location; });
        names.defined[index_of(id)] = Definition::initializer;
        if (old_ir && !names.scope->parent) {
          context_.error("initializer-not-input", location,
                         "up to IR version 3 every initializer must also be a graph input",
                         fmt::format("an input named {}", quote(name)), {},
                         "IR version 4 allows initializers that are not inputs");
        }
      }
    };
    for (const ir::Tensor& tensor : graph.initializers) define(tensor.name);
    for (const ir::SparseTensor& sparse : graph.sparse_initializers)
      define(sparse.values ? sparse.values->name.view() : "");
  }

  void define_outputs_of_nodes(GraphNames& names) {
    const ir::Graph& graph = *names.scope->graph;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const ir::Node& node = graph.nodes[n];
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const ValueId id = node.outputs[i];
        if (id == ValueId::none) continue;
        const std::string_view name = graph.name_of(id);
        Definition& definition = names.defined[index_of(id)];
        if (definition != Definition::none) {
          context_.error("duplicate-definition", context_.at(*names.scope, n, fmt::format("output {}", i), name),
                         fmt::format("{} is already {}", quote(name), already(names, id, n)), "a unique name");
        } else {
          check_shadowing(names, name, [&] { return context_.at(*names.scope, n, fmt::format("output {}", i), name); });
          definition = Definition::node;
        }
      }
    }
  }

  std::string already(const GraphNames& names, ValueId id, std::size_t node) const {
    switch (names.defined[index_of(id)]) {
      case Definition::input:
        return "an input of the graph";
      case Definition::initializer:
        return "an initializer";
      case Definition::node: {
        const auto first = static_cast<std::size_t>(names.producer[index_of(id)]);
        return first == node ? "an output of this node" : fmt::format("written by node {}", first);
      }
      case Definition::none:
        break;
    }
    return "defined";
  }

  /// Names of a subgraph must differ from those that it can see.
  template <class Locate>
  void check_shadowing(const GraphNames& names, std::string_view name, const Locate& location) {
    if (!names.outer) return;
    if (look_outside(names, name) == Outside::visible) {
      context_.error("subgraph-scope", location(),
                     fmt::format("{} hides the value of the same name in an outer graph", quote(name)),
                     "a name that no outer graph uses", {}, "check --fix renames it");
    }
  }

  Outside look_outside(const GraphNames& names, std::string_view name) const {
    const ir::GraphScope* inner = names.scope;
    for (const GraphNames* outer = names.outer; outer; inner = outer->scope, outer = outer->outer) {
      const ValueId id = outer->scope->graph->find(name);
      if (id == ValueId::none || outer->defined[index_of(id)] == Definition::none) continue;
      const std::int32_t producer = outer->producer[index_of(id)];
      const bool before =
          outer->defined[index_of(id)] != Definition::node || producer < static_cast<std::int32_t>(inner->parent_node);
      return before ? Outside::visible : Outside::later;
    }
    return is_trained_weight(names, name) ? Outside::visible : Outside::undefined;
  }

  /// Training graphs read the weights of the main graph.
  bool is_trained_weight(const GraphNames& names, std::string_view name) const {
    const GraphNames* outermost = &names;
    while (outermost->outer) outermost = outermost->outer;
    if (!outermost->scope->is_training || !context_.model.graph) return false;
    const auto& weights = context_.model.graph->initializers;
    return std::any_of(weights.begin(), weights.end(),
                       [&](const ir::Tensor& weight) { return weight.name.view() == name; });
  }

  void check_reads(GraphNames& names) {
    const ir::Graph& graph = *names.scope->graph;
    const std::vector<bool> cyclic = nodes_on_cycles(graph, names.producer);
    bool cycle_reported = false;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const ir::Node& node = graph.nodes[n];
      if (cyclic[n] && !cycle_reported) {
        cycle_reported = true;
        context_.error("cycle", context_.at(*names.scope, n), "the node depends on its own result through other nodes",
                       "a graph without cycles", cycle_text(graph, cyclic));
      }
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != ValueId::none) check_read(names, n, i, cyclic[n]);
      }
    }
  }

  void check_read(const GraphNames& names, std::size_t n, std::size_t i, bool on_cycle) {
    const ir::Graph& graph = *names.scope->graph;
    const ValueId id = graph.nodes[n].inputs[i];
    const std::string_view name = graph.name_of(id);
    const auto location = [&] { return context_.at(*names.scope, n, fmt::format("input {}", i), name); };
    if (names.defined[index_of(id)] == Definition::node) {
      const auto producer = static_cast<std::size_t>(names.producer[index_of(id)]);
      if (producer < n || on_cycle) return;
      context_.error("not-sorted", location(),
                     fmt::format("{} is read before node {} writes it", quote(name), producer),
                     "every value written before it is read", {}, "check --fix sorts the nodes");
      return;
    }
    if (names.defined[index_of(id)] != Definition::none) return;
    switch (look_outside(names, name)) {
      case Outside::visible:
        return;
      case Outside::later:
        if (on_outer_cycle(names, name)) return;
        context_.error("not-sorted", location(),
                       fmt::format("{} of an outer graph is read before it is written", quote(name)),
                       "every value written before it is read", {}, "check --fix sorts the nodes");
        return;
      case Outside::undefined:
        context_.error(names.scope->function ? "function-undefined-value" : "undefined-value", location(),
                       fmt::format("input {} is undefined", quote(name)),
                       "an input, an initializer or the output of a node", {}, nearest_help(names, name));
    }
  }

  /// The later outer definition is part of a cycle that is reported already.
  bool on_outer_cycle(const GraphNames& names, std::string_view name) const {
    for (const GraphNames* outer = names.outer; outer; outer = outer->outer) {
      const ValueId id = outer->scope->graph->find(name);
      if (id == ValueId::none || outer->defined[index_of(id)] != Definition::node) continue;
      const std::vector<bool> cyclic = nodes_on_cycles(*outer->scope->graph, outer->producer);
      return cyclic[static_cast<std::size_t>(outer->producer[index_of(id)])];
    }
    return false;
  }

  std::string nearest_help(const GraphNames& names, std::string_view name) const {
    for (const auto& [scope, other] : names_) {
      const ValueId id = scope->graph->find(name);
      if (other.get() != &names && id != ValueId::none && other->defined[index_of(id)] != Definition::none) {
        return fmt::format("{} has a value of that name, which is not visible from this graph",
                           ir::path_text(scope->path));
      }
    }
    constexpr std::size_t shortest = 3;  // any two letters are near each other
    if (name.size() < shortest) return {};
    std::vector<std::string_view> visible;
    for (const GraphNames* graph = &names; graph; graph = graph->outer) {
      const ir::Graph& own = *graph->scope->graph;
      for (std::size_t id = 0; id < graph->defined.size(); ++id) {
        if (graph->defined[id] != Definition::none) visible.push_back(own.name_of(static_cast<ValueId>(id)));
      }
    }
    const std::string_view close = nearest(name, visible);
    return close.empty() ? std::string() : fmt::format("did you mean {}?", quote(close));
  }

  void check_graph_outputs(const GraphNames& names) {
    const ir::Graph& graph = *names.scope->graph;
    const bool in_function = names.scope->function && !names.scope->parent;
    std::vector<bool> seen(graph.values.size(), false);
    for (const ir::ValueInfo& output : graph.outputs) {
      if (output.value == ValueId::none) {
        context_.error("empty-name", context_.at(*names.scope), "an output has no name");
        continue;
      }
      const std::string_view name = graph.name_of(output.value);
      if (in_function && seen[index_of(output.value)]) {
        context_.error("duplicate-definition", context_.at(*names.scope, "output", name),
                       fmt::format("two outputs of the function have the name {}", quote(name)), "distinct outputs");
      }
      seen[index_of(output.value)] = true;
      if (names.defined[index_of(output.value)] != Definition::none) continue;
      const bool is_outer = names.outer && look_outside(names, name) != Outside::undefined;
      context_.error(in_function ? "function-undefined-value" : "output-undefined",
                     context_.at(*names.scope, "output", name),
                     is_outer ? fmt::format("the output {} is a value of an outer graph", quote(name))
                              : fmt::format("output {} is undefined", quote(name)),
                     "an input, an initializer or the output of a node", {},
                     is_outer ? "add an Identity of the outer value and return its output" : nearest_help(names, name));
    }
    for (const ir::ValueInfo& info : graph.value_infos) {
      if (info.value == ValueId::none) continue;
      const std::string_view name = graph.name_of(info.value);
      if (names.defined[index_of(info.value)] == Definition::none && look_outside(names, name) == Outside::undefined) {
        context_.warning("value-info-unknown", context_.at(*names.scope, "value", name),
                         fmt::format("value_info describes {}, which is undefined", quote(name)), {}, {},
                         "check --fix removes it");
      }
    }
  }

  /// Kahn's algorithm; what is left over lies on a cycle or behind one. Nodes only behind one are peeled off from the other side.
  static std::vector<bool> nodes_on_cycles(const ir::Graph& graph, const std::vector<std::int32_t>& producer) {
    const std::size_t count = graph.nodes.size();
    std::vector<bool> cyclic(count, false);
    std::vector<std::vector<std::uint32_t>> needs(count);
    bool backward = false;
    for (std::size_t n = 0; n < count; ++n) {
      const auto need = [&](ValueId id) {
        if (id == ValueId::none || producer[index_of(id)] < 0) return;
        const auto from = static_cast<std::uint32_t>(producer[index_of(id)]);
        backward = backward || from >= n;
        needs[n].push_back(from);
      };
      for (const ValueId id : graph.nodes[n].inputs) need(id);
      for (const ValueId id : ir::captured_values(graph, graph.nodes[n])) need(id);
    }
    if (!backward) return cyclic;
    std::vector<bool> alive(count, true);
    peel(needs, alive);
    std::vector<std::vector<std::uint32_t>> reversed(count);
    for (std::size_t n = 0; n < count; ++n) {
      for (const std::uint32_t from : needs[n]) reversed[from].push_back(static_cast<std::uint32_t>(n));
    }
    peel(reversed, alive);
    return alive;
  }

  /// Removes, again and again, nodes that need no node that is alive.
  static void peel(const std::vector<std::vector<std::uint32_t>>& needs, std::vector<bool>& alive) {
    const std::size_t count = needs.size();
    std::vector<std::uint32_t> open(count, 0);
    std::vector<std::vector<std::uint32_t>> readers(count);
    std::vector<std::uint32_t> ready;
    for (std::size_t n = 0; n < count; ++n) {
      if (!alive[n]) continue;
      for (const std::uint32_t from : needs[n]) {
        if (!alive[from]) continue;
        ++open[n];
        readers[from].push_back(static_cast<std::uint32_t>(n));
      }
      if (open[n] == 0) ready.push_back(static_cast<std::uint32_t>(n));
    }
    while (!ready.empty()) {
      const std::uint32_t n = ready.back();
      ready.pop_back();
      alive[n] = false;
      for (const std::uint32_t reader : readers[n]) {
        if (--open[reader] == 0) ready.push_back(reader);
      }
    }
  }

  static std::string cycle_text(const ir::Graph& graph, const std::vector<bool>& cyclic) {
    std::string text;
    std::size_t shown = 0;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (!cyclic[n]) continue;
      if (++shown > 8) return text + ", ...";
      text += fmt::format("{}node {}", shown == 1 ? "" : ", ", n);
    }
    return text;
  }

  RuleContext& context_;
  std::unordered_map<const ir::GraphScope*, std::unique_ptr<GraphNames>> names_;
};

void check_values(RuleContext& context) { GraphRule(context).run(); }

void check_graph_names(RuleContext& context) {
  for (const auto& scope : context.scopes) {
    const bool is_function_body = scope->function && !scope->parent;
    if (!is_function_body && !scope->is_training && scope->graph->name.empty()) {
      context.error("graph-name", context.at(*scope), "the graph has no name", "a name", {}, "check --fix adds a name");
    }
    for (std::size_t n = 0; n < scope->graph->nodes.size(); ++n) {
      if (scope->graph->nodes[n].op_type.empty())
        context.error("node-op-type", context.at(*scope, n), "the node has no op_type");
    }
  }
}

}  // namespace

void register_values(RuleRegistry& registry) {
  registry.add(Stage::structure, check_graph_names);
  registry.add(Stage::structure, check_values);
}

}  // namespace onnxkit::checker
