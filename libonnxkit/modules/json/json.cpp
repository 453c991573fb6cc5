// Models in protobuf's JSON form. The messages are made from descriptors at run time: generated classes would register
// onnx.proto, and a process that already has it from elsewhere, such as Python with onnx, would end.
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libonnxkit/base/text/utf8.h"
#include "libonnxkit/wire/json_module.h"

namespace onnxkit::json_module {

std::string_view descriptors();  // written by CMake

namespace {

namespace protobuf = google::protobuf;

/// The messages of onnx.proto.
class Schema {
 public:
  Schema() {
    protobuf::FileDescriptorSet files;
    files.ParseFromArray(descriptors().data(), static_cast<int>(descriptors().size()));
    pool_.BuildFile(files.file(0));
    model_ = factory_.GetPrototype(pool_.FindMessageTypeByName("onnx.ModelProto"));
  }

  std::unique_ptr<protobuf::Message> make_model() const { return std::unique_ptr<protobuf::Message>(model_->New()); }

 private:
  protobuf::DescriptorPool pool_;
  protobuf::DynamicMessageFactory factory_{&pool_};
  const protobuf::Message* model_ = nullptr;
};

const Schema& schema() {
  static const Schema made;
  return made;
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

void print(std::string_view bytes, const wire::JsonHost& host) {
  const protobuf::LogSilencer silence;
  const auto proto = schema().make_model();
  if (!proto->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return host.fail(host.owner, "json-unprintable", "the model is nested too deeply for protobuf");
  if (const auto* field = find_invalid_utf8(*proto))
    return host.fail(host.owner, "json-unprintable",
                     ("JSON requires UTF-8, but a field " + field->full_name() + " is not UTF-8").c_str());
  protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = protobuf::util::MessageToJsonString(*proto, &text, options);
  if (!status.ok()) return host.fail(host.owner, "json-unprintable", std::string(status.message()).c_str());
  std::map<std::string, std::size_t> unknown;
  count_unknown(*proto, unknown);
  for (const auto& [message, count] : unknown) host.dropped(host.owner, message.c_str(), count);
  host.take(host.owner, text.data(), text.size());
}

void parse(std::string_view json, const wire::JsonHost& host) {
  const protobuf::LogSilencer silence;
  const auto proto = schema().make_model();
  const auto status = protobuf::util::JsonStringToMessage({json.data(), json.size()}, proto.get());
  if (!status.ok())
    return host.fail(host.owner, "json-syntax", ("not a model in JSON: " + std::string(status.message())).c_str());
  const std::string bytes = proto->SerializePartialAsString();
  host.take(host.owner, bytes.data(), bytes.size());
}

template <void (*convert)(std::string_view, const wire::JsonHost&)>
void guarded(const char* bytes, std::size_t size, const wire::JsonHost* host) {
  try {
    convert({bytes, size}, *host);
  } catch (const std::exception& fault) {
    host->fail(host->owner, "json-unprintable", fault.what());
  }
}

}  // namespace
}  // namespace onnxkit::json_module

extern "C" __attribute__((visibility("default"))) const void* onnxkit_json();

const void* onnxkit_json() {
  using namespace onnxkit;
  static constexpr wire::JsonModule module = {.version = wire::json_module_version,
                                              .print = json_module::guarded<json_module::print>,
                                              .parse = json_module::guarded<json_module::parse>};
  return &module;
}
