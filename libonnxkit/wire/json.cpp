#include "libonnxkit/wire/json.h"

#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <limits>

#include "libonnxkit/base/text/utf8.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "onnx.pb.h"

namespace onnxkit::wire {
namespace {

namespace protobuf = google::protobuf;

constexpr std::uint64_t protobuf_limit = std::numeric_limits<std::int32_t>::max();

Error too_large(std::uint64_t size, std::string_view what) {
  return make_error("json-too-large",
                    fmt::format("the {} has {} bytes, and protobuf's JSON form is limited to 2 GiB", what, size));
}

/// The first string field that is not UTF-8, as protobuf prints such strings without complaint, and wrong.
const protobuf::FieldDescriptor* find_invalid_utf8(const protobuf::Message& message) {
  using protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection->ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->type() == FieldDescriptor::TYPE_STRING) {
        std::string scratch;
        const std::string& text = field->is_repeated()
                                      ? reflection->GetRepeatedStringReference(message, field, i, &scratch)
                                      : reflection->GetStringReference(message, field, &scratch);
        if (onnxkit::find_invalid_utf8(text) != std::string_view::npos) return field;
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        const auto& inner = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                 : reflection->GetMessage(message, field);
        if (const FieldDescriptor* found = find_invalid_utf8(inner)) return found;
      } else {
        break;
      }
    }
  }
  return nullptr;
}

/// Adds the fields that the schema does not name, by the message that holds them.
void count_unknown(const protobuf::Message& message, std::map<std::string, std::size_t>& counts) {
  using protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  if (const int unknown = reflection->GetUnknownFields(message).field_count(); unknown > 0)
    counts[message.GetDescriptor()->name()] += static_cast<std::size_t>(unknown);
  std::vector<const FieldDescriptor*> set;
  reflection->ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) count_unknown(reflection->GetMessage(message, field), counts);
    for (int i = 0; field->is_repeated() && i < reflection->FieldSize(message, field); ++i)
      count_unknown(reflection->GetRepeatedMessage(message, field, i), counts);
  }
}

}  // namespace

Result<JsonText> print_json(const ir::Model& model) {
  const std::uint64_t size = encoded_size(model);
  if (size > protobuf_limit) return too_large(size, "model");
  const protobuf::LogSilencer silence;
  onnx::ModelProto proto;
  if (!proto.ParsePartialFromString(to_bytes(model)))
    return make_error("json-unprintable", "protobuf does not take the model, which nests its parts too deeply");
  if (const auto* field = find_invalid_utf8(proto))
    return make_error("json-unprintable", fmt::format("JSON is UTF-8, and a field {} is not", field->full_name()));
  protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  JsonText json;
  const auto status = protobuf::util::MessageToJsonString(proto, &json.text, options);
  if (!status.ok()) return make_error("json-unprintable", std::string(status.message()));
  count_unknown(proto, json.dropped_fields);
  return json;
}

Result<ir::Model> parse_json(std::string_view json, std::string_view source_name) {
  const auto failure = [&](Error error) {
    error.diagnostic.location.file = source_name;
    return error;
  };
  if (json.size() > protobuf_limit) return failure(too_large(json.size(), "text"));
  const protobuf::LogSilencer silence;
  onnx::ModelProto proto;
  const auto status = protobuf::util::JsonStringToMessage({json.data(), json.size()}, &proto);
  if (!status.ok()) return failure(make_error("json-syntax", "not a model in JSON: " + std::string(status.message())));
  return read_binary(MappedFile::from_bytes(proto.SerializePartialAsString()), std::filesystem::path());
}

}  // namespace onnxkit::wire
