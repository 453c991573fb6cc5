#include "checker/two_readings.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/core.h>

#include "checker/infer/input_types.h"

namespace onnxkit::checker {
namespace {

constexpr std::size_t scales_input = 2, sizes_input = 3;

bool aligns_by_scales(const ir::Node& node, const ir::GraphScope& scope) {
  if (node.op_type.view() != "Resize" || !ir::canonical_domain(node.domain).empty()) return false;
  if (scope.opset("").value_or(0) < 11) return false;
  const ir::Attribute* mode = node.find_attribute("coordinate_transformation_mode");
  const auto* name = mode ? mode->as<Text>() : nullptr;
  const auto input = [&](std::size_t at) { return at < node.inputs.size() ? node.inputs[at] : ir::ValueId::none; };
  return name && name->view() == "align_corners" && input(scales_input) != ir::ValueId::none &&
         input(sizes_input) == ir::ValueId::none;
}

bool any_in(std::span<const std::unique_ptr<ir::GraphScope>> scopes) {
  return std::ranges::any_of(scopes, [](const auto& scope) {
    return std::ranges::any_of(scope->graph->nodes,
                               [&](const ir::Node& node) { return aligns_by_scales(node, *scope); });
  });
}

/// The length along axis `i` of those that have a scale; unknown where it is open.
Dim length_of(const ir::Node& node, const Shape* shape, std::size_t i) {
  const ir::Attribute* axes = node.find_attribute("axes");
  const auto* listed = axes ? axes->as<std::vector<std::int64_t>>() : nullptr;
  if (!shape || (listed && i >= listed->size())) return {};
  const auto rank = static_cast<std::int64_t>(shape->size());
  std::int64_t axis = listed ? (*listed)[i] : static_cast<std::int64_t>(i);
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? (*shape)[static_cast<std::size_t>(axis)] : Dim();
}

/// true and false are certain.
std::optional<bool> has_two_readings(const ir::Node& node, const ir::Graph& graph, const InferredModel& inferred) {
  const ValueInfo* x = inferred.find(graph, node.inputs[0]);
  const ValueInfo* scales = inferred.find(graph, node.inputs[scales_input]);
  if (!scales || !scales->value) return std::nullopt;
  const Shape* shape = x && x->type.shape ? &*x->type.shape : nullptr;
  std::optional<bool> result = false;
  for (std::size_t i = 0; i < scales->value->elements.size(); ++i) {
    const auto real = scales->value->elements[i].constant_real();
    if (real && std::floor(*real) == *real) continue;
    const Dim length = length_of(node, shape, i);
    if (!real || !length.is_constant()) {
      result = std::nullopt;
      continue;
    }
    const float scaled = static_cast<float>(length.constant()) * static_cast<float>(*real);
    if (std::floor(scaled) != scaled) return true;
  }
  return result;
}

}  // namespace

std::vector<TwoReadings> two_readings(std::span<const std::unique_ptr<ir::GraphScope>> scopes,
                                      const InferredModel& inferred) {
  std::vector<TwoReadings> found;
  for (const auto& scope : scopes) {
    for (std::size_t n = 0; n < scope->graph->nodes.size(); ++n) {
      const ir::Node& node = scope->graph->nodes[n];
      if (!aligns_by_scales(node, *scope)) continue;
      const auto has = has_two_readings(node, *scope->graph, inferred);
      if (has.value_or(true)) found.push_back({ir::location_of_node(scope->path, *scope->graph, n), has.has_value()});
    }
  }
  return found;
}

std::string two_readings_note(const ir::Model& model, const spec::OpTable& table, const std::vector<NamedValue>& inputs,
                              std::string_view reader) {
  const auto scopes = ir::graph_scopes(model);
  if (!model.graph || !any_in(scopes)) return {};
  Collector collector;
  InferenceOptions options;
  options.assume_defaults = true;
  options.input_types = input_types(model, inputs);
  const InferredModel inferred = infer_types(model, table, options, collector);
  std::vector<TwoReadings> found = two_readings(scopes, inferred);
  std::erase_if(found, [](const TwoReadings& one) { return !one.is_certain; });
  if (found.empty()) return {};
  const std::string more = found.size() > 1 ? fmt::format(" and {} more", found.size() - 1) : std::string();
  const Location& first = found.front().location;
  return fmt::format(
      "Resize at {}{}: align_corners with a length that is not whole; {} follows the scaled length, as the official "
      "cases do, ONNX Runtime and PyTorch the size of the result; upgrade --align-corners result-size writes a model "
      "that means the latter",
      first.node_name.empty() ? first.path() : quote(first.node_name), more, reader);
}

}  // namespace onnxkit::checker
