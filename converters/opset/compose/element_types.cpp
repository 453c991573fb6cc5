#include "converters/opset/compose/element_types.h"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>

namespace onnxkit::opset {

Attr cast_target(const Step& step, ElementType to) {
  if (step.opset_after() >= 6) return {"to", static_cast<std::int64_t>(to)};
  std::string name(name_of(to));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return {"to", name};
}

ValueId cast(Step& step, ValueId value, ElementType to, std::string_view hint) {
  if (ir::index_of(value) < step.graph().values.size() && step.elem(value) == to) return value;
  return step.add("Cast", {value}, {cast_target(step, to)}, hint);
}

void cast_into(Step& step, ValueId value, ElementType to, ValueId result) {
  step.emit("Cast", {value}, {result}, {cast_target(step, to)});
}

ValueId bounded(Step& step, ValueId real, double least, double greatest) {
  if (step.opset_after() < 8)
    return step.add("Clip", {real}, {{"min", static_cast<float>(least)}, {"max", static_cast<float>(greatest)}});
  const ValueId low = step.number(ElementType::float64, least, "least");
  const ValueId high = step.number(ElementType::float64, greatest, "greatest");
  if (step.opset_after() >= 11) return step.add("Clip", {real, low, high}, {}, "bounded");
  // Which ONNX Runtime has for float64, unlike a Clip of these opsets.
  return step.add("Min", {step.add("Max", {real, low}, {}, "not_below"), high}, {}, "bounded");
}

Detours through_float32(std::initializer_list<ElementType> narrow) {
  Detours detours;
  for (const ElementType type : narrow) detours.push_back({type, ElementType::float32});
  return detours;
}

Detours whole_through_float64() {
  Detours detours;
  for (const ElementType type : {ElementType::int8, ElementType::uint8, ElementType::int16, ElementType::uint16,
                                 ElementType::int32, ElementType::uint32})
    detours.push_back({type, ElementType::float64});
  return detours;
}

Detours narrow_through_int32() {
  Detours detours;
  for (const ElementType type : {ElementType::int8, ElementType::uint8, ElementType::int16, ElementType::uint16})
    detours.push_back({type, ElementType::int32});
  return detours;
}

bool take_detour(Step& step, const Detours& detours) {
  const auto detour = std::find_if(detours.begin(), detours.end(), [&](const Detour& candidate) {
    const auto& inputs = step.node().inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) { return step.elem(id) == candidate.from; });
  });
  if (detour == detours.end()) return false;
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < step.output_count(); ++i) {
    if (step.elem(step.output(i)) == detour->from) outputs.push_back(i);
  }
  for (std::size_t i = 0; i < step.input_count(); ++i) {
    if (step.elem(step.input(i)) == detour->from) step.set_input(i, cast(step, step.input(i), detour->to, "wider"));
  }
  step.then();
  for (const std::size_t i : outputs) {
    const ValueId wide = step.value("wide");
    step.set_output(i, wide);
    cast_into(step, wide, detour->from, step.output(i));
  }
  step.note(fmt::format("in {}, which holds {}", name_of(detour->to), name_of(detour->from)));
  return true;
}

Way by_way_of(Detours detours) {
  return adapt("missing types are computed in wider ones",
               [detours = std::move(detours)](Step& step) { take_detour(step, detours); });
}

}  // namespace onnxkit::opset
