#include "checker/infer/infer_model.h"

#include "libonnxkit/ir/dim/dim_names.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/external/external_data.h"

namespace onnxkit::checker {

Result<InferredModel> infer_model(const ir::Model& model, const InferOptions& options, Collector& collector) {
  if (auto unknown = unknown_dimension(model, options.dims)) return *std::move(unknown);
  wire::ExternalData external(model.path);
  InferenceOptions inference;
  inference.dim_values = options.dims;
  inference.external_bytes = [&external](const ir::Tensor& tensor) { return external.bytes(tensor); };
  inference.assume_defaults = options.assume_defaults;
  return infer_types(model, options.context.table(), inference, collector);
}

}  // namespace onnxkit::checker
