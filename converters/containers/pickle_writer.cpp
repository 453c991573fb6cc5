#include "converters/containers/pickle_writer.h"

#include <algorithm>

namespace onnxkit::containers {
namespace {

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(dims[i], 1);
  return strides;
}

}  // namespace

PickleWriter& PickleWriter::tensor(std::string_view storage_type, std::size_t storage,
                                   const std::vector<std::int64_t>& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  global("torch._utils", "_rebuild_tensor_v2").mark().mark();
  text("storage").global("torch", storage_type).text(std::to_string(storage)).text("cpu");
  integer(count).tuple().persistent().integer(0).integers(dims).integers(strides_of(dims));
  return boolean(false).global("collections", "OrderedDict").empty_tuple().reduce().tuple().reduce();
}

}  // namespace onnxkit::containers
