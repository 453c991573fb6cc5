#include "checker/infer/inference.h"
#include "libonnxkit/ir/scope.h"

#include <algorithm>

#include <fmt/core.h>

#include "checker/infer/constant_tensor.h"
#include "checker/infer/infer_registry.h"
#include "checker/rule_registry.h"
#include "libonnxkit/ir/dim/declare_dims.h"
#include "libonnxkit/ir/order.h"

namespace onnxkit::checker {
namespace {

void bound_rank(Type& type) {
  if (type.shape && type.shape->size() > max_rank) type.shape.reset();
}

/// A tensor of the file; of unknown rank when its sizes make no sense.
Type stored_tensor_type(std::span<const std::int64_t> dims, std::optional<std::int32_t> data_type) {
  Type type = Type::tensor(ElementType::undefined);
  if (data_type && is_known_element_type(*data_type)) type.elem = static_cast<ElementType>(*data_type);
  const bool negative = std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 0; });
  if (!negative && dims.size() <= max_rank) type.shape = Shape(dims.begin(), dims.end());
  return type;
}

/// What a size that only data decides is called: "reshape".
std::string size_name(std::string_view op_type) {
  std::string name(op_type);
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

/// How often sound models come by a node: loops take a few passes, functions some calls.
constexpr std::uint64_t passes_over_all = 16;

std::uint64_t nodes_of(const ir::Model& model) {
  std::uint64_t nodes = 0;
  for (const auto& scope : ir::graph_scopes(model)) nodes += scope->graph->nodes.size();
  return nodes;
}

/// Bodies nest as deep as the reader allows; calls of functions by functions are bounded here.
constexpr std::size_t max_frame_depth = 128;

}  // namespace

const ValueInfo* InferredModel::find(const ir::Graph& graph, ir::ValueId id) const {
  const auto info = graphs.find(&graph);
  if (info == graphs.end() || ir::index_of(id) >= info->second.values.size()) return nullptr;
  return &info->second.values[ir::index_of(id)];
}

Inference::Inference(const ir::Model& model, const spec::Resolution& resolution, const InferenceOptions& options,
                     Collector& collector)
    : model_(model), options_(options), collector_(collector), resolution_(resolution) {
  for (const auto& [name, value] : options.dim_values) result_.dims.bind(name, value);
}

void Inference::run() {
  if (!model_.graph) return;
  budget_ = options_.extra_node_budget + passes_over_all * nodes_of(model_);
  Frame frame;
  frame.graph = model_.graph.get();
  frame.info = &result_.graphs[frame.graph];
  frame.scope = {"main"};
  prepare(frame);
  seed_inputs(frame, options_.input_types, {});
  infer_nodes(frame);
}

void Inference::prepare(Frame& frame) {
  const ir::Graph& graph = *frame.graph;
  frame.info->values.clear();
  frame.info->losses.clear();
  frame.info->content_inputs.clear();
  frame.initializer_of.clear();
  frame.replaceable.clear();
  frame.declared.clear();
  frame.initializers = 0;
  grow(frame);
  const auto declare = [&](const std::vector<ir::ValueInfo>& infos) {
    for (const ir::ValueInfo& info : infos) {
      if (info.value != ir::ValueId::none && info.type) frame.declared[ir::index_of(info.value)] = &info;
    }
  };
  declare(graph.value_infos);
  declare(graph.outputs);
  for (const ir::SparseTensor& sparse : graph.sparse_initializers) {
    if (!sparse.values) continue;
    const ir::ValueId id = graph.find(sparse.values->name);
    if (id == ir::ValueId::none) continue;
    // A sparse initializer is used like the dense tensor that it stands for.
    frame.info->values[ir::index_of(id)].type = stored_tensor_type(sparse.dims, sparse.values->data_type);
  }
}

/// Takes in the values and initializers that the graph got since.
void Inference::grow(Frame& frame) {
  const ir::Graph& graph = *frame.graph;
  frame.info->values.resize(graph.values.size());
  frame.initializer_of.resize(graph.values.size(), -1);
  frame.replaceable.resize(graph.values.size(), false);
  frame.declared.resize(graph.values.size(), nullptr);
  for (; frame.initializers < graph.initializers.size(); ++frame.initializers) {
    const ir::Tensor& tensor = graph.initializers[frame.initializers];
    const ir::ValueId id = graph.find(tensor.name);
    if (id == ir::ValueId::none) continue;
    frame.initializer_of[ir::index_of(id)] = static_cast<std::int32_t>(frame.initializers);
    frame.info->values[ir::index_of(id)].type = stored_tensor_type(tensor.dims, tensor.data_type);
  }
}

