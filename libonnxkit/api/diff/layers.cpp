#include "libonnxkit/api/diff/layers.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "checker/rule_registry.h"
#include "libonnxkit/api/diff/common_values.h"
#include "libonnxkit/api/diff/cut_model.h"
#include "libonnxkit/api/diff/single_node.h"

namespace onnxkit::api {
namespace {

constexpr std::uint64_t boundary_bytes = std::uint64_t{512} << 20;  // of tapped values held at a time
constexpr std::size_t taps_of_a_search = 24;
constexpr std::size_t most_suspects = 12;
constexpr int most_failures = 24, more_replicas = 4;
constexpr double suspicious_rms = 1;

using Places = std::vector<bool>;  // of common values

class Layers {
 public:
  Layers(const LayerQuestion& question, SideReport& report)
      : question_(question),
        report_(report),
        common_(question.floor.graph(), *question.side.model->ir().graph),
        asked_(common_.size(), false) {}

  Result<void> run() {
    if (common_.size() == 0) {
      report_.layers_note = "the models have no value inside the graph in common";
      return {};
    }
    if (const auto compared = question_.options.layers ? all() : search(); !compared) {
      if (compared.error().diagnostic.code == "cancelled") return compared.error();
      report_.layers_note = compared.error().diagnostic.message;
    }
    const std::optional<std::size_t> guilty = find_guilty();
    for (auto& [place, layer] : found_) {
      if (place == guilty) report_.first_guilty = report_.layers.size();
      report_.layers.push_back(std::move(layer));
    }
    if (guilty && wrong_alone(*guilty)) repro(*guilty);
    return {};
  }

 private:
  Result<void> all() {
    std::map<std::string, std::uint64_t, std::less<>> bytes;
    const auto take = [&](std::size_t, std::string_view name, const exec::Spread& spread) -> Result<void> {
      bytes.emplace(name, spread.exact.is_tensor() ? spread.exact.tensor.bytes().size() : 0);
      return {};
    };
    if (auto run = question_.floor.each_value(question_.set, question_.profile, 0, take); !run) return run;
    std::vector<std::size_t> batch;
    std::uint64_t size = 0;
    for (std::size_t place = 0; place < common_.size(); ++place) {
      const auto known = bytes.find(common_.name(place));
      const std::uint64_t more = known == bytes.end() ? 0 : known->second;
      if (size + more > boundary_bytes && !batch.empty()) {
        if (auto compared = compare(batch); !compared) return compared;
        batch.clear();
        size = 0;
      }
      size += more;
      batch.push_back(place);
    }
    return compare(batch);
  }

