// How an expression becomes a program: what holds each number, then registers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/cpu/map/library.h"
#include "libonnxkit/cpu/map/narrow.h"
#include "libonnxkit/cpu/map/program.h"

namespace onnxkit::cpu {
namespace {

using plan::Instruction;
using plan::Lane;
using plan::Operation;

using NodeId = std::uint32_t;

/// An operation on numbers that are held in one way.
struct Node {
  Operation operation = Operation::input;
  Held held = Held::f32;  ///< the result
  Operate* operate = nullptr;
  int arity = 0;
  NodeId operands[3] = {};
  const Instruction* instruction = nullptr;  ///< of an input, a constant or what rounds
};

bool compares(Operation operation) {
  return operation == Operation::equal || operation == Operation::less || operation == Operation::less_or_equal;
}
bool is_logical(Operation operation) {
  return operation == Operation::logical_and || operation == Operation::logical_or ||
         operation == Operation::logical_xor || operation == Operation::logical_not;
}

/// Puts the instructions of an expression on numbers as they are held, with conversions between.
class Holder {
 public:
  Holder(const std::vector<Instruction>& code, std::span<const ElementType> inputs) : code_(code), inputs_(inputs) {}

  Result<NodeId> run() {
    for (const Instruction& instruction : code_) {
      node_of_.push_back(node_for(instruction));
      if (missing_)
        return make_error("not-supported", fmt::format("the backend cpu has no {}", plan::name_of(*missing_)));
    }
    return node_of_.back();
  }

  const std::vector<Node>& nodes() const { return nodes_; }

  NodeId held_in(NodeId of, Held held) {
    if (nodes_[of].held == held) return of;
    for (NodeId i = of; i < nodes_.size(); ++i) {
      const Node& node = nodes_[i];
      if (node.operation == Operation::convert && node.operands[0] == of && node.held == held) return i;
    }
    return add({.operation = Operation::convert,
                .held = held,
                .operate = best_operations().convert(nodes_[of].held, held),
                .arity = 1,
                .operands = {of}});
  }

 private:
  NodeId add(Node node) {
    nodes_.push_back(node);
    return static_cast<NodeId>(nodes_.size() - 1);
  }

  NodeId operand(const Instruction& instruction, int k) const { return node_of_[instruction.operands[k]]; }
  Held held(NodeId of) const { return nodes_[of].held; }

  NodeId apply(Operation operation, Held held, Held of, std::initializer_list<NodeId> operands) {
    Node node{.operation = operation, .held = held, .operate = operation_for(operation, of)};
    if (!node.operate) missing_ = operation;
    for (const NodeId operand : operands) node.operands[node.arity++] = operand;
    return add(node);
  }

  NodeId node_for(const Instruction& instruction) {
    const Operation operation = instruction.operation;
    const Held lane = held_as(instruction.lane);
    if (operation == Operation::input) {
      const bool is_truth = inputs_[instruction.index] == ElementType::boolean;
      return add({.operation = operation, .held = is_truth ? Held::truth : lane, .instruction = &instruction});
    }
    if (operation == Operation::constant)
      return add({.operation = operation, .held = lane, .instruction = &instruction});
    const NodeId first = operand(instruction, 0);
    if (operation == Operation::round_to)
      return add({.operation = operation,
                  .held = lane,
                  .arity = 1,
                  .operands = {held_in(first, lane)},
                  .instruction = &instruction});
    if (operation == Operation::convert)  // a truth value is an integer as it is
      return lane == Held::i64 && held(first) == Held::truth ? first : held_in(first, lane);
    if (operation == Operation::is_nan || operation == Operation::is_infinite)
      return apply(operation, Held::truth, held(first), {first});
    if (is_logical(operation)) return logical(instruction);
    if (compares(operation)) return comparison(instruction);
    if (operation == Operation::select) return choice(instruction);
    NodeId operands[2] = {};
    const int arity = plan::arity_of(operation);
    for (int k = 0; k < arity; ++k) operands[k] = held_in(operand(instruction, k), lane);
    return arity == 1 ? apply(operation, lane, lane, {operands[0]})
                      : apply(operation, lane, lane, {operands[0], operands[1]});
  }

  NodeId logical(const Instruction& instruction) {
    const NodeId a = held_in(operand(instruction, 0), Held::truth);
    if (plan::arity_of(instruction.operation) == 1) return apply(instruction.operation, Held::truth, Held::truth, {a});
    const NodeId b = held_in(operand(instruction, 1), Held::truth);
    return apply(instruction.operation, Held::truth, Held::truth, {a, b});
  }

  NodeId comparison(const Instruction& instruction) {
    const NodeId a = operand(instruction, 0), b = operand(instruction, 1);
    const bool are_truths =
        held(a) == Held::truth && held(b) == Held::truth && instruction.operation == Operation::equal;
    const Held in = are_truths ? Held::truth : held_as(code_[instruction.operands[0]].lane);
    const NodeId first = held_in(a, in), second = held_in(b, in);
    return apply(instruction.operation, Held::truth, in, {first, second});
  }

