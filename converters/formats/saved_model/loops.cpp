#include "converters/formats/saved_model/loops.h"

#include <algorithm>
#include <unordered_map>

#include "converters/formats/saved_model/graph_index.h"

namespace onnxkit::saved_model {
namespace {

Graph* body_of(Node& node, std::string_view name) {
  for (Argument& argument : node.arguments)
    if (argument.name == name)
      if (auto* graph = std::get_if<std::unique_ptr<Graph>>(&argument.content)) return graph->get();
  return nullptr;
}

bool is_number(const GraphIndex& index, ValueId value, std::int64_t number) {
  const auto content = index.integers(value);
  return content && content->size() == 1 && content->front() == number;
}

/// Where a value is among the inputs of a graph.
std::optional<std::size_t> input_place(const Graph& graph, ValueId value) {
  const auto at = std::find(graph.inputs.begin(), graph.inputs.end(), value);
  if (value == ValueId::none || at == graph.inputs.end()) return std::nullopt;
  return static_cast<std::size_t>(at - graph.inputs.begin());
}

/// Arrays of TensorFlow 1 are lists.
bool reserves_list(const Node& node) { return node.op == "TensorListReserve" || node.op == "TensorArrayV3"; }
bool writes_element(const Node& node) { return node.op == "TensorListSetItem" || node.op == "TensorArrayWriteV3"; }

/// The element that a node writes into a list.
ValueId written_item(const Node& node) {
  return given_value(node, node.op == "TensorListPushBack" ? "tensor" : "item");
}

/// What is done with a value that a loop passes on.
enum class Passing : std::uint8_t { carried, constant, gathered, overwritten };

class LoopReader {
 public:
  LoopReader(Graph& graph, GraphIndex& outside, Node& node, Graph& condition, Graph& body,
             const std::vector<ValueId>& operands)
      : graph_(graph),
        outside_(outside),
        node_(node),
        condition_(condition),
        body_(body),
        in_condition_(condition),
        in_body_(body),
        operands_(operands) {}

  /// Rewrites the node; the map tells what stands for results that are constants.
  void rewrite(std::unordered_map<ValueId, ValueId>& replaced) {
    std::vector<Passing> kinds;
    for (std::size_t i = 0; i < operands_.size(); ++i) kinds.push_back(kind_of(i));
    add_counters();
    add_counts(kinds);
    add_values(kinds, replaced);
    reorder(condition_, kinds, false);
    reorder(body_, kinds, true);
    std::erase_if(node_.arguments, [](const Argument& argument) { return argument.name == "inputs"; });
  }

 private:
  Passing kind_of(std::size_t i) const {
    if (body_.outputs[i].value == body_.inputs[i]) return Passing::constant;
    const Node* reserved = outside_.writer(operands_[i]);
    const Node* written = in_body_.writer(body_.outputs[i].value);
    if (!reserved || !written || given_value(*written, "input_handle") != body_.inputs[i] ||
        in_body_.uses(body_.inputs[i]) != 1 || in_body_.uses(body_.outputs[i].value) != 1 ||
        in_condition_.uses(condition_.inputs[i]) != 0)
      return Passing::carried;
    if (reserved->op == "EmptyTensorList" && written->op == "TensorListPushBack") return Passing::gathered;
    if (!reserves_list(*reserved) || !writes_element(*written)) return Passing::carried;
    const ValueId index = given_value(*written, "index");
    if (is_number(in_body_, index, 0) && is_number(outside_, given_value(*reserved, "num_elements"), 1))
      return Passing::overwritten;
    const auto counter = input_place(body_, index);
    return counter && counts_up(*counter) && is_number(outside_, operands_[*counter], 0) ? Passing::gathered
                                                                                         : Passing::carried;
  }

