#include "converters/legalize/recurrent.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checker/collector.h"
#include "checker/infer/inference.h"
#include "converters/layout/stored.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/uses.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::legalize {
namespace {

using ir::ValueId;
using Integers = std::vector<std::int64_t>;

enum class CellKind : std::uint8_t { lstm, gru, rnn };

/// What the node says, with its defaults.
struct Cell {
  CellKind kind = CellKind::rnn;
  std::int64_t hidden = 0;
  std::size_t gates = 1, directions = 1;
  bool begins_reverse = false;
  std::vector<std::string> activations;  ///< of all directions, one after the other
  float clip = 0;                        ///< 0: none
  bool couples_forget = false, resets_product = false;
};

/// A graph that nodes go into: the one around, or the body of a Scan.
class NodeList {
 public:
  NodeList(ir::Model& model, ir::Graph& graph, ir::FreshNames& names, std::vector<ir::Node>& nodes, std::string stem)
      : model_(model), graph_(graph), names_(names), nodes_(nodes), stem_(std::move(stem)) {}

  ValueId fresh(std::string_view role) { return graph_.intern(names_.make(stem_ + "_" + std::string(role))); }
  ValueId add(std::string_view op, std::vector<ValueId> inputs, std::string_view role,
              const std::vector<ir::Attr>& attributes = {}, ValueId result = ValueId::none) {
    if (result == ValueId::none) result = fresh(role);
    nodes_.push_back(ir::make_node(model_, op, std::move(inputs), {result}, attributes));
    return result;
  }
  std::vector<ValueId> split(ValueId x, std::size_t count, std::string_view role) {
    if (count == 1) return {x};
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < count; ++i) parts.push_back(fresh(role));
    nodes_.push_back(ir::make_node(model_, "Split", {x}, parts, {{"axis", std::int64_t{-1}}}));
    return parts;
  }
  ValueId store(ir::Tensor tensor, std::string_view role) {
    const ValueId id = fresh(role);
    tensor.name = model_.keep(graph_.name_of(id));
    graph_.initializers.push_back(std::move(tensor));
    return id;
  }
  ValueId integers(const Integers& values, std::string_view role) {
    return store(ir::make_tensor(model_, std::span<const std::int64_t>(values)), role);
  }
  ValueId real(float value, std::string_view role) {
    return store(ir::make_tensor(model_, ElementType::float32, {}, std::as_bytes(std::span(&value, 1))), role);
  }
  void add_node(ir::Node node) { nodes_.push_back(std::move(node)); }
  ir::Graph& graph() { return graph_; }

 private:
  ir::Model& model_;
  ir::Graph& graph_;
  ir::FreshNames& names_;
  std::vector<ir::Node>& nodes_;
  std::string stem_;
};

bool has_no_parameters(std::string_view activation) {
  constexpr std::array<std::string_view, 6> known = {"Sigmoid", "Tanh", "Relu", "Softsign", "Softplus", "HardSigmoid"};
  return std::find(known.begin(), known.end(), activation) != known.end();
}

std::optional<Cell> cell_of(const ir::Node& node) {
  const auto integer = [&](std::string_view name, std::int64_t fallback) {
    const ir::Attribute* attribute = node.find_attribute(name);
    const auto* value = attribute ? attribute->as<std::int64_t>() : nullptr;
    return value ? *value : fallback;
  };
  Cell cell;
  const std::string_view op = node.op_type.view();
  cell.kind = op == "LSTM" ? CellKind::lstm : op == "GRU" ? CellKind::gru : CellKind::rnn;
  cell.gates = cell.kind == CellKind::lstm ? 4 : cell.kind == CellKind::gru ? 3 : 1;
  cell.hidden = integer("hidden_size", 0);
  cell.couples_forget = integer("input_forget", 0) != 0;
  cell.resets_product = integer("linear_before_reset", 0) != 0;
  if (integer("layout", 0) != 0 || cell.hidden < 1 || node.find_attribute("activation_alpha") ||
      node.find_attribute("activation_beta"))
    return std::nullopt;
  if (const ir::Attribute* clip = node.find_attribute("clip"); clip && clip->as<float>())
    cell.clip = *clip->as<float>();
  const ir::Attribute* direction = node.find_attribute("direction");
  const std::string_view way = direction && direction->as<Text>() ? direction->as<Text>()->view() : "forward";
  cell.directions = way == "bidirectional" ? 2 : 1;
  cell.begins_reverse = way == "reverse";
  const std::size_t functions = cell.kind == CellKind::lstm ? 3 : cell.kind == CellKind::gru ? 2 : 1;
  if (const ir::Attribute* given = node.find_attribute("activations")) {
    const auto* names = given->as<std::vector<Text>>();
    if (!names || names->size() != functions * cell.directions) return std::nullopt;
    for (const Text& name : *names) cell.activations.emplace_back(name.view());
  } else {
    for (std::size_t d = 0; d < cell.directions; ++d) {
      if (cell.kind != CellKind::rnn) cell.activations.emplace_back("Sigmoid");
      for (std::size_t f = cell.kind == CellKind::rnn ? 0 : 1; f < functions; ++f)
        cell.activations.emplace_back("Tanh");
    }
  }
  if (!std::all_of(cell.activations.begin(), cell.activations.end(), has_no_parameters)) return std::nullopt;
  return cell;
}

