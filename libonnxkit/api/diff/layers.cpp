#include "libonnxkit/api/diff/layers.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "checker/rule_registry.h"
#include "libonnxkit/api/diff/cut_model.h"
#include "libonnxkit/api/diff/single_node.h"
#include "libonnxkit/ir/order.h"

namespace onnxkit::api {
namespace {

constexpr std::uint64_t boundary_bytes = std::uint64_t{512} << 20;  // of tapped values held at a time
constexpr std::size_t taps_of_a_search = 24;
constexpr std::size_t most_suspects = 12;
constexpr double suspicious_rms = 1;

class Layers {
 public:
  Layers(const LayerQuestion& question, SideReport& report) : question_(question), report_(report) { find_common(); }

  Result<void> run() {
    if (common_.empty()) {
      report_.layers_note = "the models have no value inside the graph in common";
      return {};
    }
    auto compared = question_.options.layers ? all() : search();
    if (!compared) return compared;
    for (auto& [at, layer] : found_) report_.layers.push_back(std::move(layer));
    return find_guilty();
  }

 private:
  /// Values that nodes of both main graphs write, in the order of execution.
  void find_common() {
    const ir::Graph& graph = question_.floor.graph();
    const ir::Graph& other = *question_.side.model->ir().graph;
    const std::vector<std::int32_t> producers = ir::producers(other);
    for (const std::size_t node : ir::evaluation_order(graph)) {
      for (const ir::ValueId id : graph.nodes[node].outputs) {
        const ir::ValueId there = id == ir::ValueId::none ? id : other.find(graph.name_of(id));
        if (there == ir::ValueId::none || producers[ir::index_of(there)] < 0) continue;
        index_.emplace(graph.name_of(id), common_.size());
        common_.emplace_back(graph.name_of(id));
      }
    }
  }

  Result<void> all() {
    std::map<std::string, std::uint64_t, std::less<>> bytes;
    const auto take = [&](std::size_t, std::string_view name, const exec::Spread& spread) -> Result<void> {
      bytes.emplace(name, spread.exact.is_tensor() ? spread.exact.tensor.bytes().size() : 0);
      return {};
    };
    if (auto run = question_.floor.each_value(question_.set, question_.profile, 0, take); !run) return run;
    std::vector<std::string> batch;
    std::uint64_t size = 0;
    for (const std::string& name : common_) {
      const auto known = bytes.find(name);
      size += known == bytes.end() ? 0 : known->second;
      if (size > boundary_bytes && !batch.empty()) {
        if (auto compared = compare(batch); !compared) return compared;
        batch.clear();
        size = known == bytes.end() ? 0 : known->second;
      }
      batch.push_back(name);
    }
    return compare(batch);
  }

  /// Narrows down where the first wrong value lies: a few values of the part in question at a time.
  Result<void> search() {
    std::size_t first = 0, end = common_.size();
    while (true) {
      const std::size_t count = end - first;
      const std::size_t taps = std::min(count, taps_of_a_search);
      std::vector<std::string> names;
      for (std::size_t i = 1; i <= taps; ++i) names.push_back(common_[first + i * count / taps - 1]);
      if (auto compared = compare(names); !compared) return compared;
      std::size_t wrong = end, right = first;
      for (const std::string& name : names) {
        const std::size_t at = index_.find(name)->second;
        const auto layer = found_.find(at);
        if (layer != found_.end() && is_finding(layer->second.verdict)) {
          wrong = at;
          break;
        }
        right = at + 1;
      }
      if (taps == count || wrong == end) return {};
      first = right;
      end = wrong + 1;
    }
  }

  /// Runs the side with these values as outputs, and the exact and noisy runs past them.
  Result<void> compare(const std::vector<std::string>& names) {
    auto tapped = fresh_copy(*question_.side.model, question_.options);
    if (!tapped) return tapped.error();
    set_outputs(tapped->ir(), names);
    auto outputs = run_once(side_on(question_.side, std::make_shared<const Model>(*std::move(tapped))), question_.set,
                            question_.options);
    if (!outputs) return outputs.error();
    std::map<std::string, Value, std::less<>> values;
    for (NamedValue& output : *outputs) values.emplace(std::move(output.name), std::move(output.value));
    return question_.floor.each_value(
        question_.set, question_.profile, question_.options.replicas,
        [&](std::size_t node, std::string_view name, const exec::Spread& spread) -> Result<void> {
          const auto value = values.find(name);
          if (value == values.end()) return {};
          add(node, name, spread, value->second);
          values.erase(value);
          return {};
        });
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
    found_.emplace(index_.find(name)->second, std::move(layer));
  }

  /// The layers to look at alone: the first that is off, what before it was near the limit, and what follows.
  std::vector<std::size_t> suspects() const {
    const auto is_off = [](const LayerDiff& layer) { return is_finding(layer.verdict); };
    const auto first = std::find_if(report_.layers.begin(), report_.layers.end(), is_off);
    std::vector<std::size_t> all;
    if (first == report_.layers.end()) return all;
    const auto at = static_cast<std::size_t>(first - report_.layers.begin());
    for (std::size_t i = at; i-- > 0 && all.size() < most_suspects / 2;) {
      const auto& measure = report_.layers[i].inherited;
      if (measure && measure->rms > suspicious_rms) all.push_back(i);
    }
    std::reverse(all.begin(), all.end());
    for (std::size_t i = at; i < report_.layers.size() && all.size() < most_suspects; ++i) {
      if (is_off(report_.layers[i])) all.push_back(i);
    }
    return all;
  }

  Result<void> find_guilty() {
    const std::vector<std::size_t> all = suspects();
    if (all.empty()) {
      if (is_finding(report_.verdict))
        report_.layers_note =
            "with its inner values as outputs the side shows no deviation: what it fuses across nodes is to blame";
      return {};
    }
    const std::set<std::string, std::less<>> known(common_.begin(), common_.end());
    for (const std::size_t i : all) {
      LayerDiff& layer = report_.layers[i];
      auto alone = run_alone(question_, layer.value, known);
      if (!alone) {
        report_.layers_note =
            fmt::format("{} could not be run alone: {}", quote(layer.value), alone.error().diagnostic.message);
        continue;
      }
      if (!alone->got.is_tensor() || !alone->spread.exact.is_tensor()) continue;
      const exec::Judgement own = exec::judge(alone->spread, alone->got.tensor, question_.profile);
      layer.own = own.floor;
      if (!is_finding(own.verdict)) continue;
      report_.first_guilty = i;
      return repro(*alone, layer.value);
    }
    report_.first_guilty =
        static_cast<std::size_t>(std::find_if(report_.layers.begin(), report_.layers.end(),
                                              [](const LayerDiff& layer) { return is_finding(layer.verdict); }) -
                                 report_.layers.begin());
    if (report_.layers_note.empty())
      report_.layers_note = "no node is wrong by itself; the first value that is off is named";
    return {};
  }

  Result<void> repro(const SingleNode& alone, const std::string& value) {
    if (question_.options.repro.empty()) return {};
    auto written = write_repro(alone, question_, report_, value, question_.options.repro);
    if (written) report_.repro = question_.options.repro.string();
    return written;
  }

  const LayerQuestion& question_;
  SideReport& report_;
  std::vector<std::string> common_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::size_t, LayerDiff> found_;
};

}  // namespace

Result<void> compare_layers(const LayerQuestion& question, SideReport& report) {
  return Layers(question, report).run();
}

}  // namespace onnxkit::api
