#include "libonnxkit/plan/lowerer.h"

#include <algorithm>

#include <fmt/core.h>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/extract.h"
#include "libonnxkit/plan/node_model.h"
#include "libonnxkit/plan/precision.h"

namespace onnxkit::plan {

void register_all_lowerings(LoweringRegistry& registry);

const LoweringRegistry& lowering_registry() {
  static const LoweringRegistry registry = [] {
    LoweringRegistry all;
    register_all_lowerings(all);
    return all;
  }();
  return registry;
}

bool is_storable(ElementType type) {
  return type != ElementType::undefined && domain_of(type) != Domain::string && domain_of(type) != Domain::complex &&
         storage_bits(type) % 8 == 0;
}

std::uint64_t bytes_of(ElementType type) { return static_cast<std::uint64_t>(storage_bits(type)) / 8; }

std::uint32_t Lowerer::add_buffer(Home home, ElementType type, std::uint64_t bytes, std::size_t index) {
  plan_.buffers.push_back({.home = home, .type = type, .bytes = bytes, .offset = 0, .index = index});
  return static_cast<std::uint32_t>(plan_.buffers.size() - 1);
}

View Lowerer::new_view(Home home, ElementType type, const Dims& dims, std::size_t index) {
  const auto bytes = checked_mul(static_cast<std::uint64_t>(element_count(dims)), bytes_of(type));
  if (!bytes) throw Misfit("a tensor of too many bytes");
  return {.buffer = add_buffer(home, type, *bytes, index),
          .type = type,
          .offset = 0,
          .dims = dims,
          .strides = row_major_strides(dims)};
}

View Lowerer::slot() { return {.buffer = add_buffer(Home::slot, ElementType::undefined, 0, plan_.slots++)}; }

void Lowerer::add_step(Step step) {
  step.nodes.push_back(node_);
  plan_.steps.push_back(std::move(step));
}

void Lowerer::add_inputs() {
  const ir::Graph& graph = subject_.graph();
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const ir::ValueId id = graph.inputs[i].value;
    const ElementType type = subject_.type(id);
    const auto dims = subject_.dims(id);
    const View view = dims && is_storable(type) ? new_view(Home::input, type, *dims, i) : slot();
    views_[ir::index_of(id)] = view;
    plan_.inputs.push_back({std::string(graph.name_of(id)), view.buffer, type, dims.value_or(Dims())});
  }
}

View Lowerer::add_constant(const Tensor& content) {
  plan_.constants.push_back(content);
  if (!is_storable(content.type())) {
    View view = slot();
    return view;
  }
  return new_view(Home::constant, content.type(), content.dims(), plan_.constants.size() - 1);
}

void Lowerer::set_view(ir::ValueId id, View view) {
  auto& held = views_[ir::index_of(id)];
  if (!held) changed_.push_back(id);
  held = std::move(view);
}

const View* Lowerer::find(ir::ValueId id) {
  auto& held = views_[ir::index_of(id)];
  if (!held && subject_.is_constant(id)) {
    const auto content = subject_.content(id);
    if (content && is_storable(content->type())) set_view(id, add_constant(*content));
  }
  return held ? &*held : nullptr;
}

std::optional<View> Lowerer::wider_constant(const View& view, ElementType type) {
  constexpr std::int64_t most_elements = 1 << 16;
  const Buffer& buffer = plan_.buffers[view.buffer];
  const bool is_wider = (type == ElementType::float32 && bytes_of(view.type) < bytes_of(type)) ||
                        (type == ElementType::float64 && view.type == ElementType::float32);
  if (buffer.home != Home::constant || view.size() > most_elements || domain_of(view.type) != Domain::real || !is_wider)
    return std::nullopt;
  const Tensor& content = plan_.constants[buffer.index];
  if (view.offset != 0 || !view.is_contiguous() || view.size() != content.size()) return std::nullopt;
  auto changed = in_type(content, type);
  if (!changed) return std::nullopt;
  View held = add_constant(*changed);
  held.dims = view.dims;
  held.strides = view.strides;
  return held;
}

View Lowerer::converted(const View& view, ElementType type) {
  if (view.type == type) return view;
  if (auto held = wider_constant(view, type)) return *held;
  Expression expression;
  const Lane lane = lane_of(type);
  expression.convert(expression.input(0, lane_of(view.type)), lane);
  View result = new_view(Home::arena, type, view.dims);
  result.strides = dense_strides_like(view.dims, view);
  add_map(expression, {view}, result);
  return result;
}

