#include "tests/official/recorded.h"

#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/wire/values/tensor_proto.h"

namespace onnxkit::official {
Result<Value> read_recorded(const std::filesystem::path& path, const ir::ValueInfo& declared) {
  const auto file = MappedFile::open(path);
  auto read = file ? wire::read_value(*file, exec::stored_kind_of(declared)) : Result<NamedValue>(file.error());
  if (!read) return make_error(ErrorKind::input, "unreadable", path.string() + ": " + read.error().diagnostic.message);
  return std::move(read->value);
}

}  // namespace onnxkit::official
