#include "onnxkit/fix.h"

#include "checker/fix.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/spec/load_table.h"

namespace onnxkit {

Result<std::vector<Fix>> fix(Model& model, const FixOptions& options) {
  auto table = spec::load_table(options.schemas);
  if (!table) return std::move(table).error();
  return checker::fix_model(model.ir(), *table);
}

}  // namespace onnxkit
