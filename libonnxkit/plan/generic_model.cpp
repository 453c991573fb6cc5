#include "libonnxkit/plan/generic_model.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

#include "libonnxkit/plan/run_passes.h"
#include "libonnxkit/plan/sized_model.h"

namespace onnxkit::plan {
namespace {

constexpr std::int64_t least_changing = 2;  // axes of size 1 are broadcast, those of 0 have nothing

bool differs_in_sizes_only(const InputSizes& a, const InputSizes& b) {
  return a.name == b.name && a.type == b.type && a.dims.size() == b.dims.size();
}

}  // namespace

std::optional<std::vector<InputSizes>> sizes_of(std::span<const NamedValue> inputs) {
  std::vector<InputSizes> sizes;
  sizes.reserve(inputs.size());
  for (const NamedValue& input : inputs) {
    if (!input.value.is_tensor()) return std::nullopt;
    sizes.push_back({input.name, input.value.tensor.type(), input.value.tensor.dims()});
  }
  return sizes;
}

std::optional<SizePattern> SizePattern::between(std::span<const InputSizes> a, std::span<const InputSizes> b) {
  if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), differs_in_sizes_only)) return std::nullopt;
  SizePattern pattern;
  pattern.inputs_.assign(a.begin(), a.end());
  struct Symbol {
    std::size_t index = 0;
    std::int64_t smallest = 0;  // of the sizes of `a` that have it
  };
  std::map<std::int64_t, Symbol> symbols;  // by how much the sizes change
  for (std::size_t input = 0; input < a.size(); ++input) {
    for (std::size_t axis = 0; axis < a[input].dims.size(); ++axis) {
      const std::int64_t before = a[input].dims[axis], now = b[input].dims[axis];
      if (before == now) continue;
      if (before < least_changing || now < least_changing) return std::nullopt;
      const auto [known, is_new] = symbols.try_emplace(now - before, Symbol{symbols.size(), before});
      known->second.smallest = std::min(known->second.smallest, before);
      pattern.axes_.push_back({.input = input, .axis = axis, .symbol = known->second.index, .offset = now - before});
    }
  }
  if (symbols.empty()) return std::nullopt;
  pattern.symbols_ = symbols.size();
  for (Axis& axis : pattern.axes_)
    axis.offset = a[axis.input].dims[axis.axis] - symbols.at(axis.offset).smallest + least_changing;
  return pattern;
}

bool SizePattern::fits(std::span<const InputSizes> inputs) const {
  if (!std::equal(inputs.begin(), inputs.end(), inputs_.begin(), inputs_.end(), differs_in_sizes_only)) return false;
  std::vector<std::optional<std::int64_t>> symbols(symbols_);
  std::size_t next = 0;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    for (std::size_t axis = 0; axis < inputs[input].dims.size(); ++axis) {
      const std::int64_t size = inputs[input].dims[axis];
      if (next == axes_.size() || axes_[next].input != input || axes_[next].axis != axis) {
        if (size != inputs_[input].dims[axis]) return false;
        continue;
      }
      const Axis& changes = axes_[next++];
      std::optional<std::int64_t>& symbol = symbols[changes.symbol];
      if (size < changes.offset || symbol.value_or(size - changes.offset) != size - changes.offset) return false;
      symbol = size - changes.offset;
    }
  }
  return true;
}

void SizePattern::declare(ir::Model& model) const {
  std::unordered_map<std::string_view, ir::ValueInfo*> by_name;
  for (ir::ValueInfo& input : model.graph->inputs) by_name.emplace(model.graph->name_of(input.value), &input);
  for (const Axis& axis : axes_) {
    const auto input = by_name.find(inputs_[axis.input].name);
    if (input == by_name.end() || !input->second->type || !input->second->type->shape) continue;
    ir::DeclaredDim& dim = input->second->type->shape->dims[axis.axis];
    dim.value.reset();
    dim.param = model.keep(fmt::format("\"changing size {}\" + {}", axis.symbol, axis.offset));
  }
}

void each_change(const Plan& plan, const std::function<void(const NodeChange&)>& visit) {
  if (plan.generic) std::for_each(plan.generic->changes.begin(), plan.generic->changes.end(), visit);
  std::for_each(plan.changes.begin(), plan.changes.end(), visit);
}

const std::string* origin_of(const Plan& plan, std::string_view node) {
  const auto made = plan.origins.find(node);
  if (made != plan.origins.end()) return &made->second;
  return plan.generic ? plan.generic->subject->origin(node) : nullptr;
}

bool holds(const GenericModel& generic, const Tensor& content) {
  return generic.subject->has_added(content.bytes().data());
}

Result<std::shared_ptr<const GenericModel>> make_generic(const ir::Model& model, std::span<const NamedValue> inputs,
                                                         SizePattern pattern, const BuildOptions& options) {
  auto sized = sized_model(model, inputs, options.fixes_small_inputs);
  if (!sized) return sized.error();
  pattern.declare(*sized);
  Subject::Options how = subject_options(options);
  how.is_generic = true;
  auto subject = std::make_shared<Subject>(*std::move(sized), options.table, options.evaluate, how);
  if (subject->fault()) return std::shared_ptr<const GenericModel>();
  PassLog log;
  if (auto done = run_passes(*subject, options, Stage::weights, log); !done) return done.error();
  return std::make_shared<const GenericModel>(GenericModel{.pattern = std::move(pattern),
                                                           .subject = std::move(subject),
                                                           .passes = std::move(log.names),
                                                           .changes = std::move(log.changes)});
}

Result<std::shared_ptr<const GenericModel>> GenericModels::find(const ir::Model& model,
                                                                std::span<const NamedValue> inputs,
                                                                const BuildOptions& options) {
  const auto sizes = given_up_ ? std::nullopt : sizes_of(inputs);
  if (!sizes) return std::shared_ptr<const GenericModel>();
  const auto known =
      std::find_if(models_.begin(), models_.end(), [&](const auto& generic) { return generic->pattern.fits(*sizes); });
  if (known != models_.end()) {
    std::rotate(models_.begin(), known, known + 1);
    return models_.front();
  }
  auto pattern = last_runs_.size() == 2 ? SizePattern::between(last_runs_[0], last_runs_[1]) : std::nullopt;
  if (!pattern || !pattern->fits(*sizes)) return std::shared_ptr<const GenericModel>();
  auto made = make_generic(model, inputs, *std::move(pattern), options);
  if (!made) return made.error();
  if (!*made) {
    give_up();
    return *made;
  }
  if (models_.size() == most) models_.pop_back();
  models_.insert(models_.begin(), *made);
  return *made;
}

void GenericModels::note_run(std::vector<InputSizes> sizes) {
  if (last_runs_.size() == 2) last_runs_.erase(last_runs_.begin());
  last_runs_.push_back(std::move(sizes));
}

}  // namespace onnxkit::plan
