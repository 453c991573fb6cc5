#include "converters/formats/tflite/to_tflite.h"

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

/// Findings name operators as the model does: Conv, not onnxkit.channels_last::Conv2D.
void name_as_in_model(std::vector<Diagnostic>& findings) {
  const std::string prefix = std::string(layout::channels_last_domain) + "::";
  for (Diagnostic& finding : findings) {
    const std::size_t at = finding.message.find(prefix);
    if (at == std::string::npos) continue;
    finding.message.erase(at, prefix.size());
    const std::size_t end = finding.message.find_first_of(": ", at);
    constexpr std::size_t rank_suffix = 2;
    if (end != std::string::npos && end >= at + rank_suffix) finding.message.erase(end - rank_suffix, rank_suffix);
  }
}

}  // namespace

Result<foreign::Model> to_tflite(ir::Model& model, std::vector<Diagnostic>& findings) {
  Writers writers;
  register_all_tflite_writers(writers);
  writers.set_condition(refuse_types);
  if (auto legal = legalize::bring_to(model, write_opset, writers, findings); !legal) return std::move(legal).error();
  legalize::write_channel_operators(model);
  layout::to_channels_last(model);
  layout::reduce_transposes(model);
  auto program = foreign::export_model(model, writers, "TensorFlow Lite", findings);
  name_as_in_model(findings);
  if (!program) return program;
  fuse_biases(program->graph);
  fuse_activations(program->graph);
  compute_on_integers(*program);
  foreign::remove_unused(program->graph);
  return program;
}

}  // namespace onnxkit::to_tflite

namespace onnxkit::tflite {

Result<void> write(const ir::Model& model, const ByteSink& sink, std::vector<Diagnostic>& findings) {
  ir::Model copy = ir::clone(model);
  const auto program = to_tflite::to_tflite(copy, findings);
  return program ? write_program(*program, sink) : Result<void>(program.error());
}

}  // namespace onnxkit::tflite
