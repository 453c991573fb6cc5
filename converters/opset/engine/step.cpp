#include "converters/opset/engine/step.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "converters/opset/compose/old_constant.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/tensor/tensor_data.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::opset {

void refuse(std::string reason) { throw Refusal{"no-equivalent", std::move(reason)}; }
void refuse_unknown(std::string reason) { throw Refusal{"unknown-fact", std::move(reason)}; }

namespace {

/// Steps count on from axes, which with what a file may state as one would leave 64 bits.
void require_axis(std::string_view attribute, std::int64_t value) {
  const bool is_flag = attribute == "new_axis";
  const bool is_axis = !is_flag && (attribute.ends_with("axis") || attribute.ends_with("axes"));
  constexpr auto most = static_cast<std::int64_t>(checker::max_rank);
  if (is_axis && (value < -most || value > most)) refuse(fmt::format("axis {} does not exist in any tensor", value));
}

}  // namespace

Step::Step(const Setting& setting, std::size_t node) : setting_(setting), node_(setting.scope.graph->nodes[node]) {}

bool Step::in_function() const {
  return !setting_.scope.path.empty() && setting_.scope.path.front().starts_with("function ");
}

ValueId Step::input(std::size_t index) const {
  return index < node_.inputs.size() ? node_.inputs[index] : ValueId::none;
}

ValueId Step::output(std::size_t index) const {
  return index < node_.outputs.size() ? node_.outputs[index] : ValueId::none;
}

bool Step::is_used(std::size_t index) const { return setting_.inferred.is_used(graph(), output(index)); }

// ---- attributes

const ir::Attribute* Step::given(std::string_view attribute) const {
  const ir::Attribute* found = node_.find_attribute(attribute);
  if (found && !found->ref_attr_name.empty())
    refuse_unknown(fmt::format("the function's caller sets attribute {}", attribute));
  return found;
}

const ir::Attribute* Step::given_list(std::string_view attribute) const {
  const ir::Attribute* found = given(attribute);
  return found && !spec::counts_as_absent(*found, setting_.before.find_attribute(attribute)) ? found : nullptr;
}

const spec::AttributeSchema* Step::with_default(std::string_view attribute) const {
  const spec::AttributeSchema* schema = setting_.before.find_attribute(attribute);
  return schema && schema->has_default ? schema : nullptr;
}

bool Step::is_reference(std::string_view attribute) const {
  const ir::Attribute* found = node_.find_attribute(attribute);
  return found && !found->ref_attr_name.empty();
}

std::optional<std::int64_t> Step::find_integer(std::string_view attribute) const {
  if (const ir::Attribute* found = given(attribute)) {
    if (const auto* value = found->as<std::int64_t>()) {
      require_axis(attribute, *value);
      return *value;
    }
    if (found->payload.index() == 0) return 0;
    return std::nullopt;
  }
  const spec::AttributeSchema* schema = with_default(attribute);
  return schema ? std::optional(schema->default_value.integer) : std::nullopt;
}

std::int64_t Step::integer(std::string_view attribute, std::int64_t fallback) const {
  return find_integer(attribute).value_or(fallback);
}

std::optional<float> Step::find_real(std::string_view attribute) const {
  if (const ir::Attribute* found = given(attribute)) {
    if (const auto* value = found->as<float>()) return *value;
    if (found->payload.index() == 0) return 0.0F;
    return std::nullopt;
  }
  const spec::AttributeSchema* schema = with_default(attribute);
  return schema ? std::optional(schema->default_value.real) : std::nullopt;
}

float Step::real(std::string_view attribute, float fallback) const { return find_real(attribute).value_or(fallback); }

std::string Step::string(std::string_view attribute, std::string_view fallback) const {
  if (const ir::Attribute* found = given(attribute)) {
    const auto* value = found->as<Text>();
    return std::string(value ? value->view() : std::string_view());
  }
  const spec::AttributeSchema* schema = with_default(attribute);
  return std::string(schema ? schema->default_value.string : fallback);
}

std::optional<std::vector<std::int64_t>> Step::integers(std::string_view attribute) const {
  if (const ir::Attribute* found = given_list(attribute)) {
    const auto& values = spec::list_as_written<std::int64_t>(*found);
    for (const std::int64_t value : values) require_axis(attribute, value);
    return values;
  }
  const spec::AttributeSchema* schema = with_default(attribute);
  if (!schema) return std::nullopt;
  const auto values = schema->default_value.integers;
  return std::vector<std::int64_t>(values.begin(), values.end());
}

