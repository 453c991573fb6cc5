#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "libonnxkit/plan/control_flow.h"
#include "libonnxkit/plan/plan.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::plan {
namespace {

/// Changes of one pattern are one; those without a pattern are apart, in the order in which the passes ran.
std::vector<PlanChange> changes_of(const Plan& plan) {
  std::vector<PlanChange> changes;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  each_change(plan, [&](const NodeChange& change) {
    PlanNode node{change.node, change.op};
    if (!change.into.empty()) {
      const auto [place, is_new] = places.try_emplace({change.pass, change.into}, changes.size());
      if (is_new) changes.push_back({.pass = std::string(change.pass), .nodes = {}, .made = {}});
      PlanChange& whole = changes[place->second];
      whole.nodes.push_back(std::move(node));
      if (change.node == change.into) whole.made = change.made;
      return;
    }
    changes.push_back({.pass = std::string(change.pass), .nodes = {std::move(node)}, .made = change.made});
  });
  return changes;
}

}  // namespace

PlanPart summary_of(const Plan& plan, std::string of) {
  PlanPart part;
  part.of = std::move(of);
  part.changes = changes_of(plan);
  for (const NodeMiss& miss : plan.misses)
    part.misses.push_back({.pass = std::string(miss.pass), .node = {miss.node, miss.op}, .reason = miss.reason});
  const std::unordered_map<std::string, std::string> ops(plan.lowered.begin(), plan.lowered.end());
  std::unordered_set<std::string_view> with_step;
  for (const Step& step : plan.steps) {
    PlanStep made{.kind = std::string(step.converts.empty() ? step.kind.name : "conversion"),
                  .nodes = {},
                  .by = step.by,
                  .reason = {},
                  .runs_bodies = false};
    for (const std::string& name : step.nodes) {
      const auto known = ops.find(name);
      if (known == ops.end()) continue;  // an output that is copied
      with_step.insert(known->first);
      const bool is_new =
          std::none_of(made.nodes.begin(), made.nodes.end(), [&](const PlanNode& node) { return node.name == name; });
      if (is_new) made.nodes.push_back({known->first, known->second});
    }
    if (step.kind == host_step) {
      const auto& parameters = static_cast<const HostParameters&>(*step.parameters);
      made.reason = parameters.said();
      made.runs_bodies = parameters.control && parameters.control->why_whole().empty();
      if (made.nodes.empty()) made.nodes.push_back({"", parameters.op});
    }
    part.steps.push_back(std::move(made));
  }
  for (const auto& [name, op] : plan.lowered) {
    if (!with_step.contains(name)) part.without_step.push_back({name, op});
  }
  part.arena_bytes = plan.arena_bytes;
  part.open = plan.open;
  return part;
}

}  // namespace onnxkit::plan
