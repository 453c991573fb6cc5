#include "converters/formats/saved_model/graph_writer.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "converters/containers/crc32c.h"
#include "converters/containers/sorted_table_writer.h"
#include "converters/formats/saved_model/dtype.h"
#include "converters/formats/saved_model/operators.h"

namespace onnxkit::saved_model {
namespace {

using containers::ProtoMessage;
using foreign::Argument;
using foreign::Graph;
using foreign::ValueId;

constexpr std::string_view filename_node = "save/Const", names_node = "save/RestoreV2/tensor_names",
                           slices_node = "save/RestoreV2/shape_and_slices", restored_node = "save/RestoreV2",
                           restore_op = "save/restore_all", save_node = "save/SaveV2",
                           saved_node = "save/control_dependency";

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

/// Open sizes are -1.
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

/// A node on its way: attributes are written in the order of their names.
class NodeMessage {
 public:
  NodeMessage(std::string_view name, std::string_view op) {
    node_.text(1, name);
    node_.text(2, op);
  }
  void input(std::string_view reference) { node_.text(3, reference); }
  void attribute(std::string_view name, ProtoMessage value) { attributes_.insert_or_assign(name, std::move(value)); }
  void type(std::string_view name, std::int64_t number) {
    ProtoMessage value;
    value.integer(6, number);
    attribute(name, std::move(value));
  }
  void types(std::string_view name, const std::vector<std::int64_t>& numbers) {
    ProtoMessage list, value;
    list.packed(6, numbers);
    value.message(1, std::move(list));
    attribute(name, std::move(value));
  }
  void text(std::string_view name, std::string_view content) {
    ProtoMessage value;
    value.text(2, content);
    attribute(name, std::move(value));
  }
  void integer(std::string_view name, std::int64_t number) {
    ProtoMessage value;
    value.integer(3, number);
    attribute(name, std::move(value));
  }
  void shape(std::string_view name, ProtoMessage shape) {
    ProtoMessage value;
    value.message(7, std::move(shape));
    attribute(name, std::move(value));
  }
  void tensor(std::string_view name, ProtoMessage tensor) {
    ProtoMessage value;
    value.message(8, std::move(tensor));
    attribute(name, std::move(value));
  }
  ProtoMessage finish() {
    for (auto& [name, value] : attributes_) node_.message(5, entry_message(name, std::move(value)));
    return std::move(node_);
  }

 private:
  ProtoMessage node_;
  std::map<std::string_view, ProtoMessage> attributes_;
};

/// The name of a node: [A-Za-z0-9.][A-Za-z0-9_.\-/]*
std::string node_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
  };
  name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
  std::string made;
  for (const char c : name) made += is_plain(c) || c == '_' || c == '-' || c == '/' ? c : '_';
  return made.empty() || !is_plain(made.front()) ? "x" + made : made;
}

bool lists_values(const Argument& argument) {
  const auto* list = argument.as<Argument::List>();
  return list && !list->empty() && list->front().as<ValueId>();
}

bool is_input(const Argument& argument) { return argument.as<ValueId>() || lists_values(argument); }

struct Variable {
  std::string name;
  const foreign::Tensor* tensor = nullptr;
};

// ---- the graph

class GraphWriter {
 public:
  GraphWriter(const foreign::Model& model, bool has_variables)
      : graph_(model.graph), has_variables_(has_variables), references_(graph_.values.size()) {
    for (const std::string_view name :
         {filename_node, names_node, slices_node, restored_node, restore_op, save_node, saved_node})
      names_.emplace(name);
    reserve_outputs();
  }

  Result<ModelFiles> write() {
    ModelFiles files;
    for (const ValueId input : graph_.inputs) write_placeholder(input);
    for (const foreign::Tensor& tensor : graph_.tensors) write_tensor(tensor);
    for (const foreign::Node& node : graph_.nodes) write_node(node);
    ProtoMessage signature = signature_message();
    if (!variables_.empty()) write_saver();
    if (fault_) return *fault_;
    ProtoMessage versions;
    constexpr std::int64_t producer = 1882, first_consumer = 12;
    versions.integer(1, producer);
    versions.integer(2, first_consumer);
    nodes_.message(4, std::move(versions));
    files.model.integer(1, 1);
    files.model.message(2, meta_graph(std::move(signature)));
    if (!variables_.empty()) write_bundle(files);
    return files;
  }

