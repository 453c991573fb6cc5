#include "converters/formats/saved_model/graph_reader.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "converters/formats/saved_model/dtype.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::saved_model {
namespace {

using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::ValueId;

Error malformed_node(const NodeDef& node, std::string_view what) {
  return make_error("malformed-model", fmt::format("node {}: {}", quote(node.name), what));
}

/// What graphs of one file share.
struct Reading {
  Scopes& scopes;
  const Mappings& mappings;
  const Variables& variables;
  foreign::Model& model;
  std::unordered_set<std::string_view> port_names = {};      ///< of inputs and outputs, which nothing else has
  std::map<const NodeDef*, foreign::Tensor> constants = {};  ///< that have been read, without names
  std::size_t nodes = 0, values = 0, attribute_bytes = 0;
  std::size_t repeated = std::size_t{64} << 20;  ///< bytes that values stated once may still become

  std::string_view free_name(std::string_view name) const {
    return port_names.contains(name) ? model.strings->keep(fmt::format("{}_inside", name)).view() : name;
  }
};

/// Attributes that name functions whose graphs the operator runs.
constexpr std::string_view body_attributes[] = {"then_branch", "else_branch", "cond", "body", "branches"};
bool runs_bodies(std::string_view op) {
  if (op.starts_with("Stateless")) op.remove_prefix(std::string_view("Stateless").size());
  return op == "If" || op == "While" || op == "Case";
}

/// The element type that attributes tell of a result.
ElementType elem_of_node(const NodeDef& node) {
  for (const std::string_view name : {"dtype", "DstT", "out_type", "output_type", "T", "Tparams"}) {
    const std::string_view value = node.attribute(name);
    if (!value.empty()) return elem_of(type_of_attribute(value));
  }
  return ElementType::undefined;
}

class GraphReader {
 public:
  GraphReader(Reading& reading, Graph& graph, Scope& scope) : reading_(reading), graph_(graph), scope_(scope) {}

  void feed(const Place& place, ValueId value) { feeds_.emplace(place, value); }

  /// The value that an input names, with all that it needs.
  Result<ValueId> value(std::string_view input) {
    const auto place = reading_.scopes.resolve(scope_, input);
    if (!place) return place.error();
    if (const auto known = known_value(*place)) return *known;
    if (auto done = build(*place); !done) return done.error();
    return output_of(*place);
  }

  /// Nodes that change variables although no result needs them.
  Result<void> add_effects() {
    std::unordered_set<Scope*> seen;
    std::vector<Scope*> pending(touched_.begin(), touched_.end());
    pending.push_back(&scope_);
    while (!pending.empty()) {
      Scope* scope = pending.back();
      pending.pop_back();
      if (!scope || !seen.insert(scope).second) continue;
      pending.push_back(scope->caller);
      if (!scope->function) continue;
      for (const std::string_view name : scope->function->effects) {
        const NodeDef* node = scope->table->find(name);
        if (!node) continue;
        if (changes_state(node->op) && !built_.contains({scope, node, 0})) {
          if (auto done = add_node(*scope, *node, {}); !done) return done;
        }
        const FunctionDef* function = reading_.scopes.called(*node);
        if (!function) continue;
        const auto inside = reading_.scopes.called(*scope, *node, *function);
        if (!inside) return inside.error();
        pending.push_back(*inside);
      }
    }
    return {};
  }

 private:
  /// What became of a node: the values that it passes on, or a node whose outputs grow as they are asked for.
  struct Built {
    bool is_open = true, is_node = false;
    std::size_t node = 0;
    std::vector<ValueId> values = {};
  };
  /// A node whose inputs are being built.
  struct Step {
    Place place;
    std::size_t next = 0;
    std::vector<ValueId> inputs = {};
  };

  static Place key_of(const Place& place) { return {place.scope, place.node, 0}; }

  std::optional<ValueId> known_value(const Place& place) {
    if (const auto fed = feeds_.find(place); fed != feeds_.end()) return fed->second;
    if (!place.node && place.index < graph_.inputs.size()) return graph_.inputs[place.index];
    return std::nullopt;
  }

