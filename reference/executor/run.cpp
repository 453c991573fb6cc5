#include "reference/executor/run.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/core.h>

#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/resolution.h"
#include "libonnxkit/wire/values/tensor_proto.h"
#include "reference/numerics/arithmetic.h"
#include "reference/numerics/unrounded.h"

namespace onnxkit::reference {
namespace {

using ir::index_of;
using ir::ValueId;

constexpr std::size_t max_depth = 200;

PreparedGraph prepare_graph(const ir::Graph& graph) {
  PreparedGraph prepared;
  prepared.plan = exec::plan_graph(graph);
  prepared.initializers = ir::InitializerTable(graph);
  return prepared;
}

bool repeats(const ir::Node& node, const KernelTraits& traits) {
  bool has_body = false;
  ir::for_each_subgraph(node, [&](const ir::Graph&, std::size_t) { has_body = true; });
  return !has_body && traits.draws == Draws::never;
}

/// The function or the operator version that a node of a scope names; all null when there is none, which supports() has told already.
PreparedNode prepare_node(const ir::Node& node, const spec::ResolvedNode& resolved) {
  if (resolved.function) return {.function = resolved.function};
  const spec::OpSchema* schema = resolved.schema;
  if (!schema) return {};
  const auto* row = kernel_registry().find_row(schema->domain, schema->name, schema->since_version);
  if (!row) return {.schema = schema};
  return {.schema = schema,
          .kernel = row->function,
          .noise = row->traits.noise.value_or(noise::ordinary),
          .role = {.sizes = row->traits.sizes, .repeats = repeats(node, row->traits)},
          .is_quantizing = row->traits.is_quantizing};
}

std::string of_tensor(const ir::Tensor& tensor) {
  return tensor.name.empty() ? "" : fmt::format(", of the tensor {}", quote(tensor.name.view()));
}
std::string of_tensor(const ir::SparseTensor& sparse) { return sparse.values ? of_tensor(*sparse.values) : ""; }

/// The model outlives the run, so its bytes are viewed. `memory_limit` also bounds what a sparse tensor becomes; 0: none.
template <class Stored>
Tensor load_from(const Stored& stored, const ir::ExternalBytes& external, const MemoryPtr& memory,
                 std::uint64_t memory_limit, ThreadPool& threads) {
  wire::TensorSource source;
  source.external = external;
  source.owner = wire::unowned(&stored);
  if (memory_limit != 0) source.dense_limit = std::min(source.dense_limit, memory_limit);
  const auto packed = wire::tensor_of(stored, source);
  if (!packed) {
    const Diagnostic& fault = packed.error().diagnostic;
    throw Fault(packed.error().kind, fault.code,
                fmt::format("{}{}{}", fault.message, fault.found.empty() ? "" : ": " + fault.found, of_tensor(stored)));
  }
  return unpack(memory, *packed, &threads);
}

}  // namespace

PreparedModel::PreparedModel(const ir::Model& model_, const spec::OpTable& table, ir::ExternalBytes external)
    : model(&model_), external_bytes(std::move(external)) {
  const auto scopes = ir::graph_scopes(model_);
  const spec::Resolution resolution(model_, scopes, table);
  for (const auto& scope : scopes) {
    if (scope->is_training) continue;
    PreparedGraph& prepared = graphs.emplace(scope->graph, prepare_graph(*scope->graph)).first->second;
    std::vector<OriginRole> roles;
    for (std::size_t i = 0; i < scope->graph->nodes.size(); ++i) {
      prepared.nodes.push_back(prepare_node(scope->graph->nodes[i], resolution.of(*scope->graph, i)));
      roles.push_back(prepared.nodes.back().role);
    }
    const std::vector<Origin> origin = origins(*scope->graph, roles);
    const std::vector<bool> constant = constant_nodes(*scope->graph, prepared.plan);
    const std::vector<bool> weighted = second_input_may_be_constant(*scope->graph, roles);
    for (std::size_t i = 0; i < prepared.nodes.size(); ++i) {
      prepared.nodes[i].origin = origin[i];
      // What bodies and functions are given may be constant, too.
      prepared.nodes[i].may_have_weights =
          prepared.nodes[i].noise.takes_weights && (scope->graph != &*model->graph || weighted[i]);
      // Attributes of a function's nodes may differ from call to call, and bodies are rarely worth it.
      prepared.nodes[i].is_constant = scope->graph == &*model->graph && constant[i];
    }
  }
}

Run::Run(const PreparedModel& prepared, const RunOptions& options, ThreadPool& threads, ConstantCache& kept)
    : Run(prepared, options, threads, std::make_shared<Memory>(options.memory_limit), std::nullopt) {
  if (options.memory_limit == 0) kept_ = &kept;
}

Run::Run(const PreparedModel& prepared, const RunOptions& options, ThreadPool& threads, MemoryPtr memory,
         std::optional<Noise> noise)
    : prepared_(prepared),
      options_(options),
      threads_(threads),
      memory_(std::move(memory)),
      noise_(noise),
      deadline_(std::chrono::steady_clock::now() + options.time_limit - options.time_spent) {}

Frame Run::start(std::span<const onnxkit::Value> inputs) {
  const ir::Graph& graph = *prepared_.model->graph;
  Frame frame{&graph, &prepared_.graphs.at(&graph), nullptr, nullptr, {"main"}, 0, {}};
  frame.values.resize(graph.values.size());
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId id = graph.inputs[i].value;
    if (id == ValueId::none || inputs[i].kind == ValueKind::none) continue;
    const auto& type = graph.inputs[i].type;
    frame.values[index_of(id)] = options_.math == exec::MathMode::unrounded && type
                                     ? unpack_declared(memory_, inputs[i], *type)
                                     : unpack(memory_, inputs[i]);
    is_given_weights_ = is_given_weights_ || frame.prepared->initializers.find(id) != nullptr;
  }
  return frame;
}

