#include "converters/formats/saved_model/node_writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "converters/formats/saved_model/dtype.h"
#include "converters/formats/saved_model/operators.h"

namespace onnxkit::saved_model {

using containers::ProtoMessage;
using foreign::Argument;
using foreign::Graph;
using foreign::Node;
using foreign::ValueId;

std::int64_t type_number(ElementType elem) {
  constexpr std::int64_t last = 25;
  for (std::int64_t type = 1; type <= last; ++type)
    if (elem_of(type) == elem) return type;
  return 0;
}

// ---- messages

ProtoMessage shape_message(const std::vector<std::int64_t>& dims) {
  ProtoMessage shape;
  for (const std::int64_t dim : dims) {
    ProtoMessage size;
    if (dim != 0) size.integer(1, dim);
    shape.message(2, std::move(size));
  }
  return shape;
}

ProtoMessage shape_message(const foreign::TensorType& type) {
  ProtoMessage shape;
  if (!type.shape) {
    shape.integer(3, 1);
    return shape;
  }
  std::vector<std::int64_t> dims;
  for (const foreign::Size& size : *type.shape) dims.push_back(size.constant < 0 ? -1 : size.constant);
  return shape_message(dims);
}

ProtoMessage entry_message(std::string_view key, ProtoMessage value) {
  ProtoMessage entry;
  entry.text(1, key);
  entry.message(2, std::move(value));
  return entry;
}

std::string node_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
  };
  name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
  std::string made;
  for (const char c : name) made += is_plain(c) || c == '_' || c == '-' || c == '/' ? c : '_';
  return made.empty() || !is_plain(made.front()) ? "x" + made : made;
}

NodeMessage::NodeMessage(std::string_view name, std::string_view op) {
  node_.text(1, name);
  node_.text(2, op);
}

void NodeMessage::type(std::string_view name, std::int64_t number) {
  ProtoMessage value;
  value.integer(6, number);
  attribute(name, std::move(value));
}

void NodeMessage::types(std::string_view name, const std::vector<std::int64_t>& numbers) {
  ProtoMessage list, value;
  if (!numbers.empty()) list.packed(6, numbers);
  value.message(1, std::move(list));
  attribute(name, std::move(value));
}

void NodeMessage::text(std::string_view name, std::string_view content) {
  ProtoMessage value;
  value.text(2, content);
  attribute(name, std::move(value));
}

void NodeMessage::integer(std::string_view name, std::int64_t number) {
  ProtoMessage value;
  value.integer(3, number);
  attribute(name, std::move(value));
}

void NodeMessage::shape(std::string_view name, ProtoMessage shape) {
  ProtoMessage value;
  value.message(7, std::move(shape));
  attribute(name, std::move(value));
}

void NodeMessage::tensor(std::string_view name, ProtoMessage tensor) {
  ProtoMessage value;
  value.message(8, std::move(tensor));
  attribute(name, std::move(value));
}

void NodeMessage::function(std::string_view name, std::string_view function) {
  ProtoMessage value, list;
  list.text(1, function);
  value.message(10, std::move(list));
  attribute(name, std::move(value));
}

ProtoMessage NodeMessage::finish() {
  for (auto& [name, value] : attributes_) node_.message(5, entry_message(name, std::move(value)));
  return std::move(node_);
}

namespace {

bool lists_values(const Argument& argument) {
  const auto* list = argument.as<Argument::List>();
  return list && !list->empty() && list->front().as<ValueId>();
}

bool is_input(const Argument& argument) { return argument.as<ValueId>() || lists_values(argument); }

/// Nodes whose results are lists of tensors.
bool gives_list(std::string_view op) { return op == "EmptyTensorList" || op == "TensorListPushBack"; }

bool runs_bodies(const Node& node) { return node.op == "StatelessIf" || node.op == "StatelessWhile"; }

}  // namespace

NodeWriter::NodeWriter(const Graph& graph, FunctionLibrary& library, bool is_function)
    : graph_(graph), library_(library), is_function_(is_function), references_(graph.values.size()) {}

