// Operators that treat all elements alike, broadcasting or not.
#include <algorithm>

#include "converters/layout/rules.h"

namespace onnxkit::layout {
namespace {

/// All inputs broadcast to the output; those of fewer axes lack the first ones. What holds one element goes with every order.
std::optional<Frame> broadcasting_frame(const NodeFacts& facts) {
  const auto rank = facts.output_rank();
  if (!rank || facts.node.outputs.size() != 1) return std::nullopt;
  Frame frame{*rank, {{.index = 0, .is_output = true}}};
  bool reaches = false;  // one input must have all axes, as others may lack those that become the first
  for (std::size_t i = 0; i < facts.node.inputs.size(); ++i) {
    if (!facts.has(i)) continue;
    const auto own = facts.rank(i);
    if (!own || *own > *rank) return std::nullopt;
    reaches = reaches || *own == *rank;
    if (*own == 0) continue;
    Port port{.index = i};
    for (std::size_t axis = 0; axis + *own < *rank; ++axis) port.removed.push_back(static_cast<std::int64_t>(axis));
    frame.ports.push_back(port);
  }
  if (!reaches) return std::nullopt;
  return frame;
}

/// Bounds and ratios have one element.
std::optional<Frame> first_input_frame(const NodeFacts& facts) {
  return facts.node.outputs.size() == 1 ? same_rank_frame(facts) : std::nullopt;
}

/// Scale and zero point lie along one axis, unless they are one for all.
std::optional<Frame> quantizing_frame(const NodeFacts& facts) {
  const auto frame = first_input_frame(facts);
  const auto rank = facts.rank(1);
  if (!frame || !rank || *rank > 1 || facts.attribute("block_size", 0) != 0) return std::nullopt;
  if (*rank == 1 && !NodeFacts::axis(facts.attribute("axis", 1), frame->rank)) {
    const checker::Shape* scales = facts.shape(1);
    if (!(*scales)[0].is(1)) return std::nullopt;
  }
  return frame;
}

void rewrite_quantizing(const NodeFacts& facts, const Frame& frame, const Permutation& order, NodeEditor& editor) {
  if (facts.rank(1) == 0) return;
  if (const auto axis = NodeFacts::axis(facts.attribute("axis", 1), frame.rank))
    editor.set_attribute({"axis", inverse_of(order)[static_cast<std::size_t>(*axis)]});
}

}  // namespace

void register_elementwise(Rules& rules);
void register_elementwise(Rules& rules) {
  rules.add({"Add",   "Sub",  "Mul",   "Div",   "Pow",        "Mod",         "Max",        "Min",
             "Sum",   "Mean", "Where", "PRelu", "Less",       "LessOrEqual", "Greater",    "GreaterOrEqual",
             "Equal", "And",  "Or",    "Xor",   "BitwiseAnd", "BitwiseOr",   "BitwiseXor", "BitShift"},
            {broadcasting_frame});
  rules.add({"Abs",       "Neg",
             "Exp",       "Log",
             "Sqrt",      "Reciprocal",
             "Sin",       "Cos",
             "Tan",       "Asin",
             "Acos",      "Atan",
             "Sinh",      "Cosh",
             "Asinh",     "Acosh",
             "Atanh",     "Erf",
             "Floor",     "Ceil",
             "Round",     "Sign",
             "Not",       "BitwiseNot",
             "IsNaN",     "IsInf",
             "Relu",      "LeakyRelu",
             "Sigmoid",   "Tanh",
             "Elu",       "Selu",
             "Celu",      "Softplus",
             "Softsign",  "HardSigmoid",
             "HardSwish", "ThresholdedRelu",
             "Mish",      "Gelu",
             "Swish",     "Cast",
             "Identity",  "Clip"},
            {first_input_frame});
  rules.add({"QuantizeLinear", "DequantizeLinear"}, {quantizing_frame, rewrite_quantizing});
}

}  // namespace onnxkit::layout
