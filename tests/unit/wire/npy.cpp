#include "libonnxkit/wire/values/npy.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/wire/values/npz.h"
#include "tests/unit/support/tensors.h"
#include "tests/unit/wire/show.h"

namespace onnxkit::tests::wire_npy {

using namespace std::string_literals;

namespace {

/// The array as text, or the code of the fault.
std::string read(const std::string& bytes, ElementType void_type = ElementType::undefined) {
  const auto tensor = wire::read_npy(MappedFile::from_bytes(bytes), {.void_type = void_type});
  return tensor ? shown(*tensor) : tensor.error().diagnostic.code;
}
std::string read_file(const std::string& name, ElementType void_type = ElementType::undefined) {
  return read(npy_bytes(name + ".npy"), void_type);
}

std::string with_header(const std::string& header, const std::string& data) {
  return "\x93NUMPY\1\0"s + static_cast<char>(header.size()) + '\0' + header + data;
}

std::string written(const Tensor& tensor) {
  const auto bytes = wire::write_npy(tensor);
  return bytes ? *bytes : bytes.error().diagnostic.code;
}

}  // namespace

TEST_CASE("arrays that numpy wrote") {
  const std::string halves = "float[2, 3] 0 0.5 1 1.5 2 2.5";
  CHECK(read_file("float32") == halves);
  CHECK(read_file("float32_columns") == halves);
  CHECK(read_file("float32_big_endian") == halves);
  CHECK(read_file("int16_big_endian_columns") == "int16[2, 3] 0 300 600 900 1200 1500");
  CHECK(read_file("float16_scalar") == "float16[] 1.5");
  CHECK(read_file("float64_empty") == "double[0, 3]");
  CHECK(read_file("int64_columns_3d") ==
        "int64[2, 3, 4] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23");
  CHECK(read_file("bool") == "bool[3] true false true");
  CHECK(read_file("uint8") == "uint8[2] 0 255");
  CHECK(read_file("complex64") == "complex64[2] 1+2i -0-3i");
  CHECK(read_file("complex128_big_endian") == "complex128[1] 1+2i");
  CHECK(read_file("version_2") == "int8[2, 3] 0 1 2 3 4 5");
  CHECK(read_file("text") == "string[2, 2] \"a\" \"größe\" \"\" \"日本 𝄞\"");
  CHECK(read_file("text_big_endian") == "string[2] \"ab\" \"é\"");
  CHECK(read_file("text_columns") == "string[2, 2] \"a\" \"b\" \"c\" \"d\"");
  CHECK(read_file("bytes") == "string[3] \"ab\" \"\xff\" \"\"");
}

TEST_CASE("voids are what the caller says") {
  CHECK(read_file("bfloat16", ElementType::bfloat16) == "bfloat16[2] 1 -2.5");
  CHECK(read_file("float8e4m3fn", ElementType::float8e4m3fn) == "float8e4m3fn[2] 1 448");
  CHECK(read_file("int4", ElementType::int4) == "int4[3] 1 -1 -8");
  CHECK(read_file("bfloat16") == "unsupported-npy");
  CHECK(read_file("bfloat16", ElementType::float8e5m2) == "unsupported-npy");
  CHECK(read_file("int4", ElementType::string) == "unsupported-npy");
  CHECK(read_file("float32", ElementType::bfloat16) == "float[2, 3] 0 0.5 1 1.5 2 2.5");
}

TEST_CASE("types that ONNX lacks") {
  for (const char* name : {"long_double", "object", "records", "date"}) CHECK(read_file(name) == "unsupported-npy");
}

TEST_CASE("little-endian numbers in row order are viewed") {
  const auto file = MappedFile::from_bytes(npy_bytes("float32.npy"));
  const auto tensor = wire::read_npy(file);
  REQUIRE(tensor);
  CHECK(tensor->bytes().data() == file->bytes().data() + 128);
  const auto copied = wire::read_npy(file->bytes());
  REQUIRE(copied);
  CHECK(copied->bytes().data() != tensor->bytes().data());
}

TEST_CASE("arrays are written as numpy writes them") {
  for (const char* name : {"float32", "float16_scalar", "float64_empty", "bool", "uint8", "complex64", "text"}) {
    CAPTURE(name);
    const std::string bytes = npy_bytes(name + ".npy"s);
    CHECK(written(*wire::read_npy(MappedFile::from_bytes(bytes))) == bytes);
  }
  CHECK(read(written(*Tensor::from_strings({2}, {"a\xff", "b"}))) == "string[2] \"a\xff\" \"b\"");
  CHECK(read(written(*Tensor::from_strings({2}, {"", ""}))) == "string[2] \"\" \"\"");
  CHECK(read(written(*Tensor::from_strings({1}, {"a\0b"s}))) == "string[1] \"a\0b\""s);
  CHECK(written(*Tensor::from_strings({1}, {"a\0"s})) == "unsupported-npy");
  CHECK(written(Tensor()) == "unsupported-npy");
}

TEST_CASE("types that numpy lacks become wider") {
  const auto real = [](ElementType type, const std::vector<double>& values) {
    return read(written(encoded(type, values)));
  };
  CHECK(real(ElementType::bfloat16, {1, -2.5}) == "float[2] 1 -2.5");
  CHECK(real(ElementType::float8e5m2, {57344}) == "float[1] 57344");
  CHECK(real(ElementType::float8e8m0, {0x1p-127, 0x1p127}) == "float[2] 5.877471754111438e-39 1.7014118346046923e+38");
  CHECK(real(ElementType::float6e2m3, {-7.5, 0.125, 1}) == "float[3] -7.5 0.125 1");
  CHECK(real(ElementType::float4e2m1, {-0.0, 6, 0.5}) == "float[3] -0 6 0.5");
  CHECK(read(written(encoded<std::int64_t>(ElementType::int4, {-8, 7, -1}))) == "int8[3] -8 7 -1");
  CHECK(read(written(encoded<std::uint64_t>(ElementType::uint2, {0, 1, 2, 3, 1}))) == "uint8[5] 0 1 2 3 1");
}

TEST_CASE("headers as others write them") {
  const std::string data(8, '\0');
  CHECK(read(with_header("{\"shape\":(2L,),\"fortran_order\":False,\"descr\":\"=i4\"}", data)) == "int32[2] 0 0");
  CHECK(read(with_header("{'descr':'<U0','fortran_order':True,'shape':(2,1)}", "")) == "string[2, 1] \"\" \"\"");
}

TEST_CASE("broken .npy files") {
  const std::string data(8, '\0');
  const auto header = [&](const std::string& text) { return read(with_header(text, data)); };
  CHECK(header("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}") == "int32[2] 0 0");
  for (const char* text : {
           "",
           "{",
           "{}",
           "{'descr': '<i4', 'fortran_order': False}",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (2,)} x",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'shape': (2,)}",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
           "{'descr': '<i4', 'fortran_order': 0, 'shape': (2,)}",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (2,",
           "{'descr': '<i4', 'fortran_order': False, 'shape': 2}",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (-2,)}",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (9223372036854775807,)}",
           "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
           "{'descr': '<ix', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<U0', 'fortran_order': False, 'shape': (2,)}",
           "{'descr': '<U1099511627776', 'fortran_order': False, 'shape': (2,)}",
       }) {
    CAPTURE(text);
    CHECK(header(text) == "malformed-npy");
  }
  CHECK(header("{'descr': '<i5', 'fortran_order': False, 'shape': (1,)}") == "malformed-npy");
  CHECK(header("{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}") == "int64[1] 0");
  CHECK(read(with_header("{'descr': '<i5', 'fortran_order': False, 'shape': (1,)}", "abcde")) == "unsupported-npy");
  CHECK(read(with_header("{'descr': '|S0', 'fortran_order': False, 'shape': (1099511627776,)}", "")) ==
        "malformed-npy");
  CHECK(read(with_header("{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}", "\0\xd8\0\0"s)) == "malformed-npy");
  CHECK(read(with_header("{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}", "\0\0\x11\0"s)) == "malformed-npy");
  const std::string whole = npy_bytes("text.npy");
  for (std::size_t size = 0; size < whole.size(); ++size) CHECK(read(whole.substr(0, size)) == "malformed-npy");
  CHECK(read("\x93NUMPY\4\0"s + whole.substr(8)) == "malformed-npy");
}

}  // namespace onnxkit::tests::wire_npy