std::optional<std::vector<float>> Step::reals(std::string_view attribute) const {
  if (const ir::Attribute* found = given_list(attribute)) return spec::list_as_written<float>(*found);
  const spec::AttributeSchema* schema = with_default(attribute);
  if (!schema) return std::nullopt;
  const auto values = schema->default_value.reals;
  return std::vector<float>(values.begin(), values.end());
}

// ---- values

const checker::Type* Step::type(ValueId value) const {
  if (body_ || ir::index_of(value) >= graph().values.size()) return nullptr;
  return setting_.inferred.type(setting_.scope, value);
}

ElementType Step::elem(ValueId value) const {
  const checker::Type* known = type(value);
  return known && known->is_tensor() ? known->elem : ElementType::undefined;
}

const checker::Shape* Step::shape(ValueId value) const {
  const checker::Type* known = type(value);
  return known && known->is_tensor() && known->shape ? &*known->shape : nullptr;
}

std::optional<std::int64_t> Step::rank(ValueId value) const {
  const checker::Shape* known = shape(value);
  return known ? std::optional(static_cast<std::int64_t>(known->size())) : std::nullopt;
}

std::optional<std::vector<checker::Shape>> Step::comparable_shapes(const std::vector<ValueId>& values) const {
  std::vector<checker::Shape> shapes;
  const void* origin = nullptr;
  for (const ValueId value : values) {
    const checker::Shape* known = shape(value);
    if (!known) return std::nullopt;
    shapes.push_back(*known);
    const void* own = setting_.inferred.size_origin(setting_.scope, value);
    if (!origin) origin = own;
    if (own == origin) continue;
    for (checker::Dim& size : shapes.back()) {
      if (!size.is_constant()) size = {};
    }
  }
  return shapes;
}

bool Step::give_one_shape(std::string_view body, std::string_view other, std::size_t output) const {
  std::vector<const checker::Shape*> shapes;
  std::vector<const void*> origins;
  for (const std::string_view name : {body, other}) {
    const ir::Attribute* found = node_.find_attribute(name);
    const auto* graph = found ? found->as<std::unique_ptr<ir::Graph>>() : nullptr;
    if (!graph || !*graph || output >= (*graph)->outputs.size()) return false;
    const Scope scope{graph->get(), &setting_.scope, {}};
    const ValueId value = (*graph)->outputs[output].value;
    const checker::Type* type = setting_.inferred.type(scope, value);
    if (!type || !type->is_tensor() || !type->shape) return false;
    shapes.push_back(&*type->shape);
    origins.push_back(setting_.inferred.size_origin(scope, value));
  }
  const auto is_same = [&](checker::Dim a, checker::Dim b) {
    return a == b && (a.is_constant() || (!a.is_unknown() && origins[0] && origins[0] == origins[1]));
  };
  return std::equal(shapes[0]->begin(), shapes[0]->end(), shapes[1]->begin(), shapes[1]->end(), is_same);
}

std::optional<std::vector<std::int64_t>> Step::sizes(ValueId value) const {
  const checker::Shape* known = shape(value);
  if (!known) return std::nullopt;
  std::vector<std::int64_t> constants;
  for (const checker::Dim size : *known) {
    if (!size.is_constant()) return std::nullopt;
    constants.push_back(size.constant());
  }
  return constants;
}

std::optional<checker::Constant> Step::constant(ValueId value) const {
  if (body_ || ir::index_of(value) >= graph().values.size()) return std::nullopt;
  return setting_.inferred.constant(setting_.scope, value);
}

std::optional<std::vector<std::int64_t>> Step::constant_integers(ValueId value) const {
  const auto known = constant(value);
  return known ? known->constants() : std::nullopt;
}

std::optional<std::vector<double>> Step::constant_reals(ValueId value) const {
  const auto known = constant(value);
  if (!known) return std::nullopt;
  std::vector<double> reals;
  for (const checker::Scalar& element : known->elements) {
    const auto real = element.constant_real();
    if (!real) return std::nullopt;
    reals.push_back(*real);
  }
  return reals;
}