 private:
  // ---- names

  /// Of nodes that compute outputs of the model: those keep their names.
  void reserve_outputs() {
    std::unordered_set<std::size_t> firsts;
    for (const foreign::Node& node : graph_.nodes)
      if (!node.outputs.empty()) firsts.insert(index_of(node.outputs.front()));
    for (const foreign::Output& output : graph_.outputs) {
      std::string name = unique(node_name(output.name));
      if (firsts.contains(index_of(output.value)) && !computed_outputs_.contains(index_of(output.value)))
        computed_outputs_.emplace(index_of(output.value), name);
      output_names_.push_back(std::move(name));
    }
  }

  std::string unique(std::string name) {
    std::string made = name;
    for (std::size_t count = 1; !names_.insert(made).second; ++count) made = fmt::format("{}_{}", name, count);
    return made;
  }

  std::int64_t type_of(ValueId id) {
    const auto& type = graph_.values[index_of(id)].type;
    const std::int64_t number = type ? type_number(type->elem) : 0;
    if (number == 0) lacks_type(graph_.name_of(id), type ? type->elem : ElementType::undefined);
    return number;
  }

  void lacks_type(std::string_view name, ElementType elem) {
    if (!fault_)
      fault_ = make_error("not-supported", fmt::format("{} has elements of type {}, which TensorFlow lacks",
                                                       quote(name), name_of(elem)));
  }

  // ---- nodes

  void add(NodeMessage& node) { nodes_.message(1, node.finish()); }

  void write_placeholder(ValueId input) {
    const std::string name = unique(node_name(graph_.name_of(input)));
    references_[index_of(input)] = name;
    NodeMessage node(name, "Placeholder");
    node.type("dtype", type_of(input));
    if (const auto& type = graph_.values[index_of(input)].type) node.shape("shape", shape_message(*type));
    add(node);
  }

  void write_tensor(const foreign::Tensor& tensor) {
    constexpr std::size_t least_variable = 1024;
    const std::int64_t type = type_number(tensor.elem);
    if (type == 0) return lacks_type(tensor.name, tensor.elem);
    const std::string name = unique(node_name(graph_.name_of(tensor.value)));
    references_[index_of(tensor.value)] = name;
    if (has_variables_ && tensor.bytes.size() >= least_variable) return write_variable(name, tensor);
    ProtoMessage content;
    content.integer(1, type);
    content.message(2, shape_message(tensor.dims));
    content.content(4, {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()});
    write_constant(name, type, std::move(content));
  }

  void write_constant(std::string_view name, std::int64_t type, ProtoMessage content) {
    NodeMessage node(name, "Const");
    node.type("dtype", type);
    node.tensor("value", std::move(content));
    add(node);
  }

  void write_variable(const std::string& name, const foreign::Tensor& tensor) {
    const std::string handle = unique(name + "/handle");
    NodeMessage variable(handle, "VarHandleOp");
    variable.type("dtype", type_number(tensor.elem));
    variable.shape("shape", shape_message(tensor.dims));
    variable.text("shared_name", handle);
    add(variable);
    NodeMessage read(name, "ReadVariableOp");
    read.input(handle);
    read.type("dtype", type_number(tensor.elem));
    add(read);
    variables_.push_back({handle, &tensor});
  }