/// One node, written as a Scan for each direction.
class RecurrentNode {
 public:
  RecurrentNode(ir::Model& model, NodeList& outer, ir::FreshNames& names, const ir::InitializerTable& stored,
                const ir::Node& node, Cell cell, std::string stem)
      : model_(model),
        outer_(outer),
        names_(names),
        stored_(stored),
        node_(node),
        cell_(std::move(cell)),
        stem_(std::move(stem)) {}

  void write(bool has_lengths) {
    has_lengths_ = has_lengths;
    std::vector<std::vector<ValueId>> found(3);
    for (std::size_t d = 0; d < cell_.directions; ++d) write_direction(d, found);
    for (std::size_t o = 0; o < node_.outputs.size() && o < found.size(); ++o) {
      if (node_.outputs[o] == ValueId::none) continue;
      const ValueId axis = outer_.integers({o == 0 ? 1 : 0}, "direction_axis");
      std::vector<ValueId> parts;
      for (const ValueId part : found[o])
        parts.push_back(found[o].size() == 1 ? part : outer_.add("Unsqueeze", {part, axis}, "direction"));
      if (parts.size() == 1)
        outer_.add("Unsqueeze", {parts[0], axis}, "", {}, node_.outputs[o]);
      else
        outer_.add("Concat", parts, "", {{"axis", std::int64_t{o == 0 ? 1 : 0}}}, node_.outputs[o]);
    }
  }

 private:
  ValueId input(std::size_t i) const { return i < node_.inputs.size() ? node_.inputs[i] : ValueId::none; }

  /// That of one direction, without the axis of directions; stored where the whole is.
  ir::Tensor stored_part(const ir::Tensor& whole, std::size_t direction) {
    ir::Tensor part;
    part.data_type = whole.data_type;
    part.dims = Integers(whole.dims.begin() + 1, whole.dims.end());
    const std::string_view bytes = whole.raw_data.view();
    const std::size_t size = bytes.size() / static_cast<std::size_t>(whole.dims[0]);
    part.raw_data = Text(bytes.substr(direction * size, size));
    return part;
  }
  const ir::Tensor* stored_whole(std::size_t i) const {
    const ir::Tensor* whole = input(i) == ValueId::none ? nullptr : stored_.find(input(i));
    const bool fits = whole && layout::can_permute(*whole) && !whole->dims.empty() &&
                      whole->dims[0] == static_cast<std::int64_t>(cell_.directions);
    return fits ? whole : nullptr;
  }
  ValueId part(std::size_t i, std::size_t direction, std::string_view role) {
    if (const ir::Tensor* whole = stored_whole(i)) return outer_.store(stored_part(*whole, direction), role);
    const auto place = static_cast<std::int64_t>(direction);
    const ValueId index =
        outer_.store(ir::make_tensor(model_, ElementType::int64, {}, std::as_bytes(std::span(&place, 1))), "place");
    return outer_.add("Gather", {input(i), index}, role, {{"axis", std::int64_t{0}}});
  }
  /// Weights [gates hidden, inputs] as [inputs, gates hidden].
  ValueId turned_weights(std::size_t i, std::size_t direction, std::string_view role) {
    if (const ir::Tensor* whole = stored_whole(i); whole && whole->dims.size() == 3)
      return outer_.store(layout::permuted(model_, stored_part(*whole, direction), {1, 0}), role);
    return outer_.add("Transpose", {part(i, direction, role)}, role, {{"perm", Integers{1, 0}}});
  }

