#include "libonnxkit/plan/build.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/core.h>

#include "converters/opset/model/change_opset.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/extract.h"
#include "libonnxkit/ir/scope.h"
#include "libonnxkit/plan/arena.h"
#include "libonnxkit/plan/blocked_weights.h"
#include "libonnxkit/plan/lowerer.h"
#include "libonnxkit/plan/pass.h"
#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/step_pass.h"
#include "libonnxkit/plan/values_by_name.h"

namespace onnxkit::plan {
namespace {

ir::DeclaredType declared_type(ir::Model& model, const Value& value) {
  ir::DeclaredType type;
  using Kind = ir::DeclaredType::Kind;
  if (value.kind == ValueKind::tensor) {
    type.kind = Kind::tensor;
    type.elem_type = static_cast<std::int32_t>(value.tensor.type());
    type.shape.emplace();
    for (const std::int64_t size : value.tensor.dims()) type.shape->dims.emplace_back().value = size;
    return type;
  }
  type.kind = value.kind == ValueKind::optional ? Kind::optional
              : value.kind == ValueKind::map    ? Kind::map
                                                : Kind::sequence;
  if (value.kind == ValueKind::map) type.key_type = static_cast<std::int32_t>(value.tensor.type());
  ir::DeclaredType element;
  if (!value.items.empty()) {
    element = declared_type(model, value.items.front());
    if (element.shape && value.kind == ValueKind::sequence) element.shape.reset();
  } else {
    element.kind = Kind::tensor;
    element.elem_type = static_cast<std::int32_t>(value.declared);
  }
  type.element = std::make_unique<ir::DeclaredType>(std::move(element));
  return type;
}

/// Of a list or an optional value without items the declaration tells what could be in it.
bool says_more(const ir::ValueInfo& input, const Value& value) {
  using Kind = ir::DeclaredType::Kind;
  if (!value.items.empty() || !input.type || !input.type->element) return false;
  return (value.kind == ValueKind::sequence && input.type->kind == Kind::sequence) ||
         (value.kind == ValueKind::optional && input.type->kind == Kind::optional);
}

bool is_small_integer(const Value& value) {
  constexpr std::int64_t most = 64;
  return value.is_tensor() && value.tensor.size() <= most &&
         (value.tensor.type() == ElementType::int64 || value.tensor.type() == ElementType::int32 ||
          value.tensor.type() == ElementType::boolean);
}

/// The model with inputs of the sizes that the caller gives, without those that have a constant.
Result<ir::Model> concrete(const ir::Model& model, std::span<const NamedValue> inputs, const BuildOptions& options) {
  ir::Model copy = ir::clone(model);
  ir::Graph& graph = *copy.graph;
  std::vector<ir::ValueInfo> kept;
  const ir::InitializerTable stored(graph);
  std::vector<ir::Tensor> fixed;
  ir::Patch patch(graph);
  const ValuesByName by_name(inputs);
  for (ir::ValueInfo& input : graph.inputs) {
    if (input.value == ir::ValueId::none) continue;  // of a model that is not valid: no node can read it
    const Value* const given = by_name.find(graph.name_of(input.value));
    const bool is_given = given && given->kind != ValueKind::none;
    if (!is_given && stored.contains(input.value)) continue;
    if (is_given && stored.contains(input.value)) patch.drop_initializer(input.value);
    if (is_given && options.fixes_small_inputs && is_small_integer(*given)) {
      const Tensor& content = given->tensor;
      fixed.push_back(ir::make_tensor(copy, content.type(), content.dims(), content.bytes()));
      fixed.back().name = graph.values[ir::index_of(input.value)].name;
      continue;
    }
    ir::ValueInfo changed = ir::clone(input);
    if (is_given && !says_more(input, *given)) changed.type = declared_type(copy, *given);
    kept.push_back(std::move(changed));
  }
  ir::splice(graph, std::move(patch));
  graph.inputs = std::move(kept);
  for (ir::Tensor& tensor : fixed) graph.initializers.push_back(std::move(tensor));
  // Sizes that the file declares are those of any input; inference finds those of these.
  graph.value_infos.clear();
  for (ir::ValueInfo& output : graph.outputs) {
    if (output.type && output.type->kind == ir::DeclaredType::Kind::tensor) output.type->shape.reset();
  }
  return copy;
}

/// The nodes whose results have known sizes, and what the others need of them.
class Split {
 public:
  Split(Subject& subject, bool takes_open) : subject_(subject), graph_(subject.graph()), takes_open_(takes_open) {
    is_closed_.assign(graph_.values.size(), true);
    in_first_.assign(graph_.nodes.size(), false);
    mark();
  }