View Lowerer::as_declared(ir::ValueId id) {
  const View& view = *find(id);
  const ElementType type = subject_.type(id);
  if (is_slot(view) || (view.is_contiguous() && view.type == type)) return view;
  View result = new_view(Home::arena, type, view.dims);
  if (view.type == type) {
    add_step({.kind = copy_step, .inputs = {view}, .outputs = {result}});
  } else {
    Expression expression;
    expression.convert(expression.input(0, lane_of(view.type)), lane_of(type));
    add_map(expression, {view}, result);
  }
  return result;
}

void Lowerer::add_map(const Expression& expression, std::vector<View> inputs, const View& output) {
  for (View& input : inputs) input = broadcast_to(input, output.dims);
  auto parameters = std::make_shared<MapParameters>();
  parameters->expression = expression;
  Step map{.kind = map_step, .inputs = std::move(inputs), .outputs = {output}, .parameters = std::move(parameters)};
  merge_operands(map);
  add_step(std::move(map));
}

Unlowered Lowerer::refusal_of_backend(std::size_t first) const {
  for (std::size_t at = first; options_.takes && at < plan_.steps.size(); ++at) {
    if (auto reason = options_.takes(plan_, plan_.steps[at])) return reason;
  }
  return std::nullopt;
}

void Lowerer::undo_lowering(std::size_t steps, std::size_t buffers, std::size_t constants) {
  plan_.steps.resize(steps);
  plan_.buffers.resize(buffers);
  plan_.constants.resize(constants);
  for (const ir::ValueId id : changed_) views_[ir::index_of(id)].reset();
  std::erase_if(shared_, [&](const auto& known) { return known.second.buffer >= buffers; });
}

std::string Lowerer::why_not_held(const char* what, ir::ValueId id) const {
  const std::string name = quote(subject_.graph().name_of(id));
  if (!subject_.dims(id) || subject_.type(id) == ElementType::undefined)
    return fmt::format("{} {} is not a tensor of known size", what, name);
  return fmt::format("{} {} has elements of type {}", what, name, name_of(subject_.type(id)));
}

Unlowered Lowerer::try_lowering(std::size_t index) {
  const ir::Node& node = subject_.graph().nodes[index];
  const spec::OpSchema* schema = subject_.schema(node);
  if (!schema) return "no schema describes the operator";
  const Lowering lowering = lowering_registry().find(schema->domain, schema->name, schema->since_version);
  if (!lowering) return "the operator has no lowering";
  const auto& traits = lowering_registry().traits(schema->domain, schema->name, schema->since_version);
  if (!traits.never.empty()) return std::string(traits.never);
  for (const ir::ValueId id : node.inputs) {
    if (id == ir::ValueId::none) continue;
    const View* view = find(id);
    if (!view || is_slot(*view)) return why_not_held("input", id);
  }
  for (const ir::ValueId id : node.outputs) {
    if (id == ir::ValueId::none) continue;
    if (!subject_.dims(id) || !is_storable(subject_.type(id))) return why_not_held("output", id);
  }
  LowerCall call(*this, index, *schema);
  const std::size_t steps = plan_.steps.size(), buffers = plan_.buffers.size(), constants = plan_.constants.size();
  changed_.clear();
  Unlowered refused;
  try {
    refused = lowering(call);
  } catch (const Misfit& misfit) {
    refused = misfit.what();
  }
  if (!refused) refused = refusal_of_backend(steps);
  if (refused) undo_lowering(steps, buffers, constants);
  return refused;
}

void Lowerer::lower_node(std::size_t index) {
  const ir::Node& node = subject_.graph().nodes[index];
  node_ = node_title(subject_.graph(), node);
  const bool is_known = !titles_.insert(node_).second;  // names of nodes need not be unique, those of values are
  if (const ir::ValueId first = ir::first_output(node); is_known && first != ir::ValueId::none) {
    const std::string written(subject_.graph().name_of(first));
    node_ += fmt::format(" ({})", written);
    plan_.origins.emplace(node_, written);
  }
  plan_.lowered.emplace_back(node_, node.op_type.view());
  const auto refused = options_.on_host.find(node_);
  if (refused != options_.on_host.end())
    lower_on_host(index, refused->second);
  else if (const auto reason = try_lowering(index))
    lower_on_host(index, *reason);
}