void Inference::seed_inputs(Frame& frame, std::span<const Type> given, std::span<const Constant* const> values) {
  const ir::Graph& graph = *frame.graph;
  DimPool& dims = result_.dims;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const ir::ValueInfo& input = graph.inputs[i];
    if (input.value == ir::ValueId::none) continue;
    ValueInfo& info = frame.info->values[ir::index_of(input.value)];
    const std::string_view name = graph.name_of(input.value);
    if (input.type) {
      Type declared = from_declared(*input.type, dims, [&](std::size_t axis) {
        return dims.fresh(ir::anonymous_dim(name, axis), ir::SymbolOrigin::input, {});
      });
      bound_rank(declared);
      // An initializer of the same name is a default value; the declared shape may be more general.
      info.type = std::move(declared);
    }
    if (i < given.size() && !given[i].is_unknown()) {
      const Type declared = std::move(info.type);
      info.type = given[i];
      if (declared.is_unknown()) {
        // The caller's type stands.
      } else if (!same_structure(declared, given[i])) {
        Diagnostic finding;
        finding.code = "subgraph-types";
        finding.location = location_of(frame, std::nullopt);
        finding.location.item = "input";
        finding.location.item_name = name;
        finding.message = "the body declares a different type for this input";
        finding.expected = to_string(declared, dims);
        finding.found = to_string(given[i], dims);
        report(std::move(finding));
      } else if (!given[i].shape && declared.shape) {
        info.type.shape = declared.shape;
      } else if (given[i].shape && declared.shape && given[i].shape->size() == declared.shape->size()) {
        for (std::size_t axis = 0; axis < declared.shape->size(); ++axis) {
          note_demand(frame, std::nullopt, SizeRelation::equal, (*given[i].shape)[axis], (*declared.shape)[axis]);
          if ((*given[i].shape)[axis].is_unknown()) (*info.type.shape)[axis] = (*declared.shape)[axis];
        }
      }
    }
    std::int32_t& initializer = frame.initializer_of[ir::index_of(input.value)];
    const bool is_replaceable = initializer >= 0 && frame.parent == nullptr && model_.ir_version.value_or(0) >= 4;
    if (is_replaceable && !options_.assume_defaults) initializer = -1;
    frame.replaceable[ir::index_of(input.value)] = is_replaceable;
    info.from_data = frame.graph == model_.graph.get() && initializer < 0;
    if (i < values.size() && values[i]) info.value = std::make_unique<Constant>(*values[i]);
  }
}

void Inference::infer_nodes(Frame& frame) {
  const std::vector<std::int32_t> producers = ir::producers(*frame.graph);
  for (const std::size_t index : ir::evaluation_order(*frame.graph, producers)) {
    if (budget_ == 0) {
      result_.budget_exhausted = true;
      return;
    }
    --budget_;
    infer_node(frame, index);
  }
  // Outputs that no node writes are inputs or initializers, whose types are known by now, too.
  for (const ir::ValueInfo& output : frame.graph->outputs) {
    if (output.value == ir::ValueId::none) continue;
    const std::size_t id = ir::index_of(output.value);
    Type type = frame.info->values[id].type;
    if (producers[id] < 0 && frame.declared[id] == &output && !type.is_unknown()) reconcile(frame, output.value, type);
  }
}

const InferRegistry::Row* Inference::registered(const spec::OpSchema& schema) {
  const auto [entry, is_new] = registered_.try_emplace(&schema);
  if (is_new) entry->second = infer_registry().find_row(schema.domain, schema.name, schema.since_version);
  return entry->second;
}

