#include "onnxkit/infer.h"

#include "checker/infer/annotate.h"
#include "checker/infer/why.h"

namespace onnxkit {

Result<InferReport> infer(Model& model, const InferOptions& options) { return checker::annotate(model.ir(), options); }

Result<std::vector<WhyStep>> why_unknown(const Model& model, std::string_view value, const InferOptions& options) {
  return checker::why_unknown(model.ir(), value, options);
}

}  // namespace onnxkit
