#include "tools/actions/opset.h"

#include <optional>
#include <utility>

#include "tools/report/diagnostics.h"

namespace onnxkit::tools {

bool is_wrong_target(const OpsetFile& file) {
  return file.unreadable && file.unreadable->diagnostic.code == "opset-range";
}

OpsetFile unreadable(OpsetFile file, const Error& error) {
  file.unreadable = error;
  if (!is_wrong_target(file)) file.unreadable = in_file(error, file.model);
  return file;
}

OpsetFile convert_opsets(Model& model, const std::string& path, const OpsetChoices& choices) {
  OpsetFile file;
  file.model = path;
  std::optional<Model> before;
  auto report = change_opset(model, choices.conversion, choices.verifies ? &before : nullptr);
  if (!report) return unreadable(std::move(file), report.error());
  file.report = *std::move(report);
  if (!before || file.report.imports.empty()) return file;
  VerifyOptions verification = choices.verification;
  std::optional<Model> sized;  // the converted model with the sizes of the run
  if (!choices.dims.sizes.empty() || !choices.dims.names.empty()) {
    sized = model;
    for (Model* run : {&*before, &*sized}) {
      auto dims = declare_dims(*run, choices.dims, DeclaredSizes::keep);
      if (!dims) return unreadable(std::move(file), dims.error());
      verification.dims = *std::move(dims);
    }
  }
  auto verified = verify_equal(*before, sized ? *sized : model, verification);
  if (!verified && verified.error().diagnostic.code == "unknown-dimension")
    return unreadable(std::move(file), verified.error());
  file.verified =
      verified ? *std::move(verified) : VerifyReport{Equality::not_compared, headline(verified.error().diagnostic), {}};
  if (choices.must_verify && file.converted() && file.verified->verdict != Equality::equal) {
    OpsetRefusal refusal;
    refusal.code = "not-verified";
    refusal.location = file.verified->location;
    refusal.message = "the results could not be compared: " + file.verified->reason;
    file.report.refusals.push_back(std::move(refusal));
  }
  return file;
}

}  // namespace onnxkit::tools
