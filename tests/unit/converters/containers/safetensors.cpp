#include "converters/containers/safetensors.h"

#include <doctest/doctest.h>

#include <string>

namespace onnxkit::tests::containers_safetensors {

std::shared_ptr<const MappedFile> file_of(const std::string& header, const std::string& data,
                                          std::uint64_t announced = 0) {
  const std::uint64_t size = announced ? announced : header.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  return MappedFile::from_bytes(bytes + header + data);
}

std::string fault_of(const std::string& header, const std::string& data = std::string(8, '\1')) {
  const auto read = containers::read_safetensors(file_of(header, data));
  return read ? "" : read.error().diagnostic.code;
}

TEST_CASE("safetensors: tensors in place, metadata left out") {
  const auto file = file_of(
      R"({"__metadata__": {"a": "b"}, "w": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]},
          "e": {"dtype": "BF16", "shape": [0], "data_offsets": [8, 8]}, "s": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]}})",
      std::string(8, '\1'));
  CHECK(containers::is_safetensors(*file));
  const auto read = containers::read_safetensors(file);
  REQUIRE(read);
  REQUIRE(read->tensors.size() == 3);
  CHECK(read->tensors[0].name == "w");
  CHECK(read->tensors[0].elem == ElementType::float32);
  CHECK(read->tensors[0].dims == std::vector<std::int64_t>{1, 2});
  CHECK(read->tensors[0].bytes.size() == 8);
  CHECK(read->tensors[0].bytes.data() == file->bytes().data() + file->bytes().size() - 8);
  CHECK(read->tensors[1].elem == ElementType::bfloat16);
  CHECK(read->tensors[2].dims.empty());
}

TEST_CASE("safetensors: ranges outside the file and of another length are refused") {
  CHECK(fault_of(R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}})") == "malformed-safetensors");
  CHECK(fault_of(R"({"w": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}})") == "malformed-safetensors");
  CHECK(fault_of(R"({"w": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})") == "malformed-safetensors");
  CHECK(fault_of(R"({"w": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 8]}})") == "malformed-safetensors");
  CHECK(fault_of(R"({"w": {"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 8]}})") ==
        "malformed-safetensors");
  CHECK(fault_of(R"({"w": {"dtype": "F32", "shape": [2]}})") == "malformed-safetensors");
  CHECK(fault_of(R"({"w": {"dtype": "Q7", "shape": [2], "data_offsets": [0, 8]}})") == "not-supported");
  CHECK(fault_of("[1]") == "malformed-safetensors");
  CHECK(fault_of("{\"w\"") == "json-syntax");
  const auto beyond = containers::read_safetensors(file_of("{}", "", 1'000));
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().diagnostic.code == "malformed-safetensors");
}

}  // namespace onnxkit::tests::containers_safetensors
