#include "converters/formats/saved_model/to_tensorflow.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include "converters/formats/saved_model/emit.h"

#include "converters/legalize/channel_operators.h"
#include "converters/legalize/channels_last_program.h"

namespace onnxkit::to_tensorflow {

void register_all_tensorflow_writers(Writers& writers);

namespace {

/// What no kernel of the operators here computes with.
void refuse_types(foreign::WriteCall& call) {
  const auto lacks_kernels = [](ElementType elem) {
    return elem == ElementType::string || elem == ElementType::complex64 || elem == ElementType::complex128 ||
           (elem > ElementType::bfloat16 && elem != ElementType::undefined);
  };
  for (std::size_t i = 0; i < call.node.inputs.size(); ++i) {
    if (!call.has(i)) continue;
    if (call.type(i).kind != foreign::Type::Kind::tensor && !call.type(i).is_unknown())
      return call.refuse("sequences and optional values have no counterpart");
    if (lacks_kernels(call.elem(i)))
      return call.refuse(fmt::format("its kernels do not take {}", name_of(call.elem(i))), "cast it to float32 before");
  }
}

}  // namespace

Result<foreign::Model> to_tensorflow(ir::Model& model, std::vector<Diagnostic>& findings, foreign::Trace* trace) {
  Writers writers;
  register_all_tensorflow_writers(writers);
  writers.set_condition(refuse_types);
  return legalize::channels_last_program(model, writers, "TensorFlow", write_opset, findings, trace);
}

foreign::WrittenOperators written_operators() {
  Writers writers;
  register_all_tensorflow_writers(writers);
  std::set<std::string> names;
  for (std::string& name : writers.names()) names.insert(legalize::name_in_model(std::move(name)));
  for (const std::string_view name : legalize::channel_operators()) names.emplace(name);
  return {"TensorFlow", write_opset, {names.begin(), names.end()}};
}

}  // namespace onnxkit::to_tensorflow