void Run::store_inputs(Frame& frame) const {
  if (!noise_) return;
  for (const ir::ValueInfo& input : frame.graph->inputs) {
    if (input.value == ValueId::none) continue;
    Value& value = frame.values[index_of(input.value)];
    if (value.is_tensor() && value.tensor.domain() == Domain::real)
      value.tensor = noise_->stored_input(threads_, value.tensor, index_of(input.value));
  }
}

std::vector<onnxkit::Value> Run::run(std::span<const onnxkit::Value> inputs) {
  Frame frame = start(inputs);
  std::vector<onnxkit::Value> outputs;
  for (const Value& value : run_graph(frame))
    outputs.push_back(pack(value, options_.math == exec::MathMode::unrounded));
  return outputs;
}

std::vector<Value> Run::run_graph(Frame& frame) {
  for (const exec::GraphPlan::Step& step : frame.prepared->plan.steps) {
    run_node(frame, step.node);
    for (const ValueId id : step.last_reads) frame.values[index_of(id)] = {};
  }
  std::vector<Value> outputs;
  for (const ir::ValueInfo& output : frame.graph->outputs) {
    const Value* value = find(frame, output.value);
    outputs.push_back(value ? *value : Value());
  }
  return outputs;
}

void Run::run_node(Frame& frame, std::size_t index) {
  const ir::Node& node = frame.graph->nodes[index];
  const auto start = std::chrono::steady_clock::now();
  try {
    check_alive();
    const PreparedNode& prepared = frame.prepared->nodes[index];
    if (prepared.function)
      call_function(frame, index, *prepared.function);
    else if (prepared.is_constant && kept_ && !is_given_weights_)
      run_constant(frame, index, prepared);
    else
      run_kernel(frame, index, prepared);
    check_alive();
  } catch (const Fault& fault) {
    Error error = fault.error();
    error.diagnostic.location = ir::location_of_node(frame.scope, *frame.graph, index);
    throw LocatedFault{std::move(error)};
  }
  if (!frame.parent && frame.depth == 0) deliver_taps(frame, node);
  if (options_.on_node)
    options_.on_node({frame.graph, index, std::chrono::steady_clock::now() - start, memory_->live(), frame.depth});
}

