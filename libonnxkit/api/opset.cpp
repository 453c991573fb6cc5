#include "onnxkit/opset.h"

#include "converters/opset/model/change_opset.h"
#include "libonnxkit/running/verify.h"

namespace onnxkit {

Result<OpsetReport> change_opset(Model& model, const OpsetOptions& options) {
  return opset::change_opset(model.ir(), options);
}

Result<VerifyReport> verify_equal(const Model& before, const Model& after, const VerifyOptions& options) {
  return running::verify_equal(before, after, options);
}

}  // namespace onnxkit
