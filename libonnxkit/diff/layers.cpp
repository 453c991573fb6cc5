#include "libonnxkit/diff/layers.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/system/cgroup.h"
#include "libonnxkit/base/system/thread_pool.h"
#include "libonnxkit/diff/common_values.h"
#include "libonnxkit/diff/cut_model.h"
#include "libonnxkit/diff/foreign_layers.h"
#include "libonnxkit/diff/layer_verdict.h"
#include "libonnxkit/diff/matched_names.h"
#include "libonnxkit/diff/single_node.h"
#include "libonnxkit/ir/extract.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::diffing {
namespace {

constexpr std::uint64_t least_boundary = std::uint64_t{512} << 20;  // bytes of tapped values held at a time
constexpr std::size_t taps_of_a_search = 24;
constexpr std::size_t most_suspects = 12;    // of a search
constexpr std::size_t most_looked_at = 256;  // alone, where all values are compared
constexpr int most_failures = 24;
constexpr int more_samples = 4;  // times as many for what is in doubt
constexpr double suspicious_rms = 1;
constexpr std::size_t judged_at_once = 32, judged_bytes = std::size_t{64} << 20;

using Flags = std::vector<bool>;  // of common values
using Names = std::set<std::string, std::less<>>;
using Values = std::map<std::string, Value, std::less<>>;

/// What leads to a value, run alone on exact inputs.
struct Own {
  comparison::TensorVerdict tensor_verdict;
  Value got;
};

/// Nothing where the value is no tensor or not all of its sizes are known.
std::optional<std::uint64_t> declared_bytes(const ir::ValueInfo& info) {
  const ir::DeclaredType* type = info.type ? &*info.type : nullptr;
  if (!type || type->kind != ir::DeclaredType::Kind::tensor || !type->elem_type || !type->shape) return std::nullopt;
  if (!is_known_element_type(*type->elem_type)) return std::nullopt;
  constexpr double most = 1e18;
  double bytes = storage_bits(static_cast<ElementType>(*type->elem_type)) / 8.0;
  for (const ir::DeclaredDim& dim : type->shape->dims) {
    if (!dim.size()) return std::nullopt;
    bytes = std::min(most, bytes * static_cast<double>(*dim.value));
  }
  return static_cast<std::uint64_t>(bytes);
}

/// A value of the side, and what it is compared with.
struct Judged {
  std::size_t node;
  std::string name;
  exec::Spread spread;
  const Value* got;
  LayerVerdict verdict;
};

class Layers {
 public:
  Layers(const LayerQuestion& question, SideReport& report)
      : question_(question),
        report_(report),
        common_(question.noise_floor.model(), question.side.model->ir()),
        known_(common_.names()),
        asked_(common_.size(), false) {
    const exec::LoadOptions load = question_.sessions.load_options();
    threads_ = load.context->threads(load.threads);
  }

  Result<void> look() {
    if (common_.size() == 0) {
      report_.layers_note = "the models have no common value inside the graph";
      return {};
    }
    const auto compared = question_.options.layers ? all() : search();
    if (compared) return {};
    if (compared.error().diagnostic.code == "cancelled") return compared.error();
    report_.layers_note = headline(compared.error().diagnostic);
    return {};
  }

  Result<void> report() {
    const std::optional<std::size_t> culprit = find_culprit();
    for (auto& [index, layer] : found_) {
      if (index == culprit) report_.first_culprit = report_.layers.size();
      report_.layers.push_back(std::move(layer));
    }
    if (culprit && wrong_alone(*culprit)) repro(*culprit);
    return {};
  }

 private:
  Result<void> all() {
    if (!take_declared_sizes()) {
      if (auto run = take_exact_sizes(); !run) return run;
    }
    std::vector<std::size_t> every(common_.size());
    std::iota(every.begin(), every.end(), std::size_t{0});
    for (const std::vector<std::size_t>& batch : batches(every)) {
      if (auto compared = compare(batch); !compared) return compared;
    }
    return {};
  }

