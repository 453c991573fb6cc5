#include "onnxkit/extract.h"

#include "libonnxkit/edit/extract.h"

namespace onnxkit {

Result<Extraction> extract(const Model& model, const ExtractOptions& options) {
  return edit::extract(model.ir(), options);
}

}  // namespace onnxkit
