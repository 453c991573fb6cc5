#include "libonnxkit/exec/stored_values.h"

#include <fmt/core.h>

#include "libonnxkit/exec/file_content.h"
#include "libonnxkit/exec/value_desc.h"
#include "libonnxkit/wire/binary/likeness.h"
#include "libonnxkit/wire/values/tensor_proto.h"

namespace onnxkit::exec {

Result<NamedValue> read_stored(const std::shared_ptr<const MappedFile>& file, const ir::ValueInfo& declared) {
  const ValueKind kind = stored_kind_of(declared);
  auto value = wire::read_value(file, kind);
  if (!value) return content_error(file, value.error());
  // Every field of a sequence, a map or an optional may be absent, so that a model passes for an empty one.
  if (kind != ValueKind::tensor && wire::looks_like_model(file->view()))
    return content_error(file, make_error("malformed-protobuf", "not a value"));
  if (kind != ValueKind::optional || !value->value.items.empty()) return value;
  for (const ValueKind content : {ValueKind::tensor, ValueKind::sequence}) {
    auto inner = wire::read_value(file, content);
    const bool has_value = inner && (content == ValueKind::tensor ? inner->value.tensor.type() != ElementType::undefined
                                                                  : !inner->value.items.empty());
    if (has_value) return NamedValue{inner->name, Value::optional(std::move(inner->value))};
  }
  return value;
}

Result<std::vector<NamedValue>> read_outputs(const ir::Graph& graph, const std::filesystem::path& folder) {
  std::vector<NamedValue> values;
  for (const ir::ValueInfo& output : graph.outputs) {
    const auto path = folder / fmt::format("output_{}.pb", values.size());
    const auto file = MappedFile::open(path);
    if (!file) return file.error();
    auto value = read_stored(*file, output);
    if (!value) {
      Error error = value.error();
      if (error.diagnostic.location.file.empty()) error.diagnostic.location.file = path.string();
      return error;
    }
    values.push_back({std::string(graph.name_of(output.value)), std::move(value->value)});
  }
  return values;
}

}  // namespace onnxkit::exec
