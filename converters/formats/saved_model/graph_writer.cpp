#include "converters/formats/saved_model/graph_writer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "converters/containers/crc32c.h"
#include "converters/containers/sorted_table_writer.h"
#include "converters/formats/saved_model/dtype.h"
#include "converters/formats/saved_model/node_writer.h"

namespace onnxkit::saved_model {
namespace {

using containers::ProtoMessage;
using foreign::Graph;
using foreign::ValueId;

constexpr std::string_view filename_node = "save/Const", names_node = "save/RestoreV2/tensor_names",
                           slices_node = "save/RestoreV2/shape_and_slices", restored_node = "save/RestoreV2",
                           restore_op = "save/restore_all", save_node = "save/SaveV2",
                           saved_node = "save/control_dependency";

/// What a frozen graph calls "x:0".
std::string_view node_of_tensor(std::string_view tensor) {
  return tensor.ends_with(":0") ? tensor.substr(0, tensor.size() - 2) : tensor;
}

enum class Container : std::uint8_t { saved_model, saved_model_with_variables, frozen_graph };

struct Variable {
  std::string name;
  const foreign::Tensor* tensor = nullptr;
};

// ---- the graph

class GraphWriter {
 public:
  GraphWriter(const foreign::Model& model, Container container)
      : graph_(model.graph), container_(container), writer_(graph_, library_, false) {
    for (const std::string_view name :
         {filename_node, names_node, slices_node, restored_node, restore_op, save_node, saved_node})
      writer_.reserve(name);
    reserve_outputs();
  }

  Result<ModelFiles> write() {
    ModelFiles files;
    write_nodes();
    ProtoMessage signature = signature_message();
    if (!variables_.empty()) write_saver();
    if (library_.fault) return *library_.fault;
    files.model.integer(1, 1);
    files.model.message(2, meta_graph(std::move(signature)));
    if (!variables_.empty()) write_bundle(files);
    return files;
  }

  Result<ProtoMessage> write_graph() {
    write_nodes();
    signature_message();
    if (library_.fault) return *library_.fault;
    return graph_message();
  }

 private:
  // ---- names

  /// Of nodes that compute outputs of the model: those keep their names.
  void reserve_outputs() {
    std::unordered_set<std::size_t> firsts;
    for (const foreign::Node& node : graph_.nodes)
      if (!node.outputs.empty()) firsts.insert(index_of(node.outputs.front()));
    for (const foreign::Output& output : graph_.outputs) {
      std::string name = unique(port_name(output.name));
      // Outputs of a frozen graph are nodes that nothing reads.
      if (container_ != Container::frozen_graph && firsts.contains(index_of(output.value)) &&
          !computed_outputs_.contains(index_of(output.value)))
        computed_outputs_.emplace(index_of(output.value), name);
      output_names_.push_back(std::move(name));
    }
  }

  std::string port_name(std::string_view name) const {
    return node_name(container_ == Container::frozen_graph ? node_of_tensor(name) : name);
  }

  std::string unique(std::string name) { return writer_.unique(std::move(name)); }

  // ---- nodes

  void write_nodes() {
    for (const ValueId input : graph_.inputs) write_placeholder(input);
    for (const foreign::Tensor& tensor : graph_.tensors) write_tensor(tensor);
    for (const foreign::Node& node : graph_.nodes) {
      const auto output = computed_outputs_.find(index_of(node.outputs.front()));
      writer_.write_node(node, output == computed_outputs_.end() ? std::string() : output->second);
    }
  }

  ProtoMessage graph_message() {
    ProtoMessage graph, versions;
    for (ProtoMessage& node : writer_.nodes()) graph.message(1, std::move(node));
    if (!library_.functions.empty()) {
      ProtoMessage library;
      for (ProtoMessage& function : library_.functions) library.message(1, std::move(function));
      graph.message(2, std::move(library));
    }
    constexpr std::int64_t producer = 1882, first_consumer = 12;
    versions.integer(1, producer);
    versions.integer(2, first_consumer);
    graph.message(4, std::move(versions));
    return graph;
  }

  void write_placeholder(ValueId input) {
    const std::string name = unique(port_name(graph_.name_of(input)));
    writer_.refer(input, name);
    NodeMessage node(name, "Placeholder");
    node.type("dtype", writer_.type_of(input));
    if (const auto& type = graph_.values[index_of(input)].type) node.shape("shape", shape_message(*type));
    add(node);
  }