  /// False: not all sizes follow from the model alone.
  bool take_declared_sizes() {
    const auto model = fresh_copy(*question_.side.model, question_.options);
    if (!model) return false;
    const ir::Graph& graph = *model->ir().graph;
    for (std::size_t index = 0; index < common_.size(); ++index) {
      const ir::ValueId id = graph.find(common_.name(index));
      const auto bytes = id == ir::ValueId::none ? std::nullopt : declared_bytes(ir::declared_value(graph, id));
      if (!bytes) return false;
      bytes_[index] = *bytes;
    }
    return true;
  }

  Result<void> take_exact_sizes() {
    const auto take = [&](std::size_t, std::string_view name, const exec::Spread& spread) -> Result<void> {
      const auto size = static_cast<std::uint64_t>(spread.exact.is_tensor() ? spread.exact.tensor.size() : 0);
      bytes_[*common_.find(name)] = size * static_cast<std::uint64_t>(storage_bits(spread.type)) / 8;
      return {};
    };
    const auto wants = [&](std::string_view name) { return common_.find(name).has_value(); };
    return question_.noise_floor.each_value(question_.set, question_.profile, 0, wants, take);
  }

  /// As many together as a boundary holds.
  std::vector<std::vector<std::size_t>> batches(const std::vector<std::size_t>& indices) const {
    constexpr std::uint64_t part_of_memory = 16;
    const std::uint64_t boundary = std::max(least_boundary, usable_memory() / part_of_memory);
    std::vector<std::vector<std::size_t>> all;
    std::uint64_t size = 0;
    for (const std::size_t index : indices) {
      const auto known = bytes_.find(index);
      const std::uint64_t more = known == bytes_.end() ? 0 : known->second;
      if (all.empty() || size + more > boundary) {
        all.emplace_back();
        size = 0;
      }
      size += more;
      all.back().push_back(index);
    }
    return all;
  }

  /// Goes back from wrong values to one that is made from right ones only and is wrong alone, a few values at a time.
  Result<void> search() {
    std::vector<std::size_t> taps = some_of(Flags(common_.size(), true));
    for (const ir::ValueInfo& output : question_.noise_floor.graph().outputs) {
      const auto index = common_.find(question_.noise_floor.graph().name_of(output.value));
      if (index && std::find(taps.begin(), taps.end(), *index) == taps.end()) taps.push_back(*index);
    }
    while (!taps.empty()) {
      if (auto compared = compare(taps); !compared) return compared;
      taps = next_taps();
    }
    return {};
  }

  /// Values between what is right and what is wrong; none when the search is over.
  std::vector<std::size_t> next_taps() {
    std::optional<std::size_t> first;
    Flags behind_right(common_.size(), false);
    std::size_t cleared = 0;
    for (const auto& layer : found_) {
      const std::size_t index = layer.first;
      if (!is_off(layer)) {
        behind_right = either(behind_right, common_.ancestors(index, CommonValues::Through::data));
      } else if (has_effect(index) && cleared < most_suspects) {
        if (!first) first = index;
        const std::vector<std::size_t> taps = some_of(without(without(common_.ancestors(index), asked_), behind_right));
        if (!taps.empty() || wrong_alone(index)) return taps;
        ++cleared;
      }
    }
    // Right values may hide wrong ones before them: masks and limits do.
    return first ? some_of(without(common_.ancestors(*first), asked_)) : std::vector<std::size_t>();
  }

  /// At most as many values as a search taps, evenly taken, the last among them.
  static std::vector<std::size_t> some_of(const Flags& flags) {
    std::vector<std::size_t> all, some;
    for (std::size_t index = 0; index < flags.size(); ++index) {
      if (flags[index]) all.push_back(index);
    }
    const std::size_t taps = std::min(all.size(), taps_of_a_search);
    for (std::size_t i = 1; i <= taps; ++i) some.push_back(all[i * all.size() / taps - 1]);
    return some;
  }