  void write_node(const foreign::Node& node) {
    const ValueId first = node.outputs.front();
    const auto output = computed_outputs_.find(index_of(first));
    const std::string name =
        output != computed_outputs_.end() ? output->second : unique(node_name(graph_.name_of(first)));
    for (std::size_t o = 0; o < node.outputs.size(); ++o)
      if (node.outputs[o] != ValueId::none)
        references_[index_of(node.outputs[o])] = o == 0 ? name : fmt::format("{}:{}", name, o);
    NodeMessage made(name, node.op);
    for (const Argument& argument : node.arguments) {
      if (const auto* id = argument.as<ValueId>())
        made.input(references_[index_of(*id)]);
      else if (lists_values(argument))
        for (const Argument& item : *argument.as<Argument::List>())
          made.input(references_[index_of(*item.as<ValueId>())]);
      else
        write_attribute(made, argument);
    }
    write_derived(made, node);
    add(made);
  }

  static void write_attribute(NodeMessage& node, const Argument& argument) {
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
  void write_derived(NodeMessage& made, const foreign::Node& node) {
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

  // ---- the signature

  ProtoMessage tensor_info(std::string_view node, ValueId value) {
    ProtoMessage info;
    info.text(1, node.find(':') == node.npos ? fmt::format("{}:0", node) : std::string(node));
    info.integer(2, type_of(value));
    if (const auto& type = graph_.values[index_of(value)].type) info.message(3, shape_message(*type));
    return info;
  }

  ProtoMessage signature_message() {
    ProtoMessage signature;
    std::map<std::string_view, ProtoMessage> inputs, outputs;
    for (const ValueId input : graph_.inputs)
      inputs.emplace(graph_.name_of(input), tensor_info(references_[index_of(input)], input));
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
      const ValueId value = graph_.outputs[o].value;
      const std::string& name = output_names_[o];
      const auto computed = computed_outputs_.find(index_of(value));
      if (computed == computed_outputs_.end() || computed->second != name) {
        NodeMessage node(name, "Identity");
        node.input(references_[index_of(value)]);
        node.type("T", type_of(value));
        add(node);
      }
      outputs.emplace(graph_.outputs[o].name, tensor_info(name, value));
    }
    for (auto& [name, info] : inputs) signature.message(1, entry_message(name, std::move(info)));
    for (auto& [name, info] : outputs) signature.message(2, entry_message(name, std::move(info)));
    signature.text(3, "tensorflow/serving/predict");
    return signature;
  }

  // ---- variables

  static ProtoMessage text_tensor(const std::vector<std::string_view>& texts, bool is_scalar) {
    ProtoMessage tensor;
    tensor.integer(1, dt_string);
    tensor.message(2, shape_message(is_scalar ? std::vector<std::int64_t>()
                                              : std::vector<std::int64_t>{static_cast<std::int64_t>(texts.size())}));
    for (const std::string_view text : texts) tensor.text(8, text);
    return tensor;
  }

  /// What fills the variables from the bundle, and writes one.
  void write_saver() {
    std::sort(variables_.begin(), variables_.end(),
              [](const Variable& a, const Variable& b) { return a.name < b.name; });
    std::vector<std::string_view> names;
    std::vector<std::int64_t> types;
    for (const Variable& variable : variables_) {
      names.push_back(variable.name);
      types.push_back(type_number(variable.tensor->elem));
    }
    write_constant(filename_node, dt_string, text_tensor({"model"}, true));
    write_constant(names_node, dt_string, text_tensor(names, false));
    write_constant(slices_node, dt_string, text_tensor(std::vector<std::string_view>(names.size()), false));
    NodeMessage restored(restored_node, "RestoreV2"), all(restore_op, "NoOp"), save(save_node, "SaveV2");
    for (NodeMessage* node : {&restored, &save}) {
      for (const std::string_view input : {filename_node, names_node, slices_node}) node->input(input);
      node->types("dtypes", types);
    }
    add(restored);
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      const std::string copy = unique(fmt::format("save/Identity_{}", v));
      NodeMessage passed(copy, "Identity");
      passed.input(fmt::format("{}:{}", restored_node, v));
      passed.type("T", types[v]);
      add(passed);
      assignments_.push_back(unique(fmt::format("save/AssignVariableOp_{}", v)));
      NodeMessage assigned(assignments_.back(), "AssignVariableOp");
      assigned.input(variables_[v].name);
      assigned.input(copy);
      assigned.type("dtype", types[v]);
      add(assigned);
      all.input(fmt::format("^{}", assignments_.back()));
      save.input(references_[index_of(variables_[v].tensor->value)]);
    }
    add(all);
    add(save);
    NodeMessage saved(saved_node, "Identity");
    saved.input(filename_node);
    saved.input(fmt::format("^{}", save_node));
    saved.type("T", dt_string);
    add(saved);
  }