  Result<ValueId> output_of(const Place& place) {
    if (const auto known = known_value(place)) return *known;
    Built& built = built_.at(key_of(place));
    while (built.is_node && built.values.size() <= place.index) {
      constexpr std::size_t most_values = 8'000'000;
      if (++reading_.values > most_values)
        return make_error("not-supported", fmt::format("the model has more than {} values", most_values));
      const std::size_t index = built.values.size();
      const std::string_view name =
          index == 0 ? place.node->name
                     : reading_.model.strings->keep(fmt::format("{}:{}", place.node->name, index)).view();
      built.values.push_back(
          graph_.add_value(reading_.free_name(name), foreign::TensorType{.elem = elem_of_node(*place.node)}));
      graph_.nodes[built.node].outputs.push_back(built.values.back());
    }
    if (place.index >= built.values.size())
      return malformed_node(*place.node, fmt::format("it has no output {}", place.index));
    return built.values[place.index];
  }

  /// Builds a node and all that it needs, without recursion: a chain may be as long as the file.
  Result<void> build(const Place& target) {
    std::vector<Step> steps;
    const auto begin = [&](const Place& place) -> Result<void> {
      const auto [at, is_new] = built_.emplace(key_of(place), Built{});
      if (!is_new) return at->second.is_open ? malformed_node(*place.node, "it depends on itself") : Result<void>();
      if (touched_.empty() || touched_.back() != place.scope) touched_.push_back(place.scope);
      steps.push_back({place});
      return {};
    };
    if (auto done = begin(target); !done) return done;
    while (!steps.empty()) {
      Step& step = steps.back();
      const NodeDef& node = *step.place.node;
      // A loop of TensorFlow 1 goes back here; the node is refused.
      if (node.op == "NextIteration" || node.op == "RefNextIteration") step.next = node.inputs.size();
      if (step.next == node.inputs.size()) {
        const Step complete = std::move(step);
        steps.pop_back();
        if (auto done = add_node(*complete.place.scope, node, complete.inputs); !done) return done;
        continue;
      }
      const std::string_view input = node.inputs[step.next];
      if (is_control(input)) {
        ++step.next;
        continue;
      }
      const auto place = reading_.scopes.resolve(*step.place.scope, input);
      if (!place) return place.error();
      if (!place->node && !known_value(*place)) return malformed_node(node, "it reads a parameter that does not exist");
      const auto built = built_.find(key_of(*place));
      if (known_value(*place) || (built != built_.end() && !built->second.is_open)) {
        const auto value = output_of(*place);
        if (!value) return value.error();
        step.inputs.push_back(*value);
        ++step.next;
      } else if (auto done = begin(*place); !done) {
        return done;
      }
    }
    return {};
  }

  // ---- one node

  Result<void> add_node(Scope& scope, const NodeDef& node, const std::vector<ValueId>& inputs) {
    constexpr std::size_t most_nodes = 1'000'000;  // a function counts each time that it is called
    if (++reading_.nodes > most_nodes)
      return make_error("not-supported", fmt::format("the model has more than {} operators", most_nodes));
    Built& built = built_[{&scope, &node, 0}];
    built.is_open = false;
    if (reading_.mappings.passes_on(node.op)) {
      built.values = inputs;
      return {};
    }
    if (node.op == "Const") {
      const auto done = add_constant(node, built);
      if (!done || !built.values.empty()) return done;
    }
    if (is_variable(node)) {
      const auto done = add_variable(node, built);
      if (!done || !built.values.empty()) return done;
    }
    return add_operator(scope, node, inputs, built);
  }

  Result<void> add_operator(Scope& scope, const NodeDef& source, const std::vector<ValueId>& inputs, Built& built) {
    Node node;
    node.op = source.op;
    node.name = source.name;
    add_inputs(source, inputs, node);
    if (auto done = add_attributes(source, node); !done) return done;
    if (runs_bodies(source.op)) {
      if (auto done = add_bodies(scope, source, node); !done) return done;
    }
    built.is_node = true;
    built.node = graph_.nodes.size();
    graph_.nodes.push_back(std::move(node));
    // A node without results would not be looked at.
    const auto first = output_of({&scope, &source, 0});
    return first ? Result<void>() : first.error();
  }

  Result<void> add_attributes(const NodeDef& source, Node& node) {
    constexpr std::size_t most_bytes = std::size_t{2} << 30;  // read again each time that a function is called
    for (const auto& [name, value] : source.attributes) {
      reading_.attribute_bytes += value.size();
      if (reading_.attribute_bytes > most_bytes)
        return make_error("not-supported", "the attributes of all operators take more than 2 GiB");
      // What a loop or branch gets from the reader has names that a file may not give.
      if (name.starts_with('_') || (runs_bodies(source.op) && name != "output_shapes")) continue;
      if (auto argument = argument_of(name, value)) node.arguments.push_back(*std::move(argument));
    }
    return {};
  }

