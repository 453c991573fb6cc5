#include "converters/opset/engine/steps.h"

namespace onnxkit::opset {
namespace {

bool is_optional(const checker::Type& type) { return type.kind == checker::Type::Kind::optional; }

/// False for what is known to be a tensor or a sequence.
bool takes_optional(Step& step) {
  const checker::Type* type = step.type(step.input(0));
  if (!type || type->is_unknown())
    refuse_unknown("whether the input is an optional, a tensor or a sequence is unknown");
  return is_optional(*type);
}

void get_only_from_optional(Step& step) {
  if (takes_optional(step)) return;
  step.emit("Identity", {step.input(0)}, {step.output(0)});
  step.replace();
  step.note("rewritten as Identity: the input is not an optional");
}

void ask_only_optional(Step& step) {
  const bool is_given = step.has_input(0);
  if (is_given && takes_optional(step)) return;
  step.emit("Identity", {step.number(ElementType::boolean, is_given ? 1 : 0)}, {step.output(0)});
  step.replace();
  step.note(is_given ? "always true: the input is not an optional" : "always false: there is no input");
}

/// Tensors of types that version 18 does not know need no optional operator at all.
void without_newer_types(Step& step, void (*rewrite)(Step&)) {
  const ElementType type = step.elem(step.input(0));
  if (type > ElementType::complex128) rewrite(step);
}

}  // namespace

void register_optional(StepRegistry& registry) {
  const Way none = never("older opsets have no optional values");
  registry.introduced({"Optional", "OptionalHasElement", "OptionalGetElement"}, 15, none);
  registry.change({"OptionalGetElement"}, 18, compatible("tensors and sequences are also allowed"),
                  adapt("only optional values are allowed", get_only_from_optional));
  registry.change({"OptionalHasElement"}, 18, compatible("tensors, sequences and a missing input are also allowed"),
                  adapt("only optional values are allowed", ask_only_optional));
  registry.types({"Optional"}, {28});
  const Way more_types = compatible("more types are allowed");
  registry.change({"OptionalGetElement"}, 28, more_types,
                  adapt("rewritten as Identity: the input is not an optional",
                        [](Step& step) { without_newer_types(step, get_only_from_optional); }));
  registry.change({"OptionalHasElement"}, 28, more_types,
                  adapt("always true: the input is not an optional",
                        [](Step& step) { without_newer_types(step, ask_only_optional); }));
}

}  // namespace onnxkit::opset
