#pragma once

#include <cstddef>
#include <cstdint>

// The interface of libonnxkit_json.so, which holds what needs libprotobuf. Plain C across it: no exceptions, and memory
// belongs to the side that made it; texts are valid during the call.
namespace onnxkit::wire {

/// The side that wants a form of a model.
struct JsonHost {
  void* owner;
  void (*take)(void* owner, const char* bytes, std::size_t size);
  /// Fields of a message that the schema does not know, and that the text keeps as `unknown_fields`.
  void (*kept)(void* owner, const char* message, std::size_t count);
  /// Why there is none: a code and a text.
  void (*fail)(void* owner, const char* code, const char* why);
};

/// From bytes of one form to those of the other.
using ConvertJson = void (*)(const char* bytes, std::size_t size, const JsonHost* host);

struct JsonModule {
  std::uint32_t version;
  ConvertJson print;  ///< a ModelProto to JSON
  ConvertJson parse;  ///< and back
};

inline constexpr std::uint32_t json_module_version = 2;
inline constexpr const char* json_module_entry = "onnxkit_json";

}  // namespace onnxkit::wire
