// EyeLike: ones on a diagonal, in the shape of the input, which is a matrix; of the input's type unless `dtype` names another.
#include <fmt/core.h>

#include "checker/infer/infer_registry.h"
#include "checker/infer/shared/shape_rules.h"
#include "checker/infer/type_rules.h"

namespace onnxkit::checker {
namespace {

void infer_eye_like(InferContext& context) {
  if (!rank_differs(context, 0, 2)) {
    context.set_shape(0, Shape(2));
    context.copy_shape(0, 0);
  }
  const auto number = context.find_integer("dtype");
  if (!number) return context.set_elem(0, context.input_elem(0));
  const spec::OpSchema& schema = context.schema();
  const spec::TypeSet& allowed = schema.constraints[schema.output_at(0)->constraint].allowed;
  const bool known = *number > 0 && *number < element_type_count;
  if (known && allows(allowed, Type::tensor(static_cast<ElementType>(*number)))) {
    return context.set_elem(0, static_cast<ElementType>(*number));
  }
  context.error({.code = "attribute-value",
                 .at = at_attribute("dtype"),
                 .message = "EyeLike cannot produce this element type",
                 .expected = describe(allowed),
                 .found = std::to_string(*number),
                 .help = known ? context.help_to_give(static_cast<ElementType>(*number)) : std::string()});
}

}  // namespace

void register_eye_like(InferRegistry& registry) {
  registry.add("EyeLike", all_versions(), infer_eye_like, {.type_attributes = {"dtype"}});
}

}  // namespace onnxkit::checker
