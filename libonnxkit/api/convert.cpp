#include "onnxkit/convert.h"

#include "converters/layout/boundary.h"
#include "converters/layout/channels_last.h"
#include "converters/layout/layout.h"
#include "converters/legalize/channel_operators.h"
#include "converters/legalize/half_weights.h"
#include "converters/legalize/legalize.h"
#include "converters/weights/weights.h"
#include "libonnxkit/formats/frame/load.h"
#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/running/source.h"

namespace onnxkit {
namespace {

/// The model as writers of formats with channels last begin with it.
ir::Model with_channels_last(const ir::Model& model) {
  constexpr std::int64_t opset = 13;
  ir::Model probe = ir::clone(model);
  std::vector<Diagnostic> refusals;
  if (!legalize::bring_to(probe, opset, foreign::Writers(), refusals)) probe = ir::clone(model);
  legalize::write_channel_operators(probe);
  layout::to_channels_last(probe);
  layout::reduce_transposes(probe);
  return probe;
}

}  // namespace

std::vector<BoundaryChange> reorder_boundary(Model& model, const std::string& format) {
  const formats::Format* target = formats::registry().find(format);
  const bool has_kernels = target && target->is_channels_last;
  const auto orders =
      has_kernels ? layout::orders_at_boundary(with_channels_last(model.ir())) : layout::orders_at_boundary(model.ir());
  std::vector<BoundaryChange> changes;
  for (layout::BoundaryOrder& order : layout::reorder_boundary(model.ir(), orders))
    changes.push_back({std::move(order.name), order.is_output, std::move(order.order)});
  if (!has_kernels && !changes.empty()) layout::reduce_transposes(model.ir());
  return changes;
}

Result<std::vector<std::string>> signatures_of(const std::filesystem::path& path, const std::string& format) {
  const auto source = formats::open_source(path);
  if (!source) return source.error();
  const formats::Format* known =
      format.empty() ? formats::registry().to_read(*source) : formats::registry().find(format);
  if (!known || !known->signatures) return std::vector<std::string>();
  return known->signatures(*source);
}

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
