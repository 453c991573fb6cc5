#include "onnxkit/inspect.h"

#include "checker/inspect/inspect.h"

namespace onnxkit {

Result<InspectReport> inspect(const Model& model, const InspectOptions& options) {
  return checker::inspect(model.ir(), options);
}

}  // namespace onnxkit
