#include <algorithm>

#include "libonnxkit/cuda/session.h"
#include "libonnxkit/plan/precision.h"

namespace onnxkit::cuda {
namespace {

Result<void> round_wide(Value& value, ElementType type) {
  if (value.is_tensor() && value.tensor.type() == ElementType::float64 && is_floating(type)) {
    auto rounded = plan::in_type(value.tensor, type);
    if (!rounded) return rounded.error();
    value.tensor = *std::move(rounded);
  }
  for (Value& item : value.items) {
    if (auto rounded = round_wide(item, type); !rounded) return rounded;
  }
  return {};
}

}  // namespace

Result<exec::RunAnswer> WideSession::run(const exec::RunRequest& request) {
  auto answer = PlannedSession::run(request);
  if (!answer || !rounds_) return answer;
  for (NamedValue& output : answer->outputs) {
    const auto at = std::find_if(outputs().begin(), outputs().end(),
                                 [&](const exec::ValueDesc& desc) { return desc.name == output.name; });
    if (at == outputs().end()) continue;
    if (auto rounded = round_wide(output.value, at->type); !rounded) return rounded.error();
  }
  return answer;
}

}  // namespace onnxkit::cuda