  /// Whether every pass adds one.
  bool counts_up(std::size_t i) const {
    const Node* sum = in_body_.writer(body_.outputs[i].value);
    if (!sum || (sum->op != "AddV2" && sum->op != "Add")) return false;
    const ValueId x = given_value(*sum, "x"), y = given_value(*sum, "y"), counter = body_.inputs[i];
    return (x == counter && is_number(in_body_, y, 1)) || (y == counter && is_number(in_body_, x, 1));
  }

  /// Counters and limits of a condition that compares only such.
  void add_counters() {
    if (condition_.outputs.size() != 1) return;
    std::vector<ValueId> pending = {condition_.outputs.front().value};
    Argument::List starts, limits;
    while (!pending.empty()) {
      const Node* test = in_condition_.writer(pending.back());
      pending.pop_back();
      if (!test) return;
      if (test->op == "LogicalAnd") {
        pending.insert(pending.end(), {given_value(*test, "x"), given_value(*test, "y")});
        continue;
      }
      const auto counter = input_place(condition_, given_value(*test, "x"));
      const ValueId limit = test->op == "Less" ? outside_value(given_value(*test, "y")) : ValueId::none;
      if (!counter || !counts_up(*counter) || limit == ValueId::none) return;
      starts.push_back({operands_[*counter]});
      limits.push_back({limit});
    }
    node_.arguments.push_back({std::move(starts), "starts"});
    node_.arguments.push_back({std::move(limits), "limits"});
  }

  /// What a value of the condition that no pass changes is outside of the loop.
  ValueId outside_value(ValueId value) {
    if (const auto place = input_place(condition_, value))
      return body_.outputs[*place].value == body_.inputs[*place] ? operands_[*place] : ValueId::none;
    const Tensor* constant = in_condition_.tensor(value);
    return constant ? outside_.add_view(*constant, constant->dims) : ValueId::none;
  }

  static bool is_gathered(Passing kind) { return kind == Passing::gathered || kind == Passing::overwritten; }

  void add_counts(const std::vector<Passing>& kinds) {
    Argument::List counts, keeps_last;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (!is_gathered(kinds[i])) continue;
      counts.push_back({given_value(*outside_.writer(operands_[i]), "num_elements")});
      keeps_last.push_back({kinds[i] == Passing::overwritten});
    }
    node_.arguments.push_back({std::move(counts), "counts"});
    node_.arguments.push_back({std::move(keeps_last), "keeps_last"});
  }

  void add_values(const std::vector<Passing>& kinds, std::unordered_map<ValueId, ValueId>& replaced) {
    Argument::List carried, constants, shapes;
    std::vector<ValueId> results, gathered;
    const Argument* declared = node_.find("output_shapes");
    const auto* all_shapes = declared ? declared->as<Argument::List>() : nullptr;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const ValueId result = i < node_.outputs.size() ? node_.outputs[i] : graph_.add_value({});
      if (kinds[i] == Passing::constant) {
        constants.push_back({operands_[i]});
        replaced.emplace(result, operands_[i]);
      } else if (is_gathered(kinds[i])) {
        gathered.push_back(result);
      } else {
        carried.push_back({operands_[i]});
        results.push_back(result);
        shapes.push_back(all_shapes && i < all_shapes->size() ? copied((*all_shapes)[i]) : Argument());
      }
    }
    results.insert(results.end(), gathered.begin(), gathered.end());
    node_.outputs = std::move(results);
    std::erase_if(node_.arguments, [](const Argument& argument) { return argument.name == "output_shapes"; });
    node_.arguments.push_back({std::move(carried), "carried"});
    node_.arguments.push_back({std::move(constants), "constants"});
    if (all_shapes) node_.arguments.push_back({std::move(shapes), "output_shapes"});
  }

  static Argument copied(const Argument& shape) {
    const auto* sizes = shape.as<Argument::List>();
    if (!sizes) return {};
    Argument::List list;
    for (const Argument& size : *sizes) list.push_back({size.as<std::int64_t>() ? *size.as<std::int64_t>() : -1});
    return {std::move(list)};
  }