void Run::run_kernel(Frame& frame, std::size_t index, const PreparedNode& prepared) {
  if (!prepared.schema) throw Fault("not-supported", "the operator has no definition in the imported opset");
  if (!prepared.kernel) {
    throw Fault("not-supported",
                fmt::format("the reference has no kernel for version {}", prepared.schema->since_version));
  }
  if (const auto* missing = spec::missing_attribute(frame.graph->nodes[index], *prepared.schema, frame.bindings))
    throw Fault(fmt::format("the required attribute {} is missing", quote(missing->name)));
  KernelContext context(*this, frame, index, *prepared.schema);
  const bool is_noisy = noise_ && prepared.origin == Origin::data;
  if (is_noisy) {
    noise_->next_node(context.is_on_doubles(), prepared.may_have_weights);
    context.disturb_input(prepared.noise);
  }
  prepared.kernel(context);
  for (std::size_t i = 0; i < context.outputs_.size(); ++i) {
    if (context.has_output(i) && context.outputs_[i].kind == ValueKind::none)
      throw Fault(fmt::format("the kernel did not compute output {}", i));
  }
  if (is_noisy) {
    for (Value& output : context.outputs_) add_noise(output, prepared.noise, context);
  }
  store(frame, index, std::move(context.outputs_));
}

void Run::run_constant(Frame& frame, std::size_t index, const PreparedNode& prepared) {
  const ir::Node& node = frame.graph->nodes[index];
  Value& value = frame.values[index_of(node.outputs[0])];
  if (const Tensor* known = kept_->find(&node)) {
    value = *known;
  } else {
    run_kernel(frame, index, prepared);
    kept_->keep(&node, value.tensor);
  }
}

void Run::call_function(Frame& frame, std::size_t index, const ir::Function& function) {
  if (frame.depth >= max_depth) throw Fault("function calls are nested too deeply");
  const ir::Node& node = frame.graph->nodes[index];
  const spec::AttributeBindings bindings = spec::bind_attributes(function, node, frame.bindings);
  Frame body{
      &function.body, &prepared_.graphs.at(&function.body), nullptr, &bindings, frame.scope, frame.depth + 1, {}};
  body.scope.push_back(fmt::format("node {}", index));
  body.scope.push_back(ir::function_step(function));
  body.values.resize(function.body.values.size());
  for (std::size_t i = 0; i < std::min(node.inputs.size(), function.body.inputs.size()); ++i) {
    const Value* value = find(frame, node.inputs[i]);
    if (value) body.values[index_of(function.body.inputs[i].value)] = *value;
  }
  std::vector<Value> outputs = run_graph(body);
  outputs.resize(node.outputs.size());
  store(frame, index, std::move(outputs));
}

bool Run::is_unrounded(const Frame& frame, std::size_t index) const {
  const Origin origin = frame.prepared->nodes[index].origin;
  return options_.math == exec::MathMode::unrounded && origin != Origin::shape &&
         (origin != Origin::constant || !options_.rounds_constants);
}

void Run::store(Frame& frame, std::size_t index, std::vector<Value> outputs) {
  const ir::Node& node = frame.graph->nodes[index];
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == ValueId::none) continue;
    conform(outputs[i], !is_unrounded(frame, index));
    count_elements(outputs[i]);
    frame.values[index_of(node.outputs[i])] = std::move(outputs[i]);
  }
}

