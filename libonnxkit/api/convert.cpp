#include "onnxkit/convert.h"

#include "converters/weights/weights.h"
#include "libonnxkit/running/source.h"

namespace onnxkit {

Result<SourceReport> compare_with_source(const Model& converted, const std::filesystem::path& source,
                                         const SourceCheckOptions& options) {
  return running::compare_with_source(converted, source, options);
}

std::string_view name_of(WeightMatch::How how) {
  switch (how) {
    case WeightMatch::How::name:
      return "name";
    case WeightMatch::How::prefix:
      return "prefix";
    case WeightMatch::How::shape:
      return "shape";
    default:
      return "order";
  }
}

Result<WeightsReport> load_weights(Model& model, const std::filesystem::path& file, const WeightsOptions& options) {
  return weights::load_weights(model.ir(), file, options);
}

Result<SourceReport> compare_with_result(const Model& source, const std::filesystem::path& result,
                                         const SourceCheckOptions& options) {
  return running::compare_with_result(source, result, options);
}

}  // namespace onnxkit