  /// Goes back from wrong values to one that is made from right ones only and is wrong alone, a few values at a time.
  Result<void> search() {
    std::vector<std::size_t> taps = some_of(Places(common_.size(), true));
    for (const ir::ValueInfo& output : question_.floor.graph().outputs) {
      const auto place = common_.find(question_.floor.graph().name_of(output.value));
      if (place && std::find(taps.begin(), taps.end(), *place) == taps.end()) taps.push_back(*place);
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
    Places behind_right(common_.size(), false);
    std::size_t cleared = 0;
    for (const auto& layer : found_) {
      const std::size_t place = layer.first;
      if (!is_off(layer)) {
        behind_right = either(behind_right, common_.ancestors(place, CommonValues::Through::data));
      } else if (has_effect(place) && cleared < most_suspects) {
        if (!first) first = place;
        const std::vector<std::size_t> taps = some_of(without(without(common_.ancestors(place), asked_), behind_right));
        if (!taps.empty() || wrong_alone(place)) return taps;
        ++cleared;
      }
    }
    // Right values may hide wrong ones before them: masks and limits do.
    return first ? some_of(without(common_.ancestors(*first), asked_)) : std::vector<std::size_t>();
  }

  /// At most as many places as a search taps, evenly taken, the last among them.
  static std::vector<std::size_t> some_of(const Places& places) {
    std::vector<std::size_t> all, some;
    for (std::size_t place = 0; place < places.size(); ++place) {
      if (places[place]) all.push_back(place);
    }
    const std::size_t taps = std::min(all.size(), taps_of_a_search);
    for (std::size_t i = 1; i <= taps; ++i) some.push_back(all[i * all.size() / taps - 1]);
    return some;
  }

  static Places without(Places places, const Places& others) {
    for (std::size_t place = 0; place < places.size(); ++place) {
      if (others[place]) places[place] = false;
    }
    return places;
  }

  static Places either(Places places, const Places& others) {
    for (std::size_t place = 0; place < places.size(); ++place) places[place] = places[place] || others[place];
    return places;
  }

  static bool is_off(const std::pair<const std::size_t, LayerDiff>& layer) { return is_finding(layer.second.verdict); }

  /// As compare_at_once; values that keep the side from running are found by halves and left out.
  Result<void> compare(const std::vector<std::size_t>& places) {
    for (const std::size_t place : places) asked_[place] = true;
    auto compared = compare_at_once(places);
    if (compared) return compared;
    const Diagnostic& fault = compared.error().diagnostic;
    if (fault.code == "cancelled" || fault.code == "worker-timeout" || ++failures_ > most_failures) return compared;
    if (places.size() == 1) {
      report_.layers_note = fmt::format("{} cannot be an output: {}", quote(common_.name(places[0])), fault.message);
      return {};
    }
    const auto middle = places.begin() + static_cast<std::ptrdiff_t>(places.size() / 2);
    if (auto half = compare({places.begin(), middle}); !half) return half;
    return compare({middle, places.end()});
  }

  /// Runs the side with these values as outputs, and the exact and noisy runs past them.
  Result<void> compare_at_once(const std::vector<std::size_t>& places) {
    auto tapped = fresh_copy(*question_.side.model, question_.options);
    if (!tapped) return tapped.error();
    std::vector<std::string> names;
    for (const std::size_t place : places) names.push_back(common_.name(place));
    set_outputs(tapped->ir(), names);
    auto outputs = run_once(side_on(question_.side, std::make_shared<const Model>(*std::move(tapped))), question_.set,
                            question_.options);
    if (!outputs) return outputs.error();
    std::map<std::string, Value, std::less<>> values;
    for (NamedValue& output : *outputs) values.emplace(std::move(output.name), std::move(output.value));
    if (auto judged = judge_all(values, question_.options.replicas); !judged) return judged;
    // A few replicas tell the noise of a few numbers roughly: what is just beyond the limits is judged by more.
    std::erase_if(values, [&](const auto& value) { return !is_close(value.first); });
    return values.empty() ? Result<void>() : judge_all(values, question_.options.replicas * more_replicas);
  }

  Result<void> judge_all(const std::map<std::string, Value, std::less<>>& values, int replicas) {
    const auto take = [&](std::size_t node, std::string_view name, const exec::Spread& spread) -> Result<void> {
      if (const auto value = values.find(name); value != values.end()) add(node, name, spread, value->second);
      return {};
    };
    return question_.floor.each_value(question_.set, question_.profile, replicas, take);
  }

  bool is_close(std::string_view name) const {
    const auto place = common_.find(name);
    const auto layer = place ? found_.find(*place) : found_.end();
    if (layer == found_.end() || layer->second.verdict != Verdict::not_rounding || !layer->second.inherited)
      return false;
    const FloorMeasure& floor = *layer->second.inherited;
    return floor.rms <= 2 * exec::healthy_rms && floor.largest <= 2 * exec::healthy_largest;
  }

  void add(std::size_t node, std::string_view name, const exec::Spread& spread, const Value& got) {
    LayerDiff layer;
    layer.value = name;
    layer.place = checker::place_of_node({"main"}, question_.floor.graph(), node);
    layer.type = type_text(got);
    if (spread.exact.is_tensor() && got.is_tensor()) {
      const exec::Judgement judgement = exec::judge(spread, got.tensor, question_.profile);
      layer.verdict = judgement.verdict;
      layer.inherited = judgement.floor;
      const auto exact = as_stored(spread);
      if (exact && exact->is_tensor()) {
        if (auto metrics = onnxkit::compare(exact->tensor, got.tensor)) layer.metrics = *std::move(metrics);
      }
    }
    if (const auto place = common_.find(name)) found_.insert_or_assign(*place, std::move(layer));
  }

  /// The node of a value alone on exact inputs, run when it is first asked for; null when it cannot be run.
  const SingleNode* alone(std::size_t place) {
    const auto known = alone_.find(place);
    if (known != alone_.end()) return known->second ? &*known->second : nullptr;
    auto node = run_alone(question_, common_.name(place), common_.names());
    if (!node) {
      report_.layers_note =
          fmt::format("{} could not be run alone: {}", quote(common_.name(place)), node.error().diagnostic.message);
      alone_.emplace(place, std::nullopt);
      return nullptr;
    }
    return &*alone_.emplace(place, *std::move(node)).first->second;
  }

  bool wrong_alone(std::size_t place) {
    const SingleNode* node = alone(place);
    if (!node || !node->got.is_tensor() || !node->spread.exact.is_tensor()) return false;
    const exec::Judgement own = exec::judge(node->spread, node->got.tensor, question_.profile);
    found_.at(place).own = own.floor;
    return is_finding(own.verdict);
  }

  /// What to look at alone: what is before the first that is off and near the limit, then what is off.
  std::vector<std::size_t> suspects() {
    std::vector<std::size_t> near, off;
    for (const auto& [place, layer] : found_) {
      if (off.size() == most_suspects || !is_finding(layer.verdict)) continue;
      if (has_effect(place))
        off.push_back(place);
      else if (report_.layers_note.empty())
        report_.layers_note = fmt::format("{} is off, but nothing that is made from it", quote(layer.value));
    }
    if (off.empty()) return off;
    const Places before = common_.ancestors(off.front());
    for (const auto& [place, layer] : found_) {
      if (before[place] && !is_finding(layer.verdict) && layer.inherited && layer.inherited->rms > suspicious_rms)
        near.push_back(place);
    }
    if (near.size() > most_suspects / 2) near.erase(near.begin(), near.end() - most_suspects / 2);
    near.insert(near.end(), off.begin(), off.end());
    return near;
  }

  /// Whether something that is made from it is off, too, or nothing is known about it. Else its name may stand for another value there, or it may be
  /// without meaning, as the shape of what is empty.
  bool has_effect(std::size_t place) const {
    const Places after = common_.descendants(place);
    const auto follows = [&](const auto& other) { return after[other.first]; };
    return std::none_of(found_.begin(), found_.end(), follows) ||
           std::any_of(found_.begin(), found_.end(),
                       [&](const auto& other) { return follows(other) && is_off(other); });
  }

  std::optional<std::size_t> find_guilty() {
    const std::vector<std::size_t> all = suspects();
    for (const std::size_t place : all) {
      if (wrong_alone(place)) return place;
    }
    if (!is_finding(report_.verdict)) return std::nullopt;
    const auto first =
        std::find_if(all.begin(), all.end(), [&](std::size_t place) { return is_finding(found_.at(place).verdict); });
    if (report_.layers_note.empty()) {
      report_.layers_note =
          first == all.end()
              ? "with its inner values as outputs the side shows no deviation: what it fuses across nodes is to blame"
              : "no node is wrong by itself; the first value that is off is named";
    }
    return first == all.end() ? std::nullopt : std::optional(*first);
  }

  void repro(std::size_t place) {
    if (question_.options.repro.empty()) return;
    const auto written = write_repro(*alone(place), question_, report_, common_.name(place), question_.options.repro);
    if (written)
      report_.repro = question_.options.repro.string();
    else
      report_.repro_failure = written.error();
  }

  const LayerQuestion& question_;
  SideReport& report_;
  CommonValues common_;
  Places asked_;
  std::map<std::size_t, LayerDiff> found_;                  // by place
  std::map<std::size_t, std::optional<SingleNode>> alone_;  // by place
  int failures_ = 0;
};

}  // namespace

Result<void> compare_layers(const LayerQuestion& question, SideReport& report) {
  return Layers(question, report).run();
}

}  // namespace onnxkit::api