void Inference::infer_node(Frame& frame, std::size_t index) {
  const ir::Node& node = frame.graph->nodes[index];
  const spec::ResolvedNode& op = resolution_.of(*frame.graph, index);
  if (op.function) return infer_call(frame, index, *op.function);

  static constexpr spec::OpSchema no_schema{};
  InferContext context(*this, frame, index, op.schema ? *op.schema : no_schema);
  const auto count_fits = [](std::size_t count, std::size_t least, std::size_t most) {
    return count >= least && (most == 0xffff || count <= most);
  };
  const InferRegistry::Row* row = op.schema ? registered(*op.schema) : nullptr;
  if (!op.schema) {
    for (auto& output : context.outputs_) output.loss = fmt::format("unknown operator {}", quote(node.op_type));
  } else if (!count_fits(node.inputs.size(), op.schema->min_inputs, op.schema->max_inputs) ||
             !count_fits(node.outputs.size(), op.schema->min_outputs, op.schema->max_outputs)) {
    for (auto& output : context.outputs_) output.loss = "the node has a wrong number of inputs or outputs";
  } else {
    if (frame.function) {
      check_absent_inputs(frame, index, *op.schema);
      check_bound_attributes(context);
    }
    const bool fits = types_agree(context);
    bind_output_types(context);
    if (!fits) {
      for (auto& output : context.outputs_) output.loss = "the node's inputs have invalid types";
    } else if (const auto* missing = spec::missing_attribute(node, *op.schema, frame.bindings)) {
      for (auto& output : context.outputs_) output.loss = fmt::format("attribute {} is missing", quote(missing->name));
    } else if (row) {
      row->function(context);
    } else {
      for (auto& output : context.outputs_)
        output.loss = fmt::format("no shape rule for operator {}", quote(node.op_type));
    }
  }
  store_outputs(frame, index, context.outputs_, row && row->traits.reads_sizes_only);
}

void Inference::store_outputs(Frame& frame, std::size_t index, std::vector<InferContext::Output>& outputs,
                              bool reads_sizes_only) {
  const ir::Node& node = frame.graph->nodes[index];
  DimPool& dims = result_.dims;
  const bool from_data =
      !reads_sizes_only && std::any_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId input) {
        return input != ir::ValueId::none && lookup(frame, input)->from_data;
      });
  for (std::size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i) {
    const ir::ValueId id = node.outputs[i];
    if (id == ir::ValueId::none) continue;
    InferContext::Output& output = outputs[i];
    bound_rank(output.type);
    if (output.type.shape) {
      for (Dim& d : *output.type.shape) {
        const bool negative = d.is_constant() && d.constant() < 0;
        if (!d.is_unknown() && !negative) continue;
        d = output.depends_on_data ? dims.fresh(size_name(node.op_type), ir::SymbolOrigin::data_dependent, output.loss)
                                   : dims.fresh("lost", ir::SymbolOrigin::lost, output.loss);
      }
    }
    const bool shapeless = output.type.is_unknown() || (output.type.is_tensor() && !output.type.shape);
    reconcile(frame, id, output.type);
    if (output.content_input) frame.info->content_inputs[static_cast<std::uint32_t>(id)] = *output.content_input;
    if (shapeless) {
      Loss loss{.node = index, .reason = std::move(output.loss), .cause = ir::ValueId::none};
      for (const ir::ValueId input : node.inputs) {
        const ValueInfo* info = input == ir::ValueId::none ? nullptr : lookup(frame, input);
        const bool known = info && !info->type.is_unknown() && (!info->type.is_tensor() || info->type.shape);
        if (input != ir::ValueId::none && !known) {
          loss.cause = input;
          break;
        }
      }
      frame.info->losses[static_cast<std::uint32_t>(id)] = std::move(loss);
    }
    ValueInfo& info = frame.info->values[ir::index_of(id)];
    info.type = std::move(output.type);
    bound_rank(info.type);
    info.from_data = from_data;
    info.value = output.value ? std::make_unique<Constant>(std::move(*output.value)) : nullptr;
  }
}

ValueInfo* Inference::lookup(Frame& frame, ir::ValueId id) {
  ValueInfo& own = frame.info->values[ir::index_of(id)];
  if (!own.type.is_unknown() || !frame.parent) return &own;
  const std::string_view name = frame.graph->name_of(id);
  for (Frame* outer = frame.parent; outer; outer = outer->parent) {
    const ir::ValueId outer_id = outer->graph->find(name);
    if (outer_id == ir::ValueId::none) continue;
    ValueInfo& info = outer->info->values[ir::index_of(outer_id)];
    if (!info.type.is_unknown()) return &info;
  }
  return &own;
}