  NodeId choice(const Instruction& instruction) {
    if (const auto of = cleared_of_nan(instruction)) {
      const Held lane = held_as(instruction.lane);
      const Node quotient = nodes_[nodes_[*of].operands[0]];
      if (lane == Held::f32 && nodes_[*of].operation == Operation::round_half_even &&
          quotient.operation == Operation::divide)
        return add({.operation = Operation::select,
                    .held = lane,
                    .operate = best_operations().rounded_quotient,
                    .arity = 2,
                    .operands = {quotient.operands[0], quotient.operands[1]}});
      return add({.operation = Operation::select,
                  .held = lane,
                  .operate = best_operations().clear_nan[lane == Held::f32 ? 0 : 1],
                  .arity = 1,
                  .operands = {*of}});
    }
    const NodeId yes = operand(instruction, 1), no = operand(instruction, 2);
    const bool are_truths = held(yes) == Held::truth && held(no) == Held::truth;
    const Held lane = are_truths ? Held::truth : held_as(instruction.lane);
    const NodeId test = held_in(operand(instruction, 0), Held::truth);
    const NodeId first = held_in(yes, lane), second = held_in(no, lane);
    return apply(Operation::select, lane, lane, {test, first, second});
  }

  /// The x of select(is_nan(x), 0, x), which is one operation.
  std::optional<NodeId> cleared_of_nan(const Instruction& choice) const {
    if (choice.lane == Lane::i64) return std::nullopt;
    const Instruction &test = code_[choice.operands[0]], &yes = code_[choice.operands[1]];
    const bool clears = test.operation == Operation::is_nan && test.operands[0] == choice.operands[2] &&
                        yes.operation == Operation::constant && yes.real == 0 && !std::signbit(yes.real);
    return clears ? std::optional(operand(choice, 2)) : std::nullopt;
  }

  const std::vector<Instruction>& code_;
  std::span<const ElementType> inputs_;
  std::vector<NodeId> node_of_;  ///< by instruction
  std::vector<Node> nodes_;
  std::optional<Operation> missing_;
};

/// Registers by number, those of dead values used again.
class Registers {
 public:
  std::int32_t take() {
    const auto free = std::find(is_used_.begin(), is_used_.end(), false);
    const auto at = free - is_used_.begin();
    if (free == is_used_.end()) is_used_.push_back(false);
    is_used_[static_cast<std::size_t>(at)] = true;
    return static_cast<std::int32_t>(at);
  }
  void give(std::int32_t at) { is_used_[static_cast<std::size_t>(at)] = false; }
  std::size_t size() const { return is_used_.size(); }

 private:
  std::vector<bool> is_used_;
};

void write_constant(std::byte* to, const Instruction& constant) {
  const auto narrow = static_cast<float>(constant.real);
  if (constant.lane == Lane::f32)
    std::memcpy(to, &narrow, sizeof narrow);
  else if (constant.lane == Lane::f64)
    std::memcpy(to, &constant.real, sizeof constant.real);
  else
    std::memcpy(to, &constant.integer, sizeof constant.integer);
}

/// For each node the last that reads it, none where nothing needed does. Nodes behind `result` are not needed.
std::vector<std::optional<NodeId>> last_readers(std::span<const Node> nodes) {
  std::vector<std::optional<NodeId>> readers(nodes.size());
  const auto result = static_cast<NodeId>(nodes.size() - 1);
  readers[result] = result;
  for (NodeId i = result + 1; i-- > 0;) {
    for (int k = 0; readers[i] && k < nodes[i].arity; ++k) {
      auto& reader = readers[nodes[i].operands[k]];
      if (!reader) reader = i;
    }
  }
  return readers;
}

/// One pass over what both nodes compute; null where there is none.
Operate* joined(const Node& first, const Node& second) {
  const OperationTable& operations = best_operations();
  if (first.operate == operations.rounded_quotient)
    return second.operation == Operation::add ? operations.rounded_quotient_plus : nullptr;
  return operations.find_pair(first.operation, second.operation);
}

std::vector<int> reader_counts(std::span<const Node> nodes) {
  std::vector<int> readers(nodes.size(), 0);
  for (const Node& node : nodes)
    for (int k = 0; k < node.arity; ++k) ++readers[node.operands[k]];
  return readers;
}

/// x * sigmoid(x) is one function.
void join_silus(std::vector<Node>& nodes) {
  const std::vector<int> readers = reader_counts(nodes);
  for (Node& node : nodes) {
    if (node.operation != Operation::multiply || node.held != Held::f32) continue;
    for (int k = 0; k < 2; ++k) {
      const Node& sigmoid = nodes[node.operands[k]];
      const NodeId x = node.operands[1 - k];
      if (sigmoid.operation != Operation::sigmoid || sigmoid.operands[0] != x || readers[node.operands[k]] != 1)
        continue;
      node.operate = silu();
      node.arity = 1;
      node.operands[0] = x;
      break;
    }
  }
}

/// Nodes that one pass computes with the node that alone reads them fall away.
void join_pairs(std::vector<Node>& nodes) {
  const std::vector<int> readers = reader_counts(nodes);
  for (Node& node : nodes) {
    if (node.held != Held::f32 || node.arity != 2) continue;
    const bool commutes = node.operation == Operation::add || node.operation == Operation::multiply;
    for (int k = 0; k < (commutes ? 2 : 1); ++k) {
      const Node& first = nodes[node.operands[k]];
      Operate* const both = joined(first, node);
      if (!both || first.held != Held::f32 || first.arity != 2 || readers[node.operands[k]] != 1) continue;
      const NodeId other = node.operands[1 - k];
      node.operate = both;
      node.arity = 3;
      node.operands[0] = first.operands[0];
      node.operands[1] = first.operands[1];
      node.operands[2] = other;
      break;
    }
  }
}

/// What is kept between the bounds of bytes of a type, if that is what the node does.
std::optional<NodeId> kept_within(std::span<const Node> nodes, NodeId at, ElementType type) {
  const auto bounded_by = [&](NodeId of, Operation operation, std::int64_t bound) -> std::optional<NodeId> {
    const Node& node = nodes[of];
    if (node.operation != operation || node.held != Held::f32) return std::nullopt;
    const Node& other = nodes[node.operands[1]];
    const bool is_bound =
        other.operation == Operation::constant && other.instruction->real == static_cast<double>(bound);
    return is_bound ? std::optional(node.operands[0]) : std::nullopt;
  };
  const auto below = bounded_by(at, Operation::minimum, greatest_of(type));
  return below ? bounded_by(*below, Operation::maximum, least_of(type)) : std::nullopt;
}

/// Gives nodes registers.
class Compiler {
 public:
  Compiler(std::span<const ElementType> inputs, std::span<const bool> one_for_all)
      : inputs_(inputs), one_for_all_(one_for_all) {}

