#pragma once

#include <google/protobuf/message.h>

#include <cstdint>

namespace onnxkit::tests {

/// Sets every field of a message through reflection, submessages down to `depth` levels; repeated fields get two elements, a oneof gets
/// the alternative that `seed` selects.
inline void fill(google::protobuf::Message& message, int depth, std::uint32_t& seed) {
  using google::protobuf::FieldDescriptor;
  const auto* descriptor = message.GetDescriptor();
  const auto* reflection = message.GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const auto* oneof = field->real_containing_oneof();
    if (oneof && static_cast<int>(seed % static_cast<std::uint32_t>(oneof->field_count())) != field->index_in_oneof())
      continue;
    for (int n = field->is_repeated() ? 2 : 1; n > 0; --n) {
      ++seed;
      const auto set = [&](auto setter, auto adder, auto value) {
        if (field->is_repeated()) {
          (reflection->*adder)(&message, field, value);
        } else {
          (reflection->*setter)(&message, field, value);
        }
      };
      using R = google::protobuf::Reflection;
      const auto signed_value = static_cast<std::int64_t>(seed) * (seed % 3 == 0 ? -1 : 1);
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_INT32:
          set(&R::SetInt32, &R::AddInt32, static_cast<std::int32_t>(signed_value));
          break;
        case FieldDescriptor::CPPTYPE_INT64:
          set(&R::SetInt64, &R::AddInt64, signed_value << 30);
          break;
        case FieldDescriptor::CPPTYPE_UINT64:
          set(&R::SetUInt64, &R::AddUInt64, std::uint64_t{seed} << 40);
          break;
        case FieldDescriptor::CPPTYPE_FLOAT:
          set(&R::SetFloat, &R::AddFloat, static_cast<float>(seed) * 0.5f);
          break;
        case FieldDescriptor::CPPTYPE_DOUBLE:
          set(&R::SetDouble, &R::AddDouble, seed * 0.25);
          break;
        case FieldDescriptor::CPPTYPE_ENUM: {
          const auto* values = field->enum_type();
          set(&R::SetEnum, &R::AddEnum, values->value(static_cast<int>(seed) % values->value_count()));
          break;
        }
        case FieldDescriptor::CPPTYPE_STRING: {
          const std::string text = seed % 11 == 0 ? std::string() : "s" + std::to_string(seed);
          if (field->is_repeated()) {
            reflection->AddString(&message, field, text);
          } else {
            reflection->SetString(&message, field, text);
          }
          break;
        }
        case FieldDescriptor::CPPTYPE_MESSAGE:
          if (depth == 0) break;
          fill(*(field->is_repeated() ? reflection->AddMessage(&message, field)
                                      : reflection->MutableMessage(&message, field)),
               depth - 1, seed);
          break;
        default:
          break;
      }
    }
  }
}

}  // namespace onnxkit::tests