  bool is_whole() const {
    return std::all_of(in_first_.begin(), in_first_.end(), [](bool in) { return in; });
  }
  std::vector<std::string> open() const {
    std::vector<std::string> names;
    for (const ir::ValueId id : open_) names.emplace_back(graph_.name_of(id));
    return names;
  }

  /// Values that nodes of the first part write and those of the second or the caller read, then outputs that no node writes.
  std::vector<ir::ValueId> first_outputs() const {
    std::vector<ir::ValueId> ids;
    for (std::size_t at = 0; at < graph_.values.size(); ++at) {
      const auto id = static_cast<ir::ValueId>(at);
      const std::int32_t producer = subject_.uses().producer(id);
      if (producer < 0 || !in_first_[static_cast<std::size_t>(producer)]) continue;
      const auto readers = subject_.uses().consumers(id);
      const bool crosses =
          std::any_of(readers.begin(), readers.end(), [&](std::uint32_t reader) { return !in_first_[reader]; });
      if (crosses || subject_.uses().is_output(id)) ids.push_back(id);
    }
    return ids;
  }

  std::vector<ir::ValueId> rest_outputs() const {
    std::vector<ir::ValueId> ids;
    std::set<ir::ValueId> known;
    for (const ir::ValueInfo& output : graph_.outputs) {
      const std::int32_t producer = subject_.uses().producer(output.value);
      const bool is_done = producer >= 0 && in_first_[static_cast<std::size_t>(producer)];
      if (!is_done && known.insert(output.value).second) ids.push_back(output.value);
    }
    return ids;
  }

 private:
  bool is_known(ir::ValueId id) const {
    if (id == ir::ValueId::none) return true;
    const checker::Type& type = subject_.info(id).type;
    return type.is_tensor() ? subject_.dims(id).has_value() : !type.is_unknown();
  }

  /// An input whose small content decides sizes, and that the run will tell.
  bool waits_for_content(const ir::Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
      if (id == ir::ValueId::none || subject_.is_constant(id)) return false;
      const ElementType type = subject_.type(id);
      const auto dims = subject_.dims(id);
      constexpr std::int64_t most = 64;
      return (type == ElementType::int64 || type == ElementType::int32) && dims && element_count(*dims) <= most;
    });
  }

  void mark() {
    for (std::size_t at = 0; at < graph_.nodes.size(); ++at) {
      const ir::Node& node = graph_.nodes[at];
      const auto reads = subject_.uses().reads(at);
      const bool is_ready =
          std::all_of(reads.begin(), reads.end(), [&](ir::ValueId id) { return is_closed_[ir::index_of(id)]; });
      const bool knows =
          std::all_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) { return is_known(id); });
      in_first_[at] = is_ready && (knows || takes_open_ || !waits_for_content(node));
      if (is_ready && !knows) open_.insert(open_.end(), node.outputs.begin(), node.outputs.end());
      for (const ir::ValueId id : node.outputs) {
        if (id != ir::ValueId::none && !(in_first_[at] && knows)) is_closed_[ir::index_of(id)] = false;
      }
    }
    std::erase(open_, ir::ValueId::none);
  }

  Subject& subject_;
  const ir::Graph& graph_;
  bool takes_open_;
  std::vector<bool> is_closed_, in_first_;
  std::vector<ir::ValueId> open_;
};

void declare_inputs(ir::Model& part, Subject& subject) {
  for (ir::ValueInfo& input : part.graph->inputs) {
    const ir::ValueId id = subject.graph().find(part.graph->name_of(input.value));
    if (id != ir::ValueId::none && !input.type)
      input.type = checker::to_declared(subject.info(id).type, subject.dim_pool(),
                                        [&](const std::string& text) { return part.keep(text); });
  }
}

/// A Gradient names values of its graph, which passes would rename or fold away.
bool names_values(const ir::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const ir::Node& node) { return node.op_type == "Gradient"; });
}

const PassRegistry& passes_of(const BuildOptions& options) {
  return options.passes ? *options.passes : pass_registry();
}

struct Ran {
  std::vector<std::string> names;  ///< of passes that changed something
  std::vector<NodeChange> changes;
  std::vector<NodeMiss> misses;
  std::set<std::tuple<std::string_view, std::string, std::string>> known_misses;  ///< pass, node, reason
};

/// What the pass said of patterns that it found in part.
void note_misses(const Pass& pass, Subject& subject, Ran& ran) {
  for (PassNotes::Missed& missed : subject.notes().missed) {
    // Passes over calls run before sizes split the model, and again behind that.
    if (!ran.known_misses.emplace(pass.name, missed.node, missed.reason).second) continue;
    ran.misses.push_back({.node = std::move(missed.node),
                          .op = std::move(missed.op),
                          .pass = pass.name,
                          .reason = std::move(missed.reason)});
  }
}

