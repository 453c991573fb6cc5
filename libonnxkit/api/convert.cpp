#include "onnxkit/convert.h"

#include "converters/legalize/half_weights.h"
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

Result<SourceReport> compare_models(const Model& before, const Model& after, const SourceCheckOptions& options) {
  return running::compare_models(before, after, options);
}

Result<HalfReport> store_half(Model& model) {
  const auto done = legalize::store_half(model.ir());
  return done ? Result<HalfReport>({done->stored, done->kept, done->saved}) : done.error();
}

void record_conversion(Model& model, const ConversionRecord& record) { running::record_conversion(model.ir(), record); }

Result<SourceReport> compare_with_result(const Model& source, const std::filesystem::path& result,
                                         const SourceCheckOptions& options) {
  return running::compare_with_result(source, result, options);
}

}  // namespace onnxkit
