#include "converters/foreign/import.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "converters/foreign/complex_numbers.h"
#include "converters/foreign/unused.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit::foreign {
namespace {

checker::Type type_of(const TensorType& declared, checker::DimPool& dims) {
  checker::Type type = checker::Type::tensor(declared.elem);
  if (!declared.shape) return type;
  type.shape.emplace();
  for (const Size& size : *declared.shape)
    type.shape->push_back(size.constant >= 0 ? Dim(size.constant) : dims.from_dim_param(size.expression));
  return type;
}

ir::DeclaredType declared_type(const TensorType& declared, ir::Model& model) {
  ir::DeclaredType type;
  type.kind = ir::DeclaredType::Kind::tensor;
  type.elem_type = static_cast<std::int32_t>(declared.elem);
  if (!declared.shape) return type;
  type.shape.emplace();
  for (const Size& size : *declared.shape) {
    ir::DeclaredDim& dim = type.shape->dims.emplace_back();
    if (size.constant >= 0)
      dim.value = size.constant;
    else if (!size.expression.empty())
      dim.param = model.keep(size.expression);
  }
  return type;
}

void add_metadata(ir::Model& model, std::string_view key, std::string_view value) {
  ir::StringEntry& entry = model.metadata_props.emplace_back();
  entry.key = model.keep(key);
  entry.value = model.keep(value);
}

/// A tensor that is an input, too, is what the input holds where none is given.
void add_default(const Graph& source, const Tensor& tensor, ir::Graph& graph) {
  const auto place = std::find(source.inputs.begin(), source.inputs.end(), tensor.value);
  if (place == source.inputs.end()) return;
  const ir::ValueInfo& input = graph.inputs[static_cast<std::size_t>(place - source.inputs.begin())];
  ir::Tensor& made = graph.initializers.emplace_back();
  made.dims = tensor.dims;
  made.data_type = static_cast<std::int32_t>(tensor.elem);
  made.raw_data = Text(std::string_view(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()));
  made.name = graph.values[index_of(input.value)].name;
}

}  // namespace

ir::Model empty_model(const Model& source, std::int64_t opset) {
  ir::Model model;
  model.files = source.files;
  model.ir_version = spec::ir_version_of_opset(opset);
  model.producer_name = "onnxkit";
  ir::OpsetImport& import = model.opset_imports.emplace_back();
  import.domain = "";
  import.version = opset;
  model.graph = std::make_unique<ir::Graph>();
  model.graph->name = model.keep(source.graph.name.empty() ? "main" : source.graph.name);
  for (const ValueId id : source.graph.inputs) {
    const Value& value = source.graph.values[index_of(id)];
    ir::ValueInfo& input = model.graph->inputs.emplace_back();
    input.value = model.graph->intern(model.keep(value.name));
    if (value.type) input.type = declared_type(*value.type, model);
  }
  add_metadata(model, "source_framework", source.framework);
  if (!source.version.empty()) add_metadata(model, "source_version", source.version);
  for (const auto& [key, value] : source.metadata) add_metadata(model, key, value);
  return model;
}

void Importer::add_inputs(const Model& model) {
  const Graph& graph = model.graph;
  values_[&graph].resize(graph.values.size());
  const ir::Graph& main = *builder_.model().graph;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    set_value(graph, graph.inputs[i], Val{&main, main.inputs[i].value});
  add_tensors(graph);
}

void Importer::add_tensors(const Graph& graph) {
  // Tensors that share their bytes (tied weights) are one initializer.
  std::map<std::tuple<const std::byte*, ElementType, std::vector<std::int64_t>>, Val> shared;
  for (const Tensor& tensor : graph.tensors) {
    if (value(graph, tensor.value)) continue;  // an input, whose default it is
    const auto key = std::make_tuple(tensor.bytes.data(), tensor.elem, tensor.dims);
    const auto known = tensor.bytes.empty() ? shared.end() : shared.find(key);
    Val stored = known != shared.end() ? known->second : Val{};
    const ElementType part = part_type_of(tensor.elem);
    std::vector<std::int64_t> dims = tensor.dims;
    if (part != tensor.elem) dims.push_back(2);  // a complex number is stored as a pair
    if (!stored) stored = builder_.initializer(tensor.name, part, dims, tensor.bytes);
    shared.emplace(key, stored);
    if (part == tensor.elem)
      set_value(graph, tensor.value, stored);
    else
      set_complex(graph, tensor.value, parts_of_pairs(builder_, stored));
  }
}

