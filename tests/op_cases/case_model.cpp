#include "tests/op_cases/case_model.h"

#include <fmt/core.h>

#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"
#include "libonnxkit/wire/text.h"
#include "tests/op_cases/tensor_values.h"
#include "tests/op_cases/type_text.h"

namespace onnxkit::op_cases {
namespace {

spec::AttributeType guess_type(const YAML::Node& node) {
  using enum spec::AttributeType;
  const YAML::Node& one = node.IsSequence() && node.size() > 0 ? node[0] : node;
  std::int64_t number = 0;
  double fraction = 0;
  const bool is_list = node.IsSequence();
  if (YAML::convert<std::int64_t>::decode(one, number)) return is_list ? integers : integer;
  if (YAML::convert<double>::decode(one, fraction)) return is_list ? reals : real;
  if (node.IsMap()) return tensor;
  return is_list ? strings : string;
}

ir::DeclaredShape parse_shape(const YAML::Node& node, StringPool& strings) {
  ir::DeclaredShape shape;
  for (const YAML::Node& dim : node) shape.dims.push_back(parse_dim(dim.as<std::string>(), strings));
  return shape;
}

std::unique_ptr<ir::Tensor> tensor_attribute(const YAML::Node& node, ir::Model& model) {
  const ElementType type = parse_element_type(node["type"].as<std::string>());
  std::vector<std::int64_t> dims;
  if (node["shape"]) dims = node["shape"].as<std::vector<std::int64_t>>();
  return std::make_unique<ir::Tensor>(
      make_tensor(type, node["values"], node["shape"] ? &dims : nullptr, *model.strings));
}

ir::Attribute::Payload make_payload(const YAML::Node& node, spec::AttributeType type, ir::Model& model) {
  switch (type) {
    case spec::AttributeType::integer:
      return node.as<std::int64_t>();
    case spec::AttributeType::real:
      return node.as<float>();
    case spec::AttributeType::string:
      return model.keep(node.as<std::string>());
    case spec::AttributeType::integers:
      return node.as<std::vector<std::int64_t>>();
    case spec::AttributeType::reals:
      return node.as<std::vector<float>>();
    case spec::AttributeType::strings: {
      std::vector<Text> texts;
      for (const YAML::Node& one : node) texts.push_back(model.keep(one.as<std::string>()));
      return texts;
    }
    case spec::AttributeType::tensor:
      return tensor_attribute(node, model);
    case spec::AttributeType::type_proto:
      return std::make_unique<ir::DeclaredType>(parse_type(node.as<std::string>(), *model.strings));
    default:
      fail(node, "an attribute of this type cannot be stated in a case");
  }
}

void add_attributes(ir::Node& node, const Case& c, const spec::OpSchema& schema, ir::Model& model) {
  if (!c.attributes.IsMap()) return;
  for (const auto& entry : c.attributes) {
    const auto name = entry.first.as<std::string>();
    const spec::AttributeSchema* known = schema.find_attribute(name);
    const spec::AttributeType type = known ? known->type : guess_type(entry.second);
    ir::Attribute attribute;
    attribute.name = model.keep(name);
    attribute.type = static_cast<std::int32_t>(type);
    attribute.payload = make_payload(entry.second, type, model);
    node.attributes.push_back(std::move(attribute));
  }
}

/// Constants in a case are initializers; the model's IR version lets them be so without a graph input.
bool is_initializer(const YAML::Node& node) {
  return node.IsMap() && node["values"] && !(node["constant"] && !node["constant"].as<bool>());
}

void add_input(ir::Graph& graph, const ValueSpec& value, ir::Model& model) {
  const Text name = model.keep(value.name);
  if (is_initializer(value.node)) {
    const ir::DeclaredType type = declared_type(value, *model.strings);
    std::vector<std::int64_t> dims;
    if (type.shape) {
      for (const ir::DeclaredDim& d : type.shape->dims) dims.push_back(d.value.value_or(-1));
    }
    ir::Tensor tensor = make_tensor(static_cast<ElementType>(type.elem_type.value_or(0)), value.node["values"],
                                    type.shape ? &dims : nullptr, *model.strings);
    tensor.name = name;
    graph.intern(name);
    graph.initializers.push_back(std::move(tensor));
    return;
  }
  ir::ValueInfo info;
  if (value.node.IsMap() && value.node["shape_of"]) {
    const Text source = model.keep("shape_of_" + value.name);
    info.type = parse_type("float", *model.strings);
    info.type->shape = parse_shape(value.node["shape_of"], *model.strings);
    info.value = graph.intern(source);
    ir::Node shape;
    shape.op_type = "Shape";
    shape.inputs = {info.value};
    shape.outputs = {graph.intern(name)};
    graph.nodes.push_back(std::move(shape));
  } else {
    ir::DeclaredType type = declared_type(value, *model.strings);
    if (type.kind != ir::DeclaredType::Kind::none) info.type = std::move(type);
    info.value = graph.intern(name);
  }
  graph.inputs.push_back(std::move(info));
}

ir::Model parse_model(const Case& c, std::int64_t opset) {
  constexpr std::string_view placeholder = "OPSET";
  std::string text = c.model;
  for (std::size_t at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder)) {
    text.replace(at, placeholder.size(), std::to_string(opset));
  }
  auto model = wire::parse_text(text, c.name);
  if (!model) throw YAML::Exception(YAML::Mark::null_mark(), model.error().diagnostic.message);
  return std::move(*model);
}

}  // namespace

