#pragma once

namespace onnxkit::tests {

/// How much of a long sweep a test takes, with sanitizers another part: onnxkit_sample of tests/CMakeLists.txt in C++.
template <class T>
constexpr T sampled([[maybe_unused]] T usual, [[maybe_unused]] T sanitized) {
#ifdef ONNXKIT_SANITIZED
  return sanitized;
#else
  return usual;
#endif
}

}  // namespace onnxkit::tests
