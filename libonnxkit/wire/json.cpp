#include "libonnxkit/wire/json.h"

#include <fmt/core.h>

#include <limits>

#include "libonnxkit/base/system/module.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "libonnxkit/wire/json_module.h"

namespace onnxkit::wire {
namespace {

constexpr std::uint64_t protobuf_limit = std::numeric_limits<std::int32_t>::max();

Error json_too_large(std::uint64_t size, std::string_view what) {
  return make_error("json-too-large",
                    fmt::format("the {} has {} bytes, but protobuf's JSON form is limited to 2 GiB", what, size));
}

Result<const JsonModule*> json_module() {
  static const auto loaded = []() -> Result<const JsonModule*> {
    const auto entry = load_module("json", json_module_entry);
    if (!entry) return entry.error();
    const auto* table = static_cast<const JsonModule*>(*entry);
    if (table->version != json_module_version)
      return make_error("missing-module", "libonnxkit_json.so is of another version than the library");
    return table;
  }();
  return loaded;
}

struct Conversion {
  JsonText result;
  std::optional<Error> error;
};

/// The module has two codes.
ErrorCode code_of(std::string_view reported) {
  return reported == "json-syntax" ? ErrorCode("json-syntax") : ErrorCode("json-unprintable");
}

Result<JsonText> convert(ConvertJson JsonModule::*function, std::string_view bytes) {
  const auto loaded = json_module();
  if (!loaded) return loaded.error();
  Conversion conversion;
  const JsonHost host{
      .owner = &conversion,
      .take = [](void* owner, const char* text,
                 std::size_t size) { static_cast<Conversion*>(owner)->result.text.assign(text, size); },
      .kept = [](void* owner, const char* message,
                 std::size_t count) { static_cast<Conversion*>(owner)->result.unknown_fields[message] += count; },
      .fail = [](void* owner, const char* code,
                 const char* why) { static_cast<Conversion*>(owner)->error = make_error(code_of(code), why); }};
  ((*loaded)->*function)(bytes.data(), bytes.size(), &host);
  if (conversion.error) return *std::move(conversion.error);
  return std::move(conversion.result);
}

}  // namespace

Result<JsonText> print_json(const ir::Model& model) {
  const std::uint64_t size = encoded_size(model);
  if (size > protobuf_limit) return json_too_large(size, "model");
  return convert(&JsonModule::print, to_bytes(model));
}

Result<ir::Model> parse_json(std::string_view json, std::string_view source_name) {
  const auto failure = [&](Error error) {
    error.diagnostic.location.file = source_name;
    return error;
  };
  if (json.size() > protobuf_limit) return failure(json_too_large(json.size(), "text"));
  auto binary = convert(&JsonModule::parse, json);
  if (!binary) return failure(std::move(binary).error());
  return read_binary(MappedFile::from_bytes(std::move(binary->text)), std::filesystem::path());
}

}  // namespace onnxkit::wire
