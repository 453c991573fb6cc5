// What a call of a function settles: which parameters of the body stand for nothing, and which values its attributes have.
#include <fmt/core.h>

#include "checker/infer/attribute_values.h"
#include "checker/infer/inference.h"
#include "checker/rule_registry.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::checker {

void Inference::note_absent_arguments(const Frame& frame, std::size_t call, Frame& body) const {
  const ir::Node& node = frame.graph->nodes[call];
  const std::vector<ir::ValueInfo>& parameters = body.graph->inputs;
  std::shared_ptr<const Location> place;  // of all parameters that the call leaves out, which may be many
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].value == ir::ValueId::none) continue;
    const bool is_given = i < node.inputs.size() && node.inputs[i] != ir::ValueId::none;
    const Absence* passed_on = is_given ? absence(frame, node.inputs[i]) : nullptr;
    if (passed_on) {
      body.absent.emplace(ir::index_of(parameters[i].value), *passed_on);
    } else if (!is_given) {
      if (!place) place = std::make_shared<const Location>(location_of(frame, call));
      body.absent.emplace(ir::index_of(parameters[i].value),
                          Absence{place, i, body.function, body.graph->name_of(parameters[i].value)});
    }
  }
}

const Absence* Inference::absence(const Frame& frame, ir::ValueId id) const {
  if (!frame.function) return nullptr;
  const Frame* outermost = &frame;
  while (outermost->parent) outermost = outermost->parent;
  if (outermost->absent.empty()) return nullptr;
  if (outermost != &frame) id = outermost->graph->find(frame.graph->name_of(id));
  const auto found = id == ir::ValueId::none ? outermost->absent.end() : outermost->absent.find(ir::index_of(id));
  return found == outermost->absent.end() ? nullptr : &found->second;
}

void Inference::report_absence(const Absence& absence, const std::string& reader) {
  Diagnostic finding;
  finding.code = "missing-input";
  finding.location = *absence.call;
  finding.location.item = fmt::format("input {}", absence.input);
  finding.message = fmt::format("{} requires input {}", ir::function_step(*absence.callee), quote(absence.parameter));
  finding.expected = "the name of a value";
  finding.found = "nothing";
  finding.notes.push_back(reader);
  report(std::move(finding));
}

void Inference::check_absent_inputs(const Frame& frame, std::size_t index, const spec::OpSchema& schema) {
  const ir::Node& node = frame.graph->nodes[index];
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const spec::FormalParameter* formal = schema.input_at(i);
    if (node.inputs[i] == ir::ValueId::none || !formal || formal->arity == spec::Arity::optional) continue;
    const Absence* absent = absence(frame, node.inputs[i]);
    if (!absent) continue;
    report_absence(*absent, fmt::format("input {} of {} at {} is required", quote(formal->name), schema.name,
                                        location_of(frame, index).path()));
  }
}

void Inference::check_absent_results(const Frame& frame, std::size_t call, const Frame& body) {
  const ir::Node& node = frame.graph->nodes[call];
  for (std::size_t i = 0; i < node.outputs.size() && i < body.graph->outputs.size(); ++i) {
    const ir::ValueId id = body.graph->outputs[i].value;
    if (node.outputs[i] == ir::ValueId::none || id == ir::ValueId::none) continue;
    if (const Absence* absent = absence(body, id))
      report_absence(*absent, fmt::format("it is returned as output {} of {}", i, location_of(frame, call).path()));
  }
}

void Inference::check_bound_attributes(InferContext& context) {
  const ir::Node& node = context.node();
  const spec::AttributeBindings* bindings = context.frame_.bindings;
  bool refers = false;
  for (const ir::Attribute& attribute : node.attributes) {
    if (attribute.ref_attr_name.empty()) continue;
    refers = true;
    const spec::AttributeSchema* declared = context.schema().find_attribute(attribute.name);
    const ir::Attribute* bound = spec::resolve_attribute(node, attribute.name, bindings);
    if (!declared || !bound) continue;
    for (const AttributeFault& foreign : foreign_strings(*bound, *declared, context.schema(), resolution_.table())) {
      context.error({.code = "attribute-value",
                     .at = at_attribute(attribute.name),
                     .message = foreign.message,
                     .expected = foreign.expected,
                     .found = foreign.found,
                     .help = foreign.help});
    }
  }
  if (!refers) return;
  if (const auto fault = pads_beside_auto_pad(node, bindings)) {
    context.error({.code = "exclusive-attributes",
                   .at = at_node(),
                   .message = fault->message,
                   .expected = fault->expected,
                   .found = fault->found});
  }
}

}  // namespace onnxkit::checker
