#include "checker/infer/why.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/core.h>

#include "checker/infer/infer_model.h"
#include "checker/infer/infer_registry.h"
#include "libonnxkit/base/text/nearest.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/ir/order.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/spec/function_index.h"
#include "onnxkit/infer.h"

namespace onnxkit::checker {
namespace {

using ir::Dim;
using ir::GraphScope;
using ir::index_of;
using ir::SymbolOrigin;
using ir::ValueId;

/// A value in its graph.
struct Spot {
  const GraphScope* scope = nullptr;
  ValueId id = ValueId::none;

  std::string_view name() const { return scope->graph->name_of(id); }
};

/// The graphs of a model with what inference knows of their values.
class Facts {
 public:
  Facts(const ir::Model& model, const checker::InferredModel& inferred, const spec::OpTable& table)
      : inferred_(inferred), table_(table), scopes_(ir::graph_scopes(model)) {
    for (const auto& scope : scopes_) {
      if (!inferred.graphs.contains(scope->graph)) continue;
      of_graph_.emplace(scope->graph, scope.get());
      producers_.emplace(scope->graph, ir::producers(*scope->graph));
    }
  }

  const ir::DimPool& dims() const { return inferred_.dims; }
  /// Null for graphs that were not inferred.
  const GraphScope* scope_of(const ir::Graph& graph) const {
    const auto found = of_graph_.find(&graph);
    return found == of_graph_.end() ? nullptr : found->second;
  }
  template <class Visit>
  void for_each_scope(Visit&& visit) const {
    for (const auto& scope : scopes_) {
      if (of_graph_.contains(scope->graph)) visit(*scope);
    }
  }

  const checker::ValueInfo* of(Spot at) const { return inferred_.find(*at.scope->graph, at.id); }
  Type type(Spot at) const {
    const checker::ValueInfo* info = of(at);
    return info ? info->type : Type();
  }
  bool from_data(Spot at) const {
    const checker::ValueInfo* info = of(at);
    return info && info->from_data;
  }
  const Constant* content(Spot at) const {
    const checker::ValueInfo* info = of(at);
    return info ? info->value.get() : nullptr;
  }
  const checker::Loss* loss(Spot at) const {
    const auto graph = inferred_.graphs.find(at.scope->graph);
    if (graph == inferred_.graphs.end()) return nullptr;
    const auto found = graph->second.losses.find(static_cast<std::uint32_t>(at.id));
    return found == graph->second.losses.end() ? nullptr : &found->second;
  }
  std::optional<std::size_t> content_input(Spot at) const {
    const auto graph = inferred_.graphs.find(at.scope->graph);
    if (graph == inferred_.graphs.end()) return std::nullopt;
    const auto found = graph->second.content_inputs.find(static_cast<std::uint32_t>(at.id));
    return found == graph->second.content_inputs.end() ? std::nullopt : std::optional(found->second);
  }

