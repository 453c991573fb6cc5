#include "onnxkit/fix.h"

#include "checker/fix.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit {

Result<std::vector<Fix>> fix(Model& model, const FixOptions& options) {
  return checker::fix_model(model.ir(), options.context.table());
}

}  // namespace onnxkit
