#include "libonnxkit/inputs/input_range.h"
#include "libonnxkit/ir/scope.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/core.h>

#include "libonnxkit/ir/order.h"
#include "libonnxkit/spec/function_index.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::inputs {
namespace {

using ir::index_of;
using ir::ValueId;

/// What an input of an operator asks of the integers in it.
enum class Role : std::uint8_t {
  moved,     ///< nothing: the outputs hold the same numbers
  index,     ///< positions on the axis `axis` (attribute or default) of input 0
  index_nd,  ///< positions on the leading axes of input 0
  row,       ///< positions on axis 0 of input `other`
  label,     ///< positions on axis 1 of input 0
  length,    ///< positive, at most the size of axis 0 of input 0
  time,      ///< positive, at most the size of axis `time_axis` of input 0
  count,     ///< positive, at most the size of the axis `axis` of input 0
  size,      ///< a small positive size or number of passes
  pieces,    ///< sizes that make up the axis `axis` of input 0
  scales,    ///< positive factors, one for each axis
};

struct Rule {
  std::string_view op;
  std::size_t input;
  Role role;
  std::size_t other = 0;
};

constexpr Rule rules[] = {
    {"Identity", 0, Role::moved},
    {"Cast", 0, Role::moved},
    {"CastLike", 0, Role::moved},
    {"Reshape", 0, Role::moved},
    {"Squeeze", 0, Role::moved},
    {"Unsqueeze", 0, Role::moved},
    {"Flatten", 0, Role::moved},
    {"Transpose", 0, Role::moved},
    {"Expand", 0, Role::moved},
    {"Tile", 0, Role::moved},
    {"Slice", 0, Role::moved},
    {"Split", 0, Role::moved},
    {"Concat", 0, Role::moved},
    {"Concat", 1, Role::moved},
    {"Gather", 0, Role::moved},
    {"Dropout", 0, Role::moved},
    {"Gather", 1, Role::index},
    {"GatherElements", 1, Role::index},
    {"ScatterElements", 1, Role::index},
    {"Scatter", 1, Role::index},
    {"GatherND", 1, Role::index_nd},
    {"ScatterND", 1, Role::index_nd},
    {"EmbedLayerNormalization", 0, Role::row, 2},
    {"EmbedLayerNormalization", 1, Role::row, 4},
    {"NegativeLogLikelihoodLoss", 1, Role::label},
    {"SoftmaxCrossEntropyLoss", 1, Role::label},
    {"RNN", 4, Role::length},
    {"GRU", 4, Role::length},
    {"LSTM", 4, Role::length},
    {"ReverseSequence", 1, Role::time},
    {"TopK", 1, Role::count},
    {"Loop", 0, Role::size},
    {"ConstantOfShape", 0, Role::size},
    {"Range", 1, Role::size},
    {"Tile", 1, Role::size},
    {"Expand", 1, Role::size},
    {"Split", 1, Role::pieces},
    {"SplitToSequence", 1, Role::pieces},
    {"Upsample", 1, Role::scales},
    {"Resize", 1, Role::scales},  // until version 10
    {"Resize", 2, Role::scales},
    {"Resize", 3, Role::size},
};

class Tracer {
 public:
  Tracer(const ir::Model& model, const checker::InferredModel& inferred)
      : inferred_(inferred),
        functions_(model),
        resize_has_region_(ir::opset_of(model.opset_imports, "").value_or(0) >= 11) {}

  std::optional<InputRange> range;

