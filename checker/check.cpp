#include "checker/check.h"
#include "libonnxkit/ir/scope.h"

#include "checker/rule_registry.h"
#include "checker/targets/check.h"
#include "checker/weights.h"

namespace onnxkit::checker {

InferredModel check_model(const ir::Model& model, const spec::OpTable& table, const ModelCheckOptions& options,
                          Collector& collector) {
  const auto scopes = ir::graph_scopes(model);
  const spec::Resolution resolution(model, scopes, table);
  RuleContext context{.model = model,
                      .table = table,
                      .resolution = resolution,
                      .scopes = scopes,
                      .inferred = nullptr,
                      .external_bytes = options.inference.external_bytes,
                      .collector = collector,
                      .accepts_additions = options.accepts_additions};
  rule_registry().run(Stage::structure, context);
  rule_registry().run(Stage::operators, context);
  InferenceOptions inference = options.inference;
  inference.function_info = inference.function_info || !options.targets.empty();  // targets ask for types inside
  InferredModel inferred = infer_types(model, resolution, inference, collector);
  context.inferred = &inferred;
  rule_registry().run(Stage::inferred, context);
  if (options.inspect_weights) inspect_weights(context);
  for (const auto& target : options.targets) check_target(context, *target);
  return inferred;
}

}  // namespace onnxkit::checker