Val Importer::value(const Graph& graph, ValueId id) const {
  if (part_ == ComplexPart::imaginary)
    if (const Val other = imaginary(graph, id)) return other;
  const auto found = values_.find(&graph);
  if (id == ValueId::none || found == values_.end() || index_of(id) >= found->second.size()) return {};
  return found->second[index_of(id)];
}

void Importer::set_value(const Graph& graph, ValueId id, Val value) {
  if (id == ValueId::none) return;
  if (part_ == ComplexPart::imaginary)
    imaginary_[&graph].insert_or_assign(id, value);
  else
    values_[&graph][index_of(id)] = value;
}

Val Importer::imaginary(const Graph& graph, ValueId id) const {
  const auto values = imaginary_.find(&graph);
  if (values == imaginary_.end()) return {};
  const auto found = values->second.find(id);
  return found == values->second.end() ? Val{} : found->second;
}

void Importer::set_complex(const Graph& graph, ValueId id, const Complex& value) {
  if (id == ValueId::none) return;
  values_[&graph][index_of(id)] = value.real;
  imaginary_[&graph].insert_or_assign(id, value.imaginary);
}

void Importer::copy_value(const Graph& from, ValueId id, const Graph& to, ValueId copy) {
  set_value(to, copy, value(from, id));
  if (const Val other = imaginary(from, id)) imaginary_[&to].insert_or_assign(copy, other);
  if (!knows(from, id)) forget(to, copy);
}

void Importer::refuse(std::string reason, std::string help) {
  if (std::exchange(refused_, true)) return;  // the first reason of a node counts
  if (trace_) (*trace_)[entry_].refusal = reason;
  refusals_.add({.op = std::string(node_->op),
                 .reason = std::move(reason),
                 .help = std::move(help),
                 .node_name = std::string(node_->name),
                 .source = std::string(node_->source),
                 .index = node_index_});
}

/// Stands in for the results of a node that was refused, so that the nodes behind it can be looked at.
void Importer::fill_in(const Graph& graph, const Node& node) {
  for (const ValueId id : node.outputs) {
    if (id == ValueId::none) continue;
    const std::optional<TensorType>& declared = graph.values[index_of(id)].type;
    checker::Type type =
        declared ? type_of(*declared, builder_.dims()) : checker::Type::tensor(ElementType::int64, Shape{Dim(1)});
    const bool is_complex = type.elem != part_type_of(type.elem);
    type.elem = part_type_of(type.elem);
    set_value(graph, id, builder_.placeholder(type));
    if (is_complex) set_complex(graph, id, {builder_.placeholder(type), builder_.placeholder(type)});
    if (!declared || !declared->shape) unknown_.emplace(&graph, id);
  }
}

bool Importer::is_needed(const Graph& graph, const Node& node) {
  const auto [place, is_new] = needed_.try_emplace(&graph);
  std::vector<bool>& needed = place->second;
  if (is_new) needed = needed_values(graph);
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return id != ValueId::none && needed[index_of(id)]; });
}

bool Importer::reads_unknown(const Graph& graph, const Node& node) const {
  const auto is_unknown = [&](const Argument& argument) {
    const auto* id = argument.as<ValueId>();
    return id && unknown_.contains({&graph, *id});
  };
  return std::any_of(node.arguments.begin(), node.arguments.end(), [&](const Argument& argument) {
    const auto* list = argument.as<Argument::List>();
    return is_unknown(argument) || (list && std::any_of(list->begin(), list->end(), is_unknown));
  });
}

