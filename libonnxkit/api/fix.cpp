#include "onnxkit/fix.h"

#include "checker/fix.h"
#include "libonnxkit/api/options.h"
#include "libonnxkit/ir/model.h"

namespace onnxkit {

Result<std::vector<Fix>> fix(Model& model, const FixOptions& options) {
  auto table = api::op_table(options.schemas);
  if (!table) return std::move(table).error();
  return checker::fix_model(model.ir(), *table);
}

}  // namespace onnxkit
