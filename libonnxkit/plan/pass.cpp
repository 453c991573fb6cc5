#include "libonnxkit/plan/pass.h"

namespace onnxkit::plan {

void register_all_passes(PassRegistry& registry);

const PassRegistry& pass_registry() {
  static const PassRegistry registry = [] {
    PassRegistry all;
    register_all_passes(all);
    return all;
  }();
  return registry;
}

}  // namespace onnxkit::plan
