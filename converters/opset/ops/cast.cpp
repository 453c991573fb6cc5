// Cast, CastLike, BitCast. Cast names its target until version 5 and numbers it from 6; `saturate` (19) concerns float8, `round_mode` (24) float8e8m0.
#include <algorithm>
#include <cctype>

#include <fmt/core.h>

#include "converters/opset/compose/element_types.h"
#include "converters/opset/engine/steps.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {
namespace {

void name_to_number(Step& step) {
  const std::string name = step.string("to");
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto type = element_type_named(lower);
  if (!type) refuse(fmt::format("{} is not an element type", quote(name)));
  step.set({"to", static_cast<std::int64_t>(*type)});
}

void number_to_name(Step& step) {
  const std::int64_t number = step.integer("to");
  if (!is_known_element_type(number)) refuse(fmt::format("{} is not the number of an element type", number));
  step.set(cast_target(step, static_cast<ElementType>(number)));
}

/// CastLike for the opset that the step leads to, as Cast with the attributes that it has there.
void to_cast(Step& step) {
  step.emit("Cast", {step.input(0)}, {step.output(0)}, {cast_target(step, step.need_elem(step.input(1)))});
  step.replace();
}

/// Types of one width: whole numbers keep their low bits.
void bits_by_cast(Step& step) {
  const auto to = static_cast<ElementType>(step.integer("to"));
  const ElementType from = step.need_elem(step.input(0));
  if (from == to) {
    step.emit("Identity", {step.input(0)}, {step.output(0)});
  } else if (is_integer(from) && is_integer(to) && storage_bits(from) == storage_bits(to)) {
    step.emit("Cast", {step.input(0)}, {step.output(0)}, {cast_target(step, to)});
  } else {
    refuse(fmt::format("no older operator reinterprets the bits of {} as {}", name_of(from), name_of(to)));
  }
  step.replace();
}

/// The attribute concerns types that the older version does not have.
Way drop_for_missing_types(std::string_view attribute) {
  return adapt(fmt::format("removed {}: it affects only types that the older version lacks", attribute),
               [name = std::string(attribute)](Step& step) { step.remove(name); });
}

}  // namespace

void register_cast(StepRegistry& registry) {
  registry.change({"Cast"}, 6, adapt("the type is given by its number", name_to_number),
                  adapt("the type is given by its name", number_to_name));
  registry.types({"Cast"}, {9, 13});
  registry.change({"Cast", "CastLike"}, 19, compatible("saturate affects new types only"),
                  drop_for_missing_types("saturate"));
  registry.types({"Cast", "CastLike"}, {21, 23});
  registry.change({"Cast", "CastLike"}, 24, compatible("round_mode affects a new type only"),
                  drop_for_missing_types("round_mode"));
  registry.types({"Cast", "CastLike"}, {25});
  registry.types({"Cast"}, {28});
  registry.introduced({"CastLike"}, 15, adapt("rewritten as Cast", to_cast));
  registry.introduced({"BitCast"}, 26, adapt("rewritten as Cast", bits_by_cast));
}

}  // namespace onnxkit::opset