void Importer::import_node(const Graph& graph, std::size_t index) {
  const Node& node = graph.nodes[index];
  if (node.outputs.empty()) return;  // a check of the exporter's
  const Node* const outer_node = std::exchange(node_, &node);
  const std::size_t outer_index = std::exchange(node_index_, index);
  const bool outer_refused = std::exchange(refused_, false);
  const std::size_t outer_entry = std::exchange(entry_, trace_ ? trace_->size() : 0);
  const std::size_t entry = entry_, first = builder_.graph().nodes.size();
  if (trace_) trace_->push_back({.from = {std::string(node.op), std::string(node.name)}, .to = {}, .refusal = {}});
  map_node(graph, node);
  if (trace_ && !refused_) trace_made(entry, first);
  node_ = outer_node;
  node_index_ = outer_index;
  refused_ = outer_refused;
  entry_ = outer_entry;
}

bool Importer::reads_complex(const Graph& graph, const Node& node) const {
  const auto is_complex = [&](const Argument& argument) {
    const auto* id = argument.as<ValueId>();
    return argument.as<std::complex<double>>() || (id && !imaginary_.empty() && imaginary(graph, *id));
  };
  return std::any_of(node.arguments.begin(), node.arguments.end(), [&](const Argument& argument) {
    const auto* list = argument.as<Argument::List>();
    return is_complex(argument) || (list && std::any_of(list->begin(), list->end(), is_complex));
  });
}

/// The mapping of complex operands, that of real ones once for each part, or that of real ones, which asks for complex ones or refuses them.
void Importer::map_complex(const Graph& graph, const Node& node, MapNode map) {
  Call call(*this, builder_, node, graph);
  if (const MapNode of_complex = mappings_.find_complex(node.op)) return of_complex(call);
  if (!mappings_.is_by_part(node.op)) return map(call);
  for (const ComplexPart part : {ComplexPart::real, ComplexPart::imaginary}) {
    part_ = part;
    if (!refused_) map(call);
  }
  part_ = ComplexPart::none;
}

void Importer::map_node(const Graph& graph, const Node& node) {
  const std::size_t findings = builder_.findings().size();
  builder_.set_origin(node.name, node.scope, node.source);
  const MapNode map = mappings_.find(node.op);
  const auto known = mappings_.refused().find(node.op);
  const auto* refused = known == mappings_.refused().end() ? nullptr : &known->second;
  if ((map || refused) && !unknown_.empty() && reads_unknown(graph, node)) {
    // What it would say follows from the refusal before it.
    fill_in(graph, node);
    for (const ValueId id : node.outputs) unknown_.emplace(&graph, id);
    if (trace_) (*trace_)[entry_].refusal = "it reads what a refused operator computes";
    return;
  }
  if (map && reads_complex(graph, node)) {
    map_complex(graph, node, map);
  } else if (map) {
    Call call(*this, builder_, node, graph);
    map(call);
  } else if (refused && refused->is_free_of_effects && !is_needed(graph, node)) {
    fill_in(graph, node);  // exporters keep what draws random numbers, also where nothing needs them
  } else if (refused) {
    refuse(std::string(refused->reason), std::string(refused->help));
  } else {
    refuse("no mapping to ONNX is known for this operator", {});
  }
  const auto& found = builder_.findings();
  if (!refused_ && found.size() > findings && found.back().severity == Severity::error)
    refuse(fmt::format("its form in ONNX would be invalid: {}", found.back().message), {});
  if (refused_) fill_in(graph, node);
}

namespace {

/// A node of the result as a key: the graph and the first value that it computes.
std::pair<const ir::Graph*, ir::ValueId> key_of(const ir::Graph& graph, const ir::Node& node) {
  const auto first =
      std::find_if(node.outputs.begin(), node.outputs.end(), [](ir::ValueId id) { return id != ir::ValueId::none; });
  return {&graph, first == node.outputs.end() ? ir::ValueId::none : *first};
}

}  // namespace

/// Nodes that the call emitted itself: those of nodes inside it belong to later entries.
void Importer::trace_made(std::size_t entry, std::size_t first) {
  const ir::Graph& graph = builder_.graph();
  for (std::size_t n = first; n < graph.nodes.size(); ++n) {
    const auto [known, is_new] = made_by_.emplace(key_of(graph, graph.nodes[n]), entry);
    if (!is_new && known->second < entry) known->second = entry;  // of a graph that is gone, whose place this one has
  }
}