  /// Inputs: what is carried, then constants. Outputs of the body: what is carried, then elements of lists.
  void reorder(Graph& graph, const std::vector<Passing>& kinds, bool is_body) {
    std::vector<ValueId> carried, constants, items;
    std::vector<foreign::Output> outputs;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] == Passing::carried) {
        carried.push_back(graph.inputs[i]);
        if (is_body) outputs.push_back(graph.outputs[i]);
      } else if (kinds[i] == Passing::constant) {
        constants.push_back(graph.inputs[i]);
      } else if (is_body) {
        items.push_back(written_item(*in_body_.writer(graph.outputs[i].value)));
      }
    }
    carried.insert(carried.end(), constants.begin(), constants.end());
    for (const ValueId item : items) outputs.push_back({item, {}});
    graph.inputs = std::move(carried);
    if (is_body) graph.outputs = std::move(outputs);
  }

  Graph& graph_;
  GraphIndex& outside_;
  Node& node_;
  Graph& condition_;
  Graph& body_;
  GraphIndex in_condition_, in_body_;
  const std::vector<ValueId>& operands_;
};

void replace_values(Argument& argument, const std::unordered_map<ValueId, ValueId>& replaced) {
  if (auto* value = std::get_if<ValueId>(&argument.content)) {
    if (const auto found = replaced.find(*value); found != replaced.end()) *value = found->second;
  } else if (auto* list = std::get_if<Argument::List>(&argument.content)) {
    for (Argument& item : *list) replace_values(item, replaced);
  }
}

void rewrite_loop(Graph& graph, GraphIndex& index, Node& node, std::unordered_map<ValueId, ValueId>& replaced) {
  if (node.op != "While" && node.op != "StatelessWhile") return;
  Graph *condition = body_of(node, "cond"), *body = body_of(node, "body");
  const Argument* inputs = node.find("inputs");
  std::vector<ValueId> operands;
  if (const auto* list = inputs ? inputs->as<Argument::List>() : nullptr)
    for (const Argument& item : *list)
      if (const auto* id = item.as<ValueId>()) operands.push_back(*id);
  if (!condition || !body || condition->inputs.size() != operands.size() || body->inputs.size() != operands.size() ||
      body->outputs.size() != operands.size() || node.outputs.size() > operands.size())
    return;  // the mapping refuses it
  LoopReader(graph, index, node, *condition, *body, operands).rewrite(replaced);
}

/// 0, 1, ... up to a limit; none for other values.
ValueId limit_of_range(const GraphIndex& index, ValueId value) {
  const Node* range = index.writer(value, "Range");
  if (!range || !is_number(index, given_value(*range, "start"), 0) ||
      !is_number(index, given_value(*range, "delta"), 1))
    return ValueId::none;
  return given_value(*range, "limit");
}

}  // namespace

void resolve_arrays(Graph& graph) {
  for_each_body(graph, resolve_arrays);
  const GraphIndex index(graph);
  for (Node& node : graph.nodes) {
    const ValueId limit = limit_of_range(index, given_value(node, "indices"));
    if (limit == ValueId::none) continue;
    if (node.op == "TensorArrayScatterV3") node.op = "TensorListFromTensor";
    if (node.op == "TensorArrayGatherV3" && index.writer(limit, "TensorArraySizeV3")) node.op = "TensorListStack";
  }
}

void resolve_loops(Graph& graph) {
  for_each_body(graph, resolve_loops);
  GraphIndex index(graph);
  std::unordered_map<ValueId, ValueId> replaced;
  for (Node& node : graph.nodes) {
    for (Argument& argument : node.arguments) replace_values(argument, replaced);
    rewrite_loop(graph, index, node, replaced);
  }
  for (foreign::Output& output : graph.outputs)
    if (const auto found = replaced.find(output.value); found != replaced.end()) output.value = found->second;
}

}  // namespace onnxkit::saved_model
