#include "converters/formats/saved_model/graph_def.h"

#include <algorithm>

#include "converters/containers/protobuf.h"
#include "converters/formats/saved_model/dtype.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::saved_model {
namespace {

using containers::ProtoFields;

/// Fields of an entry of a map.
struct MapEntry {
  std::string_view key, value;
};
MapEntry read_map_entry(std::string_view message, bool& damaged) {
  MapEntry entry;
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() == 1) entry.key = field.bytes();
    if (field.number() == 2) entry.value = field.bytes();
  }
  return entry;
}

NodeDef read_node_def(std::string_view message, bool& damaged) {
  NodeDef node;
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() == 1) node.name = field.bytes();
    if (field.number() == 2) node.op = field.bytes();
    if (field.number() == 3) node.inputs.push_back(field.bytes());
    if (field.number() != 5) continue;
    const MapEntry entry = read_map_entry(field.bytes(), damaged);
    constexpr std::size_t most_attributes = 1024;
    if (node.attributes.size() == most_attributes) damaged = true;
    node.attributes.emplace_back(entry.key, entry.value);
  }
  return node;
}

std::string_view read_name(std::string_view message, bool& damaged) {
  std::string_view name;
  for (ProtoFields field(message, damaged); field.next();)
    if (field.number() == 1) name = field.bytes();
  return name;
}

/// OpDef: name, input_arg, output_arg.
void read_signature(std::string_view message, FunctionDef& function, std::vector<std::string_view>& outputs,
                    bool& damaged) {
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() == 1) function.name = field.bytes();
    if (field.number() == 2) function.parameters.push_back(read_name(field.bytes(), damaged));
    if (field.number() == 3) outputs.push_back(read_name(field.bytes(), damaged));
  }
}

std::unique_ptr<FunctionDef> read_function_def(std::string_view message, bool& damaged) {
  auto function = std::make_unique<FunctionDef>();
  std::vector<std::string_view> outputs;
  std::map<std::string_view, std::string_view> returned;
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() == 1) read_signature(field.bytes(), *function, outputs, damaged);
    if (field.number() == 3) function->table.nodes.push_back(read_node_def(field.bytes(), damaged));
    if (field.number() != 4 && field.number() != 6) continue;
    const MapEntry entry = read_map_entry(field.bytes(), damaged);
    if (field.number() == 4) returned.emplace(entry.key, entry.value);
    if (field.number() == 6) function->effects.push_back(entry.value);
  }
  for (const std::string_view output : outputs) {
    const auto found = returned.find(output);
    if (found == returned.end()) damaged = true;
    function->results.push_back(found == returned.end() ? output : found->second);
  }
  function->table.index();
  for (std::size_t i = 0; i < function->parameters.size(); ++i)
    function->parameter_places.emplace(function->parameters[i], i);
  return function;
}

void read_library(std::string_view message, GraphDef& graph, bool& damaged) {
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() != 1) continue;
    auto function = read_function_def(field.bytes(), damaged);
    const std::string_view name = function->name;
    graph.functions.insert_or_assign(name, std::move(function));
  }
}

foreign::Argument::List shape_argument(const std::vector<std::int64_t>& shape) {
  foreign::Argument::List sizes;
  for (const std::int64_t size : shape) sizes.push_back({size});
  return sizes;
}

/// The constant in a field of AttrValue or of its list; the numbers are the same.
std::optional<foreign::Argument> constant_of(const ProtoFields& field, bool& damaged) {
  switch (field.number()) {
    case 2:
      return foreign::Argument{field.bytes()};
    case 3:
      return foreign::Argument{field.integer()};
    case 4:
      return foreign::Argument{static_cast<double>(field.real())};
    case 5:
      return foreign::Argument{field.flag()};
    case 6:
      return foreign::Argument{elem_of(field.integer())};
    case 7: {
      const auto shape = read_shape(field.bytes(), damaged);
      return shape ? foreign::Argument{shape_argument(*shape)} : foreign::Argument{};
    }
    default:
      return std::nullopt;
  }
}

foreign::Argument list_argument(std::string_view message, bool& damaged) {
  foreign::Argument::List list;
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() == 3) {
      field.integers([&](std::int64_t value) { list.push_back({value}); });
    } else if (field.number() == 4) {
      field.fixed<float>([&](float value) { list.push_back({static_cast<double>(value)}); });
    } else if (field.number() == 5) {
      field.integers([&](std::int64_t value) { list.push_back({value != 0}); });
    } else if (field.number() == 6) {
      field.integers([&](std::int64_t value) { list.push_back({elem_of(value)}); });
    } else if (auto constant = constant_of(field, damaged)) {
      list.push_back(*std::move(constant));
    }
  }
  return {std::move(list)};
}