void Importer::trace_results() {
  if (!trace_) return;
  for (const auto& scope : ir::graph_scopes(builder_.model()))
    for (const ir::Node& node : scope->graph->nodes) {
      const auto made = made_by_.find(key_of(*scope->graph, node));
      if (made == made_by_.end()) continue;
      const auto output = made->first.second;
      const Text& name =
          !node.name.empty() || output == ir::ValueId::none ? node.name : scope->graph->values[index_of(output)].name;
      (*trace_)[made->second].to.push_back({ir::qualified_op(node), std::string(name.view())});
    }
}

void Importer::import_nodes(const Graph& graph) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) import_node(graph, n);
}

std::vector<Val> Importer::import_inlined(const Graph& graph, std::vector<Val> inputs) {
  std::vector<Val> outputs;
  if (inputs.size() != graph.inputs.size()) {
    refuse("a graph inside the node has a different number of inputs", {});
    return outputs;
  }
  values_[&graph].assign(graph.values.size(), {});
  imaginary_.erase(&graph);
  needed_.erase(&graph);  // a reader may have asked for types while the graph was shorter
  for (std::size_t i = 0; i < inputs.size(); ++i) set_value(graph, graph.inputs[i], inputs[i]);
  add_tensors(graph);
  import_nodes(graph);
  for (const Output& output : graph.outputs) {
    if (imaginary(graph, output.value)) refuse("a graph inside the node gives complex numbers", {});
    outputs.push_back(value(graph, output.value));
  }
  values_.erase(&graph);
  return outputs;
}

namespace {

Error complex_output(std::string_view name) {
  Error error = make_error("unsupported-operator", fmt::format("output {} holds complex numbers", quote(name)));
  error.diagnostic.help = "let the model return the real and the imaginary part, as torch.view_as_real does";
  return error;
}

/// The first input of complex numbers, which are no tensors of ONNX's operators.
std::optional<Error> complex_input(const Graph& graph) {
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.values[index_of(id)];
    if (!value.type || value.type->elem == part_type_of(value.type->elem)) continue;
    Error error = make_error("unsupported-operator", fmt::format("input {} holds complex numbers", quote(value.name)));
    error.diagnostic.help = "let the model take the real and the imaginary part as two inputs";
    return error;
  }
  return std::nullopt;
}

/// `opset` becomes that which mappings need, if it is more.
Result<ir::Model> import_with(std::int64_t& opset, const Model& source, const Mappings& mappings,
                              std::vector<Diagnostic>& findings, Trace* trace) {
  if (auto refused = complex_input(source.graph)) return *std::move(refused);
  ir::Model model = empty_model(source, opset);
  const spec::OpTable table;
  Importer importer(model, mappings, table, trace);
  importer.add_inputs(source);
  importer.import_nodes(source.graph);
  opset = std::max(opset, importer.needed_opset());
  const Refusals& refusals = importer.refusals();
  if (!refusals.empty()) {
    importer.trace_results();
    std::vector<Diagnostic> found = refusals.findings();
    std::move(found.begin(), found.end(), std::back_inserter(findings));
    return make_error("unsupported-operator", fmt::format("{} of {} cannot be expressed in ONNX",
                                                          refusals.counted_operators(), source.framework));
  }
  for (const Output& output : source.graph.outputs) {
    const Val value = importer.value(source.graph, output.value);
    if (!value) return make_error("malformed-model", fmt::format("nothing computes output {}", quote(output.name)));
    if (importer.imaginary(source.graph, output.value)) return complex_output(output.name);
    importer.builder().add_output(value, output.name);
  }
  importer.builder().remove_unused();
  importer.trace_results();
  for (const Tensor& tensor : source.graph.tensors) add_default(source.graph, tensor, *model.graph);
  return model;
}

}  // namespace

Result<ir::Model> import_model(const Model& source, const Mappings& mappings, std::vector<Diagnostic>& findings,
                               Trace* trace) {
  const std::size_t found = findings.size(), traced = trace ? trace->size() : 0;
  const std::int64_t first = source.opset != 0 ? source.opset : import_opset;
  std::int64_t opset = first;
  auto model = import_with(opset, source, mappings, findings, trace);
  if (model || opset == first || source.opset != 0) return model;
  findings.resize(found);
  if (trace) trace->resize(traced);
  return import_with(opset, source, mappings, findings, trace);
}

}  // namespace onnxkit::foreign
