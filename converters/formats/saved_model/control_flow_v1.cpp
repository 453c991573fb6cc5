#include "converters/formats/saved_model/control_flow_v1.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "converters/formats/saved_model/scopes.h"
#include "converters/formats/saved_model/table_editor.h"

namespace onnxkit::saved_model {
namespace {

/// Operators on references to variables are the same as on values here.
bool is(const NodeDef& node, std::string_view op) {
  return node.op == op || (node.op.starts_with("Ref") && node.op.substr(3) == op);
}

/// The input of this number among those that are tensors; empty when there is none.
std::string_view data_input(const NodeDef& node, std::size_t number) {
  for (const std::string_view input : node.inputs)
    if (!is_control(input) && number-- == 0) return input;
  return {};
}

enum class State : std::uint8_t { unseen, open, done, failed };

/// The value that a branch asks, behind nodes that only pass it on.
using Condition = std::pair<NodeDef*, std::size_t>;

struct Loop {
  NodeDef* condition = nullptr;  ///< LoopCond
  std::vector<NodeDef*> switches = {};
  State state = State::unseen;
};
struct LoopVariable {
  NodeDef* merge = nullptr;
  NodeDef* next = nullptr;
  std::string_view start;
};
/// What the functions of a loop have in common.
struct LoopParts {
  std::string_view frame = {};
  std::vector<LoopVariable> variables = {};
  std::unordered_map<const NodeDef*, std::size_t> places = {};  ///< of variables, by Merge
  std::vector<NodeDef*> captured = {};                          ///< Enter nodes of values that no pass changes
  std::unordered_set<const NodeDef*> seen = {};                 ///< the same
};

/// A Merge behind two branches.
struct Branch {
  State state = State::unseen;
  bool is_analysed = false, is_sound = false;
  Condition condition = {};
  std::string_view condition_input = {};
  std::size_t then_input = 0;
};
/// What the branches of one condition have in common.
struct BranchParts {
  Condition condition;
  std::vector<std::string_view> operands = {};
  std::unordered_map<std::string_view, std::string_view> parameters = {};  ///< by operand
};

class Restructurer {
 public:
  Restructurer(TableEditor& table, std::size_t& steps) : table_(table), steps_(steps) {}

  /// False when the steps do not suffice.
  bool run() {
    index();
    for (NodeDef* loop : loops_in_order_) settle(loops_.at(loop));
    for (NodeDef* merge : merges_in_order_) settle_branch(*merge);
    return steps_ > 0;
  }

 private:
  static constexpr std::size_t most_depth = 48;

  bool step(std::size_t count = 1) {
    steps_ -= std::min(steps_, count);
    return steps_ > 0;
  }

  NodeDef* node_of(std::string_view input) const {
    const auto at = table_.resolve(input);
    return at ? at->node : nullptr;
  }
  NodeDef* input_node(const NodeDef& node, std::size_t number) const { return node_of(data_input(node, number)); }

  void index() {
    for (NodeDef& node : table_.nodes())
      if (is(node, "LoopCond")) {
        loops_.emplace(&node, Loop{&node});
        loops_in_order_.push_back(&node);
      }
    for (NodeDef& node : table_.nodes()) {
      for (const std::string_view input : node.inputs) {
        const auto at = is_control(input) ? std::nullopt : table_.resolve(input);
        if (at && at->node && at->index != 0 && is(*at->node, "Merge")) indexed_.insert(at->node);
      }
      if (is(node, "Switch")) {
        const auto loop = loops_.find(input_node(node, 1));
        if (loop != loops_.end()) loop->second.switches.push_back(&node);
      } else if (is(node, "Exit")) {
        exits_[input_node(node, 0)].push_back(&node);
      } else if (is(node, "Merge") && !is_of_loop(node)) {
        branches_.emplace(&node, Branch{});
        merges_in_order_.push_back(&node);
        scopes_[scope_of(node)].push_back(&node);
      }
    }
  }

  bool is_of_loop(const NodeDef& merge) const {
    return std::any_of(merge.inputs.begin(), merge.inputs.end(), [&](std::string_view input) {
      const NodeDef* node = node_of(input);
      return node && is(*node, "NextIteration");
    });
  }

  static std::string_view scope_of(const NodeDef& node) {
    const auto slash = node.name.rfind('/');
    return slash == node.name.npos ? std::string_view() : node.name.substr(0, slash);
  }

