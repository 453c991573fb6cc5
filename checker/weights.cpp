#include "checker/weights.h"

#include <array>
#include <cmath>

#include <fmt/core.h>

#include "checker/for_each_tensor.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::checker {
namespace {

/// Smallest normal number of the types whose denormals are slow on common hardware; 0 for the others.
double smallest_normal(ElementType type) {
  if (type == ElementType::float32) return 0x1p-126;
  if (type == ElementType::float64) return 0x1p-1022;
  return 0;
}

struct Census {
  std::uint64_t nan = 0, infinite = 0, denormal = 0, total = 0;
};

Census count(ir::ElementReader reader, double smallest) {
  Census census;
  std::array<double, 4096> buffer;
  for (std::size_t n = reader.read(std::span<double>(buffer)); n > 0; n = reader.read(std::span<double>(buffer))) {
    census.total += n;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = buffer[i];
      census.nan += std::isnan(x) ? 1 : 0;
      census.infinite += std::isinf(x) ? 1 : 0;
      census.denormal += x != 0 && std::abs(x) < smallest ? 1 : 0;
    }
  }
  return census;
}

void inspect(RuleContext& context, const ir::Tensor& tensor, const TensorLocation& location) {
  const ElementType type = ir::element_type_of(tensor);
  if (!is_floating(type)) return;
  std::span<const std::byte> outside;
  if (tensor.is_external()) {
    if (!context.external_bytes) return;
    const auto bytes = context.external_bytes(tensor);
    if (!bytes) return;
    outside = *bytes;
  }
  auto reader = ir::ElementReader::open(tensor, outside);
  if (!reader) return;
  const Census census = count(*reader, smallest_normal(type));
  const auto warn = [&](std::string_view code, std::uint64_t found, std::string_view what) {
    if (found > 0) context.warning(code, location, fmt::format("{} of {} elements are {}", found, census.total, what));
  };
  warn("weight-nan", census.nan, "NaN");
  warn("weight-infinite", census.infinite, "infinite");
  warn("weight-denormal", census.denormal, "denormal, which many processors compute slowly or flush to zero");
}

}  // namespace

void inspect_weights(RuleContext& context) {
  for_each_tensor(
      context, [&](const ir::Tensor& tensor, const TensorLocation& location) { inspect(context, tensor, location); },
      [](const ir::SparseTensor&, const TensorLocation&) {});
}

}  // namespace onnxkit::checker
