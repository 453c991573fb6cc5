#include "libonnxkit/plan/validity.h"

#include <fmt/core.h>

#include "checker/collector.h"
#include "checker/rule_registry.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::plan {

namespace {

/// Whether a plan looks at what is wrong. Types of outputs are inferred, and initializers of old files need not be inputs.
bool concerns_plans(const Diagnostic& found) {
  const bool is_output = found.location.item.starts_with("output");
  return found.code != "graph-name" && found.code != "initializer-not-input" &&
         !(found.code == "missing-type" && is_output);
}

}  // namespace

std::optional<std::string> first_fault(const checker::Collector& found) {
  for (const Diagnostic& diagnostic : found.diagnostics()) {
    if (diagnostic.severity != Severity::error || diagnostic.location.scope.empty()) continue;
    if (!concerns_plans(diagnostic)) continue;
    return fmt::format("the model is not valid: {} at {}", diagnostic.message, diagnostic.location.path());
  }
  return std::nullopt;
}

std::optional<std::string> fault_of(const ir::Model& model, const spec::OpTable& operators, bool allow_outside_data) {
  for (const ir::Function& function : model.functions) {
    if (ir::canonical_domain(function.domain).empty())
      return fmt::format("the model has a function {} in the domain of ONNX's operators", quote(function.name.view()));
  }
  checker::Collector collector;
  wire::ExternalData external(model.path, {.allow_outside = allow_outside_data, .verify_checksums = false});
  const checker::ExternalBytes bytes = [&external](const ir::Tensor& tensor) { return external.bytes(tensor); };
  const auto scopes = ir::graph_scopes(model);
  const spec::Resolution resolution(model, scopes, operators);
  checker::RuleContext context{.model = model,
                               .table = operators,
                               .resolution = resolution,
                               .scopes = scopes,
                               .inferred = nullptr,
                               .external_bytes = bytes,
                               .collector = collector,
                               .accepts_additions = true};
  checker::rule_registry().run(checker::Stage::structure, context);
  checker::rule_registry().run(checker::Stage::operators, context);
  return first_fault(collector);
}

}  // namespace onnxkit::plan