/// Integers of a field as elements of a type.
void append_integers(const ProtoFields& field, std::size_t size, std::string& values) {
  field.integers([&](std::int64_t value) { values.append(reinterpret_cast<const char*>(&value), size); });
}

}  // namespace

void NodeTable::index() {
  by_name.reserve(nodes.size());
  for (const NodeDef& node : nodes) by_name.emplace(node.name, &node);
}

Result<std::unique_ptr<GraphDef>> read_graph_def(std::string_view message) {
  auto graph = std::make_unique<GraphDef>();
  bool damaged = false;
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() == 1) graph->table.nodes.push_back(read_node_def(field.bytes(), damaged));
    if (field.number() == 2) read_library(field.bytes(), *graph, damaged);
  }
  if (damaged) return make_error("malformed-model", "the graph of TensorFlow is damaged");
  graph->table.index();
  return graph;
}

std::optional<std::vector<std::int64_t>> read_shape(std::string_view message, bool& damaged) {
  std::vector<std::int64_t> sizes;
  bool is_unknown = false;
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() == 3) is_unknown = field.flag();
    if (field.number() != 2) continue;
    std::int64_t size = 0;
    for (ProtoFields dim(field.bytes(), damaged); dim.next();)
      if (dim.number() == 1) size = dim.integer();
    sizes.push_back(size < 0 ? -1 : size);
  }
  if (is_unknown) return std::nullopt;
  return sizes;
}

std::optional<foreign::Argument> argument_of(std::string_view name, std::string_view attr_value) {
  bool damaged = false;
  std::optional<foreign::Argument> argument;
  for (ProtoFields field(attr_value, damaged); field.next();)
    argument = field.number() == 1 ? list_argument(field.bytes(), damaged) : constant_of(field, damaged);
  if (argument) argument->name = name;
  return argument;
}

std::int64_t type_of_attribute(std::string_view attr_value) {
  bool damaged = false;
  std::int64_t type = 0;
  for (ProtoFields field(attr_value, damaged); field.next();)
    if (field.number() == 6) type = field.integer();
  return type;
}

std::string_view text_of_attribute(std::string_view attr_value) {
  bool damaged = false;
  std::string_view text;
  for (ProtoFields field(attr_value, damaged); field.next();)
    if (field.number() == 2) text = field.bytes();
  return text;
}

std::vector<std::string_view> functions_of_attribute(std::string_view attr_value) {
  bool damaged = false;
  std::vector<std::string_view> names;
  for (ProtoFields field(attr_value, damaged); field.next();) {
    if (field.number() == 10) names.push_back(read_name(field.bytes(), damaged));
    if (field.number() != 1) continue;
    for (ProtoFields item(field.bytes(), damaged); item.next();)
      if (item.number() == 9) names.push_back(read_name(item.bytes(), damaged));
  }
  return names;
}

Result<TensorProto> tensor_of_attribute(std::string_view attr_value) {
  TensorProto tensor;
  bool damaged = false;
  std::string_view message;
  for (ProtoFields field(attr_value, damaged); field.next();)
    if (field.number() == 8) message = field.bytes();
  std::vector<ProtoFields> numbers;
  for (ProtoFields field(message, damaged); field.next();) {
    if (field.number() == 1) tensor.type = field.integer();
    if (field.number() == 2) tensor.dims = read_shape(field.bytes(), damaged).value_or(std::vector<std::int64_t>{-1});
    if (field.number() == 4) tensor.content = field.bytes();
    if (field.number() == 8) tensor.strings.push_back(field.bytes());
    if (field.number() > 4 && field.number() != 8) numbers.push_back(field);
  }
  const std::size_t size = packed_size(elem_of(tensor.type), 1).value_or(0);
  for (const ProtoFields& field : numbers) {
    constexpr std::uint32_t floats = 5, doubles = 6, complex_floats = 9, complex_doubles = 12;
    if (field.number() == floats || field.number() == complex_floats)
      field.fixed<float>([&](float v) { tensor.values.append(reinterpret_cast<const char*>(&v), sizeof(v)); });
    else if (field.number() == doubles || field.number() == complex_doubles)
      field.fixed<double>([&](double v) { tensor.values.append(reinterpret_cast<const char*>(&v), sizeof(v)); });
    else
      append_integers(field, std::min<std::size_t>(size, sizeof(std::int64_t)), tensor.values);
  }
  if (damaged) return make_error("malformed-model", "a constant of the graph is damaged");
  return tensor;
}

}  // namespace onnxkit::saved_model
