#include "libonnxkit/plan/control_flow.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/uses.h"
#include "libonnxkit/plan/body_model.h"
#include "libonnxkit/plan/compose.h"
#include "libonnxkit/plan/draws.h"
#include "libonnxkit/plan/integer_in.h"
#include "libonnxkit/plan/lowerer.h"
#include "libonnxkit/plan/rewriting.h"
#include "libonnxkit/wire/values/tensor_proto.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::plan {
namespace {

Result<std::unique_ptr<exec::Session>> load_on_host(const std::shared_ptr<const ir::Model>& model,
                                                    const PlannedOptions& options) {
  return options.host->load({.model = model}, host_load(options.load));
}

Error kernel_error(const char* message) { return make_error("kernel", message); }

/// The iteration number or the condition, of one axis where the body declares one.
Value scalar_for(const ir::ValueInfo& input, ElementType type, std::int64_t value) {
  const bool is_list = input.type && input.type->shape && input.type->shape->dims.size() == 1;
  std::vector<std::byte> bytes(bytes_of(type));
  std::memcpy(bytes.data(), &value, bytes.size());
  auto tensor = Tensor::from_bytes(type, is_list ? Dims{1} : Dims{}, std::move(bytes));
  return tensor ? Value(*std::move(tensor)) : Value();
}

/// Position `at` of an axis, which goes.
Result<Tensor> taken_from(const Tensor& tensor, std::size_t axis, std::int64_t at) {
  const auto sizes = std::span(tensor.dims());
  const std::int64_t outer = element_count(sizes.first(axis));
  const auto inner = static_cast<std::size_t>(element_count(sizes.subspan(axis + 1))) * bytes_of(tensor.type());
  const std::size_t stride = inner * static_cast<std::size_t>(sizes[axis]);
  Dims dims = tensor.dims();
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  std::vector<std::byte> bytes(inner * static_cast<std::size_t>(outer));
  const std::byte* from = tensor.bytes().data() + inner * static_cast<std::size_t>(at);
  for (std::size_t i = 0; i < static_cast<std::size_t>(outer) && inner != 0; ++i)
    std::memcpy(bytes.data() + i * inner, from + i * stride, inner);
  return Tensor::from_bytes(tensor.type(), std::move(dims), std::move(bytes));
}

/// What a body gives as one output, pass by pass.
class Collected {
 public:
  /// What is wrong with it; empty when nothing is.
  const char* add(Value value) {
    const ElementType type = value.tensor.type();
    if (!value.is_tensor() || (type != ElementType::string && !is_storable(type)))
      return "a scan output is not a tensor";
    if (!parts_.empty() &&
        (parts_.front().dims() != value.tensor.dims() || parts_.front().type() != value.tensor.type()))
      return "the shape of a scan output changes between iterations";
    parts_.push_back(std::move(value.tensor));
    return "";
  }
  void reverse() { std::reverse(parts_.begin(), parts_.end()); }

  /// Joined along a new axis.
  Result<Tensor> stacked(std::size_t axis) const {
    const Tensor& first = parts_.front();
    const auto sizes = std::span(first.dims());
    const auto outer = static_cast<std::size_t>(element_count(sizes.first(axis)));
    const std::size_t inner = static_cast<std::size_t>(element_count(sizes.subspan(axis))) * bytes_of(first.type());
    Dims dims = first.dims();
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(parts_.size()));
    if (first.type() == ElementType::string) return stacked_strings(std::move(dims), outer);
    std::vector<std::byte> bytes(inner * outer * parts_.size());
    for (std::size_t i = 0; i < outer && inner != 0; ++i) {
      for (std::size_t part = 0; part < parts_.size(); ++part)
        std::memcpy(bytes.data() + (i * parts_.size() + part) * inner, parts_[part].bytes().data() + i * inner, inner);
    }
    return Tensor::from_bytes(first.type(), std::move(dims), std::move(bytes));
  }
  std::size_t rank() const { return parts_.front().dims().size(); }