  static Flags without(Flags flags, const Flags& others) {
    for (std::size_t index = 0; index < flags.size(); ++index) {
      if (others[index]) flags[index] = false;
    }
    return flags;
  }

  static Flags either(Flags flags, const Flags& others) {
    for (std::size_t index = 0; index < flags.size(); ++index) flags[index] = flags[index] || others[index];
    return flags;
  }

  static bool is_off(const std::pair<const std::size_t, LayerDiff>& layer) { return is_finding(layer.second.verdict); }

  /// Values that keep the side from running are found by halves and left out.
  Result<void> by_halves(const std::vector<std::size_t>& indices, std::string_view what,
                         const std::function<Result<void>(const std::vector<std::size_t>&)>& run) {
    auto done = run(indices);
    if (done) return done;
    const Diagnostic& fault = done.error().diagnostic;
    if (fault.code == "cancelled" || fault.code == "worker-timeout" || ++failures_ > most_failures) return done;
    if (indices.size() == 1) {
      report_.layers_note = fmt::format("{} {}: {}", quote(common_.name(indices[0])), what, fault.message);
      return {};
    }
    const auto middle = indices.begin() + static_cast<std::ptrdiff_t>(indices.size() / 2);
    if (auto half = by_halves({indices.begin(), middle}, what, run); !half) return half;
    return by_halves({middle, indices.end()}, what, run);
  }

  /// Runs the side with these values as outputs, and the exact and noisy runs past them.
  Result<void> compare(const std::vector<std::size_t>& indices) {
    for (const std::size_t index : indices) asked_[index] = true;
    return by_halves(indices, "cannot be an output", [&](const auto& some) -> Result<void> {
      auto values = tapped(some);
      if (!values) return values.error();
      doubtful_.clear();
      if (auto compared = compare_all(*values, question_.options.perturbed_samples); !compared) return compared;
      std::erase_if(*values, [&](const auto& value) { return !doubtful_.contains(value.first); });
      return values->empty() ? Result<void>()
                             : compare_all(*values, question_.options.perturbed_samples * more_samples);
    });
  }

  /// The side's values.
  Result<Values> tapped(const std::vector<std::size_t>& indices) {
    auto model = fresh_copy(*question_.side.model, question_.options);
    if (!model) return model.error();
    set_outputs(model->ir(), names_of(indices));
    return run_once(side_on(question_.side, std::make_shared<const Model>(*std::move(model))), question_.set,
                    question_.sessions);
  }

  std::vector<std::string> names_of(const std::vector<std::size_t>& indices) const {
    std::vector<std::string> names;
    for (const std::size_t index : indices) names.push_back(common_.name(index));
    return names;
  }

  const ir::Graph& side_graph() const { return *question_.side.model->ir().graph; }

  Result<void> compare_all(const Values& values, int samples) {
    std::vector<Judged> judged;
    std::size_t bytes = 0;
    const auto take = [&](std::size_t node, std::string_view name, const exec::Spread& spread) -> Result<void> {
      const Value& got = values.find(name)->second;
      judged.push_back({node, std::string(name), spread, &got, {}});
      bytes += got.is_tensor() ? got.tensor.bytes().size() * (1 + spread.samples.size()) : 0;
      if (bytes > judged_bytes || judged.size() >= judged_at_once) {
        judge(judged);
        bytes = 0;
      }
      return {};
    };
    const auto wants = [&](std::string_view name) { return values.contains(name); };
    auto compared =
        question_.noise_floor.each_value(question_.set, question_.profile, samples, wants, take, question_.set_index);
    if (compared) judge(judged);
    return compared;
  }

