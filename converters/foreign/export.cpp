#include "converters/foreign/export.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "checker/collector.h"
#include "converters/foreign/unused.h"
#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/system/forget_pages.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::foreign {
namespace {

constexpr std::string_view refused_op = "refused ";

checker::InferredModel infer(const ir::Model& model, const spec::OpTable& table, wire::ExternalData& data) {
  checker::InferenceOptions options;
  options.assume_defaults = true;
  options.external_bytes = [&data](const ir::Tensor& tensor) { return data.bytes(tensor); };
  checker::Collector collector;
  return checker::infer_types(model, table, options, collector);
}

/// Integers and booleans that inference knows, as they lie in raw_data.
std::optional<std::string> bytes_of_known(const checker::Constant& known) {
  if (!is_integer(known.type) && known.type != ElementType::boolean) return std::nullopt;
  const auto values = known.constants();
  const auto size = packed_size(known.type, static_cast<std::int64_t>(known.elements.size()));
  if (!values || !size) return std::nullopt;
  std::string bytes(*size, '\0');
  encode_integers(known.type, *values, std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
  return bytes;
}

/// A value with more elements than 63 bits count: no framework holds it, and strides could not be computed. Empty axes count as one element.
std::optional<Error> too_large_value(const ir::Model& model, const checker::InferredModel& inferred) {
  for (const auto& scope : ir::graph_scopes(model)) {
    const ir::Graph& graph = *scope->graph;
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
      const checker::ValueInfo* known = inferred.find(graph, ir::ValueId{static_cast<std::uint32_t>(v)});
      if (!known || !known->type.is_tensor() || !known->type.shape) continue;
      std::vector<std::int64_t> sizes;
      for (const Dim dim : *known->type.shape)
        if (dim.is_constant()) sizes.push_back(std::max<std::int64_t>(dim.constant(), 1));
      if (!checked_element_count(sizes))
        return make_error("not-supported", fmt::format("value {} has more elements than an int64 can count",
                                                       quote(graph.values[v].name.view())));
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> refusal_of(const Node& node) {
  if (!node.op.starts_with(refused_op)) return std::nullopt;
  std::size_t index = 0;
  std::from_chars(node.op.data() + refused_op.size(), node.op.data() + node.op.size(), index);
  return index;
}

void collect_refused(const Graph& graph, std::vector<std::size_t>& found) {
  for (const Node& node : graph.nodes) {
    if (const auto index = refusal_of(node)) found.push_back(*index);
    for (const Argument& argument : node.arguments)
      if (const auto* body = argument.as<std::unique_ptr<Graph>>()) collect_refused(**body, found);
  }
}

}  // namespace

void encode_integers(ElementType elem, std::span<const std::int64_t> values, std::span<std::byte> bytes) {
  if (elem != ElementType::boolean) return encode(elem, values, bytes);
  std::transform(values.begin(), values.end(), bytes.begin(),
                 [](std::int64_t value) { return value != 0 ? std::byte{1} : std::byte{0}; });
}

Exporter::Exporter(const ir::Model& model, const Writers& writers, std::string_view framework, const NodePlaces* places,
                   Trace* trace)
    : source_(model),
      writers_(writers),
      places_(places),
      trace_(trace),
      data_(model.path),
      inferred_(infer(model, table_, data_)) {
  model_.framework = framework;
  for (const auto& scope : ir::graph_scopes(model))
    for (const ir::Value& value : scope->graph->values) names_.insert(value.name.view());
}

Result<Model> Exporter::run(std::vector<Diagnostic>& findings) {
  if (const auto fault = too_large_value(source_, inferred_)) return *fault;
  WriteFrame frame;
  model_.graph = write_graph(frame, *source_.graph);
  if (fault_) return *fault_;
  std::vector<std::size_t> refused;
  collect_refused(model_.graph, refused);
  if (!refused.empty()) {
    if (trace_) add_results(model_.graph, *trace_);
    std::sort(refused.begin(), refused.end());
    Refusals refusals;
    for (const std::size_t index : refused) refusals.add(refusals_[index]);
    std::vector<Diagnostic> found = refusals.findings();
    std::move(found.begin(), found.end(), std::back_inserter(findings));
    return make_error("unsupported-operator",
                      fmt::format("{} cannot be expressed in {}", refusals.counted_operators(), model_.framework));
  }
  for (const auto& file : source_.files) model_.files.push_back(file);
  for (const auto& file : data_.files()) model_.files.push_back(file);
  return std::move(model_);
}

Graph Exporter::write_graph(WriteFrame& frame, const ir::Graph& source) {
  Graph graph;
  graph.name = source.name.view();
  frame.source = &source;
  frame.uses.emplace(source);
  frame.graph = &graph;
  frame.values.resize(source.values.size(), ValueId::none);
  add_initializers(frame);
  add_inputs(frame);
  for (std::size_t n = 0; n < source.nodes.size() && !fault_; ++n) write_node(frame, n);
  add_outputs(frame);
  declare_types(frame);
  remove_unused(graph);
  frame.graph = nullptr;
  return graph;
}

void Exporter::add_inputs(WriteFrame& frame) {
  for (const ir::ValueInfo& input : frame.source->inputs) {
    ValueId& value = frame.values[index_of(input.value)];
    if (value != ValueId::none) continue;  // an initializer
    const checker::ValueInfo* known = known_of(frame, input.value);
    value = new_value(frame, frame.source->name_of(input.value), known ? known->type : Type());
    frame.graph->inputs.push_back(value);
  }
}

void Exporter::add_initializers(WriteFrame& frame) {
  for (const ir::Tensor& tensor : frame.source->initializers) {
    const ir::ValueId id = frame.source->find(tensor.name.view());
    const auto bytes = bytes_of(tensor);
    if (!bytes || id == ir::ValueId::none) continue;
    frame.values[index_of(id)] =
        add_tensor(frame, tensor.name.view(), ir::element_type_of(tensor), tensor.dims, *bytes);
  }
}

std::optional<std::span<const std::byte>> Exporter::bytes_of(const ir::Tensor& tensor) {
  const auto expected = ir::expected_bytes(tensor);
  std::span<const std::byte> outside;
  if (tensor.is_external()) {
    auto bytes = data_.bytes(tensor);
    if (!bytes) fault_ = bytes.error();
    if (!bytes) return std::nullopt;
    outside = *bytes;
  }
  if (expected && tensor.raw_data.present() && tensor.raw_data.size() == *expected)
    return std::as_bytes(std::span(tensor.raw_data.view()));
  if (expected && tensor.is_external() && outside.size() >= *expected) return outside.first(*expected);
  auto reader = ir::ElementReader::open(tensor);
  if (!expected || !reader) {
    Error error = make_error("not-supported",
                             fmt::format("the elements of tensor {} cannot be written", quote(tensor.name.view())));
    fault_ = std::move(error);
    return std::nullopt;
  }
  constexpr std::size_t group = 128;  // eight elements of the longest type: only whole groups are read
  std::string raw(*expected + group, '\0');
  std::span<std::byte> left = std::as_writable_bytes(std::span(raw.data(), raw.size()));
  while (const std::size_t written = reader->read_raw(left)) left = left.subspan(written);
  raw.resize(*expected);
  return std::as_bytes(std::span(model_.strings->keep(raw).view()));
}

const checker::ValueInfo* Exporter::known_of(const WriteFrame& frame, ir::ValueId id) const {
  return id == ir::ValueId::none ? nullptr : inferred_.find(*frame.source, id);
}

Exporter::Owner Exporter::owner_of(const WriteFrame& frame, ir::ValueId id) {
  if (id == ir::ValueId::none) return {};
  const std::string_view name = frame.source->name_of(id);
  const WriteFrame* at = &frame;
  for (; at->outer; at = at->outer) {
    if (id != ir::ValueId::none && at->uses->producer(id) >= 0) break;
    if (id != ir::ValueId::none && at->values[index_of(id)] != ValueId::none && !at->captured.contains(name)) break;
    id = at->outer->source->find(name);
  }
  return {at, id};
}

const checker::ValueInfo* Exporter::known_of_input(const WriteFrame& frame, ir::ValueId id) const {
  const Owner owner = owner_of(frame, id);
  return owner.frame ? known_of(*owner.frame, owner.id) : nullptr;
}

std::optional<Tensor> Exporter::stored(WriteFrame& frame, ir::ValueId id) {
  const Owner owner = owner_of(frame, id);
  if (owner.id == ir::ValueId::none) return std::nullopt;
  const ValueId there = owner.frame->values[index_of(owner.id)];
  const auto& tensors = owner.frame->graph->tensors;
  const auto found = std::lower_bound(tensors.begin(), tensors.end(), there,
                                      [](const Tensor& t, ValueId v) { return index_of(t.value) < index_of(v); });
  if (there == ValueId::none || found == tensors.end() || found->value != there) return std::nullopt;
  Tensor tensor = *found;
  if (owner.frame != &frame) tensor.value = value(frame, id);
  return tensor;
}

namespace {

std::pair<ValueId, std::size_t> first_with_size(const WriteFrame& frame, Dim size) {
  for (std::size_t v = 0; v < frame.types.size(); ++v) {
    const Type& type = frame.types[v];
    if (!type.is_tensor() || !type.shape) continue;
    const auto axis = std::find(type.shape->begin(), type.shape->end(), size);
    if (axis != type.shape->end())
      return {ValueId{static_cast<std::uint32_t>(v)}, static_cast<std::size_t>(axis - type.shape->begin())};
  }
  return {ValueId::none, 0};
}

}  // namespace

bool has_size(const WriteFrame& frame, Dim size) {
  for (const WriteFrame* at = &frame; at; at = at->outer)
    if (first_with_size(*at, size).first != ValueId::none) return true;
  return false;
}

std::pair<ValueId, std::size_t> Exporter::with_size(WriteFrame& frame, Dim size) {
  if (const auto found = first_with_size(frame, size); found.first != ValueId::none || !frame.outer) return found;
  const auto [outer, axis] = with_size(*frame.outer, size);
  return {outer == ValueId::none ? outer : capture(frame, outer, frame.outer->graph->name_of(outer)), axis};
}

std::string_view Exporter::unique(std::string_view stem) {
  if (stem.empty()) stem = "value";
  std::string name(stem);
  while (names_.contains(name)) {
    const auto [used, is_new] = stems_.emplace(stem, 0);
    name = fmt::format("{}_{}", stem, ++used->second);
  }
  const std::string_view kept = model_.strings->keep(name).view();
  names_.insert(kept);
  return kept;
}

ValueId Exporter::new_value(WriteFrame& frame, std::string_view name, Type type) {
  frame.types.push_back(std::move(type));
  return frame.graph->add_value(name);
}

ValueId Exporter::add_tensor(WriteFrame& frame, std::string_view name, ElementType elem, std::vector<std::int64_t> dims,
                             std::span<const std::byte> bytes) {
  const ValueId value = new_value(frame, name, Type::tensor(elem, Shape(dims.begin(), dims.end())));
  frame.graph->tensors.push_back({.value = value, .name = name, .elem = elem, .dims = std::move(dims), .bytes = bytes});
  return value;
}

ValueId Exporter::value(WriteFrame& frame, ir::ValueId id) {
  if (id == ir::ValueId::none) return ValueId::none;
  ValueId& here = frame.values[index_of(id)];
  if (here == ValueId::none && frame.outer) here = captured(frame, frame.source->name_of(id));
  return here;
}

ValueId Exporter::captured(WriteFrame& frame, std::string_view name) {
  if (!frame.outer) return ValueId::none;
  if (const auto known = frame.captured.find(name); known != frame.captured.end()) return known->second;
  const ir::ValueId there = frame.outer->source->find(name);
  const ValueId outer = there == ir::ValueId::none ? captured(*frame.outer, name) : value(*frame.outer, there);
  return outer == ValueId::none ? outer : capture(frame, outer, name);
}

ValueId Exporter::capture(WriteFrame& frame, ValueId outer, std::string_view name) {
  if (frame.owns_constants) {
    const auto& tensors = frame.outer->graph->tensors;
    const auto stored =
        std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& tensor) { return tensor.value == outer; });
    if (stored != tensors.end() && stored->order.empty()) {
      const ValueId own = add_tensor(frame, unique(name), stored->elem, stored->dims, stored->bytes);
      frame.captured.emplace(name, own);
      return own;
    }
  }
  const ValueId here = new_value(frame, unique(name), frame.outer->types[index_of(outer)]);
  frame.graph->inputs.push_back(here);
  frame.captures.push_back(outer);
  frame.captured.emplace(name, here);
  return here;
}

void Exporter::refuse(std::string reason, std::string help) {
  if (refused_) return;  // the first reason of a node counts
  refused_ = refusals_.size();
  const ir::Node& in_main = source_.graph->nodes[node_index_];
  refusals_.push_back({.op = ir::qualified_op(*node_),
                       .reason = std::move(reason),
                       .help = std::move(help),
                       .node_name = std::string(node_->name.view()),
                       .source = {},
                       .index = places_ ? places_->of(*source_.graph, in_main) : std::optional(node_index_)});
}

void Exporter::forget(std::span<const std::byte> bytes) const {
  const std::string_view range(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& file : source_.files) forget_pages(*file, range);
  for (const auto& file : data_.files()) forget_pages(*file, range);
}

/// Results of which inference knows every element are constants.
bool Exporter::write_known(WriteFrame& frame, const ir::Node& node) {
  std::vector<std::pair<const checker::Constant*, std::string>> results;
  for (const ir::ValueId id : node.outputs) {
    const checker::ValueInfo* info = known_of(frame, id);
    auto bytes = info && info->value ? bytes_of_known(*info->value) : std::nullopt;
    if (!bytes) return false;
    results.emplace_back(info->value.get(), *std::move(bytes));
  }
  for (std::size_t o = 0; o < results.size(); ++o) {
    const auto& [known, bytes] = results[o];
    frame.values[index_of(node.outputs[o])] =
        add_tensor(frame, frame.source->name_of(node.outputs[o]), known->type, known->shape,
                   std::as_bytes(std::span(model_.strings->keep(bytes).view())));
  }
  return !results.empty();
}

std::size_t Exporter::add_entry(const WriteFrame& frame, const ir::Node& node) {
  if (!trace_) return Node::no_origin;
  std::string name(node.name.view());
  for (const ir::ValueId output : node.outputs)
    if (name.empty() && output != ir::ValueId::none) name = frame.source->name_of(output);
  trace_->push_back({.from = {ir::qualified_op(node), std::move(name)}, .to = {}, .refusal = {}});
  return trace_->size() - 1;
}

void Exporter::write_node(WriteFrame& frame, std::size_t index) {
  const ir::Node& node = frame.source->nodes[index];
  const std::size_t entry = add_entry(frame, node);
  if (write_known(frame, node)) return;
  const ir::Node* const outer_node = std::exchange(node_, &node);
  const std::size_t outer_index = std::exchange(node_index_, frame.outer ? node_index_ : index);
  const std::size_t outer_first = std::exchange(first_value_, frame.graph->values.size());
  const auto outer_refused = std::exchange(refused_, std::nullopt);
  const std::size_t nodes = frame.graph->nodes.size();
  const std::string op = ir::qualified_op(node);
  WriteCall call(*this, frame, node);
  if (const WriteNode condition = writers_.condition()) condition(call);
  if (const WriteNode write = writers_.find(op)) {
    if (!refused_) write(call);
  } else if (const Writers::Refusal* known = writers_.refusal(op)) {
    refuse(std::string(known->reason), std::string(known->help));
  } else {
    refuse(fmt::format("no mapping to {} is known for this operator", model_.framework), {});
  }
  if (refused_ && trace_) (*trace_)[entry].refusal = refusals_[*refused_].reason;
  if (refused_) stand_in(frame, node, nodes);
  for (std::size_t n = nodes; n < frame.graph->nodes.size(); ++n) frame.graph->nodes[n].origin = entry;
  node_ = outer_node;
  node_index_ = outer_index;
  first_value_ = outer_first;
  refused_ = outer_refused;
}

/// A node in place of a refused one, so that the nodes behind it can be looked at.
void Exporter::stand_in(WriteFrame& frame, const ir::Node& node, std::size_t nodes) {
  frame.graph->nodes.resize(nodes);
  Node& node_there = frame.graph->nodes.emplace_back();
  node_there.op = model_.strings->keep(fmt::format("{}{}", refused_op, *refused_)).view();
  for (const ir::ValueId id : node.inputs) node_there.arguments.emplace_back().content = value(frame, id);
  for (const ir::ValueId id : node.outputs) {
    if (id == ir::ValueId::none) continue;
    const checker::ValueInfo* known = known_of(frame, id);
    const ValueId made = new_value(frame, frame.source->name_of(id), known ? known->type : Type());
    frame.graph->nodes.back().outputs.push_back(made);
    frame.values[index_of(id)] = made;
  }
}

void Exporter::give_results(WriteFrame& frame, const ir::Node& node, const std::vector<ValueId>& values) {
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    const ir::ValueId id = node.outputs[o];
    if (id == ir::ValueId::none) continue;
    if (o >= values.size() || values[o] == ValueId::none) {
      refuse(fmt::format("its output {} is not computed there", o), {});
      continue;
    }
    frame.values[index_of(id)] = values[o];
    const bool is_new = index_of(values[o]) >= first_value_;
    const bool is_first = std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(o), values[o]) ==
                          values.begin() + static_cast<std::ptrdiff_t>(o);
    if (!is_new || !is_first) continue;
    frame.graph->values[index_of(values[o])].name = frame.source->name_of(id);
    if (const checker::ValueInfo* known = known_of(frame, id); known && !known->type.is_unknown())
      frame.types[index_of(values[o])] = known->type;
  }
}