  /// Puts an Exit or a Merge behind branches in the new form. False when its loop or branch does not have one.
  bool settle(NodeDef& node) {
    if (is(node, "Exit")) {
      NodeDef* exited = input_node(node, 0);
      NodeDef* condition = exited && is(*exited, "Switch") ? input_node(*exited, 1) : nullptr;
      const auto loop = loops_.find(condition);
      return loop != loops_.end() && settle(loop->second);
    }
    return !branches_.contains(&node) || settle_branch(node);
  }

  /// What is left of either form when all of it that could be is in the new one.
  static bool is_loose(const NodeDef& node) {
    return is(node, "Switch") || is(node, "Merge") || is(node, "Enter") || is(node, "Exit") ||
           is(node, "NextIteration") || is(node, "LoopCond");
  }

  // ---- bodies

  /// Copies what results need into a function. `name_inside` tells what an input is there: the name of a parameter, empty for what is
  /// copied, nullopt for what may not be there.
  template <class NameInside>
  bool copy(FunctionDef& function, const std::vector<std::string_view>& results, NameInside name_inside) {
    std::unordered_set<const NodeDef*> seen;
    std::vector<const NodeDef*> pending;
    const auto inside = [&](std::string_view input) -> std::optional<std::string_view> {
      const auto at = table_.resolve(input);
      if (!at) return std::nullopt;
      const std::optional<std::string_view> parameter = name_inside(*at, input);
      if (!parameter || !parameter->empty()) return parameter;
      if (seen.insert(at->node).second) pending.push_back(at->node);
      return input;
    };
    for (const std::string_view result : results) {
      const auto name = inside(result);
      if (!name) return false;
      function.results.push_back(*name);
    }
    while (!pending.empty()) {
      const NodeDef& node = *pending.back();
      pending.pop_back();
      if (!step(1 + node.inputs.size() + node.attributes.size())) return false;
      NodeDef copied{node.name, node.op, {}, node.attributes};
      for (const std::string_view input : node.inputs) {
        if (is_control(input)) continue;
        const auto name = inside(input);
        if (!name) return false;
        copied.inputs.push_back(*name);
      }
      function.table.nodes.push_back(std::move(copied));
    }
    return true;
  }

  static void complete(FunctionDef& function, const std::vector<std::string_view>& parameters) {
    function.parameters = parameters;
    for (std::size_t i = 0; i < parameters.size(); ++i) function.parameter_places.emplace(parameters[i], i);
    function.table.index();
  }

  /// A node takes the place of another of the old form.
  void replace(NodeDef& old, const NodeDef& by, std::size_t output) {
    old.op = "Identity";
    old.inputs = {table_.keep(fmt::format("{}:{}", by.name, output))};
  }

  // ---- loops

  bool settle(Loop& loop) {
    if (loop.state != State::unseen) return loop.state == State::done;
    loop.state = State::open;
    const bool is_sound = depth_ < most_depth && convert(loop);
    loop.state = is_sound ? State::done : State::failed;
    return is_sound;
  }

  /// Whether a Merge at the start of each pass is a variable of this loop.
  bool is_variable(LoopParts& parts, NodeDef& merge) const {
    if (parts.places.contains(&merge)) return true;
    NodeDef *enter = input_node(merge, 0), *next = input_node(merge, 1);
    if (enter && is(*enter, "NextIteration")) std::swap(enter, next);
    if (!enter || !next || !is(*enter, "Enter") || !is(*next, "NextIteration")) return false;
    const std::string_view frame = text_of_attribute(enter->attribute("frame_name")), start = data_input(*enter, 0);
    if (parts.variables.empty()) parts.frame = frame;
    if (frame != parts.frame || start.empty() || data_input(*next, 0).empty()) return false;
    parts.places.emplace(&merge, parts.variables.size());
    parts.variables.push_back({&merge, next, start});
    return true;
  }

  std::optional<std::string_view> name_in_loop(const Loop& loop, LoopParts& parts, const Reference& at) {
    if (!at.node || !settle(*at.node)) return std::nullopt;
    NodeDef* node = at.node;
    if (is(*node, "Switch") && at.index == 1 && input_node(*node, 1) == loop.condition) {
      node = input_node(*node, 0);
    } else if (is(*node, "Enter") && text_of_attribute(node->attribute("frame_name")) == parts.frame) {
      if (data_input(*node, 0).empty()) return std::nullopt;
      if (parts.seen.insert(node).second) parts.captured.push_back(node);
      return node->name;
    }
    if (node && is(*node, "Merge")) return is_variable(parts, *node) ? std::optional(node->name) : std::nullopt;
    if (!node || is_loose(*node)) return std::nullopt;
    return std::string_view();
  }