std::vector<Value> Run::run_body(Frame& frame, std::size_t index, const ir::Graph& body, std::string_view attribute,
                                 std::vector<Value> inputs) {
  if (frame.depth >= max_depth) throw Fault("graphs are nested too deeply");
  if (inputs.size() != body.inputs.size())
    throw Fault(fmt::format("{} takes {} inputs, but {} were given", attribute, body.inputs.size(), inputs.size()));
  Frame inner{&body, &prepared_.graphs.at(&body), &frame, frame.bindings, frame.scope, frame.depth + 1, {}};
  inner.scope.push_back(fmt::format("node {}", index));
  inner.scope.emplace_back(attribute);
  inner.values.resize(body.values.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (body.inputs[i].value != ValueId::none) inner.values[index_of(body.inputs[i].value)] = std::move(inputs[i]);
  }
  return run_graph(inner);
}

std::vector<TracedNode> Run::trace(Frame& frame, ValueId target, std::span<const ValueId> given,
                                   std::span<const Value> values) {
  if (frame.depth >= max_depth) throw Fault("graphs are nested too deeply");
  const ir::Graph& graph = *frame.graph;
  Frame inner{&graph,
              frame.prepared,
              frame.parent,
              frame.bindings,
              frame.scope,
              frame.depth + 1,
              std::vector<Value>(graph.values.size())};
  for (std::size_t i = 0; i < given.size(); ++i) inner.values[index_of(given[i])] = values[i];

  std::vector<bool> wanted(graph.values.size(), false), needed(graph.nodes.size(), false);
  wanted[index_of(target)] = true;
  const auto& steps = frame.prepared->plan.steps;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const ir::Node& node = graph.nodes[step->node];
    for (const ValueId id : node.outputs) {
      if (id != ValueId::none && wanted[index_of(id)] && inner.values[index_of(id)].kind == ValueKind::none)
        needed[step->node] = true;
    }
    if (!needed[step->node]) continue;
    for (const ValueId id : node.inputs) {
      if (id != ValueId::none) wanted[index_of(id)] = true;
    }
  }

  std::vector<TracedNode> traced;
  for (const exec::GraphPlan::Step& step : steps) {
    if (!needed[step.node]) continue;
    const ir::Node& node = graph.nodes[step.node];
    const auto value_of = [&](ValueId id) {
      if (id == ValueId::none) return Value();
      const Value* value = find(inner, id);
      require(value, [&] {
        return fmt::format("the value \"{}\" is required for \"{}\" but missing", graph.name_of(id),
                           graph.name_of(target));
      });
      return *value;
    };
    TracedNode row{&node, frame.prepared->nodes[step.node].schema, frame.bindings, {}, {}};
    for (const ValueId id : node.inputs) row.inputs.push_back(value_of(id));
    run_node(inner, step.node);
    for (std::size_t i = 0; i < given.size(); ++i) inner.values[index_of(given[i])] = values[i];
    for (const ValueId id : node.outputs) row.outputs.push_back(value_of(id));
    traced.push_back(std::move(row));
  }
  return traced;
}

const Value* Run::find(Frame& frame, ValueId id) {
  if (id == ValueId::none) return nullptr;
  Value& value = frame.values[index_of(id)];
  if (value.kind != ValueKind::none) return &value;
  if (const ir::Tensor* tensor = frame.prepared->initializers.find(id)) {
    value = weight(*tensor);
    return &value;
  }
  if (const ir::SparseTensor* sparse = frame.prepared->initializers.find_sparse(id)) {
    value = load(*sparse);
    return &value;
  }
  // A graph in between need not mention the name.
  for (Frame* outer = frame.parent; outer; outer = outer->parent) {
    const ValueId outer_id = outer->graph->find(frame.graph->name_of(id));
    if (outer_id != ValueId::none) return find(*outer, outer_id);
  }
  return nullptr;
}

Tensor Run::weight(const ir::Tensor& tensor) {
  if (!kept_) return load(tensor);
  if (const Tensor* known = kept_->find(&tensor)) return *known;
  Tensor loaded = load(tensor);
  kept_->keep(&tensor, loaded);
  return loaded;
}

Tensor Run::load(const ir::Tensor& tensor) {
  return load_from(tensor, prepared_.external_bytes, memory_, options_.memory_limit, threads_);
}