namespace {

/// The nodes of a host step: the one that is to run; for a Gradient all that leads to its target.
ir::Part host_part(Subject& subject, std::size_t node, const std::vector<ir::ValueId>& outputs) {
  const ir::Graph& graph = subject.graph();
  if (const auto target = traced_target(graph, graph.nodes[node]); target != ir::ValueId::none) {
    std::vector<ir::ValueId> wanted = outputs;
    wanted.push_back(target);
    for (;;) {  // other Gradients on the way have targets of their own
      ir::Part part = ir::part_between(graph, subject.uses(), {}, wanted);
      const std::size_t before = wanted.size();
      for (const std::size_t at : part.nodes) {
        const auto next = traced_target(graph, graph.nodes[at]);
        if (next != ir::ValueId::none && std::find(wanted.begin(), wanted.end(), next) == wanted.end())
          wanted.push_back(next);
      }
      if (wanted.size() == before) return part;
    }
  }
  return part_of_node(subject, node);
}

Tensor tensor_of(ElementType type, std::span<const std::byte> content, Dims dims) {
  return *Tensor::from_bytes(type, std::move(dims), {content.begin(), content.end()});
}

}  // namespace

void Lowerer::lower_on_host(std::size_t index, const std::string& reason) {
  const ir::Graph& graph = subject_.graph();
  const ir::Node& node = graph.nodes[index];
  std::vector<ir::ValueId> outputs;
  for (const ir::ValueId id : node.outputs) {
    if (id != ir::ValueId::none) outputs.push_back(id);
  }
  const ir::Part part = host_part(subject_, index, outputs);
  Step step{.kind = host_step};
  for (const ir::ValueId id : part.inputs) step.inputs.push_back(as_declared(id));
  for (const ir::ValueId id : outputs) {
    const auto dims = subject_.dims(id);
    const ElementType type = subject_.type(id);
    const View view = dims && is_storable(type) ? new_view(Home::arena, type, *dims) : slot();
    views_[ir::index_of(id)] = view;
    step.outputs.push_back(view);
  }
  auto parameters = std::make_shared<HostParameters>();
  parameters->model = subject_.shared_part(part_model(subject_, part, outputs));
  parameters->op = node.op_type.view();
  parameters->reason = reason;
  step.parameters = std::move(parameters);
  add_step(std::move(step));
}

void Lowerer::add_outputs() {
  const ir::Graph& graph = subject_.graph();
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::ValueId id = graph.outputs[i].value;
    node_ = "output " + std::string(graph.name_of(id));
    View view;
    if (const View* found = find(id)) {
      view = *found;
    } else if (subject_.is_constant(id)) {  // of a type that is stored in parts of bytes
      view = slot();
      Step step{.kind = host_step, .outputs = {view}};
      auto parameters = std::make_shared<HostParameters>();
      ir::Part part;
      part.reads.assign(graph.values.size(), false);
      part.reads[ir::index_of(id)] = true;
      const ir::ValueId outputs[] = {id};
      parameters->model = subject_.shared_part(ir::extract(subject_.model(), part, outputs));
      parameters->op = "constant";
      parameters->reason = "its elements are no whole bytes";
      step.parameters = std::move(parameters);
      add_step(std::move(step));
    }
    const ElementType type = subject_.type(id);
    if (is_slot(view)) {
      plan_.outputs.push_back({std::string(graph.name_of(id)), view.buffer, type, {}});
      continue;
    }
    const View output = new_view(Home::output, type, view.dims, i);
    Expression expression;
    if (view.type == type) {
      add_step({.kind = copy_step, .inputs = {view}, .outputs = {output}});
    } else {
      expression.convert(expression.input(0, lane_of(view.type)), lane_of(type));
      add_map(expression, {view}, output);
    }
    plan_.outputs.push_back({std::string(graph.name_of(id)), output.buffer, type, view.dims});
  }
}

