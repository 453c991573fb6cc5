#include "onnxkit/opset.h"

#include "converters/opset/model/change_opset.h"

namespace onnxkit {

Result<OpsetReport> change_opset(Model& model, const OpsetOptions& options) {
  return opset::change_opset(model.ir(), options);
}

}  // namespace onnxkit
