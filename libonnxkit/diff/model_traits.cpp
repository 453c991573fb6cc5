#include "libonnxkit/diff/model_traits.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/inference.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/function_index.h"
#include "libonnxkit/spec/node_attributes.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/values/tensor_proto.h"
#include "reference/executor/kernel.h"

namespace onnxkit::diffing {
namespace {

void add_type(std::optional<std::int64_t> type, std::set<Profile>& profiles) {
  if (type == static_cast<std::int64_t>(ElementType::float16)) profiles.insert(Profile::float16);
  if (type == static_cast<std::int64_t>(ElementType::bfloat16)) profiles.insert(Profile::bfloat16);
}

/// Null where the node is no constant, or holds something else than a tensor.
const ir::Tensor* constant_tensor(const ir::Node& node, const ir::GraphScope& scope, const spec::OpTable& table) {
  const bool is_constant = checker::traits_of(node, scope.opsets, table).is_constant;
  const ir::Attribute* value = is_constant ? node.find_attribute("value") : nullptr;
  return value ? value->tensor() : nullptr;
}

/// The numbers of a constant that a scope sees, as text.
std::optional<std::string> constant_text(const ir::GraphScope& scope, std::string_view name,
                                         const spec::OpTable& table) {
  for (const ir::GraphScope* at = &scope; at; at = at->parent) {
    const ir::Tensor* tensor = nullptr;
    for (const ir::Tensor& stored : at->graph->initializers) {
      if (stored.name.view() == name) tensor = &stored;
    }
    for (const ir::Node& node : at->graph->nodes) {
      if (node.outputs.empty() || at->graph->name_of(node.outputs[0]) != name) continue;
      if (const ir::Tensor* held = constant_tensor(node, *at, table)) tensor = held;
    }
    const auto numbers = tensor ? wire::tensor_of(*tensor, {}) : Result<Tensor>(make_error("not-supported", ""));
    if (numbers && is_floating(numbers->type())) return fmt::format("{}", fmt::join(to_reals(*numbers), " "));
  }
  return std::nullopt;
}

void add_quantizer(const ir::GraphScope& scope, const ir::Node& node, const spec::OpTable& table,
                   std::set<std::string>& quantizers) {
  const spec::OpSchema* schema =
      table.find_with_additions(node.domain.view(), node.op_type, scope.opset(node.domain.view()).value_or(0));
  bool has_scale = false;
  for (std::size_t i = 0; schema && i < node.inputs.size(); ++i) {
    const spec::FormalParameter* input = schema->input_at(i);
    if (!input || node.inputs[i] == ir::ValueId::none || input->name.find("scale") == std::string_view::npos) continue;
    has_scale = true;
    const std::string_view name = scope.graph->name_of(node.inputs[i]);
    quantizers.insert(constant_text(scope, name, table).value_or("computed"));
  }
  if (!has_scale) quantizers.emplace(node.op_type.view());
}

void add_graph(const ir::GraphScope& scope, const spec::OpTable& table, ModelTraits& traits) {
  const ir::Graph& graph = *scope.graph;
  std::set<Profile>& profiles = traits.profiles;
  for (const ir::Tensor& tensor : graph.initializers) add_type(tensor.data_type, profiles);
  for (const auto* infos : {&graph.inputs, &graph.outputs}) {
    for (const ir::ValueInfo& info : *infos) {
      if (info.type) add_type(info.type->elem_type, profiles);
    }
  }
  for (const ir::Node& node : graph.nodes) {
    const reference::KernelTraits& kernel = reference::traits_of(node, scope.opsets, table);
    if (kernel.is_quantizing) {
      profiles.insert(Profile::int8);
      add_quantizer(scope, node, table, traits.quantizers);
    }
    if (kernel.may_round_to_int8 && kernel.may_round_to_int8(node)) traits.may_round_to_int8 = true;
    if (const ir::Tensor* tensor = constant_tensor(node, scope, table)) add_type(tensor->data_type, profiles);
  }
}

/// Numbers without a seed outweigh those with one.
void add_draw(std::optional<Draw>& drawn, const Draw& other) {
  if (!drawn || !other.seeded) drawn = other;
}

/// Which values of a model's graphs are made from random numbers.
class RandomValues {
 public:
  using ByValue = std::map<ir::ValueId, Draw>;

  RandomValues(const ir::Model& model, std::span<const InputSet> sets) : model_(model), sets_(sets), functions_(model) {
    for (const auto& scope : ir::graph_scopes(model)) {
      if (scope->is_training) continue;
      for (const ir::Node& node : scope->graph->nodes) {
        if (!functions_.find(node) && draws(*scope, node))
          drawing_.emplace(&node, Draw{std::string(node.op_type), node.find_attribute("seed") != nullptr});
      }
    }
  }