  void write_tensor(const foreign::Tensor& tensor) {
    constexpr std::size_t least_variable = 1024;
    if (tensor.bytes.size() >= least_variable) {
      // Weights that bodies of nodes read, too.
      const auto [known, is_new] = weights_.emplace(std::tuple(tensor.bytes.data(), tensor.elem, tensor.dims), &tensor);
      if (!is_new) {
        writer_.refer(tensor.value, writer_.reference(known->second->value));
        return writer_.set_type(tensor.value, type_number(tensor.elem));
      }
    }
    const std::string name = unique(node_name(graph_.name_of(tensor.value)));
    const bool is_variable =
        container_ == Container::saved_model_with_variables && tensor.bytes.size() >= least_variable;
    if (!is_variable || type_number(tensor.elem) == 0) return writer_.write_tensor(tensor, name);
    write_variable(name, tensor);
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
    writer_.refer(tensor.value, name);
    writer_.set_type(tensor.value, type_number(tensor.elem));
    variables_.push_back({handle, &tensor});
  }

  void add(NodeMessage& node) { writer_.add(node); }

  // ---- the signature

  ProtoMessage tensor_info(std::string_view node, ValueId value) {
    ProtoMessage info;
    info.text(1, node.find(':') == node.npos ? fmt::format("{}:0", node) : std::string(node));
    info.integer(2, writer_.type_of(value));
    if (const auto& type = graph_.values[index_of(value)].type) info.message(3, shape_message(*type));
    return info;
  }

  ProtoMessage signature_message() {
    ProtoMessage signature;
    std::map<std::string_view, ProtoMessage> inputs, outputs;
    for (const ValueId input : graph_.inputs)
      inputs.emplace(graph_.name_of(input), tensor_info(writer_.reference(input), input));
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
      const ValueId value = graph_.outputs[o].value;
      const std::string& name = output_names_[o];
      const auto computed = computed_outputs_.find(index_of(value));
      if (computed == computed_outputs_.end() || computed->second != name) {
        NodeMessage node(name, "Identity");
        node.input(writer_.reference(value));
        node.type("T", writer_.type_of(value));
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
    writer_.write_constant(filename_node, dt_string, text_tensor({"model"}, true));
    writer_.write_constant(names_node, dt_string, text_tensor(names, false));
    writer_.write_constant(slices_node, dt_string, text_tensor(std::vector<std::string_view>(names.size()), false));
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
      save.input(writer_.reference(variables_[v].tensor->value));
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
      definition.text(3, fmt::format("{}:0", writer_.reference(variables_[v].tensor->value)));
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
    graph.message(2, graph_message());
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
  Container container_;
  FunctionLibrary library_;
  NodeWriter writer_;
  std::vector<std::string> output_names_;
  std::unordered_map<std::size_t, std::string>
      computed_outputs_;  ///< by ValueId: the name of the node that computes it
  std::map<std::tuple<const std::byte*, ElementType, std::vector<std::int64_t>>, const foreign::Tensor*> weights_;
  std::vector<Variable> variables_;
  std::vector<std::string> assignments_;
};

}  // namespace

Result<ModelFiles> model_files(const foreign::Model& model, std::uint64_t most_bytes) {
  std::uint64_t weights = 0;
  for (const foreign::Tensor& tensor : model.graph.tensors) weights += tensor.bytes.size();
  if (weights < most_bytes) {
    auto files = GraphWriter(model, Container::saved_model).write();
    if (!files || files->model.size() <= most_bytes) return files;
  }
  return GraphWriter(model, Container::saved_model_with_variables).write();
}

std::string tensor_of_output(std::string_view output) { return fmt::format("{}:0", node_name(node_of_tensor(output))); }

Result<ProtoMessage> frozen_graph(const foreign::Model& model, std::uint64_t most_bytes) {
  auto graph = GraphWriter(model, Container::frozen_graph).write_graph();
  if (!graph || graph->size() <= most_bytes) return graph;
  Error error = make_error("not-supported", fmt::format("the graph takes {} bytes; a frozen graph has at most {}",
                                                        graph->size(), most_bytes));
  error.diagnostic.help = "--to saved-model keeps weights outside of the graph";
  return error;
}

}  // namespace onnxkit::saved_model