  void add_inputs(const NodeDef& source, const std::vector<ValueId>& inputs, Node& node) {
    const Mappings::Names& names = reading_.mappings.inputs_of(source.op);
    const auto list = static_cast<std::size_t>(
        std::find_if(names.begin(), names.end(), [](std::string_view name) { return name.ends_with("..."); }) -
        names.begin());
    const std::size_t behind = list < names.size() ? names.size() - list - 1 : 0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < names.size() && next < inputs.size(); ++i) {
      if (i != list) {
        node.arguments.push_back({inputs[next++], names[i]});
        continue;
      }
      Argument::List values;
      for (; next + behind < inputs.size(); ++next) values.push_back({inputs[next]});
      node.arguments.push_back({std::move(values), names[i].substr(0, names[i].size() - 3)});
    }
    for (; next < inputs.size(); ++next) node.arguments.push_back({inputs[next]});
  }

  // ---- tensors

  Result<void> add_constant(const NodeDef& node, Built& built) {
    if (const auto known = reading_.constants.find(&node); known != reading_.constants.end()) {
      add_tensor(node, known->second, built);
      return {};
    }
    auto proto = tensor_of_attribute(node.attribute("value"));
    if (!proto) return std::move(proto).error();
    const ElementType elem = elem_of(proto->type);
    if (elem == ElementType::undefined || elem == ElementType::string) return {};  // refused where it is read
    const auto count = checked_element_count(proto->dims);
    const auto wanted = count ? packed_size(elem, *count) : std::nullopt;
    if (!wanted) return malformed_node(node, "its shape is damaged");
    const auto size = static_cast<std::size_t>(*wanted),
               one = static_cast<std::size_t>(packed_size(elem, 1).value_or(1));
    foreign::Tensor tensor;
    tensor.elem = elem;
    tensor.dims = proto->dims;
    if (!proto->content.empty() || size == 0) {
      if (proto->content.size() != size)
        return malformed_node(node, fmt::format("its {} bytes do not fit its shape", proto->content.size()));
      tensor.bytes = std::as_bytes(std::span(proto->content));
    } else {
      if (proto->values.size() > size || proto->values.size() % one != 0)
        return malformed_node(node, "its values do not fit its type and shape");
      if (size - proto->values.size() > reading_.repeated) return add_filled(node, *proto, built);
      reading_.repeated -= size - proto->values.size();
      if (proto->values.empty()) proto->values.assign(one, '\0');
      const std::string last = proto->values.substr(proto->values.size() - one);
      proto->values.reserve(size);
      while (proto->values.size() < size) proto->values += last;
      auto file = MappedFile::from_bytes(std::move(proto->values));
      tensor.bytes = file->bytes();
      reading_.model.files.push_back(std::move(file));
    }
    reading_.constants.emplace(&node, tensor);
    add_tensor(node, std::move(tensor), built);
    return {};
  }

  /// A large constant of one value, as a node that fills.
  Result<void> add_filled(const NodeDef& node, const TensorProto& proto, Built& built) {
    const ElementType elem = elem_of(proto.type);
    const auto one = static_cast<std::size_t>(packed_size(elem, 1).value_or(1));
    if (proto.values.size() > one)
      return make_error("not-supported",
                        fmt::format("the constant {} repeats its last value too often", quote(node.name)));
    foreign::Tensor value;
    value.elem = elem;
    auto file = MappedFile::from_bytes(proto.values.empty() ? std::string(one, '\0') : proto.values);
    value.bytes = file->bytes();
    reading_.model.files.push_back(std::move(file));
    Built single;
    add_tensor(node, std::move(value), single);
    Argument::List sizes;
    for (const std::int64_t size : proto.dims) sizes.push_back({size});
    Node fill;
    fill.op = "Const";
    fill.name = node.name;
    fill.arguments.push_back({single.values.front(), "value"});
    fill.arguments.push_back({std::move(sizes), "dims"});
    built.is_node = true;
    built.node = graph_.nodes.size();
    built.values = {graph_.add_value(reading_.free_name(node.name), foreign::TensorType{.elem = elem})};
    fill.outputs = built.values;
    graph_.nodes.push_back(std::move(fill));
    return {};
  }