  bool convert(const Loop& loop) {
    LoopParts parts;
    for (const NodeDef* passed : loop.switches) {
      NodeDef* merge = input_node(*passed, 0);
      if (!merge || !is(*merge, "Merge") || !is_variable(parts, *merge)) return false;
    }
    FunctionDef condition, body;
    const auto name_inside = [&](const Reference& at, std::string_view) { return name_in_loop(loop, parts, at); };
    ++depth_;
    bool is_sound = copy(condition, {data_input(*loop.condition, 0)}, name_inside);
    while (is_sound && body.results.size() < parts.variables.size()) {  // a variable may first be met in the body
      body = {};
      std::vector<std::string_view> results;
      for (const LoopVariable& variable : parts.variables) results.push_back(data_input(*variable.next, 0));
      is_sound = copy(body, results, name_inside);
    }
    --depth_;
    if (!is_sound || parts.variables.empty()) return false;
    add_loop(loop, parts, std::move(condition), std::move(body));
    return true;
  }

  void add_loop(const Loop& loop, const LoopParts& parts, FunctionDef condition, FunctionDef body) {
    NodeDef& made = table_.add(parts.frame.empty() ? loop.condition->name : parts.frame, "While");
    std::vector<std::string_view> parameters;
    for (const LoopVariable& variable : parts.variables) {
      parameters.push_back(variable.merge->name);
      made.inputs.push_back(variable.start);
    }
    for (const NodeDef* enter : parts.captured) {
      parameters.push_back(enter->name);
      made.inputs.push_back(data_input(*enter, 0));
      body.results.push_back(enter->name);
    }
    for (auto [attribute, function] : {std::pair{"cond", &condition}, std::pair{"body", &body}}) {
      complete(*function, parameters);
      made.attributes.emplace_back(attribute, add_function(made, attribute, std::move(*function)));
    }
    for (const NodeDef* passed : loop.switches)
      if (const auto exits = exits_.find(passed); exits != exits_.end())
        for (NodeDef* exit : exits->second) replace(*exit, made, parts.places.at(input_node(*passed, 0)));
  }

  /// The bytes of the attribute that names it.
  std::string_view add_function(const NodeDef& node, std::string_view attribute, FunctionDef function) {
    FunctionDef& added = table_.add_function(fmt::format("{}/{}", node.name, attribute));
    function.name = added.name;
    added = std::move(function);
    return table_.function_attribute(added.name);
  }

  // ---- branches

  Condition condition_of(std::string_view input) const {
    auto at = table_.resolve(input);
    for (int passed = 0; passed < 16 && at && at->node && at->node->op == "Identity"; ++passed)
      at = table_.resolve(data_input(*at->node, 0));
    return at ? Condition{at->node, at->index} : Condition{};
  }

  /// The condition that a Switch asks; no node when it belongs to a loop.
  Condition asked_by(const NodeDef& node) const {
    const NodeDef* direct = input_node(node, 1);
    return !direct || is(*direct, "LoopCond") ? Condition{} : condition_of(data_input(node, 1));
  }

  /// Conditions of the Switches that a value depends on, with the output that it needs and the input that names the condition.
  using Asked = std::map<Condition, std::pair<std::size_t, std::string_view>>;
  bool find_conditions(std::string_view result, bool follow_control, Asked& asked) {
    std::unordered_set<NodeDef*> seen;
    std::vector<Reference> pending;
    const auto start = table_.resolve(result);
    if (start) pending.push_back(*start);
    while (!pending.empty()) {
      const Reference at = pending.back();
      pending.pop_back();
      if (!at.node || (!is(*at.node, "Switch") && !seen.insert(at.node).second)) continue;
      if (!step(1 + at.node->inputs.size()) || !settle(*at.node)) return false;
      if (is(*at.node, "Switch")) {
        const Condition condition = asked_by(*at.node);
        if (condition.first) asked.emplace(condition, std::pair{at.index, data_input(*at.node, 1)});
      }
      if (is_loose(*at.node)) continue;
      for (const std::string_view input : at.node->inputs)
        if (const auto before = table_.resolve(input); before && (follow_control || !is_control(input)))
          pending.push_back(*before);
    }
    return true;
  }

