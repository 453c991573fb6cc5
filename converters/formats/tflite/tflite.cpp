#include "converters/formats/tflite/tflite.h"

#include "converters/foreign/import.h"
#include "converters/formats/tflite/program.h"
#include "converters/formats/tflite/state.h"
#include "converters/layout/layout.h"

namespace onnxkit::tflite {
namespace {

constexpr std::string_view custom = "CUSTOM ", flex = "CUSTOM Flex";

void refuse_custom(foreign::Call& call) {
  call.refuse("it is a custom operator, whose meaning the file does not tell");
}

void refuse_flex(foreign::Call& call) {
  call.refuse("it is an operator of TensorFlow that runs only with TensorFlow's own kernels",
              "convert the model to TensorFlow Lite again without SELECT_TF_OPS, or convert the TensorFlow model");
}

/// Custom operators are refused one by one, by name.
void add_custom(const foreign::Graph& graph, Mappings& mappings) {
  for (const foreign::Node& node : graph.nodes) {
    if (node.op.starts_with(custom) && !mappings.find(node.op))
      mappings.add(node.op, {}, node.op.starts_with(flex) ? refuse_flex : refuse_custom);
    for (const foreign::Argument& argument : node.arguments)
      if (const auto* body = argument.as<std::unique_ptr<foreign::Graph>>()) add_custom(**body, mappings);
  }
}

}  // namespace

foreign::ReadOperators read_operators() {
  Mappings mappings;
  register_all_tflite_mappings(mappings);
  return mappings.operators();
}

Result<ir::Model> read(std::shared_ptr<const MappedFile> file, std::vector<Diagnostic>& findings,
                       foreign::Trace* trace) {
  Mappings mappings;
  register_all_tflite_mappings(mappings);
  auto program = read_program(std::move(file), mappings);
  if (!program) return std::move(program).error();
  if (auto done = resolve_variables(*program); !done) return std::move(done).error();
  add_custom(program->graph, mappings);
  auto model = foreign::import_model(*program, mappings, findings, trace);
  if (model) layout::reduce_transposes(*model);
  return model;
}

}  // namespace onnxkit::tflite
