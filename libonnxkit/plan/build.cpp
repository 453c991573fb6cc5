#include "libonnxkit/plan/build.h"

#include <algorithm>
#include <set>
#include <utility>

#include "converters/opset/model/change_opset.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/extract.h"
#include "libonnxkit/plan/arena.h"
#include "libonnxkit/plan/generic_model.h"
#include "libonnxkit/plan/lowerer.h"
#include "libonnxkit/plan/run_passes.h"
#include "libonnxkit/plan/sized_model.h"
#include "libonnxkit/plan/step_edit.h"
#include "libonnxkit/plan/step_pass.h"

namespace onnxkit::plan {
namespace {

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

Result<Plan> build_whole(Subject& subject, const BuildOptions& options, PassLog log) {
  if (auto done = run_passes(subject, options, Stage::weights, log); !done) return done.error();
  auto lowered = Lowerer(subject, options).run();
  if (!lowered) return lowered.error();
  Plan plan = *std::move(lowered);
  for (std::string& name : log.names) {
    if (std::find(plan.passes.begin(), plan.passes.end(), name) == plan.passes.end())
      plan.passes.push_back(std::move(name));
  }
  plan.changes = std::move(log.changes);
  plan.misses = std::move(log.misses);
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

Result<Plan> build(const ir::Model& model, std::span<const NamedValue> inputs, const BuildOptions& options,
                   const std::shared_ptr<const GenericModel>& generic) {
  auto made = sized_model(generic ? generic->subject->model() : model, inputs, options.fixes_small_inputs);
  if (!made) return made.error();
  const Subject::Options how = subject_options(options);
  auto subject = std::make_shared<Subject>(*std::move(made), options.table, options.evaluate, how);
  if (auto more = may_go_on(options); !more) return more.error();
  auto fault = options.fault ? options.fault : subject->fault();
  if (fault && generic) return build(model, inputs, options);
  if (fault && !options.fault) {
    // Sizes that bodies declare are those of one input, as those of the main graph.
    made = sized_model(model, inputs, options.fixes_small_inputs);
    if (!made) return made.error();
    if (drop_sizes_of_bodies(*made)) {
      auto again = std::make_shared<Subject>(*std::move(made), options.table, options.evaluate, how);
      if (!again->fault()) subject = std::move(again), fault.reset();
    }
  }
  if (fault) {
    if (options.original) {
      made = sized_model(*options.original, inputs, options.fixes_small_inputs);
      if (!made) return made.error();
      subject = std::make_shared<Subject>(*std::move(made), options.table, options.evaluate, how);
    }
    Plan plan = Lowerer(*subject, options).run_on_host(*fault);
    plan.owner = subject;
    return plan;
  }
  PassLog log;
  if (generic) {
    subject->adopt_additions(generic->subject);
    log.names = generic->passes;
  }
  // Sizes may hang on what functions hold, and on constants that are too large for inference to follow.
  if (auto done = run_passes(*subject, options, Stage::fold, log); !done) return done.error();
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
    first->adopt_additions(subject);
    subject = std::move(first);
  }
  auto plan = build_whole(*subject, options, std::move(log));
  if (!plan) return plan.error();
  plan->rest = std::move(rest);
  plan->open = std::move(open);
  plan->files = subject->files();
  subject->release_constants();
  plan->generic = generic;
  plan->owner = subject;
  return plan;
}

}  // namespace onnxkit::plan
