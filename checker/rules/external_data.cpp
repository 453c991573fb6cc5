// External data: the file is named, lies in the model's folder and holds as many bytes as type and shape ask for.
#include <algorithm>

#include <fmt/core.h>

#include "checker/for_each_tensor.h"
#include "checker/rule_registry.h"
#include "libonnxkit/base/text/nearest.h"
#include "libonnxkit/base/text/utf8.h"
#include "libonnxkit/ir/tensor/tensor_data.h"

namespace onnxkit::checker {
namespace {

constexpr std::string_view known_keys[] = {"location", "offset", "length", "checksum", "basepath"};

void check_keys(RuleContext& context, const ir::Tensor& tensor, const TensorLocation& location) {
  for (const ir::StringEntry& entry : tensor.external_data) {
    if (std::find(std::begin(known_keys), std::end(known_keys), entry.key.view()) != std::end(known_keys)) continue;
    const std::string_view close = nearest(entry.key, known_keys);
    context.warning("external-key", location, fmt::format("unknown entry {}, which readers ignore", quote(entry.key)),
                    "location, offset, length or checksum", quote(entry.key),
                    close.empty() ? std::string() : fmt::format("did you mean {}?", close));
  }
}

/// What the rule of tensors reports already, so that the bytes need not be asked for.
bool is_hopeless(const ir::Tensor& tensor) {
  const ElementType type = ir::element_type_of(tensor);
  return type == ElementType::undefined || type == ElementType::string || !ir::element_count(tensor);
}

void check_tensor(RuleContext& context, const ir::Tensor& tensor, const TensorLocation& location) {
  if (!tensor.is_external()) return;
  for (const ir::StringEntry& entry : tensor.external_data) {
    if (find_invalid_utf8(entry.key) != std::string_view::npos ||
        find_invalid_utf8(entry.value) != std::string_view::npos) {
      context.error("invalid-utf8", location, "an entry of the external data is not valid UTF-8", "UTF-8",
                    quote(entry.value));
      return;
    }
  }
  check_keys(context, tensor, location);
  if (!context.external_bytes || is_hopeless(tensor)) return;
  const auto bytes = context.external_bytes(tensor);
  if (bytes) return;
  Diagnostic finding = bytes.error().diagnostic;
  finding.severity = Severity::error;
  finding.location = location;
  context.collector.add(std::move(finding));
}

void check_external_data(RuleContext& context) {
  for_each_tensor(
      context,
      [&](const ir::Tensor& tensor, const TensorLocation& location) { check_tensor(context, tensor, location); },
      [&](const ir::SparseTensor& sparse, const TensorLocation& location) {
        if (sparse.values) check_tensor(context, *sparse.values, location);
        if (sparse.indices) check_tensor(context, *sparse.indices, location);
      });
}

}  // namespace

void register_external_data(RuleRegistry& registry) { registry.add(Stage::structure, check_external_data); }

}  // namespace onnxkit::checker