  /// Several values side by side.
  void judge(std::vector<Judged>& judged) {
    const ir::Graph& graph = question_.noise_floor.graph();
    threads_->for_range(static_cast<std::int64_t>(judged.size()), 1, [&](std::int64_t first, std::int64_t last) {
      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
        Judged& one = judged[i];
        one.verdict = layer_verdict(graph, one.node, one.name, one.spread, *one.got, question_.profile);
      }
    });
    for (Judged& one : judged) {
      if (one.verdict.in_doubt) doubtful_.emplace(one.name);
      if (const auto index = common_.find(one.name)) found_.insert_or_assign(*index, std::move(one.verdict.layer));
    }
    judged.clear();
  }

  /// Whether what leads to the value is wrong alone, on exact inputs; run when it is first asked for.
  bool wrong_alone(std::size_t index) {
    if (!alone_.contains(index)) look_alone({index});
    const auto& own = alone_.at(index);
    return own && is_finding(own->tensor_verdict.verdict);
  }

  /// Runs what leads to the values alone, and tells the deviation within the model apart.
  void look_alone(const std::vector<std::size_t>& indices) {
    for (const std::vector<std::size_t>& some : apart(indices)) {
      const auto run =
          by_halves(some, "could not be run separately", [&](const auto& part) { return alone_at_once(part); });
      if (!run) report_.layers_note = headline(run.error().diagnostic);
    }
    std::vector<std::size_t> known;
    for (const std::size_t index : indices) {
      const auto& own = alone_.emplace(index, std::nullopt).first->second;
      // A search asks many that are right; what those inherit nobody reads.
      if (own && (question_.options.layers || is_finding(own->tensor_verdict.verdict))) known.push_back(index);
    }
    if (known.empty()) return;
    if (const auto reported = report_inherited(known); !reported)
      report_.layers_note = headline(reported.error().diagnostic);
    for (const std::size_t index : known) alone_.at(index)->got = {};
  }

