#include "libonnxkit/backends/backends.h"

namespace onnxkit {
namespace backends {

void register_all_backends(exec::BackendRegistry& registry);

}  // namespace backends

exec::BackendRegistry all_backends() {
  exec::BackendRegistry registry;
  backends::register_all_backends(registry);
  return registry;
}

}  // namespace onnxkit