Tensor Run::load(const ir::SparseTensor& tensor) {
  return load_from(tensor, prepared_.external_bytes, memory_, options_.memory_limit, threads_);
}

/// Rounds reals and wraps integers to the element type; numbers of the type stay, infinities of float8 too. What shares its content was
/// conformed when it was made, what is marked as rounded consists of numbers that were.
void Run::conform(Value& value, bool always) {
  for (Value& item : value.items) conform(item, always);
  if (value.kind != ValueKind::tensor || value.tensor.is_shared() || value.tensor.is_rounded()) return;
  Tensor& tensor = value.tensor;
  const ElementType type = tensor.type();
  if (type == ElementType::float64 || type == ElementType::int64 || type == ElementType::uint64 ||
      type == ElementType::complex128)
    return;
  if (options_.math == exec::MathMode::unrounded && is_unrounded_type(type) && !always) return;
  dispatch_all(tensor.domain(), [&]<class T>(std::type_identity<T>) {
    const std::span<T> all = tensor.write<T>();
    constexpr std::int64_t grain = 1 << 16;
    const auto part = [&](std::int64_t first, std::int64_t last) {
      [[maybe_unused]] const auto range =
          all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
      if constexpr (std::is_same_v<T, double>) round_to(type, range, {.saturate = false});
      if constexpr (std::is_same_v<T, Complex>) round_to(type, range);
      if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t>) wrap_to(type, range);
    };
    threads_.for_range(tensor.size(), grain, part);
  });
  tensor.mark_rounded();
}

/// Elements may share their content with others, which counts it once: what is theirs alone has to be counted, too.
void Run::count_elements(Value& value) {
  if (value.kind != ValueKind::sequence) return;
  value.tensor = Tensor::reserved(memory_, value.items.size() * list_element_bytes);
}

void Run::add_noise(Value& value, const NoiseRule& rule, const KernelContext& context) {
  for (Value& item : value.items) add_noise(item, rule, context);
  if (!value.is_tensor() || value.tensor.is_shared() || value.tensor.is_rounded()) return;
  Tensor& tensor = value.tensor;
  const bool becomes_double = tensor.type() == ElementType::float64 && !context.is_on_doubles();
  if (is_noisy_type(tensor.type()) && !becomes_double) {
    const bool has_first = context.has_input(0) && context.value(0).is_tensor();
    noise_->round_results(threads_, tensor, rule, has_first ? &context.input(0) : nullptr, context.summed_);
    tensor.mark_rounded();
  } else if (rule.steps && noise_->arithmetic().steps && is_quantized_type(tensor.type())) {
    noise_->shift_steps(tensor);
  }
}

void Run::deliver_taps(Frame& frame, const ir::Node& node) {
  if (!options_.on_value) return;
  for (const ValueId id : node.outputs) {
    if (id == ValueId::none) continue;
    const std::string_view name = frame.graph->name_of(id);
    const bool wanted =
        options_.tap_all || std::find(options_.taps.begin(), options_.taps.end(), name) != options_.taps.end();
    if (!wanted) continue;
    const auto taken =
        options_.on_value(name, pack(frame.values[index_of(id)], options_.math == exec::MathMode::unrounded));
    if (!taken) throw LocatedFault{taken.error()};
  }
}

void Run::check_alive() const {
  const auto end = [](const Error& error) { throw Fault(error.kind, error.diagnostic.code, error.diagnostic.message); };
  if (options_.stop.stop_requested()) end(exec::cancelled_run());
  if (options_.time_limit.count() != 0 && std::chrono::steady_clock::now() > deadline_)
    end(exec::late_run(options_.time_limit));
}

// ---- what kernels see

