#include "checker/infer/infer_context.h"

#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/attribute_values.h"
#include "checker/infer/constant_tensor.h"
#include "checker/infer/inference.h"
#include "checker/infer/type_rules.h"

namespace onnxkit::checker {
namespace {

bool shape_fits(const Constant& value, const Shape* shape) {
  return shape && std::equal(shape->begin(), shape->end(), value.shape.begin(), value.shape.end(),
                             [](Dim d, std::int64_t size) { return d.is(size); });
}

}  // namespace

InferContext::InferContext(Inference& inference, Frame& frame, std::size_t node_index, const spec::OpSchema& schema)
    : NodeAttributes(frame.graph->nodes[node_index], schema, frame.bindings),
      inference_(inference),
      frame_(frame),
      node_index_(node_index),
      node_(&frame.graph->nodes[node_index]),
      schema_(&schema),
      outputs_(node_->outputs.size()) {}

bool InferContext::has_input(std::size_t index) const {
  return index < node_->inputs.size() && node_->inputs[index] != ir::ValueId::none &&
         !inference_.absence(frame_, node_->inputs[index]);
}

bool InferContext::has_output(std::size_t index) const {
  return index < node_->outputs.size() && node_->outputs[index] != ir::ValueId::none;
}

std::string_view InferContext::input_name(std::size_t index) const {
  return has_input(index) ? frame_.graph->name_of(node_->inputs[index]) : std::string_view();
}

const Type* InferContext::input_type(std::size_t index) const {
  if (!has_input(index)) return nullptr;
  const ValueInfo* info = inference_.lookup(frame_, node_->inputs[index]);
  return info && !info->type.is_unknown() ? &info->type : nullptr;
}

ElementType InferContext::input_elem(std::size_t index) const {
  const Type* type = input_type(index);
  return type && type->is_tensor() ? type->elem : ElementType::undefined;
}

const Shape* InferContext::input_shape(std::size_t index) const {
  const Type* type = input_type(index);
  return type && type->shape ? &*type->shape : nullptr;
}

std::optional<std::size_t> InferContext::input_rank(std::size_t index) const {
  const Shape* shape = input_shape(index);
  return shape ? std::optional(shape->size()) : std::nullopt;
}

const Constant* InferContext::input_value(std::size_t index) {
  const Constant* value = has_input(index) ? inference_.content(frame_, node_->inputs[index]) : nullptr;
  // A file may declare an initializer with another shape than it has; operators rely on both to agree.
  return value && shape_fits(*value, input_shape(index)) ? value : nullptr;
}

std::optional<std::vector<std::int64_t>> InferContext::constant_integers(std::size_t index) {
  const Shape* shape = input_shape(index);
  if (shape && shape->size() == 1 && shape->front().is(0)) return std::vector<std::int64_t>();
  const Constant* value = input_value(index);
  return value ? value->constants() : std::nullopt;
}

std::optional<std::int64_t> InferContext::constant_integer(std::size_t index) {
  const auto all = constant_integers(index);
  return all && all->size() == 1 ? std::optional(all->front()) : std::nullopt;
}

std::optional<std::vector<double>> InferContext::constant_reals(std::size_t index) {
  const Constant* value = input_value(index);
  if (!value) return std::nullopt;
  std::vector<double> out;
  for (const Scalar& element : value->elements) {
    const auto real = element.constant_real();
    if (!real) return std::nullopt;
    out.push_back(*real);
  }
  return out;
}

std::optional<Constant> InferContext::tensor_content(const ir::Tensor& tensor) const {
  return read_small_tensor(tensor, inference_.options_.external_bytes);
}

void InferContext::set_type(std::size_t output, Type type) {
  if (output < outputs_.size()) outputs_[output].type = std::move(type);
}

void InferContext::set_elem(std::size_t output, ElementType elem) {
  if (output >= outputs_.size()) return;
  Type& type = outputs_[output].type;
  if (type.is_unknown()) type.kind = Type::Kind::tensor;
  type.elem = elem;
}

void InferContext::set_shape(std::size_t output, Shape shape) {
  if (output >= outputs_.size()) return;
  Type& type = outputs_[output].type;
  if (type.is_unknown()) type.kind = Type::Kind::tensor;
  type.shape = std::move(shape);
}

void InferContext::set_tensor(std::size_t output, ElementType elem, Shape shape) {
  set_type(output, Type::tensor(elem, std::move(shape)));
}

void InferContext::copy_type(std::size_t input, std::size_t output) {
  if (const Type* type = input_type(input)) set_type(output, *type);
}

void InferContext::copy_shape(std::size_t input, std::size_t output) {
  if (const Shape* shape = input_shape(input)) set_shape(output, *shape);
}

void InferContext::set_value(std::size_t output, Constant value) {
  if (output >= outputs_.size() || value.elements.size() > Constant::max_elements) return;
  set_tensor(output, value.type, Shape(value.shape.begin(), value.shape.end()));
  outputs_[output].value = std::move(value);
}

void InferContext::lose_shape(std::size_t output, std::string reason) {
  if (output >= outputs_.size()) return;
  outputs_[output].loss = std::move(reason);
  outputs_[output].depends_on_data = false;
  outputs_[output].content_input.reset();
}

void InferContext::lose_shape_to_content(std::size_t output, std::size_t input, std::string reason) {
  if (output >= outputs_.size()) return;
  outputs_[output].loss = std::move(reason);
  outputs_[output].depends_on_data = is_from_data(input);
  outputs_[output].content_input = input;
}

bool InferContext::is_from_data(std::size_t input) const {
  return has_input(input) && inference_.lookup(frame_, node_->inputs[input])->from_data;
}

std::string InferContext::help_to_give(ElementType type) {
  const spec::OpSchema* later =
      later_version(inference_.resolution_.table(), schema(), [&](const spec::OpSchema& version) {
        const spec::FormalParameter* output = version.output_at(0);
        return output && allows(version.types_of(*output), Type::tensor(type));
      });
  return later ? fmt::format("upgrade to opset {}", later->since_version) : std::string();
}

void InferContext::error(Finding finding) { add_finding(std::move(finding), true); }
void InferContext::warning(Finding finding) { add_finding(std::move(finding), false); }

void InferContext::add_finding(Finding finding, bool is_error) {
  Diagnostic diagnostic;
  diagnostic.code = finding.code;
  diagnostic.severity = is_error ? Severity::error : Severity::warning;
  diagnostic.location = inference_.location_of(frame_, node_index_);
  switch (finding.at.kind) {
    case Where::Kind::node:
      break;
    case Where::Kind::input:
      diagnostic.location.item = fmt::format("input {}", finding.at.index);
      diagnostic.location.item_name = input_name(finding.at.index);
      break;
    case Where::Kind::output:
      diagnostic.location.item = fmt::format("output {}", finding.at.index);
      if (has_output(finding.at.index))
        diagnostic.location.item_name = frame_.graph->name_of(node_->outputs[finding.at.index]);
      break;
    case Where::Kind::body_output: {
      diagnostic.location.scope.push_back(fmt::format("node {}", node_index_));
      diagnostic.location.scope.emplace_back(finding.at.name);
      diagnostic.location.node.reset();
      diagnostic.location.item = "output";
      const ir::Graph* body = graph(finding.at.name);
      if (body && finding.at.index < body->outputs.size()) {
        diagnostic.location.item_name = body->name_of(body->outputs[finding.at.index].value);
      }
      break;
    }
    case Where::Kind::attribute:
      diagnostic.location.item = fmt::format("attribute {}", finding.at.name);
      break;
  }
  diagnostic.message = std::move(finding.message);
  diagnostic.expected = std::move(finding.expected);
  diagnostic.found = std::move(finding.found);
  if (!finding.note.empty()) diagnostic.notes.push_back(std::move(finding.note));
  diagnostic.help = std::move(finding.help);
  inference_.report(std::move(diagnostic));
}

void InferContext::demand(SizeRelation relation, Dim a, Dim b) {
  inference_.note_demand(frame_, node_index_, relation, a, b);
}

bool InferContext::sizes_clash(Dim a, Dim b) {
  demand(SizeRelation::equal, a, b);
  return dims().never_equal(a, b);
}

void InferContext::need_equal(Dim a, Dim b, Where at) {
  demand(SizeRelation::equal, a, b);
  // What holds in one branch or iteration need not hold elsewhere.
  if (frame_.parent || a.is_constant() == b.is_constant()) return;
  const Dim name = a.is_constant() ? b : a;
  const Dim size = a.is_constant() ? a : b;
  if (!name.is_expression() || !inference_.names_conflict(name, size)) return;
  Finding conflict{.code = "dim-name-conflict",
                   .at = at,
                   .message = fmt::format("{} must equal two different sizes", quote(text(name))),
                   .expected = text(inference_.named_sizes_.at(text(name))) + ", required earlier",
                   .found = text(size)};
  if (!inference_.names_several_axes(name)) return error(std::move(conflict));
  conflict.note = Inference::note_of_trust;
  warning(std::move(conflict));
}

DimPool& InferContext::dims() { return inference_.result_.dims; }

Dim InferContext::data_dependent(std::string_view stem, std::string reason) {
  return dims().fresh(stem, ir::SymbolOrigin::data_dependent, std::move(reason));
}

Dim InferContext::size_from_content(std::size_t input, std::string_view stem, std::string reason) {
  for (Output& output : outputs_) output.content_input = input;
  return is_from_data(input) ? data_dependent(stem, std::move(reason)) : lost(std::move(reason));
}

Dim InferContext::lost(std::string reason) { return dims().fresh("lost", ir::SymbolOrigin::lost, std::move(reason)); }

std::string InferContext::text(std::span<const Dim> shape) { return to_string(shape, dims()); }

std::string InferContext::text(Dim dim) { return dims().to_string(dim); }

}  // namespace onnxkit::checker
