#include "converters/formats/tflite/to_tflite.h"

#include <fmt/format.h>

#include "converters/foreign/unused.h"
#include "converters/formats/tflite/emit.h"
#include "converters/formats/tflite/fuse.h"
#include "converters/formats/tflite/program_writer.h"
#include "converters/formats/tflite/quantized.h"
#include "converters/formats/tflite/tflite.h"
#include "converters/legalize/channels_last_program.h"
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

}  // namespace

Result<foreign::Model> to_tflite(ir::Model& model, std::vector<Diagnostic>& findings) {
  Writers writers;
  register_all_tflite_writers(writers);
  writers.set_condition(refuse_types);
  auto program = legalize::channels_last_program(model, writers, "TensorFlow Lite", write_opset, findings);
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
