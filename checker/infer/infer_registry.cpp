#include "checker/infer/infer_registry.h"

namespace onnxkit::checker {

void register_all_ops(InferRegistry& registry);

const InferRegistry& infer_registry() {
  static const InferRegistry registry = [] {
    InferRegistry all;
    register_all_ops(all);
    return all;
  }();
  return registry;
}

}  // namespace onnxkit::checker
