#include "tools/report/verdict.h"

namespace onnxkit::tools {
namespace {

constexpr std::string_view name_of(Equality verdict) {
  return verdict == Equality::equal ? "equal" : verdict == Equality::different ? "different" : "unjudged";
}

}  // namespace

std::string verdict_text(const std::optional<VerifyReport>& verified) {
  if (!verified) return "not verified";
  if (verified->verdict == Equality::equal) return "equal on the reference";
  const std::string reason = without_controls(verified->reason);
  return (verified->verdict == Equality::different ? "the results differ: " : "not verified: ") + reason;
}

Json verdict_json(const std::optional<VerifyReport>& verified) {
  if (!verified) return {};
  return {{"verdict", name_of(verified->verdict)}, {"reason", verified->reason}};
}

}  // namespace onnxkit::tools