const Constant* Inference::content(Frame& frame, ir::ValueId id) {
  const std::string_view name = frame.graph->name_of(id);
  for (Frame* scope = &frame; scope; scope = scope->parent) {
    const ir::ValueId scope_id = scope == &frame ? id : scope->graph->find(name);
    if (scope_id == ir::ValueId::none) continue;
    ValueInfo& info = scope->info->values[ir::index_of(scope_id)];
    if (info.value) return info.value.get();
    std::int32_t& initializer = scope->initializer_of[ir::index_of(scope_id)];
    if (initializer >= 0) {
      const ir::Tensor& tensor = scope->graph->initializers[static_cast<std::size_t>(initializer)];
      initializer = -1;  // read once; a tensor that cannot be read now cannot be read later
      if (auto read = read_small_tensor(tensor, options_.external_bytes)) {
        info.value = std::make_unique<Constant>(std::move(*read));
        if (scope->replaceable[ir::index_of(scope_id)]) result_.assumed.emplace_back(tensor.name.view());
        return info.value.get();
      }
    }
    if (!info.type.is_unknown()) return nullptr;
  }
  return nullptr;
}

void Inference::infer_call(Frame& frame, std::size_t index, const ir::Function& function) {
  const ir::Node& node = frame.graph->nodes[index];
  std::vector<InferContext::Output> outputs(node.outputs.size());
  if (frame.depth >= max_frame_depth || active_.contains(&function.body)) {
    for (auto& output : outputs) output.loss = "functions call each other recursively";
    return store_outputs(frame, index, outputs);
  }
  const spec::AttributeBindings bindings = spec::bind_attributes(function, node, frame.bindings);
  GraphInfo body_facts;
  Frame body;
  body.graph = &function.body;
  body.info = &body_facts;
  body.bindings = &bindings;
  body.depth = frame.depth + 1;
  body.in_body = frame.in_body;
  body.function = &function;
  body.scope = frame.scope;
  body.scope.push_back(fmt::format("node {}", index));
  body.scope.push_back(ir::function_step(function));
  std::vector<Type> types(node.inputs.size());
  std::vector<const Constant*> values(node.inputs.size(), nullptr);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ir::ValueId::none) continue;
    types[i] = lookup(frame, node.inputs[i])->type;
    values[i] = content(frame, node.inputs[i]);
  }
  prepare(body);
  seed_inputs(body, types, values);
  note_absent_arguments(frame, index, body);
  for (std::size_t i = 0; i < node.inputs.size() && i < function.body.inputs.size(); ++i) {
    if (node.inputs[i] == ir::ValueId::none || function.body.inputs[i].value == ir::ValueId::none) continue;
    body_facts.values[ir::index_of(function.body.inputs[i].value)].from_data = lookup(frame, node.inputs[i])->from_data;
  }
  std::vector<BodyOutput> results = run_body(body);
  for (std::size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
    outputs[i].type = std::move(results[i].type);
    outputs[i].value = std::move(results[i].value);
    outputs[i].loss = fmt::format("the shape is lost inside function {}", quote(function.name));
  }
  check_absent_results(frame, index, body);
  if (options_.function_info) keep_call(function.body, std::move(body_facts));
  store_outputs(frame, index, outputs);
}

namespace {

/// What holds of a value in two calls of the function that it lies in.
void keep_common(ValueInfo& kept, ValueInfo& other) {
  kept.type = same_structure(kept.type, other.type) ? join(kept.type, other.type, UnknownDim{}) : Type();
  kept.from_data = kept.from_data || other.from_data;
  if (!kept.value) return;
  const auto same = [](const Scalar& a, const Scalar& b) {
    return a.constant_real() && b.constant_real() && *a.constant_real() == *b.constant_real();
  };
  const bool agree = other.value && kept.value->type == other.value->type && kept.value->shape == other.value->shape &&
                     std::equal(kept.value->elements.begin(), kept.value->elements.end(), other.value->elements.begin(),
                                other.value->elements.end(), same);
  if (!agree) kept.value.reset();
}

}  // namespace

void Inference::keep_call(const ir::Graph& body, GraphInfo info) {
  const auto [entry, is_new] = result_.graphs.try_emplace(&body, std::move(info));
  if (is_new) return;
  std::vector<ValueInfo>& kept = entry->second.values;
  for (std::size_t i = 0; i < kept.size() && i < info.values.size(); ++i) keep_common(kept[i], info.values[i]);
}

