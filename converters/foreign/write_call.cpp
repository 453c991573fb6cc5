#include "converters/foreign/write_call.h"

#include <algorithm>

#include <fmt/format.h>

#include "converters/foreign/export.h"
#include "converters/layout/stored.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::foreign {
namespace {

ir::ValueId at(const std::vector<ir::ValueId>& ids, std::size_t i) {
  return i < ids.size() ? ids[i] : ir::ValueId::none;
}

const Type unknown_type;

}  // namespace

Argument argument_of(const Given& given) {
  Argument argument{.content = {}, .name = given.name};
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Given::Mixed>) {
          Argument::List list;
          for (const auto& item : value) std::visit([&](const auto& one) { list.emplace_back().content = one; }, item);
          argument.content = std::move(list);
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>> || std::is_same_v<T, std::vector<double>> ||
                             std::is_same_v<T, std::vector<ValueId>>) {
          Argument::List list;
          for (const auto& item : value) list.emplace_back().content = item;
          argument.content = std::move(list);
        } else if constexpr (std::is_same_v<T, ValueId>) {
          if (value != ValueId::none) argument.content = value;
        } else {
          argument.content = value;
        }
      },
      given.value);
  return argument;
}

Type with_elem(Type type, ElementType elem) {
  type.kind = Type::Kind::tensor;
  type.elem = elem;
  return type;
}

Type with_shape(const Type& type, Shape shape) { return Type::tensor(type.elem, std::move(shape)); }

// ---- inputs

bool WriteCall::has(std::size_t input) const { return at(node.inputs, input) != ir::ValueId::none; }

ValueId WriteCall::input(std::size_t input) {
  const ir::ValueId id = at(node.inputs, input);
  if (id == ir::ValueId::none) return ValueId::none;
  const ValueId value = exporter_.value(frame_, id);
  if (value == ValueId::none) refuse(fmt::format("nothing computes its input {}", quote(frame_.source->name_of(id))));
  return value;
}

std::vector<ValueId> WriteCall::inputs() {
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) values.push_back(input(i));
  return values;
}

const Type& WriteCall::type(std::size_t input) const {
  const checker::ValueInfo* known = exporter_.known_of_input(frame_, at(node.inputs, input));
  if (known && !known->type.is_unknown()) return known->type;
  // What its mapping emitted may have a type where inference has none.
  const ir::ValueId id = at(node.inputs, input);
  const ValueId value = id == ir::ValueId::none ? ValueId::none : exporter_.value(frame_, id);
  return value == ValueId::none ? unknown_type : frame_.types[index_of(value)];
}

std::size_t WriteCall::rank(std::size_t input) {
  const Shape* known = shape(input);
  if (!known)
    refuse(fmt::format("the rank of its input {} is not known", quote(frame_.source->name_of(at(node.inputs, input)))));
  return known ? known->size() : 0;
}

std::optional<std::int64_t> WriteCall::size(std::size_t input, std::size_t axis) const {
  const Shape* known = shape(input);
  if (!known || axis >= known->size() || !(*known)[axis].is_constant()) return std::nullopt;
  return (*known)[axis].constant();
}

std::optional<std::vector<std::int64_t>> WriteCall::known_integers(std::size_t input) const {
  const checker::ValueInfo* known = exporter_.known_of_input(frame_, at(node.inputs, input));
  return known && known->value ? known->value->constants() : std::nullopt;
}

std::vector<std::int64_t> WriteCall::constant_integers(std::size_t input) {
  auto known = known_integers(input);
  if (!known)
    refuse(fmt::format("its input {} is not constant", quote(frame_.source->name_of(at(node.inputs, input)))));
  return known ? *std::move(known) : std::vector<std::int64_t>();
}

Shape WriteCall::symbolic_integers(std::size_t input) const {
  const checker::ValueInfo* known = exporter_.known_of_input(frame_, at(node.inputs, input));
  return known && known->value ? known->value->dims() : Shape();
}

std::optional<Tensor> WriteCall::stored(std::size_t input) const {
  return exporter_.stored(frame_, at(node.inputs, input));
}

