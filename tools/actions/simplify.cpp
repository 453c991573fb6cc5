#include "tools/actions/simplify.h"

#include <optional>
#include <utility>

#include "tools/actions/sizes.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

/// What `simplify` says of the model itself; other errors are of files, limits and usage.
bool is_refusal(const Error& error) {
  const std::string& code = error.diagnostic.code;
  return code == "malformed-model" || code == "opset-range" || code == "not-supported" || code == "no-graph";
}

}  // namespace

SimplifiedFile unreadable(SimplifiedFile file, const Error& error) {
  file.unreadable = in_file(error, file.model);
  return file;
}

SimplifiedFile simplify_model(Model& model, const std::string& path, const SimplifyChoices& choices) {
  SimplifiedFile file;
  file.model = path;
  if (const auto set = fix_sizes(model, choices.dims); !set) return unreadable(std::move(file), set.error());
  std::optional<Model> before;
  auto report = simplify(model, choices.simplification, &before);
  if (!report && is_refusal(report.error())) {
    file.refused = in_file(report.error(), file.model);
    return file;
  }
  if (!report) return unreadable(std::move(file), report.error());
  file.report = *std::move(report);
  if (!choices.verifies || !before) return file;
  auto verified = verify_equal(*before, model, choices.verification);
  file.verified =
      verified ? *std::move(verified) : VerifyReport{Equality::not_compared, headline(verified.error().diagnostic), {}};
  if (!choices.must_verify || file.verified->verdict != Equality::not_compared) return file;
  file.refused = make_error("not-supported", "the results could not be compared: " + file.verified->reason);
  file.refused->diagnostic.code = "not-verified";
  return file;
}

}  // namespace onnxkit::tools
