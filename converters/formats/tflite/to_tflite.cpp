#include "converters/formats/tflite/to_tflite.h"

#include "converters/foreign/unused.h"
#include "converters/formats/tflite/emit.h"
#include "converters/formats/tflite/fuse.h"
#include "converters/formats/tflite/program_writer.h"
#include "converters/formats/tflite/tflite.h"
#include "converters/layout/channels_last.h"
#include "converters/layout/layout.h"
#include "converters/legalize/channel_operators.h"
#include "converters/legalize/legalize.h"
#include "libonnxkit/ir/clone.h"

namespace onnxkit::to_tflite {

void register_all_tflite_writers(Writers& writers);

Result<foreign::Model> to_tflite(ir::Model& model, std::vector<Diagnostic>& findings) {
  Writers writers;
  register_all_tflite_writers(writers);
  if (auto legal = legalize::bring_to(model, write_opset, writers, findings); !legal) return std::move(legal).error();
  legalize::write_channel_operators(model);
  layout::to_channels_last(model);
  layout::reduce_transposes(model);
  auto program = foreign::export_model(model, writers, "TensorFlow Lite", findings);
  if (!program) return program;
  fuse_activations(program->graph);
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