std::optional<std::vector<double>> WriteCall::known_reals(std::size_t input) const {
  const checker::ValueInfo* known = exporter_.known_of_input(frame_, at(node.inputs, input));
  std::vector<double> values;
  if (!known || !known->value) {  // inference knows stored contents that it asked for
    const std::optional<Tensor> tensor = stored(input);
    const auto bits = tensor && is_floating(tensor->elem) ? static_cast<std::size_t>(storage_bits(tensor->elem)) : 0;
    if (bits < 8 || !tensor->order.empty() || tensor->bytes.size() * 8 / bits > checker::Constant::max_elements)
      return std::nullopt;
    values.resize(tensor->bytes.size() * 8 / bits);
    decode(tensor->elem, tensor->bytes, std::span(values));
    return values;
  }
  for (const checker::Scalar& element : known->value->elements) {
    const auto real = element.constant_real();
    if (!real) return std::nullopt;
    values.push_back(*real);
  }
  return values;
}

std::optional<double> WriteCall::known_real(std::size_t input) const {
  const auto values = known_reals(input);
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

std::optional<WriteCall> WriteCall::producer(std::size_t input) const {
  const std::int32_t by = frame_.uses->producer(at(node.inputs, input));
  if (by < 0) return std::nullopt;
  return std::optional<WriteCall>(std::in_place, exporter_, frame_, frame_.source->nodes[static_cast<std::size_t>(by)]);
}

// ---- outputs and attributes

bool WriteCall::has_output(std::size_t output) const { return at(node.outputs, output) != ir::ValueId::none; }

const Type& WriteCall::output_type(std::size_t output) const {
  const checker::ValueInfo* known = exporter_.known_of(frame_, at(node.outputs, output));
  return known ? known->type : unknown_type;
}

Shape WriteCall::symbolic_integers_of_output(std::size_t output) const {
  const checker::ValueInfo* known = exporter_.known_of(frame_, at(node.outputs, output));
  return known && known->value ? known->value->dims() : Shape();
}

std::int64_t WriteCall::integer(std::string_view name, std::int64_t fallback) const {
  const ir::Attribute* attribute = node.find_attribute(name);
  const auto* value = attribute ? attribute->as<std::int64_t>() : nullptr;
  return value ? *value : fallback;
}

std::vector<std::int64_t> WriteCall::integers(std::string_view name, std::vector<std::int64_t> fallback) const {
  const ir::Attribute* attribute = node.find_attribute(name);
  const auto* values = attribute ? attribute->as<std::vector<std::int64_t>>() : nullptr;
  return values ? *values : fallback;
}

double WriteCall::real(std::string_view name, double fallback) const {
  const ir::Attribute* attribute = node.find_attribute(name);
  const auto* value = attribute ? attribute->as<float>() : nullptr;
  return value ? static_cast<double>(*value) : fallback;
}

std::vector<double> WriteCall::reals(std::string_view name) const {
  const ir::Attribute* attribute = node.find_attribute(name);
  const auto* values = attribute ? attribute->as<std::vector<float>>() : nullptr;
  return values ? std::vector<double>(values->begin(), values->end()) : std::vector<double>();
}

std::string_view WriteCall::text(std::string_view name, std::string_view fallback) const {
  const ir::Attribute* attribute = node.find_attribute(name);
  const auto* value = attribute ? attribute->as<Text>() : nullptr;
  return value ? value->view() : fallback;
}

std::vector<std::int64_t> WriteCall::from_start(std::vector<std::int64_t> axes, std::size_t rank) {
  for (std::int64_t& axis : axes)
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
  return axes;
}

std::int64_t WriteCall::axis(std::string_view name, std::int64_t fallback, std::size_t rank) const {
  return from_start({integer(name, fallback)}, rank).front();
}

ValueId WriteCall::tensor_attribute(std::string_view name) {
  const ir::Attribute* attribute = node.find_attribute(name);
  const ir::Tensor* source = attribute ? attribute->tensor() : nullptr;
  if (!source) {
    refuse(fmt::format("its attribute {} is not a tensor", quote(name)));
    return ValueId::none;
  }
  const auto bytes = exporter_.bytes_of(*source);
  if (!bytes) return ValueId::none;  // the exporter has the fault
  return exporter_.add_tensor(frame_, exporter_.unique("const"), ir::element_type_of(*source), source->dims, *bytes);
}

// ---- the other framework's graph

std::vector<ValueId> WriteCall::emit_node(Node made, std::vector<Type> types) {
  const std::string_view stem = node.outputs.empty() ? "" : frame_.source->name_of(node.outputs.front());
  made.name = node.name.view();
  std::vector<ValueId> outputs;
  for (Type& type : types) outputs.push_back(exporter_.new_value(frame_, exporter_.unique(stem), std::move(type)));
  made.outputs = outputs;
  frame_.graph->nodes.push_back(std::move(made));
  return outputs;
}

namespace {

Node node_of(std::string_view op, const std::vector<Given>& given) {
  Node made;
  made.op = op;
  for (const Given& one : given) made.arguments.push_back(argument_of(one));
  return made;
}

}  // namespace

std::vector<ValueId> WriteCall::emit_many(std::string_view op, std::vector<Given> given, std::vector<Type> types) {
  return emit_node(node_of(op, given), std::move(types));
}

std::vector<ValueId> WriteCall::emit_list(std::string_view op, std::vector<Given> given, std::vector<Type> types) {
  Node made = node_of(op, given);
  made.has_list_result = true;
  return emit_node(std::move(made), std::move(types));
}

ValueId WriteCall::emit(std::string_view op, std::vector<Given> given, Type type) {
  return emit_many(op, std::move(given), {std::move(type)}).front();
}

ValueId WriteCall::emit_size(std::string_view op, std::vector<Given> given, Dim size) {
  const ValueId value = emit(op, std::move(given), Type());
  frame_.graph->values[index_of(value)].size = keep(dims().to_string(size));
  return value;
}

const Type& WriteCall::type_of(ValueId value) const {
  return value == ValueId::none ? unknown_type : frame_.types[index_of(value)];
}

ValueId WriteCall::tensor(ElementType elem, std::vector<std::int64_t> dims, std::string bytes) {
  const std::string_view kept = exporter_.model_.strings->keep(bytes).view();
  const ValueId value =
      exporter_.add_tensor(frame_, exporter_.unique("const"), elem, std::move(dims), std::as_bytes(std::span(kept)));
  frame_.graph->tensors.back().is_constant = true;
  return value;
}

ValueId WriteCall::integers_tensor(ElementType elem, std::span<const std::int64_t> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return once(fmt::format("i{}:{}", static_cast<int>(elem), fmt::join(values, ",")), [&] {
    std::string bytes(packed_size(elem, count).value_or(0), '\0');
    encode_integers(elem, values, std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
    return tensor(elem, {count}, std::move(bytes));
  });
}

ValueId WriteCall::scalar(ElementType elem, double value) {
  return once(fmt::format("s{}:{:a}", static_cast<int>(elem), value), [&] {
    std::string bytes(packed_size(elem, 1).value_or(0), '\0');
    const auto room = std::as_writable_bytes(std::span(bytes.data(), bytes.size()));
    const auto integer = static_cast<std::int64_t>(is_integer(elem) || elem == ElementType::boolean ? value : 0);
    if (is_integer(elem) || elem == ElementType::boolean)
      encode_integers(elem, std::span(&integer, 1), room);
    else
      encode(elem, std::span(&value, 1), room);
    return tensor(elem, {}, std::move(bytes));
  });
}

ValueId WriteCall::reals_tensor(ElementType elem, std::vector<std::int64_t> dims, std::span<const double> values) {
  std::string bytes(packed_size(elem, static_cast<std::int64_t>(values.size())).value_or(0), '\0');
  encode(elem, values, std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
  return tensor(elem, std::move(dims), std::move(bytes));
}

ValueId WriteCall::permuted(const Tensor& stored, const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> dims;
  for (const std::int64_t axis : order) dims.push_back(stored.dims[static_cast<std::size_t>(axis)]);
  auto bytes = layout::permuted_bytes(stored.elem, stored.dims, stored.bytes, order);
  exporter_.forget(stored.bytes);
  if (!bytes) refuse(fmt::format("tensor {} has elements that cannot be put into another order", quote(stored.name)));
  return tensor(stored.elem, std::move(dims), bytes ? *std::move(bytes) : std::string());
}

ValueId WriteCall::permuted_when_written(const Tensor& stored, const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> dims;
  for (const std::int64_t axis : order) dims.push_back(stored.dims[static_cast<std::size_t>(axis)]);
  if (!stored.order.empty() || storage_bits(stored.elem) < 8) return permuted(stored, order);
  const ElementType elem = stored.elem;
  const std::vector<std::int64_t> stored_dims = stored.dims;  // `stored` may lie in the list that grows
  const std::span<const std::byte> bytes = stored.bytes;
  const ValueId value = exporter_.add_tensor(frame_, exporter_.unique("const"), elem, std::move(dims), bytes);
  frame_.graph->tensors.back().stored_dims = stored_dims;
  frame_.graph->tensors.back().order = order;
  return value;
}

void WriteCall::set_quantization(ValueId value, Quantization quantization) {
  frame_.graph->values[index_of(value)].quantization = std::move(quantization);
}

const Quantization* WriteCall::quantization_of(ValueId value) const {
  const auto& known = frame_.graph->values[index_of(value)].quantization;
  return known ? &*known : nullptr;
}

std::string_view WriteCall::keep(std::string_view text) { return exporter_.model_.strings->keep(text).view(); }

checker::DimPool& WriteCall::dims() { return exporter_.inferred_.dims; }

const Dialect& WriteCall::dialect() const { return exporter_.writers_.dialect(); }

std::pair<ValueId, std::size_t> WriteCall::with_size(Dim size) { return exporter_.with_size(frame_, size); }
bool WriteCall::has_size(Dim size) const { return foreign::has_size(frame_, size); }

ValueId WriteCall::known_as(const std::string& key) const {
  const auto found = frame_.known.find(key);
  return found == frame_.known.end() ? ValueId::none : found->second;
}

void WriteCall::set_known(const std::string& key, ValueId value) { frame_.known.emplace(key, value); }

// ---- bodies

WriteCall::Body WriteCall::body(std::string_view name, bool owns_constants) {
  Body body;
  const ir::Attribute* attribute = node.find_attribute(name);
  const ir::Graph* source = attribute ? attribute->graph() : nullptr;
  body.graph = std::make_unique<Graph>();
  if (!source) {
    refuse(fmt::format("its attribute {} is not a graph", quote(name)));
    return body;
  }
  WriteFrame frame;
  frame.outer = &frame_;
  frame.owns_constants = owns_constants;
  *body.graph = exporter_.write_graph(frame, *source);
  body.captures = std::move(frame.captures);
  return body;
}

WriteCall::Body WriteCall::closed_body(std::string_view name, std::size_t least_bytes) {
  Body closed = body(name, least_bytes > 0);
  std::vector<Tensor> own;
  for (const Tensor& tensor : closed.graph->tensors) {
    if (tensor.bytes.size() < least_bytes) {
      own.push_back(tensor);
      continue;
    }
    closed.graph->inputs.push_back(tensor.value);
    const Value& value = closed.graph->values[index_of(tensor.value)];
    closed.captures.push_back(
        exporter_.add_tensor(frame_, exporter_.unique(value.name), tensor.elem, tensor.dims, tensor.bytes));
    frame_.graph->tensors.back().is_constant = tensor.is_constant;
  }
  closed.graph->tensors = std::move(own);
  return closed;
}

TensorType WriteCall::declared(const Type& type) { return exporter_.declared(type); }

void WriteCall::align_captures(Body& body, const std::vector<ValueId>& all) {
  Graph& graph = *body.graph;
  const std::size_t own = graph.inputs.size() - body.captures.size();
  std::vector<ValueId> inputs(graph.inputs.begin(), graph.inputs.begin() + static_cast<std::ptrdiff_t>(own));
  for (const ValueId outer : all) {
    const auto known = std::find(body.captures.begin(), body.captures.end(), outer);
    if (known != body.captures.end()) {
      inputs.push_back(graph.inputs[own + static_cast<std::size_t>(known - body.captures.begin())]);
      continue;
    }
    const Value& value = frame_.graph->values[index_of(outer)];
    inputs.push_back(graph.add_value(exporter_.unique(value.name)));
    const Type& type = frame_.types[index_of(outer)];
    if (type.is_tensor()) graph.values.back().type = exporter_.declared(type);
  }
  graph.inputs = std::move(inputs);
  body.captures = all;
}

// ---- results

void WriteCall::results(const std::vector<ValueId>& values) { exporter_.give_results(frame_, node, values); }
void WriteCall::refuse(std::string reason, std::string help) { exporter_.refuse(std::move(reason), std::move(help)); }
bool WriteCall::refused() const { return exporter_.refused_.has_value(); }

}  // namespace onnxkit::foreign