  /// Which condition decides what a Merge gives.
  bool analyse(NodeDef& merge, Branch& branch) {
    if (branch.is_analysed) return branch.is_sound;
    branch.is_analysed = true;
    if (data_input(merge, 1).empty() || !data_input(merge, 2).empty() || indexed_.contains(&merge)) return false;
    Asked asked[2];
    for (std::size_t side = 0; side < 2; ++side) {
      if (!find_conditions(data_input(merge, side), false, asked[side])) return false;
      if (asked[side].empty() && !find_conditions(data_input(merge, side), true, asked[side])) return false;
    }
    for (std::size_t side = 0; side < 2; ++side)
      for (const auto& [condition, how] : asked[side]) {
        const auto other = asked[1 - side].find(condition);
        const bool is_lone = asked[1 - side].empty() && asked[side].size() == 1;
        if (other == asked[1 - side].end() ? !is_lone : other->second.first == how.first) continue;
        if (branch.is_sound && branch.condition != condition) return false;
        branch.is_sound = true;
        branch.condition = condition;
        branch.condition_input = how.second;
        branch.then_input = how.first == 1 ? side : 1 - side;
      }
    return branch.is_sound;
  }

  bool settle_branch(NodeDef& merge) {
    Branch& branch = branches_.at(&merge);
    if (branch.state != State::unseen) return branch.state == State::done;
    branch.state = State::open;
    ++depth_;
    const bool is_sound = depth_ < most_depth && analyse(merge, branch) && convert(merge, branch);
    --depth_;
    branch.state = is_sound ? State::done : State::failed;
    return is_sound;
  }

  /// The other results of the same branches, and this one.
  std::vector<NodeDef*> results_beside(NodeDef& merge, const Branch& branch) {
    std::vector<NodeDef*> results = {&merge};
    for (NodeDef* other : scopes_.at(scope_of(merge))) {
      Branch& beside = branches_.at(other);
      if (!step()) return results;
      if (beside.state == State::unseen && analyse(*other, beside) && beside.state == State::unseen &&
          beside.condition == branch.condition)
        results.push_back(other);
    }
    return results;
  }

  bool convert(NodeDef& merge, const Branch& branch) {
    const std::vector<NodeDef*> merges = results_beside(merge, branch);
    const auto mark = [&](State state) {
      for (const NodeDef* one : merges) branches_.at(one).state = state;
    };
    mark(State::open);
    const bool is_sound = convert_together(merges, branch);
    mark(is_sound ? State::done : State::unseen);
    branches_.at(&merge).state = State::open;
    // One may need another: each for itself, then.
    return is_sound || (merges.size() > 1 && convert_together({&merge}, branch));
  }

  bool convert_together(const std::vector<NodeDef*>& merges, const Branch& branch) {
    const std::optional<bool> known = constant_condition(branch.condition);
    BranchParts parts{branch.condition};
    FunctionDef sides[2];
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      if (known && *known != (side == 1)) continue;
      std::vector<std::string_view> results;
      for (const NodeDef* result : merges) {
        const std::size_t then_input = branches_.at(result).then_input;
        results.push_back(data_input(*result, side == 1 ? then_input : 1 - then_input));
      }
      std::unordered_map<const NodeDef*, bool> depends;
      const auto name_inside = [&, side](const Reference& at, std::string_view input) {
        return name_in_branch(parts, depends, side, at, input);
      };
      if (!copy(sides[side], results, name_inside)) return false;
    }
    add_branches(merges, branch, parts, known, sides);
    return true;
  }

  void add_branches(const std::vector<NodeDef*>& merges, const Branch& branch, const BranchParts& parts,
                    std::optional<bool> known, FunctionDef (&sides)[2]) {
    std::vector<std::string_view> parameters;
    for (const std::string_view operand : parts.operands) parameters.push_back(parts.parameters.at(operand));
    for (FunctionDef& side : sides) complete(side, parameters);
    NodeDef& made =
        table_.add(fmt::format("{}/branches", scope_of(*merges.front())), known ? "StatefulPartitionedCall" : "If");
    if (known) {
      made.attributes.emplace_back("f", add_function(made, "f", std::move(sides[*known ? 1 : 0])));
    } else {
      made.inputs.push_back(branch.condition_input);
      made.attributes.emplace_back("then_branch", add_function(made, "then_branch", std::move(sides[1])));
      made.attributes.emplace_back("else_branch", add_function(made, "else_branch", std::move(sides[0])));
    }
    made.inputs.insert(made.inputs.end(), parts.operands.begin(), parts.operands.end());
    for (std::size_t i = 0; i < merges.size(); ++i) replace(*merges[i], made, i);
  }