KernelContext::KernelContext(Run& run, Frame& frame, std::size_t node_index, const spec::OpSchema& schema)
    : NodeAttributes(frame.graph->nodes[node_index], schema, frame.bindings),
      run_(run),
      frame_(frame),
      node_index_(node_index),
      node_(&frame.graph->nodes[node_index]),
      schema_(&schema),
      outputs_(node_->outputs.size()) {
  for (const ValueId id : node_->inputs) inputs_.push_back(run.find(frame, id));
}

bool KernelContext::has_output(std::size_t index) const {
  return index < node_->outputs.size() && node_->outputs[index] != ValueId::none;
}

const Value& KernelContext::value(std::size_t index) const {
  require(has_input(index), [&] {
    const bool is_named = index < node_->inputs.size() && node_->inputs[index] != ValueId::none;
    if (!is_named) return fmt::format("input {} is missing", index);
    return fmt::format("input {} \"{}\" has no value: no earlier node writes it, or the nodes form a cycle", index,
                       frame_.graph->name_of(node_->inputs[index]));
  });
  return *inputs_[index];
}

const Tensor& KernelContext::input(std::size_t index) const {
  const Value& held = value(index);
  require(held.is_tensor(), [&] { return fmt::format("input {} is not a tensor", index); });
  return held.tensor;
}

const Tensor* KernelContext::find_input(std::size_t index) const { return has_input(index) ? &input(index) : nullptr; }

std::vector<const Tensor*> KernelContext::inputs_from(std::size_t first) const {
  std::vector<const Tensor*> all;
  for (std::size_t i = first; i < input_count(); ++i) all.push_back(&input(i));
  return all;
}

ElementType KernelContext::output_type(std::size_t index) const {
  const spec::FormalParameter* output = schema_->output_at(index);
  if (!output) return ElementType::undefined;
  for (std::size_t i = 0; i < input_count(); ++i) {
    const spec::FormalParameter* input = schema_->input_at(i);
    if (input && input->constraint == output->constraint && has_input(i) && value(i).is_tensor())
      return value(i).tensor.type();
  }
  const std::uint32_t allowed = schema_->types_of(*output).tensor;
  return std::has_single_bit(allowed) ? static_cast<ElementType>(std::countr_zero(allowed)) : ElementType::undefined;
}

ElementType KernelContext::named_type(std::string_view attribute, ElementType fallback, std::size_t output) const {
  const std::int64_t number = integer(attribute);
  if (number == 0) return fallback;
  const spec::FormalParameter* parameter = schema_->output_at(output);
  const std::uint32_t allowed = parameter ? schema_->types_of(*parameter).tensor : 0;
  require(number > 0 && number < element_type_count && (allowed >> number & 1) != 0,
          [&] { return fmt::format("{} cannot produce element type {}", schema_->name, number); });
  return static_cast<ElementType>(number);
}

void KernelContext::set_output(std::size_t index, Value value) {
  if (has_output(index)) outputs_[index] = std::move(value);
}

std::shared_ptr<const void> KernelContext::derived_form(
    const std::function<std::shared_ptr<const void>()>& make) const {
  return frame_.bindings ? make() : run_.prepared_.derived->of(*node_, make);
}

Tensor KernelContext::scalar(ElementType type, double value) const {
  Tensor tensor = make(type, {});
  dispatch_scalars(tensor.domain(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>)
      tensor.write<T>()[0] = value != 0;
    else
      tensor.write<T>()[0] = from_real<T>(value);
  });
  return tensor;
}

Tensor KernelContext::constant(const ir::Tensor& tensor) const { return run_.load(tensor); }
Tensor KernelContext::constant(const ir::SparseTensor& tensor) const { return run_.load(tensor); }
const MemoryPtr& KernelContext::memory() const { return run_.memory_; }
bool KernelContext::is_unrounded() const { return run_.is_unrounded(frame_, node_index_); }
const Noise* KernelContext::noise() const {
  const auto& prepared = frame_.prepared->nodes[node_index_];
  const bool is_quantized = !prepared.noise.rounds_beside_integers && has_input(0) && value(0).is_tensor() &&
                            domain_of(value(0).tensor.type()) != Domain::real;
  const bool is_noisy = run_.noise_ && prepared.origin == Origin::data;
  return is_noisy && !is_quantized ? &*run_.noise_ : nullptr;
}