ir::DeclaredType declared_type(const ValueSpec& value, StringPool& strings) {
  const YAML::Node& node = value.node;
  if (node.IsNull()) return {};
  if (node.IsScalar()) {
    const auto text = node.as<std::string>();
    return text == "?" ? ir::DeclaredType{} : parse_type(text, strings);
  }
  if (!node["type"]) return {};
  ir::DeclaredType type = parse_type(node["type"].as<std::string>(), strings);
  const YAML::Node shape = node["shape"];
  if (shape && !shape.IsNull()) type.shape = parse_shape(shape, strings);
  return type;
}

ir::Model make_model(const Case& c, const spec::OpSchema& schema, std::int64_t opset) {
  if (!c.model.empty()) return parse_model(c, opset);
  ir::Model model;
  model.ir_version = spec::newest_ir_version();
  const std::string_view domain = ir::canonical_domain(c.domain);
  if (!domain.empty())
    model.opset_imports.push_back({.domain = "", .version = spec::newest_opset(""), .unknown_fields = {}});
  model.opset_imports.push_back({.domain = model.keep(domain), .version = opset, .unknown_fields = {}});
  model.graph = std::make_unique<ir::Graph>();
  ir::Graph& graph = *model.graph;
  graph.name = "case";

  ir::Node node;
  node.op_type = model.keep(c.op);
  node.domain = model.keep(domain);
  add_attributes(node, c, schema, model);
  for (const ValueSpec& input : c.inputs) {
    if (input.omitted) {
      node.inputs.push_back(ir::ValueId::none);
      continue;
    }
    add_input(graph, input, model);
    node.inputs.push_back(graph.find(input.name));
  }
  for (const ValueSpec& output : c.outputs) {
    node.outputs.push_back(output.omitted ? ir::ValueId::none : graph.intern(model.keep(output.name)));
    if (output.omitted) continue;
    ir::ValueInfo info;
    info.value = node.outputs.back();
    graph.outputs.push_back(std::move(info));
  }
  // A case that only expects a finding still needs the outputs for the node to be well formed.
  while (!c.checks_outputs && node.outputs.size() < schema.min_outputs) {
    node.outputs.push_back(graph.intern(model.keep(fmt::format("y{}", node.outputs.size()))));
  }
  graph.nodes.push_back(std::move(node));
  return model;
}

}  // namespace onnxkit::op_cases