  std::optional<std::size_t> producer(Spot at) const {
    const auto found = producers_.find(at.scope->graph);
    const std::int32_t node = found == producers_.end() ? -1 : found->second[index_of(at.id)];
    return node < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(node));
  }
  const ir::Node* node(Spot at) const {
    const auto index = producer(at);
    return index ? &at.scope->graph->nodes[*index] : nullptr;
  }
  const InferTraits& traits(const ir::Node& node, const GraphScope& scope) const {
    return traits_of(node, scope.opsets, table_);
  }
  bool is_input(Spot at) const {
    const auto& inputs = at.scope->graph->inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](const ir::ValueInfo& info) { return info.value == at.id; });
  }
  bool is_initializer(Spot at) const {
    const auto& all = at.scope->graph->initializers;
    return std::any_of(all.begin(), all.end(), [&](const ir::Tensor& tensor) { return tensor.name == at.name(); });
  }

  /// What a name means in a graph: a value of its own or of one around it.
  Spot meant(const GraphScope& scope, ValueId id) const {
    const Spot own{&scope, id};
    if (producer(own) || !type(own).is_unknown()) return own;
    for (const GraphScope* outer = scope.parent; outer; outer = outer->parent) {
      const ValueId outer_id = outer->graph->find(own.name());
      if (outer_id != ValueId::none && inferred_.graphs.contains(outer->graph)) return {outer, outer_id};
    }
    return own;
  }
  /// Inputs of the node that writes a value; of a body's input, those of the node that runs the body. Omitted ones have no id.
  std::vector<Spot> sources(Spot at) const {
    const GraphScope* scope = at.scope;
    const ir::Node* from = node(at);
    if (!from && scope->parent && is_input(at)) {
      from = &scope->parent->graph->nodes[scope->parent_node];
      scope = scope->parent;
    }
    std::vector<Spot> found;
    if (!from) return found;
    for (const ValueId id : from->inputs) found.push_back(id == ValueId::none ? Spot() : meant(*scope, id));
    return found;
  }
  /// What the bodies of the node that writes a value give for it.
  std::vector<Spot> body_outputs(Spot at) const {
    std::vector<Spot> found;
    const ir::Node* from = node(at);
    if (!from) return found;
    const auto location = std::find(from->outputs.begin(), from->outputs.end(), at.id) - from->outputs.begin();
    const std::size_t index = static_cast<std::size_t>(location) + traits(*from, *at.scope).own_body_outputs;
    ir::for_each_subgraph(*from, [&](const ir::Graph& body, std::size_t) {
      const GraphScope* scope = scope_of(body);
      const ValueId id = index < body.outputs.size() ? body.outputs[index].value : ValueId::none;
      if (scope && id != ValueId::none) found.push_back(meant(*scope, id));
    });
    return found;
  }

 private:
  const checker::InferredModel& inferred_;
  const spec::OpTable& table_;
  std::vector<std::unique_ptr<GraphScope>> scopes_;
  std::unordered_map<const ir::Graph*, const GraphScope*> of_graph_;
  std::unordered_map<const ir::Graph*, std::vector<std::int32_t>> producers_;
};

std::string node_text(const ir::Graph& graph, std::size_t node) {
  const ir::Node& at = graph.nodes[node];
  const std::string name = at.name.empty() ? std::string() : " " + quote(at.name);
  return fmt::format("node {} ({}{})", node, ir::qualified_op(at), name);
}

/// The tensor whose sizes a type has: that of the elements of a sequence or optional.
const Type& sized(const Type& type) {
  const Type* inner = &type;
  while (!inner->shape && inner->element) inner = inner->element.get();
  return *inner;
}