  const ByValue& of(const ir::Graph& graph, int depth = 0) {
    const auto [place, is_new] =
        known_.try_emplace(&graph);  // functions that call each other without end meet again here
    ByValue& random = place->second;
    if (!is_new || depth > max_depth) return random;
    for (const std::size_t i : ir::evaluation_order(graph)) {
      const ir::Node& node = graph.nodes[i];
      std::optional<Draw> drawn = draw_of(node, depth);
      std::vector<ir::ValueId> read = ir::captured_values(graph, node);
      read.insert(read.end(), node.inputs.begin(), node.inputs.end());
      for (const ir::ValueId value : read) {
        if (const auto found = random.find(value); found != random.end()) add_draw(drawn, found->second);
      }
      const ir::Function* called = functions_.find(node);
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        std::optional<Draw> here = drawn;
        if (called && k < called->body.outputs.size()) {
          const ByValue& inside = of(called->body, depth + 1);
          if (const auto found = inside.find(called->body.outputs[k].value); found != inside.end())
            add_draw(here, found->second);
        }
        if (here && node.outputs[k] != ir::ValueId::none) random.emplace(node.outputs[k], *here);
      }
    }
    return random;
  }

 private:
  static constexpr int max_depth = 200;  // of calls, as in the reference

  /// What a node draws itself or in its graphs.
  std::optional<Draw> draw_of(const ir::Node& node, int depth) {
    std::optional<Draw> drawn;
    if (const auto found = drawing_.find(&node); found != drawing_.end()) drawn = found->second;
    ir::for_each_subgraph(node, [&](const ir::Graph& graph, std::size_t) {
      for (const auto& [value, draw] : of(graph, depth + 1)) add_draw(drawn, draw);
    });
    return drawn;
  }

  bool draws(const ir::GraphScope& scope, const ir::Node& node) {
    const reference::Draws drawn = reference::traits_of(node, scope.opsets, table_).draws;
    return drawn == reference::Draws::always || (drawn == reference::Draws::in_training && drops(scope, node));
  }

  /// Until version 6 unless `is_test` is set, from 12 on where training_mode is known to be true, of an input by what is given.
  bool drops(const ir::GraphScope& scope, const ir::Node& node) {
    const spec::OpSchema* schema = table_.find("", node.op_type, scope.opset("").value_or(0));
    if (!schema) return false;
    const spec::NodeAttributes attributes(node, *schema, nullptr);
    if (schema->since_version < 7) return attributes.integer("is_test") == 0 && attributes.real("ratio") != 0;
    return schema->since_version >= 12 && number(scope, node, 2).value_or(0) != 0 &&
           number(scope, node, 1).value_or(0.5) != 0;
  }

  /// The one number that an input holds; where sets of inputs tell it, the greatest.
  std::optional<double> number(const ir::GraphScope& scope, const ir::Node& node, std::size_t input) {
    if (input >= node.inputs.size()) return std::nullopt;
    if (!inferred_) {
      checker::Collector collector;
      checker::InferenceOptions options;
      options.function_info = true;
      inferred_ = checker::infer_types(model_, table_, options, collector);
    }
    const std::string_view name = scope.graph->name_of(node.inputs[input]);
    for (const ir::GraphScope* at = &scope; at; at = at->parent) {
      const ir::ValueId id = at->graph->find(name);
      const checker::ValueInfo* traits = id == ir::ValueId::none ? nullptr : inferred_->find(*at->graph, id);
      if (traits && traits->value && traits->value->elements.size() == 1)
        return traits->value->elements.front().constant_real();
      if (at->graph == &*model_.graph) {
        if (const auto given = given_number(name)) return given;
      }
    }
    return std::nullopt;
  }

  std::optional<double> given_number(std::string_view input) const {
    std::optional<double> greatest;
    for (const InputSet& set : sets_) {
      for (const NamedValue& given : set.values) {
        if (given.name != input || !given.value.is_tensor() || given.value.tensor.size() != 1 ||
            given.value.tensor.type() == ElementType::string)
          continue;
        const double number = to_reals(given.value.tensor).front();
        greatest = std::max(greatest.value_or(number), number);
      }
    }
    return greatest;
  }

  const ir::Model& model_;
  const std::span<const InputSet> sets_;
  const spec::FunctionIndex functions_;
  const spec::OpTable table_;
  std::optional<checker::InferredModel> inferred_;  // when first asked
  std::unordered_map<const ir::Node*, Draw> drawing_;
  std::map<const ir::Graph*, ByValue> known_;
};

}  // namespace

bool quantize_alike(const std::set<std::string>& a, const std::set<std::string>& b) {
  if (a.empty() || b.empty()) return a == b;
  std::vector<std::string> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  const std::size_t only_a = a.size() - common.size(), only_b = b.size() - common.size();
  constexpr std::size_t few = 8;
  if (std::min(only_a, only_b) == 0) return std::max(only_a, only_b) <= 1;
  return few * std::max(only_a, only_b) <= a.size();
}

ModelTraits read_traits(const ir::Model& model, std::span<const InputSet> sets) {
  ModelTraits traits;
  const spec::OpTable table;
  for (const auto& scope : ir::graph_scopes(model)) add_graph(*scope, table, traits);
  if (!model.graph) return traits;
  const RandomValues::ByValue random = RandomValues(model, sets).of(*model.graph);
  for (const ir::ValueInfo& output : model.graph->outputs) {
    if (const auto found = random.find(output.value); found != random.end())
      traits.random.emplace(model.graph->name_of(output.value), found->second);
  }
  return traits;
}

}  // namespace onnxkit::diffing
