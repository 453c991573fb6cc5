#include "converters/opset/compose/compose.h"

#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::opset {
namespace {

/// A list that an operator takes as an input from `since` on, and before as an attribute.
ValueId with_list(Step& step, std::string_view op, ValueId x, std::string_view name,
                  const std::vector<std::int64_t>& list, std::int64_t since, std::string_view hint,
                  std::vector<Attr> others = {}) {
  std::vector<ValueId> inputs = {x};
  if (step.opset_after() >= since)
    inputs.push_back(step.vector(list, name));
  else
    others.push_back({name, list});
  return step.add(op, std::move(inputs), std::move(others), hint);
}

}  // namespace

ValueId reduce(Step& step, std::string_view op, ValueId x, const std::vector<std::int64_t>& axes, bool keep,
               std::string_view hint) {
  return with_list(step, op, x, "axes", axes, op == "ReduceSum" ? 13 : 18, hint,
                   {{"keepdims", std::int64_t{keep ? 1 : 0}}});
}

ValueId reshape(Step& step, ValueId x, const std::vector<std::int64_t>& sizes, std::string_view hint) {
  return step.add("Reshape", {x, step.vector(sizes, "shape")}, {}, hint);
}

ValueId squeeze(Step& step, ValueId x, const std::vector<std::int64_t>& axes, std::string_view hint) {
  return with_list(step, "Squeeze", x, "axes", axes, 13, hint);
}

ValueId unsqueeze(Step& step, ValueId x, const std::vector<std::int64_t>& axes, std::string_view hint) {
  return with_list(step, "Unsqueeze", x, "axes", axes, 13, hint);
}

ValueId slice(Step& step, ValueId x, std::int64_t axis, std::int64_t begin, std::int64_t end, std::string_view hint) {
  using List = std::vector<std::int64_t>;
  if (step.opset_after() < 10)
    return step.add("Slice", {x}, {{"axes", List{axis}}, {"starts", List{begin}}, {"ends", List{end}}}, hint);
  return step.add(
      "Slice", {x, step.vector(List{begin}, "starts"), step.vector(List{end}, "ends"), step.vector(List{axis}, "axes")},
      {}, hint);
}

ValueId pad(Step& step, ValueId x, ElementType type, const std::vector<std::int64_t>& pads, double value,
            std::string_view hint) {
  if (step.opset_after() < 11)
    return step.add("Pad", {x}, {{"pads", pads}, {"value", static_cast<float>(value)}}, hint);
  const ValueId amounts = step.vector(pads, "pads");
  return step.add("Pad", {x, amounts, step.number(type, value, "fill")}, {}, hint);
}

ElementType wider(ElementType a, ElementType b) {
  if (a == b) return a;
  const bool is_double = a == ElementType::float64 || b == ElementType::float64;
  return is_double ? ElementType::float64 : ElementType::float32;
}

}  // namespace onnxkit::opset
