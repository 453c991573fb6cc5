#include "tools/actions/sizes.h"

#include "onnxkit/check.h"
#include "onnxkit/infer.h"

namespace onnxkit::tools {

Result<void> fix_sizes(Model& model, const DimSettings& dims) {
  if (dims.sizes.empty() && dims.names.empty()) return {};
  const auto left = declare_dims(model, dims, DeclaredSizes::replace);
  if (!left) return left.error();
  const auto unknown = unknown_dimensions(model, *left);
  if (!unknown.empty()) return unknown.begin()->second;
  fix_named_dims(model, *left);
  const auto inferred = infer(model);
  return inferred ? Result<void>() : inferred.error();
}

}  // namespace onnxkit::tools
