#include "onnxkit/simplify.h"

#include <utility>

#include "libonnxkit/edit/simplify.h"

namespace onnxkit {

std::vector<Simplification> simplifications() { return edit::simplifications(); }

Result<SimplifyReport> simplify(Model& model, const SimplifyOptions& options, std::optional<Model>* original) {
  auto simplified = edit::simplify(model.ir(), options);
  if (!simplified) return simplified.error();
  std::swap(model.ir(), simplified->model);
  if (original) original->emplace(std::make_unique<ir::Model>(std::move(simplified->model)));
  return std::move(simplified->report);
}

}  // namespace onnxkit
