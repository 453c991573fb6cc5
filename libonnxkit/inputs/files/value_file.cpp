#include "libonnxkit/inputs/files/value_file.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>

#include <fmt/core.h>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/base/text/extension.h"
#include "libonnxkit/base/text/unknown_name.h"
#include "libonnxkit/exec/file_content.h"
#include "libonnxkit/exec/stored_values.h"
#include "libonnxkit/inputs/files/input_folder.h"
#include "libonnxkit/inputs/picture_input.h"
#include "libonnxkit/wire/values/npz.h"
#include "libonnxkit/wire/values/tensor_proto.h"

namespace onnxkit::inputs {
namespace {

namespace fs = std::filesystem;
using File = std::shared_ptr<const MappedFile>;

const ir::ValueInfo* find_input(const ir::Graph& graph, std::string_view name) {
  const auto found = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                  [&](const ir::ValueInfo& input) { return graph.name_of(input.value) == name; });
  return found == graph.inputs.end() ? nullptr : &*found;
}

std::vector<std::string_view> names_of_inputs(const ir::Graph& graph) {
  std::vector<std::string_view> names;
  for (const ir::ValueInfo& input : graph.inputs) names.push_back(graph.name_of(input.value));
  return names;
}

ElementType element_type_of(const ir::ValueInfo& input) {
  return input.type ? static_cast<ElementType>(input.type->elem_type.value_or(0)) : ElementType::undefined;
}

/// The type that numpy holds elements of `type` in; the type itself when numpy has it.
ElementType numpy_type(ElementType type) {
  if (is_floating(type) && storage_bits(type) < 16) return ElementType::float32;
  if (type == ElementType::bfloat16) return ElementType::float32;
  if (storage_bits(type) >= 8 || !is_integer(type)) return type;
  return domain_of(type) == Domain::integer ? ElementType::int8 : ElementType::uint8;
}

template <class T>
Result<Tensor> recoded(const Tensor& tensor, ElementType type) {
  const auto size = static_cast<std::size_t>(tensor.size());
  const auto elements = std::make_unique<T[]>(size);
  decode(tensor.type(), tensor.bytes(), std::span<T>(elements.get(), size));
  std::vector<std::byte> bytes((size * static_cast<std::size_t>(storage_bits(type)) + 7) / 8);
  encode(type, std::span<const T>(elements.get(), size), bytes);
  return Tensor::from_bytes(type, tensor.dims(), std::move(bytes));
}

/// An array in numpy's stand-in for a type that numpy lacks becomes that type.
Result<Tensor> as_declared(Tensor tensor, ElementType declared) {
  if (tensor.type() == declared || tensor.type() != numpy_type(declared)) return tensor;
  switch (domain_of(declared)) {
    case Domain::real:
      return recoded<double>(tensor, declared);
    case Domain::integer:
      return recoded<std::int64_t>(tensor, declared);
    case Domain::natural:
      return recoded<std::uint64_t>(tensor, declared);
    default:
      return tensor;
  }
}

bool starts_with(const File& file, std::string_view magic) { return file->view().starts_with(magic); }

bool is_picture(const File& file) { return starts_with(file, "\x89PNG\r\n") || starts_with(file, "\xff\xd8\xff"); }

template <class T>
Result<T> about(Result<T> result, const fs::path& file) {
  if (result) return result;
  Error error = result.error();
  if (error.diagnostic.location.file.empty()) error.diagnostic.location.file = file.string();
  return error;
}

/// A picture that begins as one, but cannot be decoded.
Error picture_error(const File& file, Error error) {
  if (error.diagnostic.code != "picture") return error;
  error.diagnostic.message = fmt::format("the {} picture cannot be decoded: {}",
                                         starts_with(file, "\x89") ? "PNG" : "JPEG", error.diagnostic.message);
  error.diagnostic.help = "save or download the picture again, or give its pixels as a .npy file";
  return error;
}

Result<std::vector<NamedValue>> read_archive(const ir::Graph& graph, const fs::path& path, std::uint64_t most_bytes) {
  const auto file = MappedFile::open(path);
  if (!file) return file.error();
  std::unordered_map<std::string_view, const ir::ValueInfo*> inputs;
  for (const ir::ValueInfo& input : graph.inputs) inputs.emplace(graph.name_of(input.value), &input);
  // By the name of its member, else by the name that write_npz would have escaped.
  const auto input_of = [&](const std::string& name) {
    auto found = inputs.find(name);
    const auto meant = found == inputs.end() ? wire::named_by_member(name) : std::nullopt;
    if (meant) found = inputs.find(*meant);
    return found == inputs.end() ? nullptr : found->second;
  };
  const auto declared_type = [&](std::string_view name) {
    const ir::ValueInfo* input = input_of(std::string(name));
    return input ? element_type_of(*input) : ElementType::undefined;
  };
  auto arrays = wire::read_npz(*file, declared_type, most_bytes);
  if (!arrays) return about(Result<std::vector<NamedValue>>(exec::content_error(*file, arrays.error())), path);
  for (NamedValue& array : *arrays) {
    const ir::ValueInfo* input = input_of(array.name);
    if (!input || !array.value.is_tensor()) continue;
    array.name = graph.name_of(input->value);
    auto tensor = as_declared(std::move(array.value.tensor), element_type_of(*input));
    if (!tensor) return tensor.error();
    array.value = Value(*std::move(tensor));
  }
  return arrays;
}

Result<const ir::ValueInfo*> wanted_input(const ir::Model& model, std::string_view name) {
  if (!model.graph) return make_error("no-graph", "the model has no graph");
  const ir::ValueInfo* info = find_input(*model.graph, name);
  if (!info) return unknown_name("unknown-input", "input", name, names_of_inputs(*model.graph));
  return info;
}

Result<Value> read_any(const File& file, const ir::ValueInfo& info, const ImageOptions& image) {
  if (starts_with(file, "\x93NUMPY")) {
    auto tensor = wire::read_npy(file, {.void_type = element_type_of(info)});
    if (!tensor) return tensor.error();
    auto declared = as_declared(*std::move(tensor), element_type_of(info));
    return declared ? Result<Value>(Value(*std::move(declared))) : Result<Value>(declared.error());
  }
  if (is_picture(file)) {
    const auto picture = wire::decode_picture(file->bytes());
    if (!picture) return picture_error(file, picture.error());
    auto tensor = picture_tensor(*picture, info, image);
    return tensor ? Result<Value>(Value(*std::move(tensor))) : Result<Value>(tensor.error());
  }
  auto value = exec::read_stored(file, info);
  return value ? Result<Value>(std::move(value->value)) : Result<Value>(value.error());
}

}  // namespace

