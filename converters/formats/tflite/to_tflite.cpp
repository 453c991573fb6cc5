#include "converters/formats/tflite/to_tflite.h"

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
#include "converters/legalize/legalize.h"
#include "libonnxkit/ir/clone.h"

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

/// Conv for onnxkit.channels_last::Conv2D.
std::string name_in_model(std::string op) {
  const std::string prefix = std::string(layout::channels_last_domain) + "::";
  constexpr std::size_t rank_suffix = 2;
  return op.starts_with(prefix) ? op.substr(prefix.size(), op.size() - prefix.size() - rank_suffix) : op;
}

}  // namespace

Result<foreign::Model> to_tflite(ir::Model& model, std::vector<Diagnostic>& findings) {
  Writers writers;
  register_all_tflite_writers(writers);
  writers.set_condition(refuse_types);
  const foreign::NodePlaces places(model);
  if (auto legal = legalize::bring_to(model, write_opset, writers, findings); !legal) return std::move(legal).error();
  legalize::write_channel_operators(model);
  layout::to_channels_last(model);
  layout::reduce_transposes(model);
  auto program = foreign::export_model(model, writers, "TensorFlow Lite", findings, &places);
  for (Diagnostic& finding : findings) finding.location.op = name_in_model(std::move(finding.location.op));
  if (!program) return program;
  fuse_biases(program->graph);
  fuse_activations(program->graph);
  compute_on_integers(*program);
  foreign::remove_unused(program->graph);
  return program;
}

}  // namespace onnxkit::to_tflite

namespace onnxkit::tflite {

foreign::WrittenOperators written_operators() {
  to_tflite::Writers writers;
  to_tflite::register_all_tflite_writers(writers);
  std::set<std::string> names;
  for (std::string& name : writers.names()) names.insert(to_tflite::name_in_model(std::move(name)));
  for (const std::string_view name : legalize::channel_operators()) names.emplace(name);
  return {"TensorFlow Lite", to_tflite::write_opset, {names.begin(), names.end()}};
}

Result<void> write(const ir::Model& model, const ByteSink& sink, std::vector<Diagnostic>& findings) {
  ir::Model copy = ir::clone(model);
  const auto program = to_tflite::to_tflite(copy, findings);
  return program ? write_program(*program, sink) : Result<void>(program.error());
}

}  // namespace onnxkit::tflite
