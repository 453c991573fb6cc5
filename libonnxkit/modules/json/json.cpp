// Models in protobuf's JSON form. The messages are made from descriptors at run time: generated classes would register
// onnx.proto, and a process that already has it from elsewhere, such as Python with onnx, would end.
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/json_util.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
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

/// The field in which the JSON form keeps the encoded fields that the schema does not name. Its number is the greatest there is.
constexpr const char* kept_name = "unknown_fields";
constexpr int kept_number = protobuf::FieldDescriptor::kMaxNumber;

void add_kept_field(protobuf::DescriptorProto& message) {
  protobuf::FieldDescriptorProto& field = *message.add_field();
  field.set_name(kept_name);
  field.set_number(kept_number);
  field.set_type(protobuf::FieldDescriptorProto::TYPE_BYTES);
  field.set_label(protobuf::FieldDescriptorProto::LABEL_OPTIONAL);
  for (protobuf::DescriptorProto& inner : *message.mutable_nested_type()) add_kept_field(inner);
}

/// The messages of onnx.proto, or those of them with a field for what the schema does not name.
class Schema {
 public:
  explicit Schema(bool with_kept_field) {
    protobuf::FileDescriptorSet files;
    files.ParseFromArray(descriptors().data(), static_cast<int>(descriptors().size()));
    if (with_kept_field) {
      for (protobuf::DescriptorProto& message : *files.mutable_file(0)->mutable_message_type()) add_kept_field(message);
    }
    pool_.BuildFile(files.file(0));
    model_ = factory_.GetPrototype(pool_.FindMessageTypeByName("onnx.ModelProto"));
  }

  std::unique_ptr<protobuf::Message> make_model() const { return std::unique_ptr<protobuf::Message>(model_->New()); }

 private:
  protobuf::DescriptorPool pool_;
  protobuf::DynamicMessageFactory factory_{&pool_};
  const protobuf::Message* model_ = nullptr;
};

const Schema& onnx_schema() {
  static const Schema made(false);
  return made;
}

const Schema& json_schema() {
  static const Schema made(true);
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

template <class Bits, class Real>
bool is_plain(Real value) {
  return !std::isnan(value) ||
         std::bit_cast<Bits>(value) == std::bit_cast<Bits>(std::numeric_limits<Real>::quiet_NaN());
}

/// Whether the field, which is of reals, has a NaN other than the one that "NaN" is read as.
bool has_special_nan(const protobuf::Message& message, const protobuf::FieldDescriptor* field) {
  using protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  const bool is_float = field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
  if (!field->is_repeated())
    return !(is_float ? is_plain<std::uint32_t>(reflection->GetFloat(message, field))
                      : is_plain<std::uint64_t>(reflection->GetDouble(message, field)));
  for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
    if (!(is_float ? is_plain<std::uint32_t>(reflection->GetRepeatedFloat(message, field, i))
                   : is_plain<std::uint64_t>(reflection->GetRepeatedDouble(message, field, i))))
      return true;
  }
  return false;
}

/// The elements of a tensor as raw_data, which JSON keeps bit by bit. False where the tensor has no such form.
bool move_to_raw(protobuf::Message& tensor, const protobuf::FieldDescriptor* field) {
  const auto* reflection = tensor.GetReflection();
  const auto* raw = tensor.GetDescriptor()->FindFieldByName("raw_data");
  const auto* type = tensor.GetDescriptor()->FindFieldByName("data_type");
  if (!raw || !type || !field->is_repeated() || reflection->HasField(tensor, raw)) return false;
  const int code = reflection->GetInt32(tensor, type);
  constexpr int float32 = 1, float64 = 11, complex64 = 14, complex128 = 15;
  const bool is_float = field->name() == "float_data" && (code == float32 || code == complex64);
  const bool is_double = field->name() == "double_data" && (code == float64 || code == complex128);
  if (!is_float && !is_double) return false;
  std::string bytes;
  const auto append = [&bytes](auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (int i = 0; i < reflection->FieldSize(tensor, field); ++i) {
    if (is_float)
      append(reflection->GetRepeatedFloat(tensor, field, i));
    else
      append(reflection->GetRepeatedDouble(tensor, field, i));
  }
  reflection->ClearField(&tensor, field);
  reflection->SetString(&tensor, raw, std::move(bytes));
  return true;
}

/// JSON has one NaN: tensors with others get raw_data. The first field that cannot be kept that way, or null.
const protobuf::FieldDescriptor* keep_special_nans(protobuf::Message& message) {
  using protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection->ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    const auto kind = field->cpp_type();
    if (kind == FieldDescriptor::CPPTYPE_FLOAT || kind == FieldDescriptor::CPPTYPE_DOUBLE) {
      if (has_special_nan(message, field) && !move_to_raw(message, field)) return field;
    } else if (kind == FieldDescriptor::CPPTYPE_MESSAGE) {
      const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        auto& inner = field->is_repeated() ? *reflection->MutableRepeatedMessage(&message, field, i)
                                           : *reflection->MutableMessage(&message, field);
        if (const FieldDescriptor* found = keep_special_nans(inner)) return found;
      }
    }
  }
  return nullptr;
}