/// A buffer that holds values of several types has its own.
void Lowerer::note_declared_types() {
  std::vector<bool> is_mixed(plan_.buffers.size(), false);
  for (std::size_t value = 0; value < views_.size(); ++value) {
    if (!views_[value] || is_slot(*views_[value])) continue;
    const std::uint32_t b = views_[value]->buffer;
    const ElementType type = subject_.type(static_cast<ir::ValueId>(value));
    ElementType& declared = plan_.buffers[b].declared;
    is_mixed[b] = is_mixed[b] || (declared != ElementType::undefined && declared != type);
    declared = is_mixed[b] ? plan_.buffers[b].type : type;
  }
}

Result<Plan> Lowerer::run() {
  add_inputs();
  for (std::size_t at = 0; at < subject_.graph().nodes.size(); ++at) {
    if (auto more = may_go_on(options_); !more) return more.error();
    lower_node(at);
  }
  note_declared_types();
  add_outputs();
  return std::move(plan_);
}

Plan Lowerer::run_on_host(const std::string& reason) {
  const ir::Graph& graph = subject_.graph();
  add_inputs();
  Step step{.kind = host_step};
  for (const ir::ValueInfo& input : graph.inputs) step.inputs.push_back(*views_[ir::index_of(input.value)]);
  for (const ir::ValueInfo& output : graph.outputs) {
    step.outputs.push_back(slot());
    const std::string name(graph.name_of(output.value));
    plan_.outputs.push_back({name, step.outputs.back().buffer, subject_.type(output.value), {}});
  }
  auto parameters = std::make_shared<HostParameters>();
  parameters->model = std::make_shared<const ir::Model>(ir::clone(subject_.model()));
  parameters->op = "all nodes";
  parameters->reason = reason;
  step.parameters = std::move(parameters);
  plan_.steps.push_back(std::move(step));
  return std::move(plan_);
}

// ---- what lowerings see

LowerCall::LowerCall(Lowerer& lowerer, std::size_t node_index, const spec::OpSchema& schema)
    : NodeAttributes(lowerer.subject_.graph().nodes[node_index], schema, nullptr),
      lowerer_(lowerer),
      node_(&lowerer.subject_.graph().nodes[node_index]),
      schema_(&schema) {}

bool LowerCall::is_exact() const { return lowerer_.subject_.is_exact(); }
const View& LowerCall::input(std::size_t index) { return *lowerer_.find(node_->inputs[index]); }
ElementType LowerCall::input_type(std::size_t index) const { return lowerer_.subject_.type(node_->inputs[index]); }
ElementType LowerCall::output_type(std::size_t index) const { return lowerer_.subject_.type(node_->outputs[index]); }
Dims LowerCall::output_dims(std::size_t index) const { return *lowerer_.subject_.dims(node_->outputs[index]); }

std::optional<std::vector<std::int64_t>> LowerCall::constant_integers(std::size_t index) const {
  return has_input(index) ? lowerer_.subject_.integers(node_->inputs[index]) : std::nullopt;
}
std::optional<double> LowerCall::constant_real(std::size_t index) const {
  return has_input(index) ? lowerer_.subject_.scalar(node_->inputs[index]) : std::nullopt;
}
bool LowerCall::is_constant(std::size_t index) const {
  return has_input(index) && lowerer_.subject_.is_constant(node_->inputs[index]);
}

bool LowerCall::is_stored_constant(std::size_t index) {
  return has_input(index) && lowerer_.plan_.buffers[input(index).buffer].home == Home::constant;
}

bool LowerCall::knows_content(std::size_t index) const {
  if (!has_input(index)) return false;
  if (is_constant(index)) return true;
  const auto& value = lowerer_.subject_.info(node_->inputs[index]).value;
  return value && std::all_of(value->elements.begin(), value->elements.end(), [](const checker::Scalar& element) {
           return element.is_integer() && element.dim().is_constant();
         });
}

std::optional<std::vector<double>> LowerCall::constant_reals(std::size_t index) const {
  const auto content = constant_content(index);
  return content && has_lane(content->type()) ? std::optional(to_reals(*content)) : std::nullopt;
}
std::optional<Tensor> LowerCall::constant_content(std::size_t index) const {
  return has_input(index) ? lowerer_.subject_.content(node_->inputs[index]) : std::nullopt;
}

std::optional<DequantizedMatrix> LowerCall::dequantized_input(std::size_t index, bool transposed) const {
  if (is_exact() || !has_input(index)) return std::nullopt;
  return dequantized_matrix(lowerer_.subject_, node_->inputs[index], transposed);
}

