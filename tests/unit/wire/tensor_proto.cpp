#include "libonnxkit/wire/values/tensor_proto.h"

#include <doctest/doctest.h>

#include <array>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/wire/binary/reader.h"
#include "tests/unit/support/tensors.h"
#include "tests/unit/wire/encode.h"
#include "tests/unit/wire/show.h"

namespace onnxkit::tests::wire_tensor_proto {

using namespace std::string_literals;

namespace {

std::string number(std::uint32_t field_number, std::uint64_t value) {
  return varint(field_number << 3) + varint(value);
}

std::string head(ElementType type, std::initializer_list<std::int64_t> dims) {
  std::string bytes;
  for (const std::int64_t d : dims) bytes += number(1, static_cast<std::uint64_t>(d));
  return bytes + number(2, static_cast<std::uint64_t>(type));
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  return field(9, std::string(reinterpret_cast<const char*>(std::data(values)), values.size() * sizeof(T)));
}

Result<NamedValue> read(const std::string& bytes, ValueKind kind = ValueKind::tensor) {
  return wire::read_value(MappedFile::from_bytes(bytes), kind);
}

std::string code_of(const std::string& bytes, ValueKind kind = ValueKind::tensor) {
  const auto value = read(bytes, kind);
  return value ? "none" : value.error().diagnostic.code;
}

std::string read_shown(const std::string& bytes) {
  const auto value = read(bytes);
  REQUIRE(value);
  return shown(value->value.tensor);
}

const std::string ints = head(ElementType::int64, {2}) + raw<std::int64_t>({5, -6});
const std::string floats = head(ElementType::float32, {2}) + raw<float>({1.5f, 2.5f});

}  // namespace

TEST_CASE("raw numbers, and reals of a typed field, are viewed in the file") {
  const std::pair<std::string, const char*> cases[] = {
      {ints, "int64[2] 5 -6"},
      {head(ElementType::float32, {2}) + field(4, "\0\0\x80\x3f\0\0\0\x40"s), "float[2] 1 2"},
      {head(ElementType::float64, {1}) + field(10, "\0\0\0\0\0\0\xf0\x3f"s), "double[1] 1"}};
  for (const auto& [bytes, wanted] : cases) {
    const auto file = MappedFile::from_bytes(bytes + field(8, "x"));
    const auto read = wire::read_value(file, ValueKind::tensor);
    REQUIRE(read);
    CHECK(read->name == "x");
    const Tensor& tensor = read->value.tensor;
    CHECK(shown(tensor) == wanted);
    CHECK(tensor.bytes().data() >= file->bytes().data());
    CHECK(tensor.bytes().data() < file->bytes().data() + file->bytes().size());
  }
}

TEST_CASE("typed fields give the bytes that raw_data would have") {
  CHECK(read_shown(head(ElementType::float32, {2}) + field(4, "\0\0\x80\x3f\0\0\0\x40"s)) == "float[2] 1 2");
  CHECK(read_shown(head(ElementType::float16, {}) + number(5, 0x3c00)) == "float16[] 1");
  CHECK(read_shown(head(ElementType::int8, {2}) + field(5, varint(3) + varint(~std::uint64_t{0}))) == "int8[2] 3 -1");
  CHECK(read_shown(head(ElementType::int4, {3}) + field(5, varint(0x9f) + varint(7))) == "int4[3] -1 -7 7");
  CHECK(read_shown(head(ElementType::float6e2m3, {2}) + field(5, varint(8) + varint(0x28))) == "float6e2m3[2] 1 -1");
  CHECK(read_shown(head(ElementType::boolean, {1}) + number(5, 1)) == "bool[1] true");
  CHECK(read_shown(head(ElementType::uint64, {1}) + number(11, 9)) == "uint64[1] 9");
  CHECK(read_shown(head(ElementType::string, {2}) + field(6, "a") + field(6, "bc")) == "string[2] \"a\" \"bc\"");
  CHECK(read_shown(head(ElementType::int64, {0})) == "int64[0]");
}

TEST_CASE("tensors at fault are told by code") {
  CHECK(code_of("") == "empty-file");
  CHECK(code_of(ints.substr(0, ints.size() - 1)) == "truncated-file");
  CHECK(code_of("\x0c"s) == "malformed-protobuf");
  CHECK(code_of(head(ElementType::int64, {3}) + raw<std::int64_t>({1})) == "tensor-size");
  CHECK(code_of(head(ElementType::int64, {3}) + field(7, varint(1))) == "tensor-size");
  CHECK(code_of(head(ElementType::int64, {1}) + raw<std::int64_t>({1, 2})) == "tensor-size");
  CHECK(code_of(head(ElementType::string, {2}) + field(6, "a")) == "tensor-size");
  CHECK(code_of(head(ElementType::int64, {std::int64_t{1} << 40, std::int64_t{1} << 40})) == "tensor-dims");
  CHECK(code_of(head(ElementType::int64, {std::int64_t{1} << 50})) == "tensor-size");
  CHECK(code_of(head(ElementType::int64, {-1})) == "tensor-dims");
  CHECK(code_of(head(static_cast<ElementType>(99), {1})) == "tensor-type");
  CHECK(code_of(number(1, 1)) == "tensor-type");
  CHECK(code_of(head(ElementType::int64, {1}) + field(3, number(1, 0))) == "tensor-segment");
  CHECK(code_of(head(ElementType::int64, {1}) + number(14, 1)) == "external-missing");
}

TEST_CASE("external data comes from where the caller says") {
  ir::Model pool;
  const std::string bytes = head(ElementType::float32, {1}) + number(14, 1);
  const auto stored = wire::read_tensor(bytes, bytes, pool);
  REQUIRE(stored);
  const float outside = 2.5f;
  wire::TensorSource source;
  source.external = [&](const ir::Tensor&) -> Result<std::span<const std::byte>> {
    return std::as_bytes(std::span(&outside, 1));
  };
  const auto copied = wire::tensor_of(*stored, source);
  REQUIRE(copied);
  CHECK(shown(*copied) == "float[1] 2.5");
  CHECK(copied->bytes().data() != std::as_bytes(std::span(&outside, 1)).data());
  source.owner = std::make_shared<int>();
  CHECK(wire::tensor_of(*stored, source)->bytes().data() == std::as_bytes(std::span(&outside, 1)).data());
  source.external = [](const ir::Tensor&) -> Result<std::span<const std::byte>> {
    return make_error("external-range", "too far");
  };
  CHECK(wire::tensor_of(*stored, source).error().diagnostic.code == "external-range");
}

TEST_CASE("sparse tensors become dense") {
  const auto sparse = [](const std::string& values, const std::string& indices,
                         std::initializer_list<std::int64_t> dims) {
    std::string bytes = field(1, values) + field(2, indices);
    for (const std::int64_t d : dims) bytes += number(3, static_cast<std::uint64_t>(d));
    return field(4, bytes);  // as an element of a sequence
  };
  const auto dense = [&](const std::string& bytes) {
    const auto value = read(bytes, ValueKind::sequence);
    return value ? shown(value->value.items.at(0).tensor) : value.error().diagnostic.code;
  };
  const std::string at_2_4 = head(ElementType::int64, {2}) + raw<std::int64_t>({2, 4});
  const std::string tuples = head(ElementType::int64, {2, 2}) + raw<std::int64_t>({0, 1, 1, 0});
  CHECK(dense(sparse(floats, at_2_4, {2, 3})) == "float[2, 3] 0 0 1.5 0 2.5 0");
  CHECK(dense(sparse(floats, tuples, {2, 2})) == "float[2, 2] 0 1.5 2.5 0");
  CHECK(dense(sparse(head(ElementType::int4, {2}) + field(9, "\x2f"), at_2_4, {5})) == "int4[5] 0 0 -1 0 2");
  CHECK(dense(sparse(head(ElementType::string, {2}) + field(6, "a") + field(6, "b"), at_2_4, {5})) ==
        "string[5] \"\" \"\" \"a\" \"\" \"b\"");
  CHECK(dense(sparse(floats, at_2_4, {4})) == "sparse-tensor");
  CHECK(dense(sparse(floats, at_2_4, {std::int64_t{1} << 40})) == "sparse-tensor");
  CHECK(dense(sparse(floats, tuples, {2, 2, 2})) == "sparse-tensor");
  CHECK(dense(sparse(floats, tuples, {std::int64_t{1} << 40, 0})) == "sparse-tensor");
  CHECK(dense(sparse(floats, head(ElementType::int64, {2}) + raw<std::int64_t>({2, 2}), {5})) == "sparse-tensor");
  CHECK(dense(sparse(floats, ints, {9})) == "sparse-tensor");
}

TEST_CASE("values are written and read back") {
  const Value one = integers({1, 2, 3});
  const Value words = *Tensor::from_strings({2}, {"a", ""});
  const Value values[] = {
      one,
      words,
      *Tensor::from_bytes(ElementType::int4, {3}, {std::byte{0x21}, std::byte{3}}),
      *Tensor::from_bytes(ElementType::float32, {0, 2}, {}),
      Value::sequence({one, integers({})}),
      Value::sequence({}),
      Value::sequence({Value::sequence({one}), Value::sequence({})}),
      Value::optional(std::nullopt),
      Value::optional(one),
      Value::optional(Value::sequence({words})),
      Value::map(integers({7, -8}), words.tensor),
      Value::map(words.tensor, integers({4, 5})),
      Value::sequence({Value::map(integers({1}), integers({2}))}),
  };
  for (const Value& value : values) {
    CAPTURE(type_text(value));
    const std::string bytes = wire::write_value(value, "n");
    const auto back = read(bytes, value.kind);
    REQUIRE(back);
    CHECK(back->name == "n");
    CHECK(type_text(back->value) == type_text(value));
    CHECK(wire::write_value(back->value, "n") == bytes);
  }
  CHECK(
      shown(
          read(wire::write_value(Value::map(words.tensor, integers({4, 5}))), ValueKind::map)->value.items[0].tensor) ==
      "int64[2] 4 5");
}

TEST_CASE("a tensor in place of an optional is its content") {
  const auto value =
      read(head(ElementType::int64, {2}) + field(8, "o") + raw<std::int64_t>({3, 4}), ValueKind::optional);
  REQUIRE(value);
  CHECK(value->name == "o");
  REQUIRE(value->value.kind == ValueKind::optional);
  REQUIRE(value->value.items.size() == 1);
  CHECK(shown(value->value.items[0].tensor) == "int64[2] 3 4");
  CHECK(read(head(ElementType::int64, {}) + raw<std::int64_t>({3}), ValueKind::optional)->value.items.size() == 1);
}

TEST_CASE("sequences, optionals and maps at fault") {
  CHECK(code_of(field(3, ints), ValueKind::sequence) == "none");
  CHECK(code_of("", ValueKind::sequence) == "none");
  CHECK(code_of("", ValueKind::optional) == "none");
  CHECK(code_of("", ValueKind::map) == "empty-file");
  CHECK(code_of(field(3, ints).substr(0, 9), ValueKind::sequence) == "truncated-file");
  CHECK(code_of(field(3, "\x0c"), ValueKind::sequence) == "malformed-protobuf");
  CHECK(code_of(field(5, "\x1a\x09"), ValueKind::sequence) == "malformed-protobuf");
  CHECK(code_of(field(3, head(ElementType::int64, {3})), ValueKind::optional) == "tensor-size");
  const std::string one_value = field(5, field(3, ints)),
                    two_shapes = field(5, field(3, ints) + field(3, head(ElementType::int64, {0})));
  CHECK(code_of(number(2, 7) + number(3, 1) + one_value, ValueKind::map) == "none");
  CHECK(code_of(number(2, 7) + one_value, ValueKind::map) == "tensor-size");
  CHECK(code_of(number(2, 1) + number(3, 1) + one_value, ValueKind::map) == "tensor-type");
  CHECK(code_of(number(2, 7) + field(3, "\x01\x02") + two_shapes, ValueKind::map) == "unsupported-format");

  std::string nested = field(5, "");
  for (int i = 0; i < 200; ++i) nested = field(5, nested);
  CHECK(code_of(nested, ValueKind::sequence) == "nesting-depth");
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += field(5, "");
  CHECK(code_of(many, ValueKind::sequence) == "malformed-protobuf");
}

}  // namespace onnxkit::tests::wire_tensor_proto
