#include "libonnxkit/api/inference.h"

#include "libonnxkit/api/dim_names.h"
#include "libonnxkit/api/options.h"
#include "libonnxkit/wire/external_data.h"

namespace onnxkit::api {

Result<checker::InferredModel> infer_types(const ir::Model& model, const InferOptions& options, checker::Sink& sink) {
  auto table = op_table(options.schemas);
  if (!table) return std::move(table).error();
  if (auto unknown = unknown_dimension(model, options.dims)) return *std::move(unknown);
  wire::ExternalData external(model.path);
  checker::InferenceOptions inference;
  inference.dim_values = options.dims;
  inference.external_bytes = [&external](const ir::Tensor& tensor) { return external.bytes(tensor); };
  inference.assume_defaults = options.assume_defaults;
  return checker::infer_types(model, *table, inference, sink);
}

}  // namespace onnxkit::api
