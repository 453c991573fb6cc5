#include "libonnxkit/diff/foreign_layers.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/diff/cut_model.h"
#include "libonnxkit/diff/layer_verdict.h"
#include "libonnxkit/diff/matched_names.h"
#include "libonnxkit/diff/matching.h"
#include "libonnxkit/diff/side.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::diffing {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::size_t values_at_once = 64;  // of the side in one run
constexpr std::size_t most_layouts = 24;

std::optional<Tensor> reshaped(const Tensor& tensor, const Dims& dims) {
  auto view = Tensor::view(tensor.type(), dims, tensor.bytes(), std::make_shared<Tensor>(tensor));
  return view ? std::optional(*std::move(view)) : std::nullopt;
}

Dims without_ones(const Dims& dims) {
  Dims rest;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(rest), [](std::int64_t size) { return size != 1; });
  return rest;
}

/// The tensor in every order of axes that has these sizes, as it is first. Axes of one element may come and go.
std::vector<Tensor> layouts(const Tensor& tensor, const Dims& wanted) {
  const Dims from = without_ones(tensor.dims()), to = without_ones(wanted);
  std::vector<Tensor> found;
  const auto plain = reshaped(tensor, from);
  if (!plain || from.size() != to.size()) return found;
  std::vector<std::size_t> order(from.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  do {
    const bool fits = std::equal(order.begin(), order.end(), to.begin(),
                                 [&](std::size_t axis, std::int64_t size) { return from[axis] == size; });
    if (!fits) continue;
    const auto moved = std::is_sorted(order.begin(), order.end()) ? plain : permuted(*plain, order);
    if (const auto shaped = moved ? reshaped(*moved, wanted) : std::nullopt) found.push_back(*shaped);
  } while (found.size() < most_layouts && std::next_permutation(order.begin(), order.end()));
  return found;
}

class ForeignLayers {
 public:
  ForeignLayers(const LayerQuestion& question, SideReport& report)
      : question_(question),
        report_(report),
        own_(question.side, question.sessions, unused_),
        side_(question.open ? *question.open : own_) {}

  Result<void> run() {
    if (auto opened = side_.is_open() ? Result<void>() : side_.open(1); !opened) return opened;
    if (auto read = read_side(); !read) return read;
    auto base = inner_values(question_.noise_floor, question_.set, question_.profile);
    if (!base) return base.error();
    base_ = *std::move(base);
    const MatchOptions options{
        .rounded = true,
        .by_name = false,
        .same = same_outputs(question_.noise_floor.graph(), side_.output_names(), question_.options.names)};
    for (const ValuePair& pair : correspond(base_, values_, options)) {
      if (base_[pair.base].op != input_op) pairs_.emplace(base_[pair.base].name, pair);
    }
    std::vector<std::string> batch;
    for (auto pair = pairs_.begin(); pair != pairs_.end();) {
      batch.push_back(pair->first);
      if (++pair != pairs_.end() && batch.size() < values_at_once) continue;
      if (auto compared = compare(batch); !compared) return compared;
      batch.clear();
    }
    report();
    return {};
  }

 private:
  /// Names, operators and contents of what the side has.
  Result<void> read_side() {
    auto inner = side_.inner_values();
    if (!inner) return inner.error();
    const auto inputs = side_.inputs(question_.set);
    if (!inputs) return inputs.error();
    std::unordered_map<std::string_view, std::size_t> known;
    for (const NamedValue& input : *inputs) {
      values_.push_back({input.name, std::string(input_op), {}, summarize(input.value)});
      known.emplace(input.name, values_.size() - 1);
    }
    for (std::size_t first = 0; first < inner->size(); first += values_at_once) {
      std::vector<std::string> names;
      for (std::size_t i = first; i < std::min(inner->size(), first + values_at_once); ++i)
        names.push_back((*inner)[i].name);
      const auto got = side_.look(question_.set, names);
      if (!got) return got.error();
      for (std::size_t i = 0; i < names.size(); ++i) {
        exec::InnerDesc& desc = (*inner)[first + i];
        InnerValue value{desc.name, desc.op, {}, summarize((*got)[i].value)};
        for (const std::string& from : desc.from) {
          if (const auto found = known.find(from); found != known.end()) value.from.push_back(found->second);
        }
        values_.push_back(std::move(value));
        known.emplace(desc.name, values_.size() - 1);
      }
    }
    return {};
  }

  Result<void> compare(const std::vector<std::string>& names) {
    std::vector<std::string> theirs;
    for (const std::string& name : names) theirs.push_back(values_[pairs_.at(name).side].name);
    const auto got = side_.look(question_.set, theirs);
    if (!got) return got.error();
    std::map<std::string_view, const Value*> values;
    for (std::size_t i = 0; i < names.size(); ++i) values.emplace(names[i], &(*got)[i].value);
    const auto take = [&](std::size_t node, std::string_view name, const exec::Spread& spread) -> Result<void> {
      const auto value = values.find(name);
      if (!value->second->is_tensor() || !spread.exact.is_tensor()) return {};
      add(node, name, spread, value->second->tensor);
      return {};
    };
    const auto wants = [&](std::string_view name) { return values.contains(name); };
    return question_.noise_floor.each_value(question_.set, question_.profile, question_.options.perturbed_samples,
                                            wants, take);
  }

  /// In the layout that deviates least.
  void add(std::size_t node, std::string_view name, const exec::Spread& spread, const Tensor& got) {
    const ValuePair& pair = pairs_.find(name)->second;
    const auto typed = got.type() == spread.type ? std::optional(got) : cast(got, spread.type);
    if (!typed) return;
    std::optional<LayerDiff> best;
    for (const Tensor& layout : layouts(*typed, spread.exact.tensor.dims())) {
      LayerDiff layer =
          layer_verdict(question_.noise_floor.graph(), node, name, spread, Value(layout), question_.profile).layer;
      if (!best || layer.metrics.rmse < best->metrics.rmse) best = std::move(layer);
      if (!is_finding(best->verdict)) break;
    }
    if (!best) return;
    best->matched_by = pair.by;
    best->side_value = values_[pair.side].name;
    layers_.emplace(pair.base, *std::move(best));
  }

  void report() {
    const bool deviates = is_finding(report_.verdict);
    // Where the outputs agree, what seems to deviate was matched with something else.
    if (!deviates) std::erase_if(layers_, [](const auto& layer) { return is_finding(layer.second.verdict); });
    const std::vector<std::vector<std::size_t>> from = nearest_compared();
    for (auto& [base, layer] : layers_) {
      const auto is_off = [&](std::size_t other) { return is_finding(layers_.at(other).verdict); };
      if (is_finding(layer.verdict) && std::none_of(from[base].begin(), from[base].end(), is_off)) {
        layer.is_culprit = true;
        layer.subgraph = subgraph(base);
        if (!report_.first_culprit) report_.first_culprit = report_.layers.size();
      }
      report_.layers.push_back(layer);
    }
    std::size_t written = 0;
    for (const InnerValue& value : base_) written += value.op != input_op ? 1 : 0;
    report_.layers_note =
        fmt::format("{} of {} values were matched; nodes are not run separately on this side{}", layers_.size(),
                    written, deviates && !report_.first_culprit ? "; no matched value deviates" : "");
  }

  /// By value of the base the nearest compared values that it is made from.
  std::vector<std::vector<std::size_t>> nearest_compared() const {
    std::vector<std::vector<std::size_t>> all(base_.size());
    for (std::size_t i = 0; i < base_.size(); ++i) {
      std::set<std::size_t> found;
      for (const std::size_t from : base_[i].from) {
        if (layers_.contains(from))
          found.insert(from);
        else
          found.insert(all[from].begin(), all[from].end());
      }
      all[i].assign(found.begin(), found.end());
    }
    return all;
  }

  Subgraph subgraph(std::size_t base) const {
    Subgraph found;
    const ir::Graph& graph = question_.noise_floor.graph();
    std::set<std::string, std::less<>> known;
    std::set<std::size_t> theirs;
    for (const auto& [other, layer] : layers_) {
      if (other == base) continue;
      known.insert(base_[other].name);
      theirs.insert(pairs_.at(base_[other].name).side);
    }
    const std::vector<std::string> names = {base_[base].name};
    Way way = way_to(graph, names, known);
    found.nodes = locations_of(graph, way);
    found.from = std::move(way.from);
    std::set<std::size_t> between = {pairs_.at(base_[base].name).side};
    std::vector<std::size_t> open(between.begin(), between.end());
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t from : values_[at].from) {
        if (!theirs.contains(from) && values_[from].op != input_op && between.insert(from).second) open.push_back(from);
      }
    }
    for (const std::size_t value : between) {
      Location location;
      location.scope = {"main"};
      location.op = values_[value].op;
      location.node_name = values_[value].name;
      found.side_nodes.push_back(std::move(location));
    }
    return found;
  }

  const LayerQuestion& question_;
  SideReport& report_;
  SideReport unused_;
  Side own_;  ///< for a side that is not open
  Side& side_;
  std::vector<InnerValue> base_, values_;
  std::map<std::string, ValuePair, std::less<>> pairs_;  ///< by the base's name
  std::map<std::size_t, LayerDiff> layers_;              ///< by value of the base
};

}  // namespace

Result<void> compare_foreign_layers(const LayerQuestion& question, SideReport& report) {
  return ForeignLayers(question, report).run();
}

}  // namespace onnxkit::diffing
