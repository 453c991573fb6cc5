#include "libonnxkit/ir/tensor/tensor_data.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "libonnxkit/base/dtype/small_float.h"
#include "libonnxkit/wire/binary/reader.h"

namespace onnxkit::tests::ir_tensor_data {

using namespace std::string_literals;

namespace {

ir::Tensor raw(ElementType type, std::vector<std::int64_t> dims, std::string_view bytes) {
  ir::Tensor tensor;
  tensor.data_type = static_cast<std::int32_t>(type);
  tensor.dims = std::move(dims);
  tensor.raw_data = Text(bytes);
  return tensor;
}

ir::Model model_of(const char* name) {
  auto file = MappedFile::open(std::string(ONNXKIT_TESTDATA "/models/") + name);
  REQUIRE(file.ok());
  auto model = wire::read_binary(*file);
  REQUIRE(model.ok());
  return *std::move(model);
}

}  // namespace

TEST_CASE("sizes of all element types") {
  CHECK(ir::expected_bytes(ElementType::float32, 3) == 12);
  CHECK(ir::expected_bytes(ElementType::complex128, 2) == 32);
  CHECK(ir::expected_bytes(ElementType::int4, 3) == 2);
  CHECK(ir::expected_bytes(ElementType::uint2, 5) == 2);
  CHECK(ir::expected_bytes(ElementType::float6e2m3, 3) == 3);
  CHECK(ir::expected_bytes(ElementType::float6e2m3, 4) == 3);
  CHECK(ir::expected_bytes(ElementType::float6e2m3, 5) == 4);
  CHECK(ir::expected_bytes(ElementType::int8, 0) == 0);
  CHECK(ir::expected_bytes(ElementType::string, 3) == std::nullopt);
  CHECK(ir::expected_bytes(ElementType::float64, INT64_MAX) == std::nullopt);
  CHECK(ir::expected_bytes(ElementType::int4, INT64_MAX) == (std::uint64_t{1} << 62));
  CHECK(ir::expected_entries(ElementType::int4, 3) == 2);
  CHECK(ir::expected_entries(ElementType::int2, 5) == 2);
  CHECK(ir::expected_entries(ElementType::float6e3m2, 5) == 5);
  CHECK(ir::expected_entries(ElementType::complex64, 5) == 10);
  CHECK(ir::expected_entries(ElementType::string, 5) == 5);
}

TEST_CASE("packed elements, the first in the low bits") {
  using Integers = std::vector<std::int64_t>;
  using Reals = std::vector<double>;
  CHECK(ir::read_integers(raw(ElementType::int4, {3}, "\x8f\x07"s), 9) == Integers{-1, -8, 7});
  CHECK(ir::read_integers(raw(ElementType::uint4, {2}, "\x8f"s), 9) == Integers{15, 8});
  CHECK(ir::read_integers(raw(ElementType::int2, {4}, "\xe4"s), 9) == Integers{0, 1, -2, -1});
  CHECK(ir::read_integers(raw(ElementType::uint2, {5}, "\xe4\x01"s), 9) == Integers{0, 1, 2, 3, 1});
  // Codes 1, 2, 3, 4, 5 of six bits each.
  CHECK(ir::read_reals(raw(ElementType::float6e2m3, {5}, "\x81\x30\x10\x05"s), 9) ==
        Reals{0.125, 0.25, 0.375, 0.5, 0.625});
  CHECK(ir::read_reals(raw(ElementType::float4e2m1, {3}, "\xf7\x01"s), 9) == Reals{6, -6, 0.5});
  CHECK(ir::read_integers(raw(ElementType::boolean, {2}, "\x00\x02"s), 9) == Integers{0, 1});
  CHECK(ir::read_integers(raw(ElementType::int64, {2}, "\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0\0\0\0\0\0"s), 1) ==
        Integers{-1});
  CHECK(ir::read_integers(raw(ElementType::uint64, {1}, "\xff\xff\xff\xff\xff\xff\xff\xff"s), 1) == std::nullopt);
  CHECK(ir::read_integers(raw(ElementType::float32, {1}, "\0\0\0\0"s), 1) == std::nullopt);
}

TEST_CASE("data that does not fit its shape is not read") {
  CHECK_FALSE(ir::read_integers(raw(ElementType::int8, {3}, "ab"), 9));
  CHECK_FALSE(ir::read_integers(raw(ElementType::int8, {1}, "ab"), 9));
  CHECK_FALSE(ir::read_integers(raw(ElementType::int8, {-1}, "ab"), 9));
  CHECK_FALSE(ir::read_integers(raw(ElementType::int8, {INT64_MAX, 2}, "ab"), 9));
  ir::Tensor typed = raw(ElementType::int64, {2}, "");
  typed.raw_data = {};
  const std::string payload = "\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s;  // the second has eleven bytes
  typed.int64_data.chunks = {std::as_bytes(std::span(payload))};
  CHECK_FALSE(ir::read_integers(typed, 9));
  CHECK_FALSE(ir::entry_count(typed, ir::TypedField::int64_data));
  typed.int64_data.chunks = {std::as_bytes(std::span(payload).first(2))};
  CHECK_FALSE(ir::entry_count(typed, ir::TypedField::int64_data));
  typed.dims = {1};
  typed.int64_data.chunks = {std::as_bytes(std::span(payload).first(1))};
  CHECK(ir::read_integers(typed, 9) == std::vector<std::int64_t>{1});
  CHECK(ir::entry_count(typed, ir::TypedField::int64_data) == 1);
}

TEST_CASE("small floats at their edges") {
  CHECK(small_float_value(0x7bff, half_format) == 65504);
  CHECK(small_float_value(0x0001, half_format) == std::ldexp(1.0, -24));
  CHECK(std::isinf(small_float_value(0xfc00, half_format)));
  CHECK(std::isnan(small_float_value(0x7c01, half_format)));
  CHECK(small_float_value(0xbf80, bfloat16_format) == -1);
  CHECK(small_float_value(0x7e, float8e4m3fn_format) == 448);
  CHECK(std::isnan(small_float_value(0xff, float8e4m3fn_format)));
  CHECK(small_float_value(0x7f, float8e4m3fnuz_format) == 240);
  CHECK(std::isnan(small_float_value(0x80, float8e4m3fnuz_format)));
  CHECK(small_float_value(0x7b, float8e5m2_format) == 57344);
  CHECK(std::isinf(small_float_value(0x7c, float8e5m2_format)));
  CHECK(small_float_value(0x7f, float8e5m2fnuz_format) == 57344);
  CHECK(small_float_value(0x1f, float6e2m3_format) == 7.5);
  CHECK(small_float_value(0x1f, float6e3m2_format) == 28);
  CHECK(small_float_value(0x0f, float4e2m1_format) == -6);
  CHECK(float8e8m0_value(127) == 1);
  CHECK(std::isnan(float8e8m0_value(255)));
}

TEST_CASE("raw and typed storage of every element type hold the same numbers") {
  const ir::Model typed = model_of("precision/storage_typed.onnx");
  const ir::Model in_raw = model_of("precision/storage_raw.onnx");
  std::size_t compared = 0;
  for (const ir::Tensor& a : typed.graph->initializers) {
    for (const ir::Tensor& b : in_raw.graph->initializers) {
      if (a.name.view() != b.name.view() || a.raw_data.present()) continue;
      CAPTURE(std::string(a.name.view()));
      const auto left = ir::read_reals(a, SIZE_MAX);
      const auto right = ir::read_reals(b, SIZE_MAX);
      REQUIRE(left.has_value());
      CHECK(left == right);
      std::string as_raw;
      CHECK(ir::each_raw_piece(a, [&](std::span<const std::byte> piece) {
        as_raw.append(reinterpret_cast<const char*>(piece.data()), piece.size());
        return true;
      }));
      CHECK(as_raw == b.raw_data.view());
      const ir::TypedField field = ir::typed_field_of(ir::element_type_of(a));
      CHECK(ir::entry_count(a, field) == ir::expected_entries(ir::element_type_of(a), *ir::element_count(a)));
      ++compared;
    }
  }
  CHECK(compared == 19);
}

}  // namespace onnxkit::tests::ir_tensor_data
