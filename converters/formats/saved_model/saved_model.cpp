#include "converters/formats/saved_model/saved_model.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "converters/containers/protobuf.h"
#include "converters/foreign/import.h"
#include "converters/formats/saved_model/control_flow_v1.h"
#include "converters/formats/saved_model/dtype.h"
#include "converters/formats/saved_model/graph_reader.h"
#include "converters/formats/saved_model/loops.h"
#include "converters/formats/saved_model/patterns.h"
#include "converters/formats/saved_model/signature.h"
#include "converters/formats/saved_model/simplify.h"
#include "converters/layout/layout.h"

namespace onnxkit::saved_model {
namespace {

constexpr std::string_view usual_signature = "serving_default";

/// Sizes that a type leaves open get names.
void name_sizes(foreign::Model& model, Port& port, bool is_first) {
  if (!port.type.shape) return;
  for (std::size_t axis = 0; axis < port.type.shape->size(); ++axis) {
    foreign::Size& size = (*port.type.shape)[axis];
    if (size.constant < 0)
      size.expression =
          is_first && axis == 0 ? "batch" : model.strings->keep(fmt::format("{}_{}", port.name, axis)).view();
  }
}

foreign::TensorType type_of(std::int64_t type, bool has_rank, const std::vector<std::int64_t>& sizes) {
  foreign::TensorType made{.elem = elem_of(type)};
  if (!has_rank) return made;
  made.shape.emplace();
  for (const std::int64_t size : sizes) made.shape->push_back({.constant = size});
  return made;
}

/// What a SavedModel offers; names with two underscores are for TensorFlow's own loader.
std::vector<std::string_view> names_of_signatures(const MetaGraph& graph) {
  std::vector<std::string_view> names;
  for (const auto& [key, signature] : graph.signatures)
    if (!key.starts_with("__")) names.push_back(key);
  return names;
}

Result<const SignatureDef*> chosen_signature(const MetaGraph& graph, std::string_view& name) {
  const std::vector<std::string_view> names = names_of_signatures(graph);
  const bool is_any = name.empty();
  if (is_any) name = usual_signature;
  if (is_any && names.size() == 1) name = names.front();
  const auto found = graph.signatures.find(name);
  if (found != graph.signatures.end()) return &found->second;
  Error error = make_error("usage", names.empty() ? std::string("the SavedModel has no signature")
                                                  : fmt::format("the SavedModel has no signature {}", quote(name)));
  if (!names.empty()) error.diagnostic.help = fmt::format("--signature chooses one of {}", fmt::join(names, ", "));
  return error;
}

Result<std::vector<Port>> ports_of(const std::vector<TensorInfo>& infos) {
  std::vector<Port> ports;
  for (const TensorInfo& info : infos) {
    if (info.is_composite)
      return make_error("not-supported",
                        fmt::format("{} of the signature is a sparse or ragged tensor", quote(info.name)));
    ports.push_back({info.tensor, info.name, type_of(info.type, info.has_rank, info.sizes)});
  }
  return ports;
}

/// From the graph with its ports to ONNX.
Result<ir::Model> import(Scopes& scopes, const Mappings& mappings, const Variables& variables,
                         const VariablesBundle* bundle, std::vector<Port> inputs, const std::vector<Port>& outputs,
                         foreign::Model& model, std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  for (Port& input : inputs) name_sizes(model, input, &input == inputs.data());
  if (auto done = read_graph(scopes, mappings, variables, inputs, outputs, model); !done) return done.error();
  if (bundle)
    for (auto& shard : bundle->files()) model.files.push_back(std::move(shard));
  resolve_arrays(model.graph);
  resolve_loops(model.graph);
  fold_constants(model, model.graph);
  join_dilations(model.graph);
  join_products(model.graph);
  join_biases(model.graph);
  remove_unread(model.graph);
  auto imported = foreign::import_model(model, mappings, findings, trace);
  if (imported) layout::reduce_transposes(*imported);
  return imported;
}

/// What the nodes of a branch of TensorFlow 1 depend on without reading it.
bool is_pivot(const GraphDef& graph, const NodeDef& node) {
  if (node.op != "Identity" || node.inputs.empty()) return false;
  const NodeDef* before = graph.table.find(node.inputs.front().substr(0, node.inputs.front().find(':')));
  return before && before->op == "Switch";
}

/// Tensors that nothing reads, of nodes that compute something.
std::vector<Port> unread_outputs(const GraphDef& graph, StringPool& strings) {
  std::unordered_set<std::string_view> read;
  for (const NodeDef& node : graph.table.nodes)
    for (const std::string_view input : node.inputs)
      if (!is_control(input)) read.insert(input.substr(0, input.find(':')));
  std::vector<Port> outputs;
  for (const NodeDef& node : graph.table.nodes) {
    const bool computes = node.op != "Const" && node.op != "NoOp" && node.op != "Placeholder" && node.op != "Assert";
    if (!computes || read.contains(node.name) || is_pivot(graph, node)) continue;
    const std::string_view tensor = strings.keep(fmt::format("{}:0", node.name));
    outputs.push_back({tensor, tensor});
  }
  return outputs;
}

std::vector<Port> placeholders(const GraphDef& graph, StringPool& strings) {
  std::vector<Port> inputs;
  bool damaged = false;
  for (const NodeDef& node : graph.table.nodes) {
    if (node.op != "Placeholder") continue;
    const std::string_view tensor = strings.keep(fmt::format("{}:0", node.name));
    std::optional<std::vector<std::int64_t>> shape;
    for (containers::ProtoFields field(node.attribute("shape"), damaged); field.next();)
      if (field.number() == 7) shape = read_shape(field.bytes(), damaged);
    inputs.push_back({tensor, tensor,
                      type_of(type_of_attribute(node.attribute("dtype")), shape.has_value(),
                              shape.value_or(std::vector<std::int64_t>()))});
  }
  return inputs;
}

}  // namespace

foreign::ReadOperators read_operators() {
  Mappings mappings;
  register_all_saved_model_mappings(mappings);
  return mappings.operators();
}

Result<ir::Model> read_message(std::shared_ptr<const MappedFile> file, const std::filesystem::path& folder,
                               std::string_view signature, std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  const auto meta = read_meta_graph(file->view());
  if (!meta) return meta.error();
  const auto chosen = chosen_signature(*meta, signature);
  if (!chosen) return chosen.error();
  const auto graph = read_graph_def(meta->graph);
  if (!graph) return graph.error();
  foreign::Model model;
  if (auto done = restructure_control_flow(**graph, *model.strings); !done) return done.error();
  auto bundle = VariablesBundle::open(folder);
  if (!bundle) return std::move(bundle).error();
  Mappings mappings;
  register_all_saved_model_mappings(mappings);
  Scopes scopes(**graph, mappings);
  const auto variables = Variables::find(scopes, meta->restore_node, &*bundle);
  if (!variables) return variables.error();
  auto inputs = ports_of((*chosen)->inputs);
  const auto outputs = ports_of((*chosen)->outputs);
  if (!inputs) return std::move(inputs).error();
  if (!outputs) return outputs.error();
  model.framework = "TensorFlow";
  model.version = meta->version;
  model.graph.name = signature;
  model.metadata.emplace_back("source_signature", signature);
  model.files.push_back(std::move(file));
  return import(scopes, mappings, *variables, &*bundle, *std::move(inputs), *outputs, model, findings, trace);
}

Result<ir::Model> read(const std::filesystem::path& folder, std::string_view signature,
                       std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  auto file = MappedFile::open_beneath(folder, "saved_model.pb");
  if (!file) return std::move(file).error();
  return read_message(*std::move(file), folder, signature, findings, trace);
}

Result<std::vector<std::string>> signatures(const std::filesystem::path& folder) {
  const auto file = MappedFile::open_beneath(folder, "saved_model.pb");
  if (!file) return file.error();
  const auto meta = read_meta_graph((*file)->view());
  if (!meta) return meta.error();
  const auto names = names_of_signatures(*meta);
  return std::vector<std::string>(names.begin(), names.end());
}

Result<ir::Model> read_frozen(std::shared_ptr<const MappedFile> file, std::vector<Diagnostic>& findings,
                              foreign::Trace* trace) {
  const auto graph = read_graph_def(file->view());
  if (!graph) return graph.error();
  foreign::Model model;
  const std::vector<Port> outputs = unread_outputs(**graph, *model.strings);
  if (outputs.empty()) return make_error("malformed-model", "the graph has no outputs");
  if (auto done = restructure_control_flow(**graph, *model.strings); !done) return done.error();
  Mappings mappings;
  register_all_saved_model_mappings(mappings);
  Scopes scopes(**graph, mappings);
  const auto variables = Variables::find(scopes, {}, nullptr);
  if (!variables) return variables.error();
  model.framework = "TensorFlow";
  model.graph.name = "main";
  model.files.push_back(std::move(file));
  return import(scopes, mappings, *variables, nullptr, placeholders(**graph, *model.strings), outputs, model, findings,
                trace);
}

bool is_graph_def(std::string_view bytes) {
  constexpr std::uint32_t nodes = 1, library = 2, version = 3, versions = 4, debug_info = 5;
  constexpr char first_node = 0x0a;
  if (bytes.empty() || bytes.front() != first_node) return false;
  bool damaged = false;
  std::size_t seen = 0;
  for (containers::ProtoFields field(bytes, damaged); field.next(); ++seen) {
    const std::uint32_t number = field.number();
    if (number == versions && field.is_message() && seen > 0) return true;
    if (number != nodes && number != library && number != version && number != debug_info) return false;
    if (number != nodes || seen > 2) continue;
    std::string_view name, op;
    for (containers::ProtoFields in_node(field.bytes(), damaged); in_node.next();) {
      if (in_node.number() == 1 && name.empty()) name = in_node.bytes();
      if (in_node.number() == 2 && op.empty()) op = in_node.bytes();
      if (in_node.number() < 1 || in_node.number() > 7) return false;
    }
    if (name.empty() || op.empty()) return false;
  }
  return !damaged && seen > 1;
}

}  // namespace onnxkit::saved_model