  static ProtoMessage saver_message() {
    ProtoMessage saver;
    saver.text(1, fmt::format("{}:0", filename_node));
    saver.text(2, fmt::format("{}:0", saved_node));
    saver.text(3, restore_op);
    constexpr std::int64_t second_version = 2;
    saver.integer(7, second_version);
    return saver;
  }

  ProtoMessage collection_of_variables() {
    ProtoMessage list, collection;
    for (std::size_t v = 0; v < variables_.size(); ++v) {
      ProtoMessage definition;
      definition.text(1, fmt::format("{}:0", variables_[v].name));
      definition.text(2, assignments_[v]);
      definition.text(3, fmt::format("{}:0", references_[index_of(variables_[v].tensor->value)]));
      definition.integer(5, 1);
      definition.text(6, fmt::format("save/Identity_{}:0", v));
      definition.integer(7, 1);
      list.message(1, std::move(definition));
    }
    collection.message(2, std::move(list));
    return collection;
  }

  ProtoMessage meta_graph(ProtoMessage signature) {
    ProtoMessage graph, info;
    info.text(4, "serve");
    info.integer(7, 1);
    graph.message(1, std::move(info));
    graph.message(2, std::move(nodes_));
    if (!variables_.empty()) {
      graph.message(3, saver_message());
      for (const std::string_view collection : {"trainable_variables", "variables"})
        graph.message(4, entry_message(collection, collection_of_variables()));
    }
    graph.message(5, entry_message("serving_default", std::move(signature)));
    return graph;
  }

  void write_bundle(ModelFiles& files) {
    containers::SortedTableWriter table;
    ProtoMessage header, version;
    version.integer(1, 1);
    header.integer(1, 1);
    header.message(3, std::move(version));
    table.add("", header.bytes());
    std::uint64_t at = 0;
    for (const Variable& variable : variables_) {
      const foreign::Tensor& tensor = *variable.tensor;
      ProtoMessage entry;
      entry.integer(1, type_number(tensor.elem));
      entry.message(2, shape_message(tensor.dims));
      entry.integer(4, static_cast<std::int64_t>(at));
      entry.integer(5, static_cast<std::int64_t>(tensor.bytes.size()));
      entry.fixed32(6, containers::masked_crc(containers::crc32c(tensor.bytes)));
      table.add(variable.name, entry.bytes());
      files.data.push_back(tensor.bytes);
      at += tensor.bytes.size();
    }
    files.index = table.finish();
  }

  const Graph& graph_;
  bool has_variables_;
  ProtoMessage nodes_;
  std::vector<std::string> references_;  ///< by ValueId: "node", "node:1"
  std::unordered_set<std::string> names_;
  std::vector<std::string> output_names_;
  std::unordered_map<std::size_t, std::string>
      computed_outputs_;  ///< by ValueId: the name of the node that computes it
  std::vector<Variable> variables_;
  std::vector<std::string> assignments_;
  std::optional<Error> fault_;
};

}  // namespace

Result<ModelFiles> model_files(const foreign::Model& model, std::uint64_t most_bytes) {
  std::uint64_t weights = 0;
  for (const foreign::Tensor& tensor : model.graph.tensors) weights += tensor.bytes.size();
  if (weights < most_bytes) {
    auto files = GraphWriter(model, false).write();
    if (!files || files->model.size() <= most_bytes) return files;
  }
  return GraphWriter(model, true).write();
}

}  // namespace onnxkit::saved_model