/// Runs a pass and notes the nodes that it took away.
Result<void> run_pass(const Pass& pass, Subject& subject, Ran& ran) {
  struct Before {
    ir::ValueId first;
    Text name, op;
  };
  std::vector<Before> before;
  for (const ir::Node& node : subject.graph().nodes) {
    if (!node.outputs.empty() && node.outputs[0] != ir::ValueId::none)
      before.push_back({node.outputs[0], node.name, node.op_type});
  }
  subject.notes() = {};
  const auto changed = pass.run(subject);
  if (!changed) return changed.error();
  note_misses(pass, subject, ran);
  if (!*changed) return {};
  ran.names.emplace_back(pass.name);
  std::map<std::string_view, std::string_view> into;
  for (const PassNotes::Taken& taken : subject.notes().taken) into.emplace(taken.node, taken.into);
  for (const Before& node : before) {
    const std::int32_t writer = subject.uses().producer(node.first);
    const ir::Node* now = writer < 0 ? nullptr : &subject.graph().nodes[static_cast<std::size_t>(writer)];
    if (now && now->op_type == node.op) continue;
    const std::string_view title = node.name.empty() ? subject.graph().name_of(node.first) : node.name.view();
    const auto place = into.find(title);
    ran.changes.push_back({.node = std::string(title),
                           .op = std::string(node.op.view()),
                           .pass = pass.name,
                           .made = now ? std::string(now->op_type.view()) : std::string(),
                           .into = place == into.end() ? std::string() : std::string(place->second)});
  }
  return {};
}

/// A plan of one step, to ask a backend whether it takes such steps.
class Probe {
 public:
  View add(Home home, ElementType type, Dims dims) {
    plan_.buffers.push_back({.home = home, .type = type, .bytes = 4, .offset = 0, .index = 0});
    Dims strides = row_major_strides(dims);
    return {.buffer = static_cast<std::uint32_t>(plan_.buffers.size() - 1),
            .type = type,
            .offset = 0,
            .dims = std::move(dims),
            .strides = std::move(strides)};
  }
  View add_constant(const Tensor& content) {
    plan_.constants.push_back(content);
    View view = add(Home::constant, content.type(), content.dims());
    plan_.buffers.back().index = plan_.constants.size() - 1;
    return view;
  }
  bool is_taken(const Takes& takes, const Step& step) const { return !takes || !takes(plan_, step); }

 private:
  Plan plan_;
};

/// Whether the backend runs a small convolution of integers.
bool takes_integers(const Takes& takes) {
  Probe probe;
  const Dims pixel = {1, 1, 1, 1};
  const View x = probe.add(Home::input, ElementType::uint8, pixel);
  const View filter = probe.add_constant(*Tensor::from_bytes(ElementType::int8, pixel, {std::byte{1}}));
  const View zero = probe.add(Home::input, ElementType::uint8, {});
  const View sum = probe.add(Home::arena, ElementType::int32, pixel);
  auto parameters = std::make_shared<IntegerConvolutionParameters>();
  parameters->strides = parameters->dilations = {1, 1};
  parameters->pads = {0, 0, 0, 0};
  return probe.is_taken(takes, {.kind = integer_convolution_step,
                                .inputs = {x, filter, zero},
                                .outputs = {sum},
                                .parameters = std::move(parameters)});
}

/// Whether the backend runs a small product with weights in blocks.
bool takes_blocks(const Takes& takes) {
  Probe probe;
  const View a = probe.add(Home::input, ElementType::float32, {1, 8});
  const View b = probe.add_constant(*Tensor::from_bytes(ElementType::uint8, {4}, std::vector<std::byte>(4)));
  const View c = probe.add(Home::arena, ElementType::float32, {1, 1});
  auto parameters = std::make_shared<ProductParameters>();
  parameters->blocks = std::make_shared<const BlockedWeights>(BlockedWeights{.n = 1, .k = 8, .size = 8});
  return probe.is_taken(takes,
                        {.kind = product_step, .inputs = {a, b}, .outputs = {c}, .parameters = std::move(parameters)});
}

Result<void> run_passes(Subject& subject, const BuildOptions& options, Stage last, Ran& ran) {
  if (names_values(subject.graph())) return {};
  const bool has_integers = takes_integers(options.takes);
  for (const Pass& pass : passes_of(options).ordered()) {
    if (pass.stage > last || options.without_passes.contains(pass.name) || (options.exact && !pass.is_exact) ||
        (pass.wants_integer_steps && !has_integers) || (pass.wants_few_steps && !options.prefers_few_steps))
      continue;
    if (auto done = run_pass(pass, subject, ran); !done) return done;
    if (auto more = may_go_on(options); !more) return more;
  }
  return {};
}

