#include "onnxkit/dims.h"

#include "libonnxkit/ir/dim/declare_dims.h"

namespace onnxkit {

Result<std::map<std::string, std::int64_t>> declare_dims(Model& model, const DimSettings& settings,
                                                         DeclaredSizes declared) {
  return ir::declare_dims(model.ir(), settings, declared);
}

Result<void> declare_shapes(Model& model, const std::map<std::string, InputShape>& shapes) {
  return ir::declare_shapes(model.ir(), shapes);
}

std::map<std::string, InputShape> input_shapes(const Model& model) { return ir::input_shapes(model.ir()); }

void fix_named_dims(Model& model, const std::map<std::string, std::int64_t>& sizes) {
  ir::fix_named_dims(model.ir(), sizes);
}

}  // namespace onnxkit
