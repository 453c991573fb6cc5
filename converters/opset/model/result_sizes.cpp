#include "converters/opset/model/result_sizes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "checker/infer/infer_registry.h"
#include "checker/infer/inference.h"
#include "libonnxkit/ir/builder.h"
#include "libonnxkit/ir/patch.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/ir/uses.h"

namespace onnxkit::opset {
namespace {

using ir::Node;
using ir::ValueId;

constexpr std::size_t scales_input = 2, sizes_input = 3;
constexpr std::uint64_t most_axes = 64;

ValueId resize_input(const Node& node, std::size_t index) {
  return index < node.inputs.size() ? node.inputs[index] : ValueId::none;
}

bool measures_by_scales(const Node& node, const ir::GraphScope& scope) {
  if (!(node.op_type == "Resize") || !ir::canonical_domain(node.domain).empty()) return false;
  if (scope.opset("").value_or(0) < 11 || node.outputs.empty()) return false;
  const ir::Attribute* mode = node.find_attribute("coordinate_transformation_mode");
  const auto* name = mode ? mode->as<Text>() : nullptr;
  return name && name->view() == "align_corners" && resize_input(node, scales_input) != ValueId::none &&
         resize_input(node, sizes_input) == ValueId::none;
}

/// Builds what one graph needs.
class GraphRewriter {
 public:
  GraphRewriter(ir::Model& model, const ir::GraphScope& scope, const checker::InferredModel& inferred,
                const spec::OpTable& table, ir::FreshNames& names)
      : model_(model), scope_(scope), inferred_(inferred), table_(table), names_(names), patch_(*scope.graph) {}

  /// Whether the node changes.
  bool rewrite(std::size_t at) {
    const Node& node = scope_.graph->nodes[at];
    const std::vector<std::int64_t> axes = axes_of(node);
    const auto scales = known_scales(node.inputs[scales_input]);
    const auto lengths = known_lengths(node.inputs[0], axes);
    if (scales && is_whole(*scales, lengths)) return false;
    at_ = at;
    const ValueId sizes = scales && lengths && scales->size() == lengths->size()
                              ? constant(result_sizes(*scales, *lengths))
                              : computed(node, axes);
    patch_.set_inputs(at, {node.inputs[0], resize_input(node, 1), ValueId::none, sizes});
    return true;
  }

  ir::Patch take() { return std::move(patch_); }

 private:
  static std::vector<std::int64_t> axes_of(const Node& node) {
    const ir::Attribute* axes = node.find_attribute("axes");
    const auto* list = axes ? axes->as<std::vector<std::int64_t>>() : nullptr;
    return list ? *list : std::vector<std::int64_t>();
  }

  /// Where no caller replaces them.
  std::optional<std::vector<float>> known_scales(ValueId id) const {
    const ir::Graph& graph = *scope_.graph;
    const std::string_view name = graph.name_of(id);
    const auto is_named = [&](const ir::Tensor& one) { return one.name.view() == name; };
    const bool is_input = std::any_of(graph.inputs.begin(), graph.inputs.end(),
                                      [&](const ir::ValueInfo& input) { return input.value == id; });
    const auto stored = std::find_if(graph.initializers.begin(), graph.initializers.end(), is_named);
    const ir::Tensor* tensor = stored != graph.initializers.end() && !is_input ? &*stored : nullptr;
    for (const Node& node : graph.nodes) {
      if (node.outputs.empty() || node.outputs[0] != id) continue;
      if (!checker::traits_of(node, scope_.opsets, table_).is_constant) return std::nullopt;
      const ir::Attribute* value = node.find_attribute("value");
      tensor = value ? value->tensor() : nullptr;
    }
    auto reader = tensor ? ir::ElementReader::open(*tensor) : std::nullopt;
    if (!reader || reader->count() > most_axes) return std::nullopt;
    std::vector<double> numbers(reader->count());
    numbers.resize(reader->read(numbers));
    return std::vector<float>(numbers.begin(), numbers.end());
  }

  std::optional<std::vector<std::int64_t>> known_lengths(ValueId x, const std::vector<std::int64_t>& axes) const {
    const checker::ValueInfo* info = inferred_.find(*scope_.graph, x);
    if (!info || !info->type.shape) return std::nullopt;
    const checker::Shape& shape = *info->type.shape;
    const auto rank = static_cast<std::int64_t>(shape.size());
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < (axes.empty() ? rank : static_cast<std::int64_t>(axes.size())); ++i) {
      std::int64_t axis = axes.empty() ? i : axes[static_cast<std::size_t>(i)];
      if (axis < 0) axis += rank;
      if (axis < 0 || axis >= rank || !shape[static_cast<std::size_t>(axis)].is_constant()) return std::nullopt;
      lengths.push_back(shape[static_cast<std::size_t>(axis)].constant());
    }
    return lengths;
  }