  /// [batch, hidden] of zeros, where the node is given none.
  ValueId initial(std::size_t i, std::size_t direction) {
    if (input(i) != ValueId::none) return part(i, direction, "initial");
    const ValueId shape = outer_.add("Shape", {input(0)}, "shape");
    const ValueId batch =
        outer_.add("Gather", {shape, outer_.integers({1}, "place")}, "batch", {{"axis", std::int64_t{0}}});
    const ValueId sizes =
        outer_.add("Concat", {batch, outer_.integers({cell_.hidden}, "hidden")}, "sizes", {{"axis", std::int64_t{0}}});
    return outer_.add("ConstantOfShape", {sizes}, "zeros");
  }

  /// Slices [begin, end) of the last axis.
  static ValueId cut(NodeList& list, ValueId x, std::int64_t begin, std::int64_t end) {
    return list.add("Slice",
                    {x, list.integers({begin}, "begin"), list.integers({end}, "end"), list.integers({-1}, "axis")},
                    "part");
  }

  /// Products with the whole input, and the biases that do not depend on states. `inner_bias`: the one that a reset gate applies to.
  ValueId products(std::size_t direction, ValueId& inner_bias) {
    ValueId all = outer_.add("MatMul", {input(0), turned_weights(1, direction, "weights")}, "products");
    if (input(3) == ValueId::none) return all;
    const ValueId bias = part(3, direction, "bias");
    const auto width = static_cast<std::int64_t>(cell_.gates) * cell_.hidden;
    all = outer_.add("Add", {all, cut(outer_, bias, 0, width)}, "biased");
    if (cell_.kind != CellKind::gru || !cell_.resets_product)
      return outer_.add("Add", {all, cut(outer_, bias, width, 2 * width)}, "biased");
    inner_bias = cut(outer_, bias, width, 2 * width);
    return all;
  }

  void write_direction(std::size_t d, std::vector<std::vector<ValueId>>& found) {
    ValueId inner_bias = ValueId::none;
    const ValueId along = products(d, inner_bias);
    captured_ = {};
    captured_.push_back(turned_weights(2, d, "recurrence"));
    captured_.push_back(inner_bias);
    captured_.push_back(input(7) == ValueId::none ? ValueId::none : part(7, d, "peepholes"));
    captured_.push_back(has_lengths_ ? input(4) : ValueId::none);
    std::vector<ValueId> inputs = {initial(5, d)}, outputs;
    const bool has_cell = cell_.kind == CellKind::lstm;
    if (has_cell) inputs.push_back(initial(6, d));
    inputs.push_back(along);
    if (has_lengths_) inputs.push_back(times());
    for (const char* role : {"state", "cell", "sequence"})
      if (has_cell || std::string_view(role) != "cell") outputs.push_back(outer_.fresh(role));
    if (node_.outputs.empty() || node_.outputs[0] == ValueId::none)
      outputs.back() = ValueId::none;  // states alone are asked for
    ir::Node scan = ir::make_node(model_, "Scan", inputs, outputs);
    scan.attributes.push_back(ir::make_attribute(model_, "body", body(d)));
    const std::int64_t sequences = has_lengths_ ? 2 : 1, backwards = d == 1 || cell_.begins_reverse ? 1 : 0;
    scan.attributes.push_back(ir::make_attribute(model_, {"num_scan_inputs", sequences}));
    scan.attributes.push_back(ir::make_attribute(
        model_, {"scan_input_directions", Integers(static_cast<std::size_t>(sequences), backwards)}));
    scan.attributes.push_back(ir::make_attribute(model_, {"scan_output_directions", Integers{backwards}}));
    outer_.add_node(std::move(scan));
    if (outputs.back() != ValueId::none) found[0].push_back(outputs.back());
    found[1].push_back(outputs.front());
    if (has_cell) found[2].push_back(outputs[1]);
  }

  /// 0, 1 ... as int32, one for each step.
  ValueId times() {
    const ValueId shape = outer_.add("Shape", {input(0)}, "shape");
    const std::int64_t zero = 0, one = 1;
    const auto scalar = [&](const std::int64_t& value) {
      return outer_.store(ir::make_tensor(model_, ElementType::int64, {}, std::as_bytes(std::span(&value, 1))),
                          "number");
    };
    const ValueId first = scalar(zero), step = scalar(one);
    const ValueId length = outer_.add("Gather", {shape, first}, "length", {{"axis", std::int64_t{0}}});
    return outer_.add("Cast", {outer_.add("Range", {first, length, step}, "steps")}, "times",
                      {{"to", static_cast<std::int64_t>(ElementType::int32)}});
  }

  // ---- one step