bool holds(const ir::DimPool& dims, Dim size, std::size_t symbol) {
  const std::vector<std::size_t> symbols = dims.symbols_in(size);
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

std::optional<std::size_t> symbol_of_origin(const ir::DimPool& dims, Dim size, SymbolOrigin origin) {
  for (const std::size_t symbol : dims.symbols_in(size)) {
    if (dims.symbol(symbol).origin == origin) return symbol;
  }
  return std::nullopt;
}

/// A size that a trace follows.
struct OpenSize {
  std::size_t axis;
  std::size_t symbol;
};

std::optional<OpenSize> open_size(const ir::DimPool& dims, const Type& type) {
  const Type& tensor = sized(type);
  for (const SymbolOrigin origin : {SymbolOrigin::lost, SymbolOrigin::data_dependent}) {
    for (std::size_t axis = 0; tensor.shape && axis < tensor.shape->size(); ++axis) {
      if (const auto symbol = symbol_of_origin(dims, (*tensor.shape)[axis], origin)) return OpenSize{axis, *symbol};
    }
  }
  return std::nullopt;
}

std::optional<OpenSize> size_with(const ir::DimPool& dims, const Type& type, std::size_t symbol) {
  const Type& tensor = sized(type);
  for (std::size_t axis = 0; tensor.shape && axis < tensor.shape->size(); ++axis) {
    if (holds(dims, (*tensor.shape)[axis], symbol)) return OpenSize{axis, symbol};
  }
  return std::nullopt;
}

bool content_holds(const ir::DimPool& dims, const Constant* value, std::size_t symbol) {
  return value && std::any_of(value->elements.begin(), value->elements.end(),
                              [&](const checker::Scalar& element) { return holds(dims, element.numerator(), symbol); });
}

std::optional<std::size_t> open_symbol(const ir::DimPool& dims, const Constant* value) {
  for (const SymbolOrigin origin : {SymbolOrigin::lost, SymbolOrigin::data_dependent}) {
    for (std::size_t i = 0; value && i < value->elements.size(); ++i) {
      if (const auto symbol = symbol_of_origin(dims, value->elements[i].numerator(), origin)) return symbol;
    }
  }
  return std::nullopt;
}

/// Elements, when all sizes are numbers.
std::optional<std::uint64_t> fixed_count(const Type& type) {
  if (!type.is_tensor() || !type.shape) return std::nullopt;
  std::uint64_t count = 1;
  for (const Dim size : *type.shape) {
    if (!size.is_constant() || size.constant() < 0) return std::nullopt;
    const auto factor = static_cast<std::uint64_t>(size.constant());
    if (factor != 0 && count > UINT64_MAX / factor) return UINT64_MAX;
    count *= factor;
  }
  return count;
}

bool is_small(const Type& type) { return fixed_count(type).value_or(UINT64_MAX) <= Constant::max_elements; }

/// What is asked of a value on the way: its shape, or one symbol in it; its content, or one symbol in that.
struct Question {
  Spot at;
  bool of_content = false;
  std::optional<std::size_t> symbol = {};
};

class Trace {
 public:
  Trace(const ir::Model& model, const Facts& info, const InferOptions& options)
      : info_(info),
        dims_(info.dims()),
        functions_(model),
        defaults_hold_(options.assume_defaults || model.ir_version.value_or(0) < 4) {}

  std::vector<WhyStep> from(Spot start) {
    std::vector<WhyStep> steps;
    std::set<std::tuple<const GraphScope*, ValueId, bool>> seen;
    std::optional<Question> now = Question{.at = start};
    while (now && seen.insert({now->at.scope, now->at.id, now->of_content}).second) {
      WhyStep step;
      step.graph = ir::path_text(now->at.scope->path);
      step.value = now->at.name();
      step.type = to_string(info_.type(now->at), dims_);
      if (const auto node = info_.producer(now->at)) step.node = node_text(*now->at.scope->graph, *node);
      now = now->of_content ? ask_content(*now, step.reason) : ask_shape(*now, step.reason);
      steps.push_back(std::move(step));
    }
    return steps;
  }

 private:
  std::optional<Question> ask_shape(const Question& now, std::string& reason) {
    const Type type = info_.type(now.at);
    const auto open = now.symbol ? size_with(dims_, type, *now.symbol) : open_size(dims_, type);
    if (open) return ask_size(now.at, *open, reason);
    if (is_fully_known(type, dims_)) {
      reason = "fully known";
      return std::nullopt;
    }
    return ask_rank(now.at, reason);
  }

  std::optional<Question> ask_size(Spot at, OpenSize open, std::string& reason) {
    if (const auto source = source_of(at, open.symbol, false)) {
      reason = fmt::format("the size of axis {} comes from {}{}", open.axis,
                           source->of_content ? "the content of " : "", quote(source->at.name()));
      return source;
    }
    if (info_.loss(at)) return ask_rank(at, reason);
    reason = dims_.symbol(open.symbol).reason;
    if (!reason.empty()) return blame_content(at, reason);
    for (const Spot source : info_.sources(at)) {
      if (source.id == ValueId::none || !open_size(dims_, info_.type(source))) continue;
      reason =
          fmt::format("what is known about {} does not determine the size of axis {}", open.axis, quote(source.name()));
      return Question{.at = source};
    }
    reason = "the operator does not determine the size from what is known";
    return blame_content(at, reason);
  }

  std::optional<Question> ask_rank(Spot at, std::string& reason) {
    const checker::Loss* loss = info_.loss(at);
    if (!loss) {
      const bool in_sequence = info_.type(at).kind == Type::Kind::sequence && sized(info_.type(at)).shape;
      reason = !info_.node(at) ? "the file does not declare it"
               : in_sequence   ? "the elements of the sequence may differ in size"
                               : "nothing is known about what defines it";
      return std::nullopt;
    }
    reason = loss->reason;
    if (const auto content = blame_content(at, reason)) return content;
    std::optional<Spot> cause;
    if (loss->cause != ValueId::none) cause = info_.meant(*at.scope, loss->cause);
    for (const Spot output : info_.body_outputs(at)) {
      const Type type = info_.type(output);
      if (!type.is_unknown() && sized(type).shape) continue;
      cause = output;
      reason.clear();
      break;
    }
    if (!cause) {
      if (reason.empty()) reason = "the operator does not determine the shape from what is known";
      return std::nullopt;
    }
    if (reason.empty()) reason = fmt::format("the shape of {} is unknown", quote(cause->name()));
    return Question{.at = *cause};
  }

  /// Goes on to the content that leaves the shape of a value open, if one does.
  std::optional<Question> blame_content(Spot at, std::string& reason) {
    const auto index = info_.content_input(at);
    const std::vector<Spot> sources = info_.sources(at);
    if (!index || *index >= sources.size() || sources[*index].id == ValueId::none) return std::nullopt;
    const Spot source = sources[*index];
    if (is_content_known(source)) return std::nullopt;
    reason += fmt::format(" (content of input {} {})", *index, quote(source.name()));
    return Question{.at = source, .of_content = true};
  }

  std::optional<Question> ask_content(const Question& now, std::string& reason) {
    const auto symbol = now.symbol ? now.symbol : open_symbol(dims_, info_.content(now.at));
    if (symbol) {
      const auto source = source_of(now.at, *symbol, true);
      reason = source ? fmt::format("it is computed from {}{}", source->of_content ? "" : "the sizes of ",
                                    quote(source->at.name()))
                      : dims_.symbol(*symbol).reason;
      return source;
    }
    const ir::Node* node = info_.node(now.at);
    if (!node) {
      reason = why_given_content_is_open(now.at);
      return std::nullopt;
    }
    const std::vector<Spot> sources = info_.sources(now.at);
    if (info_.traits(*node, *now.at.scope).reads_sizes_only && !sources.empty() &&
        sources.front().id != ValueId::none) {
      reason = fmt::format("the shape of {} is unknown", quote(sources.front().name()));
      return Question{.at = sources.front()};
    }
    const auto open = functions_.find(*node) || has_body(*node) ? std::nullopt : open_input(now.at, sources);
    if (open) return ask_content_of_input(now.at, *open, sources[*open], reason);
    reason = fmt::format("content is not tracked through {}", ir::qualified_op(*node));
    return std::nullopt;
  }

  std::optional<Question> ask_content_of_input(Spot at, std::size_t index, Spot source, std::string& reason) {
    const Type type = info_.type(source);
    const std::string input = fmt::format("input {} {}", index, quote(source.name()));
    if (is_small(type)) {
      reason = fmt::format("the content of {} is unknown", input);
      return Question{.at = source, .of_content = true};
    }
    if (info_.from_data(at)) {
      reason = fmt::format("it depends on what the caller passes, through {}", input);
      return std::nullopt;
    }
    if (fixed_count(type)) {
      reason = fmt::format("the content of {} is too large to track", input);
      return std::nullopt;
    }
    reason = fmt::format("the content of {} is not tracked because its size is not fixed", input);
    if (is_fully_known(type, dims_) && !open_size(dims_, type)) return std::nullopt;
    return Question{.at = source};
  }

  /// Input whose content leaves that of an output open: the caller's data first, where that decides it.
  std::optional<std::size_t> open_input(Spot at, const std::vector<Spot>& sources) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources[i].id == ValueId::none || is_content_known(sources[i])) continue;
      if (info_.from_data(sources[i]) == info_.from_data(at)) return i;
      if (!found) found = i;
    }
    return found;
  }

  std::string why_given_content_is_open(Spot at) const {
    const bool is_initializer = info_.is_initializer(at);
    if (!info_.is_input(at)) {
      return is_initializer ? "the content of the initializer is too large to track, or cannot be read"
                            : "it is undefined";
    }
    if (at.scope->parent) return "the content may change in each iteration or call";
    return is_initializer ? "a model input: the caller may replace the default"
                          : "a model input: the caller decides its content";
  }

  bool is_content_known(Spot at) const {
    const Constant* value = info_.content(at);
    if (!value) {
      // Inference reads initializers only where an operator asks.
      return info_.is_initializer(at) && is_small(info_.type(at)) && (defaults_hold_ || !info_.is_input(at));
    }
    if (open_symbol(dims_, value)) return false;
    return std::none_of(value->elements.begin(), value->elements.end(),
                        [](const checker::Scalar& element) { return element.is_unknown(); });
  }

  static bool has_body(const ir::Node& node) {
    bool found = false;
    ir::for_each_subgraph(node, [&](const ir::Graph&, std::size_t) { found = true; });
    return found;
  }

  /// From where a value has a symbol; nothing when its own node made it.
  std::optional<Question> source_of(Spot at, std::size_t symbol, bool content_first) const {
    const std::vector<Spot> inputs = info_.sources(at);
    for (const bool of_content : {content_first, !content_first}) {
      for (const Spot source : inputs) {
        if (source.id == ValueId::none) continue;
        if (has(source, symbol, of_content)) return Question{source, of_content, symbol};
      }
    }
    for (const Spot source : info_.body_outputs(at)) {
      if (has(source, symbol, content_first)) return Question{source, content_first, symbol};
    }
    return std::nullopt;
  }

  bool has(Spot at, std::size_t symbol, bool in_content) const {
    return in_content ? content_holds(dims_, info_.content(at), symbol)
                      : size_with(dims_, info_.type(at), symbol).has_value();
  }

  const Facts& info_;
  const ir::DimPool& dims_;
  spec::FunctionIndex functions_;
  bool defaults_hold_;
};