  /// What is decided when converting, such as whether a network trains.
  std::optional<bool> constant_condition(Condition condition) const {
    for (int passed = 0; passed < 16 && condition.first && condition.first->op == "PlaceholderWithDefault"; ++passed)
      condition = condition_of(data_input(*condition.first, 0));
    if (!condition.first || condition.first->op != "Const") return std::nullopt;
    const auto value = tensor_of_attribute(condition.first->attribute("value"));
    constexpr std::int64_t boolean = 10;
    if (!value || value->type != boolean || !value->dims.empty()) return std::nullopt;
    const std::string_view bytes = value->content.empty() ? std::string_view(value->values) : value->content;
    return !bytes.empty() && bytes.front() != '\0';
  }

  std::string_view operand(BranchParts& parts, std::string_view input) {
    const auto [known, is_new] = parts.parameters.emplace(input, std::string_view());
    if (is_new) {
      known->second = table_.keep(fmt::format(":{}", parts.operands.size()));  // no node has such a name
      parts.operands.push_back(input);
    }
    return known->second;
  }

  std::optional<std::string_view> name_in_branch(BranchParts& parts, std::unordered_map<const NodeDef*, bool>& known,
                                                 std::size_t side, const Reference& at, std::string_view input) {
    if (at.node && !settle(*at.node)) return std::nullopt;
    if (at.node && is(*at.node, "Switch") && asked_by(*at.node) == parts.condition) {
      const std::string_view data = data_input(*at.node, 0);
      if (at.index != side || data.empty()) return std::nullopt;
      return operand(parts, data);
    }
    if (!at.node || !depends_on(*at.node, parts.condition, known)) return operand(parts, input);
    return is_loose(*at.node) ? std::nullopt : std::optional(std::string_view());
  }

  /// Whether a node needs what a Switch of this condition gives. What does not is computed before the branch.
  bool depends_on(NodeDef& root, const Condition& condition, std::unordered_map<const NodeDef*, bool>& known) {
    std::vector<std::pair<NodeDef*, bool>> pending = {{&root, false}};
    while (!pending.empty()) {
      const auto [node, is_left] = pending.back();
      pending.pop_back();
      if (!step(1 + node->inputs.size())) return false;
      if (is(*node, "Switch")) {
        known[node] = asked_by(*node) == condition;
      } else if (is_left) {
        known[node] = std::any_of(node->inputs.begin(), node->inputs.end(), [&](std::string_view input) {
          const auto before = is_control(input) ? known.end() : known.find(node_of(input));
          return before != known.end() && before->second;
        });
      } else if (known.emplace(node, false).second && !is_loose(*node)) {
        pending.emplace_back(node, true);
        for (const std::string_view input : node->inputs)
          if (NodeDef* before = is_control(input) ? nullptr : node_of(input)) pending.emplace_back(before, false);
      }
    }
    return known[&root];
  }

  TableEditor& table_;
  std::size_t& steps_;
  std::size_t depth_ = 0;
  std::unordered_map<const NodeDef*, Loop> loops_;
  std::unordered_map<const NodeDef*, Branch> branches_;
  std::unordered_map<const NodeDef*, std::vector<NodeDef*>> exits_;     ///< by Switch
  std::unordered_map<std::string_view, std::vector<NodeDef*>> scopes_;  ///< of Merge nodes
  std::unordered_set<const NodeDef*> indexed_;                          ///< Merge nodes whose index is read
  std::vector<NodeDef*> loops_in_order_, merges_in_order_;
};

/// Fewer steps than a pass over large graphs: most have nothing to be put in the new form.
bool has_old_form(const NodeTable& table) {
  return std::any_of(table.nodes.begin(), table.nodes.end(), [](const NodeDef& node) { return is(node, "Switch"); });
}

std::size_t size_of(const NodeTable& table) {
  std::size_t size = 0;
  for (const NodeDef& node : table.nodes) size += 1 + node.inputs.size() + node.attributes.size();
  return size;
}

}  // namespace

Result<void> restructure_control_flow(GraphDef& graph, StringPool& strings) {
  std::vector<std::pair<NodeTable*, const FunctionDef*>> tables = {{&graph.table, nullptr}};
  for (const auto& [name, function] : graph.functions) tables.emplace_back(&function->table, function.get());
  for (const auto& [table, function] : tables) {
    if (!has_old_form(*table)) continue;
    constexpr std::size_t passes = 16, least = 1'000'000;
    std::size_t steps = passes * size_of(*table) + least;
    TableEditor editor(graph, *table, function, strings);
    const bool is_enough = Restructurer(editor, steps).run();
    editor.finish();
    if (!is_enough)
      return make_error("not-supported", "loops and branches in the form of TensorFlow 1 are nested too densely");
  }
  return {};
}

}  // namespace onnxkit::saved_model