  std::unique_ptr<ir::Graph> body(std::size_t direction) {
    auto graph = std::make_unique<ir::Graph>();
    graph->name = model_.keep(stem_ + "_step");
    std::vector<ir::Node> nodes;
    NodeList list(model_, *graph, names_, nodes, stem_);
    const auto given = [&](std::string_view role) {
      const ValueId id = list.fresh(role);
      graph->inputs.push_back({.value = id, .type = {}, .doc_string = {}, .metadata_props = {}, .unknown_fields = {}});
      return id;
    };
    const bool has_cell = cell_.kind == CellKind::lstm;
    const ValueId state = given("state"), memory = has_cell ? given("cell") : ValueId::none,
                  products = given("product");
    const ValueId time = has_lengths_ ? given("time") : ValueId::none;
    direction_ = direction;
    const auto [next, next_memory] = step(list, state, memory, products);
    std::vector<ValueId> results = {next};
    if (has_cell) results.push_back(next_memory);
    ValueId shown = list.add("Identity", {next}, "shown");
    if (has_lengths_) {
      const ValueId goes_on =
          list.add("Unsqueeze", {list.add("Less", {time, outside(list, 3)}, "is_within"), list.integers({1}, "axis")},
                   "goes_on");
      shown = list.add("Where", {goes_on, next, list.real(0, "zero")}, "shown");
      results[0] = list.add("Where", {goes_on, next, state}, "next");
      if (has_cell) results[1] = list.add("Where", {goes_on, next_memory, memory}, "next_cell");
    }
    results.push_back(shown);
    for (const ValueId id : results)
      graph->outputs.push_back({.value = id, .type = {}, .doc_string = {}, .metadata_props = {}, .unknown_fields = {}});
    graph->nodes = std::move(nodes);
    graph->intern_initializers();
    return graph;
  }

  /// A value of the graph around, seen from the body.
  ValueId outside(NodeList& list, std::size_t which) {
    return list.graph().intern(model_.keep(outer_.graph().name_of(captured_[which])));
  }
  bool has_outside(std::size_t which) const { return captured_[which] != ValueId::none; }

  ValueId activated(NodeList& list, ValueId x, std::size_t function) {
    const std::size_t functions = cell_.activations.size() / cell_.directions;
    if (cell_.clip > 0)
      x = list.add("Clip", {x, list.real(-cell_.clip, "least"), list.real(cell_.clip, "most")}, "clipped");
    return list.add(cell_.activations[direction_ * functions + function], {x}, "gate");
  }

  std::pair<ValueId, ValueId> step(NodeList& list, ValueId state, ValueId memory, ValueId products) {
    if (cell_.kind == CellKind::gru) return {gru_step(list, state, products), ValueId::none};
    const ValueId recurrent = list.add("MatMul", {state, outside(list, 0)}, "recurrent");
    const ValueId sum = list.add("Add", {products, recurrent}, "sum");
    if (cell_.kind == CellKind::rnn) return {activated(list, sum, 0), ValueId::none};
    return lstm_step(list, memory, sum);
  }

  std::pair<ValueId, ValueId> lstm_step(NodeList& list, ValueId memory, ValueId sum) {
    const std::vector<ValueId> gates = list.split(sum, 4, "gates");  // input, output, forget, cell
    std::vector<ValueId> peepholes;
    if (has_outside(2)) peepholes = list.split(outside(list, 2), 3, "peephole");
    const auto looked = [&](ValueId gate, std::size_t peephole, ValueId at) {
      if (peepholes.empty()) return gate;
      return list.add("Add", {gate, list.add("Mul", {peepholes[peephole], at}, "seen")}, "sum");
    };
    const ValueId in = activated(list, looked(gates[0], 0, memory), 0);
    const ValueId kept = cell_.couples_forget ? list.add("Sub", {list.real(1, "one"), in}, "kept")
                                              : activated(list, looked(gates[2], 2, memory), 0);
    const ValueId candidate = activated(list, gates[3], 1);
    const ValueId next =
        list.add("Add", {list.add("Mul", {kept, memory}, "old"), list.add("Mul", {in, candidate}, "new")}, "next_cell");
    const ValueId out = activated(list, looked(gates[1], 1, next), 0);
    const std::size_t functions = cell_.activations.size() / cell_.directions;
    const ValueId shown = list.add(cell_.activations[direction_ * functions + 2], {next}, "shown_cell");
    return {list.add("Mul", {out, shown}, "next"), next};
  }

