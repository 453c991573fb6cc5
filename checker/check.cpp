#include "checker/check.h"

#include "checker/rule_registry.h"
#include "checker/targets/check.h"
#include "checker/weights.h"

namespace onnxkit::checker {

InferredModel check_model(const ir::Model& model, const spec::OpTable& table, const ModelCheckOptions& options,
                          Sink& sink) {
  const auto sites = graph_sites(model);
  RuleContext context{.model = model,
                      .table = table,
                      .sites = sites,
                      .inferred = nullptr,
                      .external_bytes = options.inference.external_bytes,
                      .sink = sink};
  rule_registry().run(Stage::structure, context);
  rule_registry().run(Stage::operators, context);
  InferredModel inferred = infer_types(model, table, options.inference, sink);
  context.inferred = &inferred;
  rule_registry().run(Stage::facts, context);
  if (options.inspect_weights) inspect_weights(context);
  for (const auto& target : options.targets) check_target(context, *target);
  return inferred;
}

}  // namespace onnxkit::checker
