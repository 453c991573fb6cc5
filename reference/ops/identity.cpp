// Identity: any value as it is.
#include "reference/executor/kernel.h"

namespace onnxkit::reference {
namespace {

void identity(KernelContext& context) { context.set_output(0, context.value(0)); }

}  // namespace

void register_identity(KernelRegistry& registry) { registry.add("Identity", all_versions(), identity); }

}  // namespace onnxkit::reference
