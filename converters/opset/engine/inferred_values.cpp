#include "converters/opset/engine/inferred_values.h"
#include "libonnxkit/ir/scope.h"

#include <algorithm>

#include "checker/infer/constant_tensor.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::opset {
namespace {

/// Steps reckon with sizes; with what a file may state as one they would leave 64 bits. A larger one counts as unknown, which is never wrong.
constexpr std::int64_t largest_size = std::int64_t{1} << 32;

bool is_too_large(checker::Dim size) { return size.is_constant() && size.constant() > largest_size; }

bool has_too_large(const checker::Type& type) {
  if (type.shape && std::any_of(type.shape->begin(), type.shape->end(), is_too_large)) return true;
  return type.element && has_too_large(*type.element);
}

void forget_too_large(checker::Type& type) {
  if (!has_too_large(type)) return;
  if (type.shape) std::replace_if(type.shape->begin(), type.shape->end(), is_too_large, checker::Dim());
  if (!type.element) return;
  checker::Type element = *type.element;
  forget_too_large(element);
  type.element = std::make_shared<const checker::Type>(std::move(element));
}

}  // namespace

InferredValues::InferredValues(const ir::Model& model, const spec::OpTable& table, ir::ExternalBytes external)
    : model_(model), table_(table), external_(std::move(external)) {}

void InferredValues::infer() {
  checker::Collector collector;
  checker::InferenceOptions options;
  options.external_bytes = external_;
  options.function_info = true;
  generations_.push_back(
      std::make_unique<checker::InferredModel>(checker::infer_types(model_, table_, options, collector)));
  is_current_ = true;
}

checker::ValueInfo* InferredValues::look_up(const ir::Graph& graph, ValueId id) const {
  for (const auto& generation : generations_) {
    const auto inferred = generation->graphs.find(&graph);
    if (inferred != generation->graphs.end() && ir::index_of(id) < inferred->second.values.size())
      return &inferred->second.values[ir::index_of(id)];
  }
  return nullptr;
}

checker::ValueInfo* InferredValues::known(const ir::Graph& graph, ValueId id, bool may_infer) {
  if (checker::ValueInfo* inferred = look_up(graph, id)) return inferred;
  if (is_current_ || !may_infer) return nullptr;
  infer();
  return look_up(graph, id);
}

const ir::Uses& InferredValues::uses_of(const ir::Graph& graph) {
  return uses_.try_emplace(&graph, graph).first->second;
}

/// From IR version 4 on a caller may give an initializer that is also an input another content.
bool InferredValues::is_replaceable(const ir::Graph& graph, ValueId id) const {
  if (&graph != model_.graph.get() || model_.ir_version.value_or(0) < 4) return false;
  return std::any_of(graph.inputs.begin(), graph.inputs.end(),
                     [id](const ir::ValueInfo& input) { return input.value == id; });
}

const ir::Tensor* InferredValues::stored_in(const Scope& scope, ValueId id) {
  const ir::Graph& graph = *scope.graph;
  const ir::Uses& uses = uses_of(graph);
  if (const ir::Tensor* tensor = uses.initializers().find(id); tensor && !is_replaceable(graph, id)) return tensor;
  const std::int32_t producer = ir::index_of(id) < uses.producers().size() ? uses.producer(id) : -1;
  if (producer < 0) return nullptr;
  const ir::Node& node = graph.nodes[static_cast<std::size_t>(producer)];
  if (node.op_type != "Constant" || !ir::canonical_domain(node.domain).empty()) return nullptr;
  const ir::Attribute* value = node.find_attribute("value");
  return value && value->ref_attr_name.empty() ? value->tensor() : nullptr;
}

const ir::Tensor* InferredValues::stored(const Scope& scope, ValueId id) {
  const std::string_view name = scope.graph->name_of(id);
  for (const Scope* at = &scope; at; at = at->parent) {
    const ValueId here = at == &scope ? id : at->graph->find(name);
    if (here == ValueId::none) continue;
    if (const ir::Tensor* tensor = stored_in(*at, here)) return tensor;
  }
  return nullptr;
}

bool InferredValues::is_made(const ir::Graph& graph, ValueId id) const {
  if (generations_.empty()) return false;
  const auto first = generations_.front()->graphs.find(&graph);
  return first != generations_.front()->graphs.end() && ir::index_of(id) >= first->second.values.size();
}

const checker::Type* InferredValues::type(const Scope& scope, ValueId id, bool may_infer) {
  if (id == ValueId::none) return nullptr;
  if (const ir::Tensor* tensor = stored(scope, id)) {
    const auto [entry, is_new] = stored_types_.try_emplace(tensor);
    if (is_new) {
      checker::Shape shape(tensor->dims.begin(), tensor->dims.end());
      entry->second = checker::Type::tensor(ir::element_type_of(*tensor), std::move(shape));
      forget_too_large(entry->second);
    }
    return &entry->second;
  }
  const std::string_view name = scope.graph->name_of(id);
  for (const Scope* at = &scope; at; at = at->parent) {
    const ValueId here = at == &scope ? id : at->graph->find(name);
    if (here == ValueId::none) continue;
    checker::ValueInfo* inferred = known(*at->graph, here, may_infer);
    if (!inferred || inferred->type.is_unknown()) continue;
    missed_ = missed_ || (inferred->type.is_tensor() && !inferred->type.shape && is_made(*scope.graph, id));
    forget_too_large(inferred->type);
    return &inferred->type;
  }
  return nullptr;
}

const void* InferredValues::size_origin(const Scope& scope, ValueId id) {
  const checker::Type* found = type(scope, id, true);
  for (const auto& generation : generations_) {
    for (const Scope* at = &scope; found && at; at = at->parent) {
      const auto inferred = generation->graphs.find(at->graph);
      if (inferred == generation->graphs.end()) continue;
      const ValueId here = at == &scope ? id : at->graph->find(scope.graph->name_of(id));
      if (here == ValueId::none || ir::index_of(here) >= inferred->second.values.size()) continue;
      if (&inferred->second.values[ir::index_of(here)].type == found) return generation.get();
    }
  }
  missed_ = missed_ || is_made(*scope.graph, id);
  return nullptr;
}

std::optional<checker::Constant> InferredValues::constant(const Scope& scope, ValueId id) {
  if (id == ValueId::none) return std::nullopt;
  if (const ir::Tensor* tensor = stored(scope, id)) return checker::read_small_tensor(*tensor, external_);
  const std::string_view name = scope.graph->name_of(id);
  for (const Scope* at = &scope; at; at = at->parent) {
    const ValueId here = at == &scope ? id : at->graph->find(name);
    if (here == ValueId::none) continue;
    const checker::ValueInfo* inferred = known(*at->graph, here, true);
    if (!inferred) continue;
    if (inferred->value) {
      for (const checker::Scalar& element : inferred->value->elements) {
        if (!element.constant_real()) return std::nullopt;
      }
      return *inferred->value;
    }
    if (!inferred->type.is_unknown()) return std::nullopt;
  }
  return std::nullopt;
}

bool InferredValues::is_used(const ir::Graph& graph, ValueId id) { return uses_of(graph).is_used(id); }

void InferredValues::model_changed() {
  is_current_ = false;
  uses_.clear();
  stored_types_.clear();
}

}  // namespace onnxkit::opset
