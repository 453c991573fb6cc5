#include "converters/opset/engine/steps.h"

#include <algorithm>

#include <fmt/format.h>

#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {

std::int64_t counted_from_front(Step& step, std::int64_t axis, ValueId value) {
  return axis >= 0 ? axis : axis + step.need_rank(value);
}

ValueId integers_as_input(Step& step, std::string_view attribute) {
  if (!step.has(attribute)) return ValueId::none;
  if (!step.is_reference(attribute)) {
    const auto list = step.integers(attribute);
    return list ? step.vector(*list, attribute) : ValueId::none;
  }
  if (step.opset_after() < 12)
    refuse(fmt::format("the function's caller sets attribute {}, which Constant supports from opset 12 on", attribute));
  const ValueId result = step.value(attribute);
  ir::Attribute copy = clone(*step.node().find_attribute(attribute));
  copy.name = "value_ints";
  step.emit("Constant", {}, {result}).attributes.push_back(std::move(copy));
  return result;
}

std::vector<std::int64_t> need_integers(Step& step, std::size_t input, std::string_view what) {
  const ValueId value = step.input(input);
  if (auto values = step.constant_integers(value)) return *std::move(values);
  const std::vector<ir::ValueInfo>& inputs = step.graph().inputs;
  const bool is_given =
      std::any_of(inputs.begin(), inputs.end(), [&](const ir::ValueInfo& info) { return info.value == value; });
  refuse(fmt::format("{} is not constant: {} is {}", what, quote(step.graph().name_of(value)),
                     is_given ? "set by the function's caller" : "computed at run time"));
}

void drop_if_default(Step& step, std::string_view attribute) {
  if (!step.has(attribute)) return;
  const spec::AttributeSchema* schema = step.before().find_attribute(attribute);
  const bool is_default =
      schema && schema->has_default &&
      (schema->type == spec::AttributeType::integer  ? step.integer(attribute) == schema->default_value.integer
       : schema->type == spec::AttributeType::real   ? step.real(attribute) == schema->default_value.real
       : schema->type == spec::AttributeType::string ? step.string(attribute) == schema->default_value.string
                                                     : false);
  if (!is_default)
    refuse(fmt::format("attribute {} does not have its default value, and was added in {} {}", attribute,
                       step.before().name, step.before().since_version));
  step.remove(attribute);
}

Way drop_attribute(std::string_view attribute) {
  return adapt(fmt::format("removed {}: it has no meaning", attribute),
               [name = std::string(attribute)](Step& step) { step.remove(name); });
}

Way drop_default(std::initializer_list<std::string_view> attributes) {
  const std::vector<std::string> names(attributes.begin(), attributes.end());
  return adapt(fmt::format("removed {}: the older version behaves like the default", fmt::join(names, ", ")),
               [names](Step& step) {
                 for (const std::string& name : names) drop_if_default(step, name);
               });
}

Way attribute_to_input(std::string_view attribute, std::size_t input) {
  return adapt(fmt::format("{} becomes an input", attribute), [name = std::string(attribute), input](Step& step) {
    const ValueId value = integers_as_input(step, name);
    step.remove(name);
    if (value != ValueId::none) step.set_input(input, value);
  });
}

Way input_to_attribute(std::size_t input, std::string_view attribute) {
  return adapt(fmt::format("{} becomes an attribute", attribute), [name = std::string(attribute), input](Step& step) {
    if (!step.has_input(input)) return step.drop_inputs(input);
    step.set({name, need_integers(step, input, name)});
    step.set_input(input, ValueId::none);
  });
}

Way nonnegative_axis(std::string_view attribute, std::size_t input) {
  return adapt(fmt::format("{} made non-negative", attribute), [name = std::string(attribute), input](Step& step) {
    const auto axis = step.find_integer(name);
    if (axis && *axis < 0) step.set({name, counted_from_front(step, *axis, step.input(input))});
  });
}

Way nonnegative_axes(std::string_view attribute, std::size_t input) {
  return adapt(fmt::format("{} made non-negative", attribute), [name = std::string(attribute), input](Step& step) {
    auto axes = step.integers(name);
    if (!axes) return;
    bool any = false;
    for (std::int64_t& axis : *axes) {
      any = any || axis < 0;
      axis = counted_from_front(step, axis, step.input(input));
    }
    if (any) step.set({name, *std::move(axes)});
  });
}

}  // namespace onnxkit::opset
