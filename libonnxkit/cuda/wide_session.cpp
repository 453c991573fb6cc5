#include <algorithm>

#include "libonnxkit/cuda/session.h"
#include "libonnxkit/plan/precision.h"

namespace onnxkit::cuda {
namespace {

/// float64, alone or inside, in the type that the model declares.
Result<void> round_declared(Value& value, const ir::DeclaredType& type) {
  const auto declared = static_cast<ElementType>(type.elem_type.value_or(0));
  if (value.is_tensor() && value.tensor.type() == ElementType::float64 && is_floating(declared)) {
    auto rounded = plan::in_type(value.tensor, declared);
    if (!rounded) return rounded.error();
    value.tensor = *std::move(rounded);
  }
  if (!type.element) return {};
  for (Value& item : value.items) {
    if (auto rounded = round_declared(item, *type.element); !rounded) return rounded;
  }
  const auto inner = static_cast<ElementType>(type.element->elem_type.value_or(0));
  if (value.declared == ElementType::float64 && is_floating(inner)) value.declared = inner;
  return {};
}

}  // namespace

Result<exec::RunAnswer> WideSession::run(const exec::RunRequest& request) {
  auto answer = PlannedSession::run(request);
  if (!answer || !rounds_) return answer;
  const ir::Graph& graph = *model_->graph;
  for (NamedValue& output : answer->outputs) {
    const auto at = std::find_if(graph.outputs.begin(), graph.outputs.end(),
                                 [&](const ir::ValueInfo& info) { return graph.name_of(info.value) == output.name; });
    if (at == graph.outputs.end() || !at->type) continue;
    if (auto rounded = round_declared(output.value, *at->type); !rounded) return rounded.error();
  }
  return answer;
}

}  // namespace onnxkit::cuda