 private:
  Result<Tensor> stacked_strings(Dims dims, std::size_t outer) const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < outer; ++i) {
      for (const Tensor& part : parts_) {
        const std::size_t inner = part.strings().size() / outer;
        const auto some = part.strings().subspan(i * inner, inner);
        all.insert(all.end(), some.begin(), some.end());
      }
    }
    return Tensor::from_strings(std::move(dims), std::move(all));
  }

  std::vector<Tensor> parts_;
};

/// A list attribute with one entry for each value; absent or empty means zeros.
std::vector<std::int64_t> per_value(const ir::Node& node, std::string_view name, std::size_t count) {
  const ir::Attribute* attribute = node.find_attribute(name);
  const auto* list = attribute ? attribute->as<std::vector<std::int64_t>>() : nullptr;
  return list && !list->empty() ? *list : std::vector<std::int64_t>(count, 0);
}

bool counts_within(std::int64_t axis, std::size_t rank) {
  return axis >= -static_cast<std::int64_t>(rank) && axis < static_cast<std::int64_t>(rank);
}

}  // namespace

// ---- bodies

Body::Body(const ir::Model& model, const ir::Graph& graph, std::string title, const PlannedOptions& options)
    : title_(std::move(title)), options_(options), own_inputs_(graph.inputs.size()) {
  // Plans of doubles hand on float64 whatever the type of a constant is.
  BodyModel made = body_model(model, graph, !options.exact);
  passed_on_ = std::move(made.passed_on);
  model_ = std::make_shared<const ir::Model>(std::move(made.model));
  options_.original = model_;
  planned_ = std::make_unique<Planned>(model_, options_);
}

std::optional<std::string> Body::out_of_plans() const {
  if (planned_->plans_made() <= most_plans_of_a_body && planned_->quick_plans_made() <= most_quick_plans)
    return std::nullopt;
  return "the sizes in its body, or numbers that decide them, change from pass to pass";
}

Result<std::vector<Value>> Body::run(std::vector<Value> inputs, const std::vector<NamedValue>& captured,
                                     const PlannedRun& run) {
  std::vector<NamedValue> given;
  const ir::Graph& graph = *model_->graph;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string name(graph.name_of(graph.inputs[i].value));
    if (i < own_inputs_) {
      given.push_back({name, std::move(inputs[i])});
      continue;
    }
    const auto value =
        std::find_if(captured.begin(), captured.end(), [&](const NamedValue& outer) { return outer.name == name; });
    given.push_back({name, value == captured.end() ? Value() : value->value});
  }
  PlannedRun of_body = run;
  std::string path;  // which profiles ask for
  if (run.times) path = run.body.empty() ? title_ : fmt::format("{} / {}", run.body, title_);
  of_body.body = path;
  Result<std::vector<NamedValue>> outputs = std::vector<NamedValue>();
  if (!graph.outputs.empty()) outputs = planned_->run(given, of_body);
  if (!outputs) return outputs.error();
  auto computed = outputs->begin();
  std::vector<Value> values;
  for (const auto& input : passed_on_) values.push_back(input ? given[*input].value : std::move((computed++)->value));
  return values;
}

// ---- nodes

std::string HostParameters::said() const {
  const bool is_whole = control && !control->why_whole().empty();
  return is_whole ? "it runs on the reference as a whole: " + control->why_whole() : reason;
}

std::unique_ptr<ControlFlow> ControlFlow::make(std::shared_ptr<const ir::Model> model, const PlannedOptions& options,
                                               std::string& why_not) {
  if (!options.plans_bodies || options.fault || !model->graph || model->graph->nodes.size() != 1) return nullptr;
  const ir::Node& node = model->graph->nodes.front();
  const bool is_one = Subject::is_op(node, "If") || Subject::is_op(node, "Loop") || Subject::is_op(node, "Scan");
  const auto opset = ir::opset_of(model->opset_imports, "");
  constexpr std::int64_t first_plain_scan = 9;
  if (!is_one || !opset || *opset < first_plain_scan) return nullptr;
  if (Draws(*model, *options.load.table)(node)) {
    why_not = "its bodies draw random numbers, which differ from pass to pass";
    return nullptr;
  }
  return std::unique_ptr<ControlFlow>(new ControlFlow(std::move(model), options));
}

