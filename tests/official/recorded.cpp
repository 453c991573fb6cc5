#include "tests/official/recorded.h"

#include "libonnxkit/wire/tensor_proto.h"

namespace onnxkit::official {
namespace {

ValueKind kind_of(const ir::ValueInfo& declared) {
  using Kind = ir::DeclaredType::Kind;
  switch (declared.type ? declared.type->kind : Kind::tensor) {
    case Kind::sequence:
      return ValueKind::sequence;
    case Kind::optional:
      return ValueKind::optional;
    case Kind::map:
      return ValueKind::map;
    default:
      return ValueKind::tensor;
  }
}

}  // namespace

Result<Value> read_recorded(const std::filesystem::path& path, const ir::ValueInfo& declared) {
  const auto file = MappedFile::open(path);
  auto read = file ? wire::read_value(*file, kind_of(declared)) : Result<NamedValue>(file.error());
  if (!read) return make_error("unreadable", path.string() + ": " + read.error().diagnostic.message);
  return std::move(read->value);
}

}  // namespace onnxkit::official
