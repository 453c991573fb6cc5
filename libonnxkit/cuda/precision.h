#pragma once

#include <optional>
#include <string_view>

namespace onnxkit::cuda {

/// What float32 values of a model are computed in. Chosen by the user, never by the backend.
enum class Precision : unsigned char { f32, tf32, f16, bf16, fp8, f64 };

inline std::optional<Precision> precision_named(std::string_view name) {
  if (name == "f32") return Precision::f32;
  if (name == "tf32") return Precision::tf32;
  if (name == "f16") return Precision::f16;
  if (name == "bf16") return Precision::bf16;
  if (name == "fp8") return Precision::fp8;
  if (name == "f64") return Precision::f64;
  return std::nullopt;
}

}  // namespace onnxkit::cuda
