#include "converters/legalize/channels_last_program.h"

#include <utility>

#include <fmt/format.h>

#include "converters/layout/channels_last.h"
#include "converters/layout/layout.h"
#include "converters/legalize/channel_operators.h"
#include "converters/legalize/legalize.h"

namespace onnxkit::legalize {

std::string name_in_model(std::string op) {
  const std::string prefix = fmt::format("{}::", layout::channels_last_domain);
  constexpr std::size_t rank_suffix = 2;
  return op.starts_with(prefix) ? op.substr(prefix.size(), op.size() - prefix.size() - rank_suffix) : op;
}

Result<foreign::Model> channels_last_program(ir::Model& model, const foreign::Writers& writers,
                                             std::string_view framework, std::int64_t opset,
                                             std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  const foreign::NodePlaces places(model);
  if (auto legal = bring_to(model, opset, writers, findings); !legal) return std::move(legal).error();
  write_channel_operators(model);
  layout::to_channels_last(model);
  layout::reduce_transposes(model);
  auto program = foreign::export_model(model, writers, framework, findings, &places, trace);
  for (std::size_t i = 0; trace && i < trace->size(); ++i)
    (*trace)[i].from.op = name_in_model(std::move((*trace)[i].from.op));
  if (trace && program) foreign::add_results(program->graph, *trace);
  for (Diagnostic& finding : findings) finding.location.op = name_in_model(std::move(finding.location.op));
  return program;
}

}  // namespace onnxkit::legalize