  /// Groups of values none of which is made from another of its group: these can be run alone at once.
  std::vector<std::vector<std::size_t>> apart(const std::vector<std::size_t>& indices) {
    struct Group {
      std::vector<std::size_t> indices;
      Names from, writes;
    };
    const auto meet = [](const Names& some, const Names& others) {
      return std::any_of(some.begin(), some.end(), [&](const std::string& name) { return others.contains(name); });
    };
    std::vector<Group> groups;
    for (const std::size_t index : indices) {
      Group one = {{index}, {}, {}};
      for (const Way& way : {way_in(question_.noise_floor.graph(), index), way_in(side_graph(), index)}) {
        one.from.insert(way.from.begin(), way.from.end());
        one.writes.insert(way.writes.begin(), way.writes.end());
      }
      const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
        return !meet(one.from, other.writes) && !meet(one.writes, other.from);
      });
      if (group == groups.end()) {
        groups.push_back(std::move(one));
        continue;
      }
      group->indices.push_back(index);
      group->from.merge(one.from);
      group->writes.merge(one.writes);
    }
    std::vector<std::vector<std::size_t>> all;
    for (Group& group : groups) all.push_back(std::move(group.indices));
    return all;
  }

  Way way_in(const ir::Graph& graph, std::size_t index) const { return way_to(graph, names_of({index}), known_); }

  Result<void> alone_at_once(const std::vector<std::size_t>& indices) {
    auto alone = run_alone(question_, names_of(indices), known_);
    if (!alone) return alone.error();
    auto noise_floor = NoiseFloor::make(alone->base, question_.sessions);
    if (!noise_floor) return noise_floor.error();
    const auto take = [&](std::size_t, std::string_view name, const exec::Spread& spread) -> Result<void> {
      const auto got = alone->got.find(name);
      const auto index = common_.find(name);
      if (!index || !spread.exact.is_tensor() || !got->second.is_tensor()) return {};
      alone_[*index] = Own{comparison::verdict_of(spread, got->second.tensor, question_.profile), got->second};
      return {};
    };
    const auto wants = [&](std::string_view name) { return alone->got.contains(name); };
    const auto look = [&](int samples) {
      return noise_floor->each_value(alone->inputs, question_.profile, samples, wants, take);
    };
    if (auto run = look(question_.options.perturbed_samples); !run) return run;
    std::erase_if(alone->got, [&](const auto& value) {
      const auto index = common_.find(value.first);
      const auto own = index ? alone_.find(*index) : alone_.end();
      return own == alone_.end() || !own->second || !own->second->tensor_verdict.in_doubt;
    });
    if (!alone->got.empty()) {
      if (auto run = look(question_.options.perturbed_samples * more_samples); !run) return run;
    }
    for (const std::size_t index : indices) {
      if (const auto own = alone_.find(index); own != alone_.end() && own->second) report_own(index, *own->second);
    }
    return {};
  }

  void report_own(std::size_t index, const Own& own) {
    LayerDiff& layer = found_.at(index);
    layer.own = measured(own.tensor_verdict);
    layer.is_culprit = is_finding(own.tensor_verdict.verdict);
    Subgraph& subgraph = layer.subgraph.emplace();
    const ir::Graph &base = question_.noise_floor.graph(), &side = side_graph();
    Way way = way_in(base, index), there = way_in(side, index);
    subgraph.nodes = locations_of(base, way);
    subgraph.side_nodes = locations_of(side, there);
    subgraph.from = std::move(way.from);
    for (std::string& name : there.from) {
      if (std::find(subgraph.from.begin(), subgraph.from.end(), name) == subgraph.from.end())
        subgraph.from.push_back(std::move(name));
    }
  }

  /// Compares values within the model with those of what leads to them alone.
  Result<void> report_inherited(const std::vector<std::size_t>& indices) {
    auto values = tapped(indices);
    if (!values) return values.error();
    const auto take = [&](std::size_t, std::string_view name, const exec::Spread& spread) -> Result<void> {
      const auto value = values->find(name);
      if (!value->second.is_tensor() || !spread.exact.is_tensor()) return {};
      const std::size_t index = *common_.find(name);
      const Tensor &within = value->second.tensor, &alone = alone_.at(index)->got.tensor;
      if (within.type() != alone.type() || within.dims() != alone.dims()) return {};
      auto& inherited = found_.at(index).inherited =
          measured(comparison::verdict_of(spread, within, question_.profile, &alone));
      if (!inherited) return {};
      // The verdict counts the rounding of both; reported are standard deviations of one, as of the total.
      inherited->rms *= std::numbers::sqrt2;
      inherited->largest *= std::numbers::sqrt2;
      return {};
    };
    const auto wants = [&](std::string_view name) { return values->contains(name); };
    return question_.noise_floor.each_value(question_.set, question_.profile, question_.options.perturbed_samples,
                                            wants, take);
  }

  /// What to look at alone: what is before the first that is off and near the limit, then what is off.
  std::vector<std::size_t> suspects() {
    const std::size_t most = question_.options.layers ? most_looked_at : most_suspects;
    std::vector<std::size_t> near, off;
    for (const auto& [index, layer] : found_) {
      if (!is_finding(layer.verdict)) continue;
      if (off.size() == most)
        ++report_.not_looked_at;
      else if (has_effect(index))
        off.push_back(index);
      else if (report_.layers_note.empty())
        report_.layers_note = fmt::format("{} deviates, but nothing that is computed from it", quote(layer.value));
    }
    if (off.empty()) return off;
    const Flags before = common_.ancestors(off.front());
    for (const auto& [index, layer] : found_) {
      if (before[index] && !is_finding(layer.verdict) && layer.total && layer.total->rms > suspicious_rms)
        near.push_back(index);
    }
    if (near.size() > most_suspects / 2) near.erase(near.begin(), near.end() - most_suspects / 2);
    near.insert(near.end(), off.begin(), off.end());
    return near;
  }

  /// Whether something that is made from it is off, too, or what leads from it to an output was not compared. Else its name may stand for another value
  /// there, or it may be without meaning, as the shape of what is empty.
  bool has_effect(std::size_t index) const {
    Flags was_compared(common_.size(), false);
    for (const auto& [at, layer] : found_) was_compared[at] = layer.verdict != Verdict::not_compared;
    if (common_.reaches_output(index, was_compared)) return true;
    const Flags after = common_.descendants(index);
    return std::any_of(found_.begin(), found_.end(),
                       [&](const auto& other) { return after[other.first] && is_off(other); });
  }

  std::optional<std::size_t> find_culprit() {
    const std::vector<std::size_t> all = suspects();
    if (question_.options.layers) {
      for (const std::vector<std::size_t>& batch : batches(all)) look_alone(batch);
    }
    for (const std::size_t index : all) {
      if (wrong_alone(index)) return index;
    }
    if (!is_finding(report_.verdict)) return std::nullopt;
    const auto first =
        std::find_if(all.begin(), all.end(), [&](std::size_t index) { return is_finding(found_.at(index).verdict); });
    if (report_.layers_note.empty()) {
      report_.layers_note =
          first == all.end()
              ? "with inner values as outputs this side does not deviate: an optimization across nodes is the cause"
              : "no node is wrong by itself; the first value that deviates is shown";
    }
    return first == all.end() ? std::nullopt : std::optional(*first);
  }

  void repro(std::size_t index) {
    if (question_.repro.empty()) return;
    const auto alone = run_alone(question_, names_of({index}), known_);
    const auto written = alone ? write_repro(*alone, question_, report_, common_.name(index), question_.repro)
                               : Result<void>(alone.error());
    if (written)
      report_.repro = question_.repro.string();
    else
      report_.repro_failure = written.error();
  }

  const LayerQuestion& question_;
  SideReport& report_;
  CommonValues common_;
  const Names known_;
  Flags asked_;
  Names doubtful_;                              // of the values that were compared last
  std::map<std::size_t, std::uint64_t> bytes_;  // of what follows, all by index
  std::map<std::size_t, LayerDiff> found_;
  std::map<std::size_t, std::optional<Own>> alone_;  // nothing for what could not be run
  int failures_ = 0;
  std::shared_ptr<ThreadPool> threads_;
};

