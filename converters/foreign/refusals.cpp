#include "converters/foreign/refusals.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace onnxkit::foreign {

void Refusals::add(Refusal refusal) {
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Refusal& r) { return r.op == refusal.op && r.reason == refusal.reason; });
  if (known != entries_.end())
    known->count += refusal.count;
  else
    entries_.push_back(std::move(refusal));
}

std::vector<Diagnostic> Refusals::findings() const {
  std::vector<Diagnostic> findings;
  for (const Refusal& refusal : entries_) {
    Diagnostic& finding = findings.emplace_back();
    finding.code = "unsupported-operator";
    finding.location.scope = {"main"};
    finding.location.node = refusal.index;
    finding.location.node_name = refusal.node_name;
    finding.location.op = refusal.op;
    finding.message = refusal.reason;
    if (refusal.count > 1) finding.notes.push_back(fmt::format("{} nodes; this is the first", refusal.count));
    if (!refusal.source.empty()) finding.notes.push_back(refusal.source);
    finding.help = refusal.help;
  }
  return findings;
}

std::string Refusals::counted_operators() const {
  std::set<std::string_view> operators;
  for (const Refusal& refusal : entries_) operators.insert(refusal.op);
  return operators.size() == 1 ? "an operator" : fmt::format("{} operators", operators.size());
}

}  // namespace onnxkit::foreign
