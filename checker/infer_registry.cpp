#include "checker/infer_registry.h"

namespace onnxkit::checker {

void register_all_ops(InferRegistry& registry);

namespace {

std::string key_of(std::string_view domain, std::string_view op) {
  std::string key(domain);
  key += ':';
  return key += op;
}

}  // namespace

void InferRegistry::add(std::string_view domain, std::string_view op, VersionRange range, InferFunction function) {
  rows_[key_of(domain, op)].push_back({range, function});
}

InferFunction InferRegistry::find(std::string_view domain, std::string_view op, std::int32_t since_version) const {
  const auto found = rows_.find(key_of(domain, op));
  if (found == rows_.end()) return nullptr;
  for (const Row& row : found->second) {
    if (row.range.first <= since_version && since_version <= row.range.last) return row.function;
  }
  return nullptr;
}

const InferRegistry& infer_registry() {
  static const InferRegistry registry = [] {
    InferRegistry all;
    register_all_ops(all);
    return all;
  }();
  return registry;
}

}  // namespace onnxkit::checker