  Result<void> add_variable(const NodeDef& node, Built& built) {
    auto stored = reading_.variables.tensor(node);
    if (!stored) return std::move(stored).error();
    if (!*stored) return {};  // refused where it is read
    add_tensor(node, {.elem = (*stored)->elem, .dims = (*stored)->dims, .bytes = (*stored)->bytes}, built);
    return {};
  }

  void add_tensor(const NodeDef& node, foreign::Tensor tensor, Built& built) {
    tensor.name = reading_.free_name(node.name);
    const ValueId id = graph_.add_value(tensor.name, foreign::TensorType{.elem = tensor.elem});
    tensor.value = id;
    graph_.tensors.push_back(std::move(tensor));
    built.values = {id};
  }

  // ---- bodies

  Result<void> add_bodies(Scope& scope, const NodeDef& source, Node& node) {
    for (const std::string_view attribute : body_attributes) {
      const std::string_view value = source.attribute(attribute);
      if (value.empty()) continue;
      Argument::List bodies;
      for (const std::string_view name : functions_of_attribute(value)) {
        auto body = read_body(scope, source, name);
        if (!body) return std::move(body).error();
        if (attribute != "branches")
          node.arguments.push_back({*std::move(body), attribute});
        else
          bodies.push_back({*std::move(body)});
      }
      if (!bodies.empty()) node.arguments.push_back({std::move(bodies), attribute});
    }
    return {};
  }

  Result<std::unique_ptr<Graph>> read_body(Scope& scope, const NodeDef& node, std::string_view name) {
    const FunctionDef* function = reading_.scopes.function(name);
    if (!function) return malformed_node(node, fmt::format("function {} does not exist", quote(name)));
    const auto inside = reading_.scopes.body(*function, scope);
    if (!inside) return inside.error();
    auto graph = std::make_unique<Graph>();
    graph->name = name;
    for (const std::string_view parameter : function->parameters) graph->inputs.push_back(graph->add_value(parameter));
    GraphReader reader(reading_, *graph, **inside);
    for (const std::string_view result : function->results) {
      const auto value = reader.value(result);
      if (!value) return value.error();
      graph->outputs.push_back({*value, {}});
    }
    if (auto done = reader.add_effects(); !done) return done.error();
    return graph;
  }

  Reading& reading_;
  Graph& graph_;
  Scope& scope_;
  std::map<Place, ValueId> feeds_;
  std::map<Place, Built> built_;
  std::vector<Scope*> touched_;
};

/// Names that TensorFlow gives to tensors: "node" stands for "node:0".
Result<Place> place_of_tensor(Scopes& scopes, std::string_view tensor) {
  Scope& main = scopes.main();
  const std::string_view name = tensor.substr(0, tensor.find(':'));
  const auto node = scopes.node(main, name);
  if (!node) return node.error();
  std::size_t index = 0;
  for (const char c : tensor.substr(std::min(tensor.size(), name.size() + 1)))
    index = std::min<std::size_t>(index * 10 + static_cast<std::size_t>(c - '0'), 4096);
  return Place{&main, *node, index};
}

}  // namespace

bool changes_state(std::string_view op) {
  constexpr std::string_view beginnings[] = {
      "Assign", "ResourceScatter", "ResourceApply", "ResourceSparseApply", "LookupTableInsert", "LookupTableImport"};
  return std::any_of(std::begin(beginnings), std::end(beginnings),
                     [&](std::string_view beginning) { return op.starts_with(beginning); });
}

Result<void> read_graph(Scopes& scopes, const Mappings& mappings, const Variables& variables,
                        const std::vector<Port>& inputs, const std::vector<Port>& outputs, foreign::Model& model) {
  Reading reading{scopes, mappings, variables, model};
  Graph& graph = model.graph;
  for (const auto* ports : {&inputs, &outputs})
    for (const Port& port : *ports) reading.port_names.insert(port.name);
  GraphReader reader(reading, graph, scopes.main());
  for (const Port& input : inputs) {
    const auto place = place_of_tensor(scopes, input.tensor);
    if (!place) return place.error();
    graph.inputs.push_back(graph.add_value(input.name, input.type));
    reader.feed(*place, graph.inputs.back());
  }
  for (const Port& output : outputs) {
    const auto value = reader.value(output.tensor);
    if (!value) return value.error();
    graph.outputs.push_back({*value, output.name});
    if (std::find(graph.inputs.begin(), graph.inputs.end(), *value) == graph.inputs.end())
      graph.values[foreign::index_of(*value)].name = output.name;
  }
  return reader.add_effects();
}

}  // namespace onnxkit::saved_model