ControlFlow::ControlFlow(std::shared_ptr<const ir::Model> model, const PlannedOptions& options)
    : model_(std::move(model)), options_(options) {
  const std::string title = node_title(*model_->graph, node());
  const std::vector<const char*> names = Subject::is_op(node(), "If")
                                             ? std::vector<const char*>{"then_branch", "else_branch"}
                                             : std::vector<const char*>{"body"};
  for (const char* name : names) {
    const ir::Attribute* attribute = node().find_attribute(name);
    const ir::Graph* graph = attribute ? attribute->graph() : nullptr;
    if (graph)
      bodies_.push_back(
          std::make_unique<Body>(*model_, *graph, fmt::format("{} of node {}", name, quote(title)), options));
  }
}

std::vector<Value> ControlFlow::node_inputs(const std::vector<NamedValue>& given) const {
  const ir::Graph& graph = *model_->graph;
  const ir::InitializerTable constants(graph);
  std::vector<Value> values;
  for (const ir::ValueId id : node().inputs) {
    values.emplace_back();
    if (id == ir::ValueId::none) continue;
    const auto value = std::find_if(given.begin(), given.end(),
                                    [&](const NamedValue& input) { return input.name == graph.name_of(id); });
    if (value != given.end()) values.back() = value->value;
    const ir::Tensor* constant = value == given.end() ? constants.find(id) : nullptr;
    if (!constant) continue;
    wire::TensorSource source;
    source.owner = wire::unowned(constant);
    if (auto content = wire::tensor_of(*constant, source)) values.back() = *std::move(content);
  }
  return values;
}

Result<std::vector<NamedValue>> ControlFlow::run_whole(const exec::RunRequest& request) {
  if (!whole_) {
    auto session = load_on_host(model_, options_);
    if (!session) return session.error();
    whole_ = *std::move(session);
  }
  auto answer = whole_->run(request);
  if (!answer) return answer.error();
  return std::move(answer->outputs);
}

namespace {

constexpr const char* odd_form = "only the reference runs this form of it";
/// Its outputs have the sizes that the body declares.
constexpr const char* no_iteration = "it has no iteration";

}  // namespace

std::string ControlFlow::why_not_plain(const std::vector<Value>& inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (node().inputs[i] != ir::ValueId::none && inputs[i].kind == ValueKind::none) return odd_form;
  }
  const bool is_if = Subject::is_op(node(), "If");
  if (bodies_.size() != (is_if ? 2U : 1U)) return odd_form;
  for (const auto& body : bodies_) {
    if (body->own_inputs() != (is_if ? 0 : inputs.size())) return odd_form;
  }
  if (is_if) return inputs.size() == 1 && integer_in(inputs[0]) ? "" : odd_form;
  if (auto reason = bodies_[0]->out_of_plans()) return *std::move(reason);
  return Subject::is_op(node(), "Loop") ? why_not_plain_loop(inputs) : why_not_plain_scan(inputs);
}

std::string ControlFlow::why_not_plain_loop(const std::vector<Value>& inputs) const {
  if (inputs.size() < 2 || bodies_[0]->outputs() + 1 < inputs.size()) return odd_form;
  const bool counts = inputs[0].kind != ValueKind::none, tests = inputs[1].kind != ValueKind::none;
  const bool ends =
      (counts && integer_in(inputs[0]).value_or(0) < 1) || (tests && integer_in(inputs[1]).value_or(0) == 0);
  return ends ? no_iteration : "";
}