void Exporter::add_outputs(WriteFrame& frame) {
  for (const ir::ValueInfo& output : frame.source->outputs) {
    const ValueId computed = value(frame, output.value);
    if (computed == ValueId::none && !fault_) {
      fault_ = make_error("malformed-model",
                          fmt::format("nothing computes output {}", quote(frame.source->name_of(output.value))));
    }
    frame.graph->outputs.push_back({computed, frame.source->name_of(output.value)});
  }
}

TensorType Exporter::declared(const Type& type) {
  TensorType declared{.elem = type.elem, .shape = {}, .strides = {}};
  if (!type.shape) return declared;
  declared.shape.emplace();
  for (const Dim dim : *type.shape) {
    Size& size = declared.shape->emplace_back();
    if (dim.is_constant())
      size.constant = dim.constant();
    else if (!dim.is_unknown())
      size.expression = model_.strings->keep(inferred_.dims.to_string(dim)).view();
  }
  return declared;
}

void Exporter::declare_types(WriteFrame& frame) {
  for (std::size_t v = 0; v < frame.types.size(); ++v)
    if (frame.types[v].is_tensor()) frame.graph->values[v].type = declared(frame.types[v]);
}

Result<Model> export_model(const ir::Model& model, const Writers& writers, std::string_view framework,
                           std::vector<Diagnostic>& findings, const NodePlaces* places, Trace* trace) {
  if (!model.graph) return make_error("no-graph", "the model has no graph to write");
  return Exporter(model, writers, framework, places, trace).run(findings);
}

}  // namespace onnxkit::foreign
