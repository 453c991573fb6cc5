#include "converters/formats/tflite/to_tflite.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "converters/foreign/unused.h"
#include "converters/formats/tflite/emit.h"
#include "converters/formats/tflite/fuse.h"
#include "converters/formats/tflite/program_writer.h"
#include "converters/formats/tflite/quantized.h"
#include "converters/formats/tflite/tflite.h"
#include "converters/layout/channels_last.h"
#include "converters/layout/layout.h"
#include "converters/legalize/channel_operators.h"
#include "converters/legalize/channels_last_program.h"
#include "converters/legalize/legalize.h"
#include "converters/legalize/recurrent.h"
#include "libonnxkit/ir/clone.h"
#include "libonnxkit/ir/scope.h"

namespace onnxkit::to_tflite {

void register_all_tflite_writers(Writers& writers);

namespace {

/// Kernels compute in float32. Elements of other floating types can be stored, and cast.
void refuse_types(foreign::WriteCall& call) {
  const std::string_view op = call.node.op_type.view();
  if (op == "Cast" || op == "Identity" || op == "DequantizeLinear" || op == "Shape") return;
  const auto is_computed = [](ElementType elem) {
    return (is_floating(elem) && elem != ElementType::float32) || elem == ElementType::complex64 ||
           elem == ElementType::complex128 || elem == ElementType::string || elem == ElementType::uint64;
  };
  for (std::size_t i = 0; i < call.node.inputs.size(); ++i)
    if (call.has(i) && is_computed(call.elem(i)))
      return call.refuse(fmt::format("its kernels do not take {}", name_of(call.elem(i))),
                         "bring the model to float32 and integers of 32 and 64 bits");
}

/// Operators that are written in another form: with channels last, or as elementwise operators.
bool has_other_writer(std::string_view op) {
  return layout::is_layout_operator(op) || op == "Constant" || op == "BatchNormalization" ||
         op == "GlobalAveragePool" || op == "GlobalMaxPool" || op == "InstanceNormalization";
}

/// Who made the model, and what it says of itself.
void add_metadata(const ir::Model& model, foreign::Model& program) {
  if (const auto producer = model.producer_name.view(); !producer.empty())
    program.metadata.emplace_back(
        "onnx_producer", program.strings->keep(fmt::format("{} {}", producer, model.producer_version.view())).view());
  for (const ir::StringEntry& entry : model.metadata_props)
    if (!entry.value.view().empty()) program.metadata.emplace_back(entry.key.view(), entry.value.view());
}

/// Findings are to name operators of the model, not those that they were composed of.
bool are_operators_of(const ir::Model& model, const std::vector<Diagnostic>& findings) {
  std::set<std::string> names;
  for (const auto& scope : ir::graph_scopes(model))
    for (const ir::Node& node : scope->graph->nodes) names.insert(ir::qualified_op(node));
  return std::all_of(findings.begin(), findings.end(),
                     [&](const Diagnostic& finding) { return names.contains(finding.location.op); });
}

Result<foreign::Model> write_operators(ir::Model& model, const Writers& writers, const foreign::NodePlaces& places,
                                       std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  legalize::write_channel_operators(model);
  layout::to_channels_last(model);
  layout::reduce_transposes(model);
  auto program = foreign::export_model(model, writers, "TensorFlow Lite", findings, &places, trace);
  for (std::size_t i = 0; trace && i < trace->size(); ++i)
    (*trace)[i].from.op = legalize::name_in_model(std::move((*trace)[i].from.op));
  for (Diagnostic& finding : findings) finding.location.op = legalize::name_in_model(std::move(finding.location.op));
  return program;
}

}  // namespace

Result<foreign::Model> to_tflite(ir::Model& model, std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  Writers writers;
  register_all_tflite_writers(writers);
  writers.set_condition(refuse_types);
  const foreign::NodePlaces places(model);
  if (auto legal = legalize::bring_to(model, write_opset, writers, findings); !legal) return std::move(legal).error();
  ir::Model given = ir::clone(model);
  const bool has_recurrent = legalize::write_recurrent(model);
  const bool is_composed =
      legalize::compose(model, [&](std::string_view op) { return !writers.find(op) && !has_other_writer(op); });
  std::vector<Diagnostic> refused;
  auto program = write_operators(model, writers, places, refused, trace);
  if (!program && (is_composed || has_recurrent) && !are_operators_of(given, refused)) {
    std::vector<Diagnostic> uncomposed;
    foreign::Trace trace_without;
    if (auto without = write_operators(given, writers, places, uncomposed, &trace_without); !without) {
      if (trace) *trace = std::move(trace_without);
      program = std::move(without);
      refused = std::move(uncomposed);
    }
  }
  std::move(refused.begin(), refused.end(), std::back_inserter(findings));
  if (!program) return program;
  add_metadata(model, *program);
  flatten_as_they_lie(program->graph);
  fuse_biases(program->graph);
  fuse_activations(program->graph);
  compute_on_integers(*program);
  foreign::remove_unused(program->graph);
  fuse_activations(program->graph);  // those of integers
  if (trace) foreign::add_results(program->graph, *trace);
  return program;
}

}  // namespace onnxkit::to_tflite

namespace onnxkit::tflite {

foreign::WrittenOperators written_operators() {
  to_tflite::Writers writers;
  to_tflite::register_all_tflite_writers(writers);
  std::set<std::string> names;
  for (std::string& name : writers.names()) names.insert(legalize::name_in_model(std::move(name)));
  for (const std::string_view name : legalize::channel_operators()) names.emplace(name);
  return {"TensorFlow Lite", to_tflite::write_opset, {names.begin(), names.end()}};
}

Result<void> write(const ir::Model& model, const ByteSink& sink, std::vector<Diagnostic>& findings,
                   foreign::Trace* trace) {
  ir::Model copy = ir::clone(model);
  const auto program = to_tflite::to_tflite(copy, findings, trace);
  return program ? write_program(*program, sink) : Result<void>(program.error());
}

}  // namespace onnxkit::tflite