const Edges* KernelContext::edges() const {
  return run_.edges_ && frame_.prepared->nodes[node_index_].origin == Origin::data ? &*run_.edges_ : nullptr;
}

bool KernelContext::is_on_doubles() const {
  return std::any_of(inputs_.begin(), inputs_.end(), [](const Value* input) {
    return input && input->is_tensor() && input->tensor.type() == ElementType::float64;
  });
}

void KernelContext::disturb_input(const NoiseRule& rule) {
  if (rule.input == 0 || !has_input(0) || !value(0).is_tensor() || !is_noisy_type(value(0).tensor.type())) return;
  disturbed_ = run_.noise_->disturbed(run_.threads_, value(0).tensor, rule.input);
  inputs_[0] = &disturbed_;
}

void KernelContext::check_alive() const { run_.check_alive(); }

ThreadPool& KernelContext::threads() const { return run_.threads_; }

exec::ProductDevice* KernelContext::products() const { return run_.options_.products.get(); }
SharedFactors* KernelContext::shared_factors() const { return run_.options_.shared_factors; }

void KernelContext::for_range(std::int64_t count, std::int64_t grain,
                              const std::function<void(std::int64_t, std::int64_t)>& body) const {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds shortest(5);
  run_.threads_.for_range(count, grain, [&](std::int64_t first, std::int64_t last) {
    std::int64_t step = std::max(grain, (last - first) / 8192 + 1);  // one thread has the whole range at once
    auto before = Clock::now();
    for (std::int64_t at = first; at < last;) {
      const std::int64_t until = at + std::min(step, last - at);
      body(at, until);
      at = until;
      check_alive();
      const auto now = Clock::now();
      if (now - before < shortest)
        step = std::min(2 * step, last - first);
      else if (now - before > 4 * shortest)
        step = std::max(grain, step / 4);
      before = now;
    }
  });
}

std::mt19937 KernelContext::random() const {
  if (const ir::Attribute* seed = attribute("seed")) {
    if (const auto* real = seed->as<float>(); real && std::isfinite(*real))
      return std::mt19937(static_cast<std::uint32_t>(static_cast<std::int64_t>(std::fmod(*real, 4294967296.0))));
    if (const auto* integer = seed->as<std::int64_t>()) return std::mt19937(static_cast<std::uint32_t>(*integer));
  }
  std::seed_seq sequence{static_cast<std::uint32_t>(run_.options_.seed),
                         static_cast<std::uint32_t>(run_.options_.seed >> 32),
                         static_cast<std::uint32_t>(run_.generators_++)};
  return std::mt19937(sequence);
}

std::vector<Value> KernelContext::run_body(std::string_view attribute, std::vector<Value> inputs) {
  const ir::Graph* body = graph(attribute);
  require(body, [&] { return fmt::format("the attribute {} holds no graph", attribute); });
  return run_.run_body(frame_, node_index_, *body, attribute, std::move(inputs));
}

ValueId KernelContext::value_named(std::string_view name) const {
  const ValueId id = frame_.graph->find(name);
  require(id != ValueId::none, [&] { return fmt::format("the graph has no value \"{}\"", name); });
  return id;
}

std::vector<TracedNode> KernelContext::trace(ValueId target, std::span<const ValueId> given,
                                             std::span<const Value> values) {
  return run_.trace(frame_, target, given, values);
}

void KernelContext::check_iteration(std::uint64_t done) const {
  run_.check_alive();
  const std::uint64_t limit = run_.options_.iteration_limit;
  if (limit != 0 && done >= limit)
    throw Fault("iteration-limit",
                fmt::format("the loop continues after {} iteration{}", limit, limit == 1 ? "" : "s"));
}

}  // namespace onnxkit::reference