/// Runs the passes over steps and gives buffers their places.
Result<void> finish_steps(Plan& plan, const BuildOptions& options) {
  drop_unused_steps(plan);
  std::vector<StepPass> passes = step_pass_registry().ordered();
  std::erase_if(passes, [&](const StepPass& pass) { return options.without_passes.contains(pass.name); });
  for (const StepPass& pass : passes) {
    if (pass.run(plan, options.takes) != 0) plan.passes.emplace_back(pass.name);
    if (auto more = may_go_on(options); !more) return more;
  }
  for (const StepPass& pass : passes)
    if (pass.note_misses) pass.note_misses(plan, options.takes);
  place_buffers(plan);
  return may_go_on(options);
}

Result<Plan> build_whole(Subject& subject, const BuildOptions& options, Ran ran) {
  if (auto done = run_passes(subject, options, Stage::weights, ran); !done) return done.error();
  auto lowered = Lowerer(subject, options).run();
  if (!lowered) return lowered.error();
  Plan plan = *std::move(lowered);
  for (std::string& name : ran.names) {
    if (std::find(plan.passes.begin(), plan.passes.end(), name) == plan.passes.end())
      plan.passes.push_back(std::move(name));
  }
  plan.changes = std::move(ran.changes);
  plan.misses = std::move(ran.misses);
  plan.origins.insert(subject.origins().begin(), subject.origins().end());
  if (auto done = finish_steps(plan, options); !done) return done.error();
  return plan;
}

}  // namespace

ir::Model newest(const ir::Model& model) {
  const std::int64_t opset = spec::newest_opset("");
  if (ir::opset_of(model.opset_imports, "").value_or(opset) < opset) {
    OpsetOptions options;
    options.opsets = {{"", opset}};
    auto changed = opset::change_opset(model, options);
    if (changed && changed->report.succeeded() && changed->model) return *std::move(changed->model);
  }
  return ir::clone(model);
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : pass_registry().ordered()) names.emplace_back(pass.name);
  for (const StepPass& pass : step_pass_registry().ordered()) names.emplace_back(pass.name);
  return names;
}

Result<Plan> build(const ir::Model& model, std::span<const NamedValue> inputs, const BuildOptions& options) {
  auto made = concrete(model, inputs, options);
  if (!made) return made.error();
  const Subject::Options how{.allow_outside_data = options.allow_outside_data,
                             .exact = options.exact,
                             .packs_weights = !options.exact && takes_blocks(options.takes),
                             .splits_capped_attention = options.splits_capped_attention};
  auto subject = std::make_shared<Subject>(*std::move(made), options.table, options.evaluate, how);
  if (auto more = may_go_on(options); !more) return more.error();
  if (const auto fault = options.fault ? options.fault : subject->fault()) {
    if (options.original) {
      made = concrete(*options.original, inputs, options);
      if (!made) return made.error();
      subject = std::make_shared<Subject>(*std::move(made), options.table, options.evaluate, how);
    }
    Plan plan = Lowerer(*subject, options).run_on_host(*fault);
    plan.owner = subject;
    return plan;
  }
  // Sizes may hang on what functions hold, and on constants that are too large for inference to follow.
  Ran ran;
  if (auto done = run_passes(*subject, options, Stage::fold, ran); !done) return done.error();
  Split split(*subject, options.fixes_small_inputs);
  std::shared_ptr<const ir::Model> rest;
  std::vector<std::string> open;
  if (const auto remaining = split.rest_outputs(); !split.is_whole() && !remaining.empty()) {
    const auto crossing = split.first_outputs();
    ir::Model tail = ir::extract(subject->model(),
                                 ir::part_between(subject->graph(), subject->uses(), crossing, remaining), remaining);
    declare_inputs(tail, *subject);
    rest = subject->shared_part(std::move(tail));
    open = split.open();
    ir::Model head =
        ir::extract(subject->model(), ir::part_between(subject->graph(), subject->uses(), {}, crossing), crossing);
    declare_inputs(head, *subject);
    auto first = std::make_shared<Subject>(std::move(head), options.table, options.evaluate, how);
    first->adopt_additions(*subject);
    subject = std::move(first);
  }
  auto plan = build_whole(*subject, options, std::move(ran));
  if (!plan) return plan.error();
  plan->rest = std::move(rest);
  plan->open = std::move(open);
  plan->files = subject->files();
  subject->release_constants();
  plan->owner = subject;
  return plan;
}

}  // namespace onnxkit::plan