std::optional<double> Step::constant_real(ValueId value) const {
  const auto reals = constant_reals(value);
  return reals && reals->size() == 1 ? std::optional(reals->front()) : std::nullopt;
}

ElementType Step::need_elem(ValueId value) const {
  const ElementType known = elem(value);
  if (known == ElementType::undefined)
    refuse_unknown(fmt::format("the type of {} is unknown", quote(graph().name_of(value))));
  return known;
}

std::int64_t Step::need_rank(ValueId value) const {
  const auto known = rank(value);
  if (!known) refuse_unknown(fmt::format("the rank of {} is unknown", quote(graph().name_of(value))));
  return *known;
}

// ---- changes

ir::Attribute Step::attribute(Attr attribute) { return ir::make_attribute(setting_.model, attribute); }

ir::Attribute Step::attribute(std::string_view name, ir::Tensor tensor) {
  return ir::make_attribute(setting_.model, name, std::move(tensor));
}

void Step::set(Attr given) { set_attribute(attribute(std::move(given))); }

void Step::set_attribute(ir::Attribute attribute) {
  patch_.edits = true;
  patch_.set.push_back(std::move(attribute));
}

void Step::set_copy(std::string_view from, std::string_view to) {
  const ir::Attribute* found = node_.find_attribute(from);
  if (!found) return;
  patch_.edits = true;
  patch_.set.push_back(clone(*found));
  patch_.set.back().name = keep(to);
}

void Step::remove(std::string_view attribute) {
  if (!has(attribute)) return;
  patch_.edits = true;
  patch_.removed.emplace_back(attribute);
}

void Step::rename(std::string_view attribute, std::string_view to) {
  if (!has(attribute)) return;
  patch_.edits = true;
  patch_.renamed.emplace_back(attribute, to);
}

void Step::set_op(std::string_view op_type) {
  patch_.edits = true;
  patch_.op_type = op_type;
}

std::vector<ValueId>& Step::edited_inputs() {
  patch_.edits = true;
  if (!patch_.inputs) patch_.inputs = node_.inputs;
  return *patch_.inputs;
}

std::vector<ValueId>& Step::edited_outputs() {
  patch_.edits = true;
  if (!patch_.outputs) patch_.outputs = node_.outputs;
  return *patch_.outputs;
}

void Step::set_input(std::size_t index, ValueId value) {
  std::vector<ValueId>& inputs = edited_inputs();
  if (inputs.size() <= index) inputs.resize(index + 1, ValueId::none);
  inputs[index] = value;
}

void Step::drop_inputs(std::size_t from) {
  std::vector<ValueId>& inputs = edited_inputs();
  inputs.resize(std::min(inputs.size(), from));
}

void Step::set_output(std::size_t index, ValueId value) {
  std::vector<ValueId>& outputs = edited_outputs();
  if (outputs.size() <= index) outputs.resize(index + 1, ValueId::none);
  outputs[index] = value;
}

void Step::drop_outputs(std::size_t from) {
  std::vector<ValueId>& outputs = edited_outputs();
  outputs.resize(std::min(outputs.size(), from));
}

// ---- new nodes

ValueId Step::value(std::string_view hint) {
  if (body_) {
    std::vector<std::pair<ValueId, std::string>>& made = patch_.bodies.back().made;
    made.emplace_back(body_->intern(keep(fmt::format("made in a step {}", made.size()))), hint);
    return made.back().first;
  }
  patch_.new_values.emplace_back(hint);
  return static_cast<ValueId>(graph().values.size() + patch_.new_values.size() - 1);
}

ir::Node& Step::emit(std::string_view op, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
                     std::vector<Attr> attributes) {
  while (!inputs.empty() && inputs.back() == ValueId::none) inputs.pop_back();
  std::vector<ir::Node>& nodes = body_ ? body_->nodes : patch_.added;
  nodes.push_back(ir::make_node(setting_.model, op, std::move(inputs), std::move(outputs), attributes));
  return nodes.back();
}

void Step::emit_copy(const ir::Node& node, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  ir::Node copy = ir::clone(node);
  copy.name = {};
  copy.inputs = std::move(inputs);
  copy.outputs = std::move(outputs);
  (body_ ? body_->nodes : patch_.added).push_back(std::move(copy));
}