  static bool is_whole(const std::vector<float>& scales, const std::optional<std::vector<std::int64_t>>& lengths) {
    for (std::size_t i = 0; i < scales.size(); ++i) {
      if (std::floor(scales[i]) == scales[i]) continue;
      const float length = lengths && i < lengths->size() ? static_cast<float>((*lengths)[i]) * scales[i] : 0.5F;
      if (std::floor(length) != length) return false;
    }
    return true;
  }

  static std::vector<std::int64_t> result_sizes(const std::vector<float>& scales,
                                                const std::vector<std::int64_t>& lengths) {
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const float length = std::floor(static_cast<float>(lengths[i]) * scales[i]);
      constexpr float most = 9.2e18F;
      sizes.push_back(length >= 0 && length < most ? static_cast<std::int64_t>(length) : 0);
    }
    return sizes;
  }

  /// An initializer, so that nodes keep their places, where a graph may have one that is no input.
  ValueId constant(const std::vector<std::int64_t>& values) {
    const ValueId made = patch_.value(names_.make("sizes"));
    if (!scope_.function && model_.ir_version.value_or(0) >= 4) {
      patch_.add_initializer(made, ir::make_tensor(model_, std::span(values)));
      return made;
    }
    Node node = ir::make_node(model_, "Constant", {}, {made});
    node.attributes.push_back(ir::make_attribute(model_, "value", ir::make_tensor(model_, std::span(values))));
    patch_.insert_before(at_, std::move(node));
    return made;
  }

  ValueId computed(const Node& node, const std::vector<std::int64_t>& axes) {
    constexpr std::int64_t as_float = 1, as_int64 = 7;
    ValueId lengths = add("Shape", {node.inputs[0]});
    if (!axes.empty()) lengths = add("Gather", {lengths, constant(axes)});
    const ValueId real = add("Cast", {lengths}, {{"to", as_float}});
    const ValueId scaled = add("Floor", {add("Mul", {real, node.inputs[scales_input]})});
    return add("Cast", {scaled}, {{"to", as_int64}});
  }

  ValueId add(std::string_view op, std::vector<ValueId> inputs, const std::vector<ir::Attr>& attributes = {}) {
    const ValueId made = patch_.value(names_.make("sizes"));
    patch_.insert_before(at_, ir::make_node(model_, op, std::move(inputs), {made}, attributes));
    return made;
  }

  ir::Model& model_;
  const ir::GraphScope& scope_;
  const checker::InferredModel& inferred_;
  const spec::OpTable& table_;
  ir::FreshNames& names_;
  ir::Patch patch_;
  std::size_t at_ = 0;  ///< the node that changes
};

}  // namespace

std::vector<Location> use_result_sizes(ir::Model& model, const spec::OpTable& table,
                                       const ir::ExternalBytes& external) {
  checker::Collector collector;
  checker::InferenceOptions options;
  options.external_bytes = external;
  const checker::InferredModel inferred = checker::infer_types(model, table, options, collector);
  struct Rewritten {
    ir::Graph* graph;
    ir::Patch patch;
    std::vector<Location> nodes;
  };
  std::vector<Rewritten> changes;
  {
    const auto scopes = ir::graph_scopes(model);
    const std::vector<ir::Graph*> graphs = ir::mutable_graphs(model);
    ir::FreshNames names(model);
    for (std::size_t g = 0; g < scopes.size(); ++g) {
      GraphRewriter rewriter(model, *scopes[g], inferred, table, names);
      std::vector<Location> nodes;
      for (std::size_t n = 0; n < graphs[g]->nodes.size(); ++n) {
        if (!measures_by_scales(graphs[g]->nodes[n], *scopes[g]) || !rewriter.rewrite(n)) continue;
        nodes.push_back(ir::location_of_node(scopes[g]->path, *graphs[g], n));
      }
      if (!nodes.empty()) changes.push_back({graphs[g], rewriter.take(), std::move(nodes)});
    }
  }
  std::vector<Location> changed;
  for (Rewritten& change : changes) {
    if (change.patch.check(ir::Uses(*change.graph))) continue;
    ir::splice(*change.graph, std::move(change.patch));
    std::move(change.nodes.begin(), change.nodes.end(), std::back_inserter(changed));
  }
  return changed;
}

}  // namespace onnxkit::opset