std::string ControlFlow::why_not_plain_scan(const std::vector<Value>& inputs) const {
  const std::int64_t scanned = integer_of(node(), "num_scan_inputs", 0);
  if (scanned < 1 || scanned > static_cast<std::int64_t>(inputs.size())) return odd_form;
  const std::size_t states = inputs.size() - static_cast<std::size_t>(scanned);
  if (bodies_[0]->outputs() < states) return odd_form;
  const auto axes = per_value(node(), "scan_input_axes", inputs.size() - states);
  if (axes.size() != inputs.size() - states) return odd_form;
  std::optional<std::int64_t> length;
  for (std::size_t i = states; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor() || !is_storable(inputs[i].tensor.type())) return odd_form;
    const Dims& dims = inputs[i].tensor.dims();
    if (!counts_within(axes[i - states], dims.size())) return odd_form;
    const std::int64_t size = dims[counted_axis(axes[i - states], dims.size())];
    if (length && *length != size) return odd_form;
    length = size;
  }
  return *length < 1 ? no_iteration : "";
}

Result<std::vector<NamedValue>> ControlFlow::run(const exec::RunRequest& request, const PlannedRun& around) {
  const std::vector<Value> inputs = node_inputs(request.inputs);
  // The reference counts iterations and the memory of values.
  why_whole_ = request.limits.iterations != 0 ? "the reference counts iterations, which have a limit"
               : request.limits.memory != 0   ? "the reference counts the memory of values, which has a limit"
                                              : why_not_plain(inputs);
  if (!why_whole_.empty()) return run_whole(request);
  const PlannedRun run{.request = request,
                       .deadline = request.limits.deadline(std::chrono::steady_clock::now()),
                       .times = around.times,
                       .body = around.body,
                       .depth = around.depth + 1};
  auto outputs = Subject::is_op(node(), "If")     ? run_if(request.inputs, run)
                 : Subject::is_op(node(), "Loop") ? run_loop(request.inputs, run)
                                                  : run_scan(request.inputs, run);
  if (!outputs) return outputs.error();
  if (!outputs->has_value()) {  // the few passes so far are made again
    for (const auto& body : bodies_)
      if (auto reason = body->out_of_plans()) why_whole_ = *std::move(reason);
    exec::RunRequest again = request;
    again.limits = run.remaining_limits();
    return run_whole(again);
  }
  std::vector<NamedValue> named;
  for (std::size_t i = 0; i < node().outputs.size(); ++i) {
    if (node().outputs[i] == ir::ValueId::none) continue;
    if (i >= (*outputs)->size() || (**outputs)[i].kind == ValueKind::none)
      return kernel_error("the body has fewer outputs than the node");
    named.push_back({std::string(model_->graph->name_of(node().outputs[i])), std::move((**outputs)[i])});
  }
  return named;
}

Result<std::optional<std::vector<Value>>> ControlFlow::run_if(const std::vector<NamedValue>& given,
                                                              const PlannedRun& run) {
  const bool holds = *integer_in(node_inputs(given)[0]) != 0;
  Body& body = *bodies_[holds ? 0 : 1];
  if (body.out_of_plans()) return std::optional<std::vector<Value>>();
  auto outputs = body.run({}, given, run);
  if (!outputs) return outputs.error();
  return std::optional(*std::move(outputs));
}