namespace {

ir::ValueInfo declared(ValueId value, ElementType type, std::optional<std::int64_t> rank) {
  ir::ValueInfo info;
  info.value = value;
  if (type == ElementType::undefined) return info;
  info.type.emplace();
  info.type->kind = ir::DeclaredType::Kind::tensor;
  info.type->elem_type = static_cast<std::int32_t>(type);
  if (rank) info.type->shape.emplace().dims.resize(static_cast<std::size_t>(*rank));
  return info;
}

}  // namespace

void Step::begin_body() {
  body_ = std::make_unique<ir::Graph>();
  body_->name = keep("body");
  patch_.bodies.push_back({body_.get(), {}});
}

ValueId Step::body_input(std::string_view hint, ElementType type, std::optional<std::int64_t> rank) {
  const ValueId made = value(hint);
  body_->inputs.push_back(declared(made, type, rank));
  return made;
}

ValueId Step::captured(ValueId outer) { return body_->intern(graph().values[ir::index_of(outer)].name); }

void Step::body_output(ValueId value, ElementType type, std::optional<std::int64_t> rank) {
  body_->outputs.push_back(declared(value, type, rank));
}

ir::Attribute Step::end_body(std::string_view name) {
  return ir::make_attribute(setting_.model, name, std::move(body_));
}

ValueId Step::add(std::string_view op, std::vector<ValueId> inputs, std::vector<Attr> attributes,
                  std::string_view hint) {
  const ValueId result = value(hint.empty() ? op : hint);
  emit(op, std::move(inputs), {result}, std::move(attributes));
  return result;
}

ValueId Step::constant_node(ir::Tensor tensor, std::string_view hint) {
  const ValueId result = value(hint.empty() ? "constant" : hint);
  if (opset_after() < 9 && !fits_old_constant(ir::element_type_of(tensor))) {
    write_old_constant(*this, tensor, result);
    return result;
  }
  emit("Constant", {}, {result}).attributes.push_back(attribute("value", std::move(tensor)));
  return result;
}

ir::Tensor Step::tensor(ElementType type, std::vector<std::int64_t> dims, const std::vector<double>& values) {
  std::string bytes(packed_size(type, static_cast<std::int64_t>(values.size())).value_or(0), '\0');
  const auto target = std::as_writable_bytes(std::span(bytes));
  if (is_floating(type)) {
    encode(type, values, target);
  } else if (type == ElementType::boolean) {
    for (std::size_t i = 0; i < values.size(); ++i) bytes[i] = values[i] != 0 ? 1 : 0;
  } else if (is_integer(type)) {
    std::vector<std::int64_t> whole(values.size());
    std::transform(values.begin(), values.end(), whole.begin(), [](double real) {
      if (!(std::abs(real) < 0x1p63)) refuse(fmt::format("{} is not a 64-bit integer", real));
      return static_cast<std::int64_t>(real);
    });
    if (type == ElementType::uint64) {
      encode(type, std::vector<std::uint64_t>(whole.begin(), whole.end()), target);
    } else {
      encode(type, whole, target);
    }
  } else {
    refuse(fmt::format("a constant of type {} cannot be written", name_of(type)));
  }
  return ir::make_tensor(setting_.model, type, std::move(dims), std::as_bytes(std::span(bytes)));
}

ValueId Step::numbers(ElementType type, std::vector<std::int64_t> dims, const std::vector<double>& values,
                      std::string_view hint) {
  return constant_node(tensor(type, std::move(dims), values), hint);
}

ValueId Step::number(ElementType type, double value, std::string_view hint) { return numbers(type, {}, {value}, hint); }

ValueId Step::vector(const std::vector<float>& values, std::string_view hint) {
  return numbers(ElementType::float32, {static_cast<std::int64_t>(values.size())}, {values.begin(), values.end()},
                 hint);
}

ValueId Step::vector(const std::vector<std::int64_t>& values, std::string_view hint) {
  return constant_node(ir::make_tensor(setting_.model, values), hint);
}

ValueId Step::scalar(std::int64_t value, std::string_view hint) {
  return constant_node(ir::make_tensor(setting_.model, ElementType::int64, {}, std::as_bytes(std::span(&value, 1))),
                       hint);
}

}  // namespace onnxkit::opset
