#include "onnxkit/check.h"

#include "checker/node_places.h"
#include "checker/report.h"
#include "libonnxkit/ir/dim/dim_names.h"
#include "libonnxkit/running/writers.h"

namespace onnxkit {

Result<CheckReport> check(const Model& model, const CheckOptions& options) {
  return running::check(model.ir(), options);
}

std::vector<std::string> places_by_name(const Model& model, std::span<const Diagnostic> findings) {
  const checker::NodePlaces places(model.ir());
  std::vector<std::string> names;
  for (const Diagnostic& finding : findings) names.push_back(places.by_name(finding.location));
  return names;
}

std::map<std::string, Error> unknown_dimensions(const Model& model, const std::map<std::string, std::int64_t>& sizes) {
  return ir::unknown_dimensions(model.ir(), sizes);
}

std::vector<std::string> target_names() { return running::target_names(); }

std::vector<CodeExplanation> explain_codes() { return checker::explain_codes(); }

}  // namespace onnxkit