  void follow(const ir::Graph& graph, ValueId id, std::string where) {
    if (id == ValueId::none || !seen_.insert({&graph, id}).second) return;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const ir::Node& node = graph.nodes[i];
      const std::string place = fmt::format("{} / node {}", where, i);
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        if (node.inputs[k] == id) read(graph, node, k, place);
      }
      ir::for_each_subgraph(
          node, [&](const ir::Graph& inner, std::size_t) { follow(inner, inner.find(graph.name_of(id)), place); });
    }
  }

 private:
  void read(const ir::Graph& graph, const ir::Node& node, std::size_t input, const std::string& place) {
    if (const ir::Function* called = functions_.find(node)) {
      const ir::Graph& body = called->body;
      if (input < body.inputs.size()) follow(body, body.inputs[input].value, place);
      return;
    }
    if (resize_has_region_ && node.op_type.view() == "Resize" && input == 1) return;
    for (const Rule& rule : rules) {
      if (rule.op == node.op_type.view() && rule.input == input) apply(rule, graph, node, place);
    }
  }

  void apply(const Rule& rule, const ir::Graph& graph, const ir::Node& node, const std::string& place) {
    const std::string at = fmt::format("{} ({})", place, node.op_type.view());
    const auto axis_attribute = [&](const char* name, std::int64_t fallback) {
      const ir::Attribute* found = node.find_attribute(name);
      const auto* number = found ? found->as<std::int64_t>() : nullptr;
      return number ? *number : fallback;
    };
    switch (rule.role) {
      case Role::moved:
        for (const ValueId output : node.outputs) follow(graph, output, place.substr(0, place.rfind(" / node ")));
        return;
      case Role::size:
        return narrow(1, 4, "a size or number of passes at " + at);
      case Role::index:
        return below(graph, node, 0, axis_attribute("axis", 0), 0, "indices", at);
      case Role::row:
        return below(graph, node, rule.other, 0, 0, "indices", at);
      case Role::label:
        return below(graph, node, 0, 1, 0, "labels", at);
      case Role::length:
        return below(graph, node, 0, axis_attribute("layout", 0), 1, "lengths", at);
      case Role::time:
        return below(graph, node, 0, axis_attribute("time_axis", 0), 1, "lengths", at);
      case Role::count:
        return below(graph, node, 0, axis_attribute("axis", -1), 1, "a count", at);
      case Role::pieces:
        return parts_of(graph, node, axis_attribute("axis", 0), at);
      case Role::scales:
        range = {InputRange::Form::scales, 0, 0, "scales at " + at};
        return;
      case Role::index_nd:
        for (std::int64_t axis = 0; axis < rank(graph, node, 0); ++axis) below(graph, node, 0, axis, 0, "indices", at);
    }
  }

  const checker::Shape* shape(const ir::Graph& graph, const ir::Node& node, std::size_t input) const {
    if (input >= node.inputs.size() || node.inputs[input] == ValueId::none) return nullptr;
    const checker::ValueInfo* info = inferred_.find(graph, node.inputs[input]);
    return info && info->type.shape ? &*info->type.shape : nullptr;
  }
  std::int64_t rank(const ir::Graph& graph, const ir::Node& node, std::size_t input) const {
    const checker::Shape* known = shape(graph, node, input);
    return known ? static_cast<std::int64_t>(known->size()) : 0;
  }

  /// From `low` (0 for positions, 1 for lengths) up to what an axis of an input allows.
  void below(const ir::Graph& graph, const ir::Node& node, std::size_t input, std::int64_t axis, std::int64_t low,
             std::string_view what, const std::string& at) {
    const auto size = size_of_axis(graph, node, input, axis);
    if (!size || *size < 1) return;
    narrow(low, *size - 1 + low, fmt::format("{} on axis {} of size {} at {}", what, axis, *size, at));
  }

  void parts_of(const ir::Graph& graph, const ir::Node& node, std::int64_t axis, const std::string& at) {
    if (const auto size = size_of_axis(graph, node, 0, axis))
      range = {InputRange::Form::parts, 0, *size, fmt::format("parts of axis {} of size {} at {}", axis, *size, at)};
  }

  /// `axis` is counted from the front afterwards.
  std::optional<std::int64_t> size_of_axis(const ir::Graph& graph, const ir::Node& node, std::size_t input,
                                           std::int64_t& axis) const {
    const checker::Shape* known = shape(graph, node, input);
    if (!known) return std::nullopt;
    if (axis < 0) axis += static_cast<std::int64_t>(known->size());
    if (axis < 0 || axis >= static_cast<std::int64_t>(known->size())) return std::nullopt;
    const checker::Dim size = (*known)[static_cast<std::size_t>(axis)];
    return size.is_constant() ? std::optional(size.constant()) : std::nullopt;
  }

  void narrow(std::int64_t low, std::int64_t high, std::string reason) {
    if (!range) {
      range = {InputRange::Form::between, low, high, std::move(reason)};
    } else if (range->form == InputRange::Form::between && (low > range->low || high < range->high)) {
      range = {InputRange::Form::between, std::max(low, range->low), std::min(high, range->high), std::move(reason)};
    }
  }

  const checker::InferredModel& inferred_;
  spec::FunctionIndex functions_;
  const bool resize_has_region_;
  std::set<std::pair<const ir::Graph*, ValueId>> seen_;
};

}  // namespace

std::optional<InputRange> range_of_input(const ir::Model& model, const checker::InferredModel& inferred,
                                         ValueId input) {
  Tracer tracer(model, inferred);
  tracer.follow(*model.graph, input, "main");
  return std::move(tracer.range);
}

}  // namespace onnxkit::inputs