Result<std::optional<std::vector<Value>>> ControlFlow::run_loop(const std::vector<NamedValue>& given,
                                                                const PlannedRun& run) {
  std::vector<Value> carried = node_inputs(given);
  const std::int64_t most = integer_in(carried[0]).value_or(std::numeric_limits<std::int64_t>::max());
  carried.erase(carried.begin(), carried.begin() + 2);
  const ir::Graph& body = bodies_[0]->graph();
  std::vector<Collected> collected(bodies_[0]->outputs() - 1 - carried.size());
  for (std::int64_t i = 0; i < most; ++i) {
    if (auto more = run.may_go_on(); !more) return more.error();
    if (bodies_[0]->out_of_plans()) return std::optional<std::vector<Value>>();
    std::vector<Value> inputs = {scalar_for(body.inputs[0], ElementType::int64, i),
                                 scalar_for(body.inputs[1], ElementType::boolean, 1)};
    std::move(carried.begin(), carried.end(), std::back_inserter(inputs));
    auto outputs = bodies_[0]->run(std::move(inputs), given, run);
    if (!outputs) return outputs.error();
    const auto go_on = integer_in((*outputs)[0]);
    if (!go_on) return kernel_error("the condition of a loop is not one truth value");
    for (std::size_t k = 0; k < carried.size(); ++k) carried[k] = std::move((*outputs)[k + 1]);
    for (std::size_t k = 0; k < collected.size(); ++k) {
      if (const char* fault = collected[k].add(std::move((*outputs)[carried.size() + 1 + k])); *fault != '\0')
        return kernel_error(fault);
    }
    if (*go_on == 0) break;
  }
  for (const Collected& of : collected) {
    auto stacked = of.stacked(0);
    if (!stacked) return stacked.error();
    carried.emplace_back(*std::move(stacked));
  }
  return std::optional(std::move(carried));
}

Result<std::optional<std::vector<Value>>> ControlFlow::run_scan(const std::vector<NamedValue>& given,
                                                                const PlannedRun& run) {
  std::vector<Value> states = node_inputs(given);
  const auto scanned = static_cast<std::size_t>(integer_of(node(), "num_scan_inputs", 0));
  std::vector<Tensor> inputs;
  for (std::size_t i = states.size() - scanned; i < states.size(); ++i) inputs.push_back(states[i].tensor);
  states.resize(states.size() - scanned);
  const std::size_t outputs = bodies_[0]->outputs() - states.size();
  const auto axes = per_value(node(), "scan_input_axes", scanned),
             backward = per_value(node(), "scan_input_directions", scanned),
             output_axes = per_value(node(), "scan_output_axes", outputs),
             prepended = per_value(node(), "scan_output_directions", outputs);
  if (backward.size() != scanned || output_axes.size() != outputs || prepended.size() != outputs)
    return kernel_error("a list of Scan must have one entry per scanned value");
  const std::int64_t length = inputs[0].dims()[counted_axis(axes[0], inputs[0].dims().size())];
  std::vector<Collected> collected(outputs);
  for (std::int64_t t = 0; t < length; ++t) {
    if (auto more = run.may_go_on(); !more) return more.error();
    if (bodies_[0]->out_of_plans()) return std::optional<std::vector<Value>>();
    std::vector<Value> own = std::move(states);
    for (std::size_t i = 0; i < scanned; ++i) {
      auto part =
          taken_from(inputs[i], counted_axis(axes[i], inputs[i].dims().size()), backward[i] != 0 ? length - 1 - t : t);
      if (!part) return part.error();
      own.emplace_back(*std::move(part));
    }
    auto made = bodies_[0]->run(std::move(own), given, run);
    if (!made) return made.error();
    states.assign(std::make_move_iterator(made->begin()),
                  std::make_move_iterator(made->end() - static_cast<std::ptrdiff_t>(outputs)));
    for (std::size_t k = 0; k < outputs; ++k) {
      if (const char* fault = collected[k].add(std::move((*made)[states.size() + k])); *fault != '\0')
        return kernel_error(fault);
    }
  }
  for (std::size_t k = 0; k < outputs; ++k) {
    if (prepended[k] != 0) collected[k].reverse();
    const std::size_t rank = collected[k].rank() + 1;
    if (!counts_within(output_axes[k], rank)) return kernel_error("scan_output_axes is out of range");
    auto stacked = collected[k].stacked(counted_axis(output_axes[k], rank));
    if (!stacked) return stacked.error();
    states.emplace_back(*std::move(stacked));
  }
  return std::optional(std::move(states));
}

}  // namespace onnxkit::plan