Result<void> look_and_report(const LayerQuestion& question, SideReport& report) {
  Layers layers(question, report);
  if (auto looked = layers.look(); !looked) return looked;
  return layers.report();
}

/// Where the outputs agree, a value that deviates and was not found by its name was matched with something else.
void drop_mismatched(SideReport& report) {
  std::vector<LayerDiff> kept;
  report.first_culprit.reset();
  for (LayerDiff& layer : report.layers) {
    if (layer.matched_by != MatchedBy::name && is_finding(layer.verdict)) continue;
    if (layer.is_culprit && !report.first_culprit) report.first_culprit = kept.size();
    kept.push_back(std::move(layer));
  }
  report.layers = std::move(kept);
}

}  // namespace

Result<void> compare_layers(const LayerQuestion& question, SideReport& report) {
  if (!question.side.model) return compare_foreign_layers(question, report);
  const auto matched = matched_side(question);
  if (!matched) return matched.error();
  if (!*matched) return look_and_report(question, report);
  LayerQuestion renamed{question.base,    (*matched)->side, question.set,      question.noise_floor,
                        question.profile, question.options, question.sessions, question.repro};
  if (auto compared = look_and_report(renamed, report); !compared) return compared;
  for (LayerDiff& layer : report.layers) {
    const auto found = (*matched)->matches.find(layer.value);
    if (found == (*matched)->matches.end()) continue;
    layer.matched_by = found->second.by;
    if (found->second.name != layer.value) layer.side_value = found->second.name;
  }
  if (!is_finding(report.verdict)) drop_mismatched(report);
  return {};
}

std::function<Result<void>()> begin_layers(const LayerQuestion& question, SideReport& report) {
  const auto layers = std::make_shared<Layers>(question, report);
  const auto looked = layers->look();
  return [layers, looked] { return looked ? layers->report() : looked; };
}

}  // namespace onnxkit::diffing
