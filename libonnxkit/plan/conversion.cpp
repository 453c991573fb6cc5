#include "libonnxkit/plan/conversion.h"

#include <algorithm>

#include "libonnxkit/plan/step_edit.h"

namespace onnxkit::plan {

Step conversion(const View& from, const View& to, const std::vector<std::string>& nodes, std::string_view converts) {
  auto parameters = std::make_shared<MapParameters>();
  parameters->expression.input(0, Lane::f32);
  return {.kind = map_step,
          .inputs = {from},
          .outputs = {to},
          .parameters = std::move(parameters),
          .nodes = nodes,
          .converts = converts};
}

bool is_conversion(const Step& step) {
  if (step.kind != map_step || step.inputs.size() != 1) return false;
  const auto& code = static_cast<const MapParameters&>(*step.parameters).expression.code();
  return std::all_of(code.begin(), code.end(), [](const Instruction& instruction) {
    return instruction.lane == Lane::f32 &&
           (instruction.operation == Operation::input || instruction.operation == Operation::convert);
  });
}

View new_value_like(Plan& plan, ElementType type, const View& like) {
  View view = new_value(plan, type, like.dims);
  view.strides = dense_strides_like(like.dims, like);
  return view;
}

}  // namespace onnxkit::plan
