#include "converters/legalize/channels_last_program.h"

#include <optional>

#include <fmt/format.h>

#include "converters/layout/channels_last.h"
#include "converters/layout/layout.h"
#include "converters/legalize/channel_operators.h"
#include "converters/legalize/legalize.h"

namespace onnxkit::legalize {
Places places_of_nodes(const ir::Model& model) {
  Places places;
  for (std::size_t n = 0; model.graph && n < model.graph->nodes.size(); ++n)
    if (const auto name = model.graph->nodes[n].name.view(); !name.empty()) places.emplace(name, n);
  return places;
}

void name_as_in_model(std::vector<Diagnostic>& findings, const Places& places) {
  const std::string prefix = fmt::format("{}::", layout::channels_last_domain);
  constexpr std::size_t rank_suffix = 2;
  for (Diagnostic& finding : findings) {
    std::string& op = finding.location.op;
    if (op.starts_with(prefix)) op = op.substr(prefix.size(), op.size() - prefix.size() - rank_suffix);
    const auto place = places.find(finding.location.node_name);
    finding.location.node = place == places.end() ? std::nullopt : std::optional<std::uint64_t>(place->second);
  }
}

Result<foreign::Model> channels_last_program(ir::Model& model, const foreign::Writers& writers,
                                             std::string_view framework, std::int64_t opset,
                                             std::vector<Diagnostic>& findings) {
  const Places places = places_of_nodes(model);
  if (auto legal = bring_to(model, opset, writers, findings); !legal) return std::move(legal).error();
  write_channel_operators(model);
  layout::to_channels_last(model);
  layout::reduce_transposes(model);
  auto program = foreign::export_model(model, writers, framework, findings);
  name_as_in_model(findings, places);
  return program;
}

}  // namespace onnxkit::legalize
