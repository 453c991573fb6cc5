#include "onnxkit/dims.h"

#include "libonnxkit/ir/dim/declare_dims.h"

namespace onnxkit {

Result<std::map<std::string, std::int64_t>> declare_dims(Model& model, const DimSettings& settings,
                                                         DeclaredSizes declared) {
  return ir::declare_dims(model.ir(), settings, declared);
}

}  // namespace onnxkit