std::string NodeWriter::unique(std::string name) {
  std::string made = name;
  for (std::size_t count = 1; !reserve(made); ++count) made = fmt::format("{}_{}", name, count);
  return made;
}

std::int64_t NodeWriter::type_of(ValueId id) {
  if (const auto known = types_.find(index_of(id)); known != types_.end()) return known->second;
  const auto& type = graph_.values[index_of(id)].type;
  const std::int64_t number = type ? type_number(type->elem) : 0;
  if (number == 0) lacks_type(graph_.name_of(id), type ? type->elem : ElementType::undefined);
  return number;
}

void NodeWriter::lacks_type(std::string_view name, ElementType elem) {
  if (!library_.fault)
    library_.fault = make_error(
        "not-supported", fmt::format("{} has elements of type {}, which TensorFlow lacks", quote(name), name_of(elem)));
}

void NodeWriter::write_constant(std::string_view name, std::int64_t type, ProtoMessage content) {
  NodeMessage node(name, "Const");
  node.type("dtype", type);
  node.tensor("value", std::move(content));
  add(node);
}

void NodeWriter::write_tensor(const foreign::Tensor& tensor, const std::string& name) {
  const std::int64_t type = type_number(tensor.elem);
  if (type == 0) return lacks_type(tensor.name, tensor.elem);
  refer(tensor.value, is_function_ ? name + ":output:0" : name);
  set_type(tensor.value, type);
  ProtoMessage content;
  content.integer(1, type);
  content.message(2, shape_message(tensor.dims));
  content.content(4, {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
  write_constant(name, type, std::move(content));
}

void NodeWriter::refer_outputs(const Node& node, const std::string& name) {
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    if (node.outputs[o] == ValueId::none) continue;
    std::string reference = o == 0 ? name : fmt::format("{}:{}", name, o);
    if (is_function_) reference = fmt::format("{}:{}", name, to_tensorflow::output_in_function(node.op, o));
    refer(node.outputs[o], std::move(reference));
    if (gives_list(node.op)) set_type(node.outputs[o], dt_variant);
  }
}

void NodeWriter::write_node(const Node& node, std::string name) {
  if (name.empty()) name = unique(node_name(graph_.name_of(node.outputs.front())));
  refer_outputs(node, name);
  NodeMessage made(name, node.op);
  std::vector<ValueId> operands;
  for (const Argument& argument : node.arguments) {
    if (const auto* id = argument.as<ValueId>())
      operands.push_back(*id);
    else if (lists_values(argument))
      for (const Argument& item : *argument.as<Argument::List>()) operands.push_back(*item.as<ValueId>());
    else if (!argument.as<std::unique_ptr<Graph>>())
      write_attribute(made, argument);
  }
  for (const ValueId operand : operands) made.input(reference(operand));
  if (runs_bodies(node))
    write_bodies(made, node, operands);
  else
    write_derived(made, node);
  add(made);
}

void NodeWriter::write_bodies(NodeMessage& made, const Node& node, const std::vector<ValueId>& operands) {
  std::vector<std::int64_t> given, results;
  for (const ValueId operand : operands) given.push_back(type_of(operand));
  const bool is_branch = node.op == "StatelessIf";
  if (is_branch) {
    made.type("Tcond", given.front());
    given.erase(given.begin());
  }
  for (const Argument& argument : node.arguments) {
    const auto* graph = argument.as<std::unique_ptr<Graph>>();
    if (!graph) continue;
    std::vector<std::int64_t> types;
    made.function(argument.name, add_function(**graph, given, types));
    if (argument.name != "cond") results = std::move(types);
  }
  made.types(is_branch ? "Tin" : "T", given);
  if (is_branch) made.types("Tout", results);
  ProtoMessage shapes, value;
  for (std::size_t o = 0; o < node.outputs.size() && o < results.size(); ++o) {
    const foreign::Value& output = graph_.values[index_of(node.outputs[o])];
    set_type(node.outputs[o], results[o]);
    shapes.message(7, shape_message(output.type && results[o] != dt_variant ? *output.type : foreign::TensorType()));
  }
  value.message(1, std::move(shapes));
  made.attribute("output_shapes", std::move(value));
}

std::string NodeWriter::add_function(const Graph& graph, const std::vector<std::int64_t>& inputs,
                                     std::vector<std::int64_t>& results) {
  NodeWriter inside(graph, library_, true);
  ProtoMessage function, signature;
  std::vector<ProtoMessage> parameters, outputs, returned;
  for (std::size_t i = 0; i < graph.inputs.size() && i < inputs.size(); ++i) {
    const std::string name = fmt::format("input_{}", i);
    inside.reserve(name);
    inside.refer(graph.inputs[i], name);
    inside.set_type(graph.inputs[i], inputs[i]);
    ProtoMessage& parameter = parameters.emplace_back();
    parameter.text(1, name);
    parameter.integer(3, inputs[i]);
  }
  for (const foreign::Tensor& tensor : graph.tensors)
    inside.write_tensor(tensor, inside.unique(node_name(graph.name_of(tensor.value))));
  for (const Node& node : graph.nodes) inside.write_node(node);
  for (std::size_t o = 0; o < graph.outputs.size(); ++o) {
    const std::string name = fmt::format("output_{}", o);
    results.push_back(inside.type_of(graph.outputs[o].value));
    ProtoMessage& output = outputs.emplace_back();
    output.text(1, name);
    output.integer(3, results.back());
    ProtoMessage& entry = returned.emplace_back();
    entry.text(1, name);
    entry.text(2, inside.reference(graph.outputs[o].value));
  }
  std::string name = fmt::format("body_{}", library_.functions.size());
  signature.text(1, name);
  for (ProtoMessage& parameter : parameters) signature.message(2, std::move(parameter));
  for (ProtoMessage& output : outputs) signature.message(3, std::move(output));
  function.message(1, std::move(signature));
  for (ProtoMessage& node : inside.nodes()) function.message(3, std::move(node));
  for (ProtoMessage& entry : returned) function.message(4, std::move(entry));
  library_.functions.push_back(std::move(function));
  return name;
}

void NodeWriter::write_attribute(NodeMessage& node, const Argument& argument) {
  ProtoMessage value, list;
  if (const auto* flag = argument.as<bool>()) value.integer(5, *flag ? 1 : 0);
  if (const auto* integer = argument.as<std::int64_t>()) value.integer(3, *integer);
  if (const auto* real = argument.as<double>()) value.real(4, static_cast<float>(*real));
  if (const auto* text = argument.as<std::string_view>()) value.text(2, *text);
  if (const auto* elem = argument.as<ElementType>()) value.integer(6, type_number(*elem));
  if (const auto* items = argument.as<Argument::List>()) {
    std::vector<std::int64_t> integers;
    for (const Argument& item : *items)
      if (const auto* integer = item.as<std::int64_t>()) integers.push_back(*integer);
    if (!integers.empty()) list.packed(3, integers);
    value.message(1, std::move(list));
  }
  node.attribute(argument.name, std::move(value));
}

/// "T=0 N=1"
void NodeWriter::write_derived(NodeMessage& made, const Node& node) {
  std::string_view rest = to_tensorflow::derived_attributes(node.op);
  std::vector<const Argument*> inputs;
  for (const Argument& argument : node.arguments)
    if (is_input(argument)) inputs.push_back(&argument);
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t split = item.find('=');
    const std::string_view name = item.substr(0, split);
    const auto place = static_cast<std::size_t>(item[split + 1] - '0');
    if (place >= inputs.size()) continue;
    const auto* list = inputs[place]->as<Argument::List>();
    if (name == "N" && list)
      made.integer(name, static_cast<std::int64_t>(list->size()));
    else
      made.type(name, type_of(list ? *list->front().as<ValueId>() : *inputs[place]->as<ValueId>()));
  }
}

}  // namespace onnxkit::saved_model