/// The number -0 as -0.0: protobuf prints the former and reads it as an integer, without its sign.
std::string with_signed_zeros(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    out += json[i];
    if (in_string && json[i] == '\\' && i + 1 < json.size()) {
      out += json[++i];
    } else if (json[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && json[i] == '-' && json.substr(i + 1, 1) == "0" &&
               (i + 2 == json.size() ||
                std::string_view(".eE0123456789").find(json[i + 2]) == std::string_view::npos)) {
      out += "0.0";
      ++i;
    }
  }
  return out;
}

/// Calls `visit` with the message and those in it that have fields which the schema does not name, inner ones first.
template <class Visit>
void for_each_with_unknown(protobuf::Message& message, const Visit& visit) {
  using protobuf::FieldDescriptor;
  const auto* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> set;
  reflection->ListFields(message, &set);
  for (const FieldDescriptor* field : set) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) for_each_with_unknown(*reflection->MutableMessage(&message, field), visit);
    for (int i = 0; field->is_repeated() && i < reflection->FieldSize(message, field); ++i)
      for_each_with_unknown(*reflection->MutableRepeatedMessage(&message, field, i), visit);
  }
  if (!reflection->GetUnknownFields(message).empty()) visit(message, *reflection->MutableUnknownFields(&message));
}

/// The same fields as a message of the other schema, or null where protobuf cannot hold them.
std::unique_ptr<protobuf::Message> as_message_of(const Schema& schema, const protobuf::Message& message) {
  auto other = schema.make_model();
  std::string bytes;
  return message.SerializePartialToString(&bytes) && other->ParsePartialFromString(bytes) ? std::move(other) : nullptr;
}

void print(std::string_view bytes, const wire::JsonHost& host) {
  const protobuf::LogSilencer silence;
  auto proto = onnx_schema().make_model();
  if (!proto->ParsePartialFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return host.fail(host.owner, "json-unprintable", "the model is nested too deeply for protobuf");
  if (const auto* field = find_invalid_utf8(*proto))
    return host.fail(host.owner, "json-unprintable",
                     ("JSON requires UTF-8, but a field " + field->full_name() + " is not UTF-8").c_str());
  if (const auto* field = keep_special_nans(*proto))
    return host.fail(host.owner, "json-unprintable",
                     ("JSON has one NaN, but a field " + field->full_name() + " has one with other bits").c_str());
  std::map<std::string, std::size_t> unknown;
  for_each_with_unknown(*proto, [&](const protobuf::Message& message, protobuf::UnknownFieldSet& fields) {
    unknown[message.GetDescriptor()->name()] += static_cast<std::size_t>(fields.field_count());
    std::string encoded;
    fields.SerializeToString(&encoded);
    fields.Clear();
    fields.AddLengthDelimited(kept_number, encoded);
  });
  if (!unknown.empty()) proto = as_message_of(json_schema(), *proto);
  if (!proto) return host.fail(host.owner, "json-unprintable", "the model is too large for protobuf");
  for (const auto& [message, count] : unknown) host.kept(host.owner, message.c_str(), count);
  protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = protobuf::util::MessageToJsonString(*proto, &text, options);
  if (!status.ok()) return host.fail(host.owner, "json-unprintable", std::string(status.message()).c_str());
  text = with_signed_zeros(text);
  host.take(host.owner, text.data(), text.size());
}

void parse(std::string_view json, const wire::JsonHost& host) {
  const protobuf::LogSilencer silence;
  const auto read = json_schema().make_model();
  const auto status = protobuf::util::JsonStringToMessage(with_signed_zeros(json), read.get());
  if (!status.ok())
    return host.fail(host.owner, "json-syntax", ("not a model in JSON: " + std::string(status.message())).c_str());
  const auto proto = as_message_of(onnx_schema(), *read);
  if (!proto) return host.fail(host.owner, "json-syntax", "the model is too large for protobuf");
  std::string wrong;
  for_each_with_unknown(*proto, [&](const protobuf::Message& message, protobuf::UnknownFieldSet& fields) {
    const std::string encoded = fields.field(0).length_delimited();
    if (!fields.ParseFromString(encoded)) wrong = message.GetDescriptor()->name();
  });
  if (!wrong.empty())
    return host.fail(
        host.owner, "json-syntax",
        ("not a model in JSON: unknown_fields of " + wrong + " is not the encoding of whole protobuf fields").c_str());
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