Error unknown_value(const Facts& info, std::string_view value) {
  std::vector<std::string_view> names;
  info.for_each_scope([&](const GraphScope& scope) {
    for (const ir::Value& known : scope.graph->values) names.push_back(known.name);
  });
  Error error = make_error("unknown-value", fmt::format("the model has no value {}", quote(value)));
  if (const std::string_view close = nearest(value, names); !close.empty())
    error.diagnostic.help = fmt::format("did you mean {}?", close);
  return error;
}

/// A value of the main graph, one that a path and a name tell, or the only one of this name in a subgraph.
Result<Spot> find_value(const ir::Model& model, const Facts& info, std::string_view value) {
  const GraphScope* main = model.graph ? info.scope_of(*model.graph) : nullptr;
  const auto in = [](const GraphScope& scope, std::string_view name) { return Spot{&scope, scope.graph->find(name)}; };
  if (main && in(*main, value).id != ValueId::none) return in(*main, value);
  Spot by_path;
  std::vector<Spot> by_name;
  info.for_each_scope([&](const GraphScope& scope) {
    const std::string path = ir::path_text(scope.path) + " / ";
    // Scopes come before those inside them, whose paths are longer.
    if (value.starts_with(path)) {
      if (const Spot at = in(scope, value.substr(path.size())); at.id != ValueId::none) by_path = at;
    }
    const Spot at = in(scope, value);
    if (at.id != ValueId::none && (info.producer(at) || info.is_input(at))) by_name.push_back(at);
  });
  if (by_path.scope) return info.meant(*by_path.scope, by_path.id);
  if (by_name.empty()) return unknown_value(info, value);
  if (by_name.size() == 1) return by_name.front();
  Error error = make_error("unknown-value", fmt::format("{} graphs have a value {}", by_name.size(), quote(value)));
  error.diagnostic.help =
      fmt::format("name one: {} / {}", ir::path_text(by_name.front().scope->path), by_name.front().name());
  return error;
}

}  // namespace

Result<std::vector<WhyStep>> why_unknown(const ir::Model& model, std::string_view value, const InferOptions& options) {
  Collector collector;
  const auto inferred = infer_model(model, options, collector);
  if (!inferred) return inferred.error();
  const Facts info(model, *inferred, options.context.table());
  const auto start = find_value(model, info, value);
  if (!start) return start.error();
  return Trace(model, info, options).from(*start);
}

}  // namespace onnxkit::checker
