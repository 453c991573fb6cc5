#include "libonnxkit/bench/graph_costs.h"

#include <algorithm>

#include "checker/collector.h"
#include "checker/infer/cost.h"
#include "checker/infer/infer_registry.h"
#include "checker/infer/input_types.h"
#include "libonnxkit/spec/function_index.h"

namespace onnxkit::benching {
namespace {

std::optional<double> known(ir::Dim dim) {
  return dim.is_constant() ? std::optional(static_cast<double>(dim.constant())) : std::nullopt;
}

}  // namespace

GraphCosts::GraphCosts(const ir::Model& model, const spec::OpTable& table, const std::vector<NamedValue>& inputs)
    : graph_(*model.graph) {
  checker::Collector collector;
  checker::InferenceOptions options;
  options.assume_defaults = true;
  options.input_types = checker::input_types(model, inputs);
  inferred_ = checker::infer_types(model, table, options, collector);
  const auto found = inferred_.graphs.find(&graph_);
  info_ = found == inferred_.graphs.end() ? nullptr : &found->second;
  const spec::FunctionIndex functions(model);
  for (const ir::Node& node : graph_.nodes) {
    traits_.push_back(&checker::traits_of(node, model.opset_imports, table));
    // Nobody adds up what bodies multiply, of functions, or of If and loops.
    const bool has_body = std::any_of(node.attributes.begin(), node.attributes.end(),
                                      [](const ir::Attribute& attribute) { return attribute.graph() != nullptr; });
    const bool is_counted = info_ && !has_body && !functions.find(node);
    products_.push_back(is_counted ? checker::multiply_adds(*traits_.back(), node, *info_, inferred_.dims) : ir::Dim());
  }
}

std::optional<double> GraphCosts::products(std::size_t node) const { return known(products_[node]); }

const checker::Type* GraphCosts::type_of(ir::ValueId id) const {
  return info_ && id != ir::ValueId::none && ir::index_of(id) < info_->values.size()
             ? &info_->values[ir::index_of(id)].type
             : nullptr;
}

std::optional<double> GraphCosts::bytes(ir::ValueId id) {
  const checker::Type* type = type_of(id);
  return type ? known(checker::value_bytes(*type, inferred_.dims)) : std::nullopt;
}

std::optional<double> GraphCosts::elements(ir::ValueId id) {
  const checker::Type* type = type_of(id);
  if (!type || !type->shape) return std::nullopt;
  double count = 1;
  for (const ir::Dim size : *type->shape) {
    if (!size.is_constant()) return std::nullopt;
    count *= static_cast<double>(size.constant());
  }
  return count;
}

std::optional<double> GraphCosts::written_elements(const ir::Node& node) {
  double sum = 0;
  for (const ir::ValueId output : node.outputs) {
    if (output == ir::ValueId::none) continue;
    const auto count = elements(output);
    if (!count) return std::nullopt;
    sum += *count;
  }
  return sum;
}

double GraphCosts::looked_at(std::size_t node, std::size_t input) {
  using checker::Role;
  const checker::InferTraits& traits = *traits_[node];
  const ir::Node& reader = graph_.nodes[node];
  if (traits.reads_sizes_only) return 0;
  const auto own = elements(reader.inputs[input]);
  if (!own || *own == 0) return 1;
  for (const checker::InputRole& role : traits.inputs) {
    const bool is_here = role.input == input || role.input == checker::every_input;
    const bool is_table = input == 0 && (role.role == Role::index || role.role == Role::index_nd);
    if ((role.role == Role::moved && is_here) || is_table) {
      const auto written = written_elements(reader);
      return written ? *written / *own : 1;
    }
    if (role.role != Role::row || role.other != input || role.input >= reader.inputs.size()) continue;
    const auto rows = elements(reader.inputs[role.input]);
    const auto& shape = type_of(reader.inputs[input])->shape;
    return rows && !shape->empty() ? *rows / static_cast<double>(shape->front().constant()) : 1;
  }
  return 1;
}

std::optional<double> GraphCosts::read_bytes(std::size_t node, ir::ValueId id) {
  const auto all = bytes(id);
  if (!all) return std::nullopt;
  const auto& inputs = graph_.nodes[node].inputs;
  double share = 0;
  bool is_input = false;  // else a graph of the node reads it
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != id) continue;
    is_input = true;
    share = std::max(share, looked_at(node, i));
  }
  return is_input ? *all * std::min(share, 1.0) : *all;
}

double GraphCosts::change_of_width(std::size_t node) {
  const ir::Node& one = graph_.nodes[node];
  if (one.inputs.empty() || one.outputs.empty() || is_contraction(node)) return 0;
  const auto read = elements(one.inputs[0]), written = elements(one.outputs[0]);
  const auto before = bytes(one.inputs[0]), after = bytes(one.outputs[0]);
  return read && read == written && before && after ? *after - *before : 0;
}

}  // namespace onnxkit::benching
