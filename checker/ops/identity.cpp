// Identity: type, shape and content are those of the input, whatever kind of value it is.
#include "checker/infer/infer_context.h"
#include "checker/infer/infer_registry.h"

namespace onnxkit::checker {
namespace {

void infer_identity(InferContext& context) {
  if (const Constant* value = context.input_value(0)) context.set_value(0, *value);
  context.copy_type(0, 0);
}

}  // namespace

void register_identity(InferRegistry& registry) {
  registry.add("Identity", all_versions(), infer_identity, {.inputs = {{0, Role::moved}}, .is_view = true});
}

}  // namespace onnxkit::checker
