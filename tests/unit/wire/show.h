#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <complex>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"
#include "onnxkit/value.h"

namespace onnxkit::tests {

/// A file of testdata/npy.
inline std::string npy_bytes(const std::string& name) {
  std::ifstream in(ONNXKIT_TESTDATA "/npy/" + name, std::ios::binary);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Type and elements of a tensor: "float[2] 1 -2.5".
inline std::string shown(const Tensor& tensor) {
  std::string text = type_text(tensor);
  const auto add = [&]<class T>(T, auto format) {
    const auto size = static_cast<std::size_t>(tensor.size());
    const auto values = std::make_unique<T[]>(size);
    decode(tensor.type(), tensor.bytes(), std::span(values.get(), size));
    for (std::size_t i = 0; i < size; ++i) text += " " + format(values[i]);
  };
  const auto plain = [](auto value) { return fmt::format("{}", value); };
  switch (domain_of(tensor.type())) {
    case Domain::real:
      add(double(), plain);
      break;
    case Domain::integer:
      add(std::int64_t(), plain);
      break;
    case Domain::natural:
      add(std::uint64_t(), plain);
      break;
    case Domain::boolean:
      add(bool(), plain);
      break;
    case Domain::complex:
      add(std::complex<double>(), [](auto value) { return fmt::format("{}{:+}i", value.real(), value.imag()); });
      break;
    case Domain::string:
      for (const std::string& string : tensor.strings()) text += " \"" + string + "\"";
      break;
  }
  return text;
}

}  // namespace onnxkit::tests