std::vector<BodyOutput> Inference::run_body(Frame& frame) {
  active_.insert(frame.graph);
  infer_nodes(frame);
  active_.erase(frame.graph);
  std::vector<BodyOutput> outputs;
  for (const ir::ValueInfo& info : frame.graph->outputs) {
    BodyOutput output;
    if (info.value != ir::ValueId::none) {
      output.type = lookup(frame, info.value)->type;
      if (const Constant* value = content(frame, info.value)) output.value = *value;
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

std::optional<std::vector<BodyOutput>> InferContext::infer_body(std::string_view attribute_name,
                                                                std::span<const Type> inputs,
                                                                std::span<const Constant* const> values,
                                                                Reporting reporting) {
  const ir::Graph* body = graph(attribute_name);
  if (!body || frame_.depth >= max_frame_depth || inference_.active_.contains(body)) return std::nullopt;
  if (body->inputs.size() != inputs.size()) {
    error({.code = "subgraph-arity",
           .at = at_attribute(attribute_name),
           .message = "the body declares a different number of inputs",
           .expected = fmt::format("{} inputs", inputs.size()),
           .found = fmt::format("{} inputs", body->inputs.size())});
    return std::nullopt;
  }
  Frame frame;
  frame.graph = body;
  frame.parent = &frame_;
  // Of a graph inside a function every call has its own.
  const bool keeps_calls = frame_.function && inference_.options_.function_info;
  GraphInfo call_facts;
  frame.info = keeps_calls ? &call_facts : &inference_.result_.graphs[body];
  frame.function = frame_.function;
  frame.bindings = frame_.bindings;
  frame.depth = frame_.depth + 1;
  frame.in_body = true;
  frame.scope = frame_.scope;
  frame.scope.push_back(fmt::format("node {}", node_index_));
  frame.scope.emplace_back(attribute_name);
  inference_.quiet_ += reporting == Reporting::off ? 1 : 0;
  inference_.prepare(frame);
  inference_.seed_inputs(frame, inputs, values);
  auto outputs = inference_.run_body(frame);
  if (keeps_calls) inference_.keep_call(*body, std::move(call_facts));
  inference_.quiet_ -= reporting == Reporting::off ? 1 : 0;
  return outputs;
}

Location Inference::location_of(const Frame& frame, std::optional<std::size_t> node) const {
  Location location;
  location.file = model_.path.string();
  location.scope = frame.scope;
  if (node) {
    const ir::Node& at = frame.graph->nodes[*node];
    location.node = *node;
    location.node_name = at.name;
    const std::string_view domain = ir::canonical_domain(at.domain);
    location.op = domain.empty() ? std::string(at.op_type) : fmt::format("{}::{}", domain, at.op_type.view());
  }
  return location;
}

void Inference::note_demand(const Frame& frame, std::optional<std::size_t> node, SizeRelation relation, Dim a, Dim b) {
  if (!options_.demands || a == b || a.is_unknown() || b.is_unknown()) return;
  if (a.is_constant() && b.is_constant()) return;
  constexpr std::size_t most_demands = 20'000, looked_back = 256;
  std::vector<SizeDemand>& demands = result_.demands;
  if (demands.size() >= most_demands) return;
  const auto same = [&](const SizeDemand& d) { return d.relation == relation && d.a == a && d.b == b; };
  const auto recent = demands.size() > looked_back ? demands.end() - looked_back : demands.begin();
  if (std::any_of(recent, demands.end(), same)) return;
  demands.push_back({relation, a, b, frame.in_body, location_of(frame, node)});
}

void Inference::report(Diagnostic diagnostic) {
  if (quiet_ > 0) return;
  // A fault in a function is told at its first call only.
  std::string where = diagnostic.location.path();
  if (const std::size_t call = where.rfind("function "); call != std::string::npos) where.erase(0, call);
  if (!reported_.insert(diagnostic.code + where + diagnostic.message).second) return;
  collector_.add(std::move(diagnostic));
}

InferredModel infer_types(const ir::Model& model, const spec::OpTable& table, const InferenceOptions& options,
                          Collector& collector) {
  return infer_types(model, spec::Resolution(model, table), options, collector);
}

InferredModel infer_types(const ir::Model& model, const spec::Resolution& resolution, const InferenceOptions& options,
                          Collector& collector) {
  Inference inference(model, resolution, options, collector);
  inference.run();
  return inference.take();
}

}  // namespace onnxkit::checker
