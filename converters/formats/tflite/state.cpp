#include "converters/formats/tflite/state.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "converters/foreign/state.h"

namespace onnxkit::tflite {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::ValueId;

Error unknown_state(std::string_view name, std::string_view why) {
  return make_error("not-supported", fmt::format("variable {} {}", quote(name), why));
}

bool is_of_variable(const Node& node) {
  return node.op == "VAR_HANDLE" || node.op == "READ_VARIABLE" || node.op == "ASSIGN_VARIABLE";
}

ValueId operand(const Node& node, std::size_t at) {
  const ValueId* id = at < node.arguments.size() ? node.arguments[at].as<ValueId>() : nullptr;
  return id ? *id : ValueId::none;
}

/// Whether a branch or loop has operators of variables.
bool body_uses_variables(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return is_of_variable(node) || std::any_of(node.arguments.begin(), node.arguments.end(), [](const Argument& given) {
             const auto* body = given.as<std::unique_ptr<Graph>>();
             return body && body_uses_variables(**body);
           });
  });
}

/// The names of variables by their handles; a container is part of the name.
class Handles {
 public:
  void add(const Node& node) {
    std::string name;
    for (const std::string_view part : {"container", "shared_name"}) {
      const Argument* given = node.find(part);
      const auto* text = given ? given->as<std::string_view>() : nullptr;
      if (text && !text->empty()) name += (name.empty() ? "" : "/") + std::string(*text);
    }
    if (!node.outputs.empty()) names_.insert_or_assign(node.outputs.front(), std::move(name));
  }
  const std::string* of(const Node& node) const {
    const auto found = names_.find(operand(node, 0));
    return found == names_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<ValueId, std::string> names_;
};

struct Stored {
  foreign::Tensor tensor;
  foreign::Value value;
};

class Resolver {
 public:
  explicit Resolver(foreign::Model& model) : model_(model), graph_(model.graph) {}

  Result<void> run() {
    for (const Node& node : graph_.nodes)
      if (auto done = read_initial(node); !done) return done;
    std::vector<Node> kept;
    for (Node& node : graph_.nodes) {
      rename(node.arguments);
      if (node.op == "CALL_ONCE") continue;
      if (!is_of_variable(node)) {
        kept.push_back(std::move(node));
      } else if (auto done = follow(node); !done) {
        return done;
      }
    }
    graph_.nodes = std::move(kept);
    for (foreign::Output& output : graph_.outputs) output.value = renamed(output.value);
    std::vector<foreign::Written> changes;
    for (const auto& [name, state] : states_)
      if (state.is_assigned) changes.push_back({state.start, state.content});
    foreign::expose_changes(model_, changes);
    return {};
  }

 private:
  struct State {
    ValueId start = ValueId::none, content = ValueId::none;
    bool is_assigned = false;
  };

  /// What graphs that are called once store in variables; other bodies must leave them alone.
  Result<void> read_initial(const Node& node) {
    for (const Argument& argument : node.arguments) {
      const auto* body = argument.as<std::unique_ptr<Graph>>();
      if (!body) continue;
      if (node.op != "CALL_ONCE") {
        if (body_uses_variables(**body))
          return make_error("not-supported", fmt::format("{} {} uses variables inside, which have no place in ONNX",
                                                         node.op, quote(node.name)));
        continue;
      }
      Handles handles;
      for (const Node& inner : (*body)->nodes) {
        if (inner.op == "VAR_HANDLE") handles.add(inner);
        const std::string* name = inner.op == "ASSIGN_VARIABLE" ? handles.of(inner) : nullptr;
        if (name) add_initial(**body, *name, operand(inner, 1));
      }
    }
    return {};
  }

  void add_initial(const Graph& body, const std::string& name, ValueId value) {
    const auto tensor = std::find_if(body.tensors.begin(), body.tensors.end(),
                                     [&](const foreign::Tensor& one) { return one.value == value; });
    if (tensor != body.tensors.end())
      initial_.insert_or_assign(name, Stored{*tensor, body.values[foreign::index_of(value)]});
    else
      initial_.erase(name);  // it is computed
  }

  Result<void> follow(const Node& node) {
    if (node.op == "VAR_HANDLE") {
      handles_.add(node);
      return {};
    }
    const std::string* name = handles_.of(node);
    if (!name) return unknown_state(node.name, "comes from elsewhere than a VAR_HANDLE of its graph");
    auto state = state_of(*name);
    if (!state) return state.error();
    if (node.op == "ASSIGN_VARIABLE") {
      (*state)->content = operand(node, 1);
      (*state)->is_assigned = true;
      return {};
    }
    if (node.outputs.empty()) return {};
    const foreign::Value& content = graph_.values[foreign::index_of((*state)->content)];
    const foreign::Value& read = graph_.values[foreign::index_of(node.outputs.front())];
    if (content.quantization != read.quantization)
      return unknown_state(*name, "holds integers of another scale than they are read with");
    renames_.insert_or_assign(node.outputs.front(), (*state)->content);
    return {};
  }

  Result<State*> state_of(const std::string& name) {
    const auto known = states_.find(name);
    if (known != states_.end()) return &known->second;
    const auto stored = initial_.find(name);
    if (stored == initial_.end()) return unknown_state(name, "has no value that the file stores");
    foreign::Value value = stored->second.value;
    value.name = model_.strings->keep(name.empty() ? "variable" : name).view();
    graph_.values.push_back(std::move(value));
    const ValueId id{static_cast<std::uint32_t>(graph_.values.size() - 1)};
    foreign::Tensor& tensor = graph_.tensors.emplace_back(stored->second.tensor);
    tensor.value = id;
    tensor.name = graph_.values.back().name;
    return &states_.emplace(name, State{id, id}).first->second;
  }

  ValueId renamed(ValueId id) const {
    const auto found = renames_.find(id);
    return found == renames_.end() ? id : found->second;
  }
  void rename(Argument::List& arguments) const {
    for (Argument& argument : arguments) {
      if (auto* id = std::get_if<ValueId>(&argument.content)) *id = renamed(*id);
      if (auto* list = std::get_if<Argument::List>(&argument.content)) rename(*list);
    }
  }

  foreign::Model& model_;
  Graph& graph_;
  Handles handles_;
  std::map<std::string, Stored> initial_;
  std::map<std::string, State> states_;
  std::unordered_map<ValueId, ValueId> renames_;
};

}  // namespace

Result<void> resolve_variables(foreign::Model& model) {
  const auto& nodes = model.graph.nodes;
  const bool has_any = std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
    return is_of_variable(node) || std::any_of(node.arguments.begin(), node.arguments.end(), [](const Argument& given) {
             return given.as<std::unique_ptr<Graph>>() != nullptr;
           });
  });
  return has_any ? Resolver(model).run() : Result<void>();
}

}  // namespace onnxkit::tflite