ValueFileKind kind_of_value_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return ValueFileKind::folder;
  if (lower_extension(path) == ".npz") return ValueFileKind::archive;
  const auto file = MappedFile::open(path);
  if (!file) return ValueFileKind::value;
  if (starts_with(*file, "PK")) return ValueFileKind::archive;
  return is_picture(*file) ? ValueFileKind::picture : ValueFileKind::value;
}

Result<Value> read_input(const ir::Model& model, std::string_view input, const fs::path& path,
                         const ImageOptions& image) {
  const auto info = wanted_input(model, input);
  if (!info) return info.error();
  const auto file = MappedFile::open(path);
  return file ? about(read_any(*file, **info, image), path) : Result<Value>(file.error());
}

Result<Value> read_input_bytes(const ir::Model& model, std::string_view input, std::string bytes,
                               const ImageOptions& image) {
  const auto info = wanted_input(model, input);
  return info ? read_any(MappedFile::from_bytes(std::move(bytes)), **info, image) : Result<Value>(info.error());
}

Result<std::vector<NamedValue>> read_inputs(const ir::Model& model, const fs::path& path, std::uint64_t most_bytes) {
  if (!model.graph) return make_error("no-graph", "the model has no graph");
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? read_input_folder(*model.graph, path)
                                         : read_archive(*model.graph, path, most_bytes);
}

Result<std::vector<NamedValue>> read_outputs(const ir::Model& model, const fs::path& folder) {
  if (!model.graph) return make_error("no-graph", "the model has no graph");
  return exec::read_outputs(*model.graph, folder);
}

Result<std::string> npz_bytes(std::span<const NamedValue> values) { return wire::write_npz(values); }

Result<void> write_npz(std::span<const NamedValue> values, const fs::path& path) {
  const auto bytes = inputs::npz_bytes(values);
  return bytes ? replace_file(path, *bytes) : Result<void>(bytes.error());
}

Result<void> write_folder(std::span<const NamedValue> values, const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed)
    return make_error("cannot-write",
                      fmt::format("the folder {} cannot be created: {}", quote(folder.string()), failed.message()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string bytes = wire::write_value(values[i].value, values[i].name);
    if (auto written = replace_file(folder / fmt::format("output_{}.pb", i), bytes); !written) return written;
  }
  while (const auto stale = numbered_beyond(folder, "output", values.size())) {
    if (!fs::remove(*stale, failed))
      return make_error("cannot-write", fmt::format("{} of an earlier run cannot be removed: {}",
                                                    quote(stale->string()), failed.message()));
  }
  return {};
}

}  // namespace onnxkit::inputs