  ValueId gru_step(NodeList& list, ValueId state, ValueId products) {
    const std::vector<ValueId> given = list.split(products, 3, "given");  // update, reset, hidden
    ValueId update, reset, inner;
    if (cell_.resets_product) {
      ValueId recurrent = list.add("MatMul", {state, outside(list, 0)}, "recurrent");
      if (has_outside(1)) recurrent = list.add("Add", {recurrent, outside(list, 1)}, "recurrent_biased");
      const std::vector<ValueId> own = list.split(recurrent, 3, "own");
      update = activated(list, list.add("Add", {given[0], own[0]}, "sum"), 0);
      reset = activated(list, list.add("Add", {given[1], own[1]}, "sum"), 0);
      inner = list.add("Mul", {reset, own[2]}, "reset_product");
    } else {
      const std::int64_t width = cell_.hidden;
      const ValueId gates = cut(list, outside(list, 0), 0, 2 * width),
                    last = cut(list, outside(list, 0), 2 * width, 3 * width);
      const std::vector<ValueId> own = list.split(list.add("MatMul", {state, gates}, "recurrent"), 2, "own");
      update = activated(list, list.add("Add", {given[0], own[0]}, "sum"), 0);
      reset = activated(list, list.add("Add", {given[1], own[1]}, "sum"), 0);
      inner = list.add("MatMul", {list.add("Mul", {reset, state}, "reset_state"), last}, "recurrent_hidden");
    }
    const ValueId candidate = activated(list, list.add("Add", {given[2], inner}, "sum"), 1);
    const ValueId rest = list.add("Sub", {list.real(1, "one"), update}, "rest");
    return list.add("Add", {list.add("Mul", {rest, candidate}, "new"), list.add("Mul", {update, state}, "old")},
                    "next");
  }

  ir::Model& model_;
  NodeList& outer_;
  ir::FreshNames& names_;
  const ir::InitializerTable& stored_;
  const ir::Node& node_;
  const Cell cell_;
  const std::string stem_;
  bool has_lengths_ = false;
  std::size_t direction_ = 0;
  std::vector<ValueId> captured_;  ///< recurrent weights, inner bias, peepholes, lengths
};

/// Sequences are as long as the input says unless some may be shorter.
bool may_be_shorter(const checker::InferredModel& inferred, const ir::Graph& graph, const ir::Node& node) {
  if (node.inputs.size() <= 4 || node.inputs[4] == ValueId::none) return false;
  const checker::ValueInfo *lengths = inferred.find(graph, node.inputs[4]), *x = inferred.find(graph, node.inputs[0]);
  if (!lengths || !lengths->value || !x || !x->type.shape || x->type.shape->empty()) return true;
  const auto known = lengths->value->constants();
  return !known || std::any_of(known->begin(), known->end(),
                               [&](std::int64_t length) { return !(*x->type.shape)[0].is(length); });
}

}  // namespace

bool write_recurrent(ir::Model& model) {
  const auto is_recurrent = [](const ir::Node& node) {
    return ir::canonical_domain(node.domain.view()).empty() &&
           (node.op_type == "LSTM" || node.op_type == "GRU" || node.op_type == "RNN");
  };
  const auto scopes = ir::graph_scopes(model);
  if (std::none_of(scopes.begin(), scopes.end(), [&](const auto& scope) {
        return std::any_of(scope->graph->nodes.begin(), scope->graph->nodes.end(), is_recurrent);
      }))
    return false;
  bool any = false;
  const spec::OpTable table;
  checker::Collector collector;
  const checker::InferredModel inferred = checker::infer_types(model, table, {}, collector);
  const std::vector<ir::Graph*> graphs = ir::mutable_graphs(model);
  ir::FreshNames names(model);
  for (std::size_t g = graphs.size(); g-- > 0;) {
    ir::Graph& graph = *graphs[g];
    if (scopes[g]->function || scopes[g]->is_training) continue;
    std::vector<ir::Node> nodes, old = std::move(graph.nodes);
    for (ir::Node& node : old) {
      const auto cell = is_recurrent(node) ? cell_of(node) : std::nullopt;
      const checker::ValueInfo* x = cell ? inferred.find(graph, node.inputs[0]) : nullptr;
      if (!cell || !x || x->type.elem != ElementType::float32) {
        nodes.push_back(std::move(node));
        continue;
      }
      const ir::InitializerTable stored(graph);
      const auto first =
          std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id != ValueId::none; });
      if (first == node.outputs.end()) continue;
      const std::string stem(graph.name_of(*first));
      const bool has_lengths = may_be_shorter(inferred, graph, node);
      NodeList outer(model, graph, names, nodes, stem);
      RecurrentNode(model, outer, names, stored, node, *cell, stem).write(has_lengths);
      graph.intern_initializers();
      any = true;
    }
    graph.nodes = std::move(nodes);
  }
  return any;
}

}  // namespace onnxkit::legalize