ElementType LowerCall::stored_type(ElementType type) { return is_16_bit_real(type) ? ElementType::float32 : type; }

View LowerCall::make(ElementType stored, Dims dims) { return lowerer_.new_view(Home::arena, stored, dims); }

View LowerCall::make_sums(ElementType stored, Dims dims) {
  const View view = make(stored, std::move(dims));
  lowerer_.plan_.buffers[view.buffer].keeps_type = true;
  return view;
}

View LowerCall::make_like(ElementType stored, Dims dims, const View& like) {
  View view = make(stored, std::move(dims));
  if (like.rank() == view.rank()) view.strides = dense_strides_like(view.dims, like);
  return view;
}

void LowerCall::spend_on_tables(std::int64_t count, std::uint64_t bytes) {
  constexpr std::uint64_t most_bytes = std::uint64_t{1} << 28;
  const std::uint64_t limit = lowerer_.options_.memory_limit,
                      most = limit == 0 ? most_bytes : std::min(limit, most_bytes);
  const auto entries = static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
  std::uint64_t& spent = lowerer_.table_bytes_;
  if (entries > most / bytes || spent + entries * bytes > most) throw Misfit("tables of too many entries");
  spent += entries * bytes;
}

View LowerCall::shared_constant(const std::string& key, const std::function<View()>& make) {
  const auto known = lowerer_.shared_.find(key);
  return known != lowerer_.shared_.end() ? known->second : lowerer_.shared_.emplace(key, make()).first->second;
}

View LowerCall::constant(std::span<const float> values, Dims dims) {
  return constant(tensor_of(ElementType::float32, std::as_bytes(values), std::move(dims)));
}

View LowerCall::constant(std::span<const double> values, Dims dims) {
  return constant(tensor_of(ElementType::float64, std::as_bytes(values), std::move(dims)));
}

View LowerCall::constant(std::span<const std::int32_t> values, Dims dims) {
  return constant(tensor_of(ElementType::int32, std::as_bytes(values), std::move(dims)));
}

View LowerCall::constant(std::span<const std::int64_t> values, Dims dims) {
  return constant(tensor_of(ElementType::int64, std::as_bytes(values), std::move(dims)));
}

View LowerCall::constant(const Tensor& content) { return lowerer_.add_constant(content); }

std::optional<View> LowerCall::wider_constant(const View& view, ElementType type) {
  return lowerer_.wider_constant(view, type);
}

View LowerCall::contiguous(const View& view) {
  if (view.is_contiguous()) {
    View result = view;
    result.strides = row_major_strides(view.dims);
    return result;
  }
  View result = make(view.type, view.dims);
  emit_copy(view, result);
  return result;
}

View LowerCall::as_real(const View& view) { return lowerer_.converted(view, ElementType::float32); }

void LowerCall::set_output(std::size_t index, View view) {
  if (has_output(index)) lowerer_.set_view(node_->outputs[index], std::move(view));
}

View LowerCall::make_output(std::size_t index) {
  View view = make(stored_type(output_type(index)), output_dims(index));
  set_output(index, view);
  return view;
}

View LowerCall::make_output_like(std::size_t index, const View& like) {
  View view = make_like(stored_type(output_type(index)), output_dims(index), like);
  set_output(index, view);
  return view;
}

bool LowerCall::keep_last_if_taken() {
  if (!lowerer_.refusal_of_backend(lowerer_.plan_.steps.size() - 1)) return true;
  lowerer_.plan_.steps.pop_back();
  return false;
}

void LowerCall::emit_copy(const View& from, const View& to) {
  if (from.dims != to.dims) throw Misfit("a part and its place are of different sizes");
  if (from.type != to.type) throw Misfit("a part and its place are of different types");
  lowerer_.add_step({.kind = copy_step, .inputs = {from}, .outputs = {to}});
}

void LowerCall::emit_map(const Expression& expression, std::vector<View> inputs, const View& output) {
  lowerer_.add_map(expression, std::move(inputs), output);
}

void LowerCall::emit_step(const StepKind& kind, std::vector<View> inputs, std::vector<View> outputs,
                          std::shared_ptr<const Parameters> parameters) {
  lowerer_.add_step(
      {.kind = kind, .inputs = std::move(inputs), .outputs = std::move(outputs), .parameters = std::move(parameters)});
}

}  // namespace onnxkit::plan