  /// The last node is the result.
  Result<Program> run(std::span<const Node> nodes, const Conversion& result) {
    const auto readers = last_readers(nodes);
    places_.resize(nodes.size());
    for (NodeId i = 0; i < nodes.size(); ++i) {
      if (!readers[i]) continue;
      Program::Line line = line_for(nodes[i]);
      line.to.at = registers_.take();
      places_[i] = line.to;
      give_back(nodes[i], i, readers);
      lines_.push_back(line);
    }
    if (registers_.size() > Program::most_registers)
      return make_error("not-supported", "an expression of too many values at once");
    return Program(std::move(lines_), registers_.size(), result);
  }

 private:
  Program::Line line_for(const Node& node) {
    Program::Line line;
    line.operation = node.operation;
    line.held = node.held;
    line.arity = node.arity;
    line.operate = node.operate;
    line.to.is_one = node.arity > 0 || node.operation == Operation::constant;
    for (int k = 0; k < node.arity; ++k) {
      line.sources[k] = places_[node.operands[k]];
      line.to.is_one = line.to.is_one && line.sources[k].is_one;
    }
    if (node.operation == Operation::constant) write_constant(line.constant, *node.instruction);
    if (node.operation == Operation::input) {
      line.input = node.instruction->index;
      line.to.is_one = one_for_all_[line.input];
      line.conversion = Conversion(inputs_[line.input], node.held);
    }
    if (node.operation == Operation::round_to) {
      line.type = node.instruction->type;
      line.conversion = Conversion(line.type, node.held);
    }
    return line;
  }

  /// Registers whose last reader is node `i`.
  void give_back(const Node& node, NodeId i, const std::vector<std::optional<NodeId>>& readers) {
    for (int k = 0; k < node.arity; ++k) {
      const NodeId of = node.operands[k];
      const bool is_first = std::find(node.operands, node.operands + k, of) == node.operands + k;
      if (readers[of] == i && is_first) registers_.give(places_[of].at);
    }
  }

  std::span<const ElementType> inputs_;
  std::span<const bool> one_for_all_;
  std::vector<Program::Line> lines_;
  Registers registers_;
  std::vector<Program::Source> places_;  ///< by node
};

}  // namespace

Result<Program> Program::make(const plan::Expression& stated, std::span<const ElementType> inputs,
                              std::span<const bool> one_for_all, ElementType result) {
  const plan::Expression expression = with_narrow_integers(stated, inputs, result);
  Holder holder(expression.code(), inputs);
  auto last = holder.run();
  if (!last) return last.error();
  // What is stored is rounded anyway.
  const auto& nodes = holder.nodes();
  while (nodes[*last].operation == Operation::round_to && nodes[*last].instruction->type == result)
    last = nodes[*last].operands[0];
  // Truth values are stored as they are in bytes only.
  if (nodes[*last].held == Held::truth && result != ElementType::boolean) *last = holder.held_in(*last, Held::i64);
  const Held held = nodes[*last].held;
  Conversion conversion(result, held);
  if (held == Held::f32 && is_byte(result)) {
    if (const auto kept = kept_within(nodes, *last, result)) {
      last = *kept;
      conversion = Conversion::saturating(result);
    }
  }
  std::vector<Node> needed(nodes.begin(), nodes.begin() + *last + 1);
  join_silus(needed);
  join_pairs(needed);
  return Compiler(inputs, one_for_all).run(needed, conversion);
}

}  // namespace onnxkit::cpu
