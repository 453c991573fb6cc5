// Models beyond protobuf's 2 GiB, as sparse files.
#include <doctest/doctest.h>

#include <sstream>

#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "libonnxkit/wire/external/external_data.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/wire/encode.h"

namespace onnxkit::tests::wire_large {
namespace {

constexpr std::uint64_t three_gib = std::uint64_t{3} << 30;

/// Resident memory in KiB, mapped files included.
std::int64_t resident() {
  std::istringstream status(get_file("/proc/self/status"));
  std::string word;
  std::int64_t size = 0;
  while (status >> word) {
    if (word == "VmRSS:") status >> size;
  }
  return size;
}

/// What stands before a payload of `size` bytes that is the last thing inside the messages `path`, outermost first.
std::string head_of(const std::vector<std::pair<std::uint32_t, std::string>>& path, std::uint64_t size) {
  std::string head;
  for (auto level = path.rbegin(); level != path.rend(); ++level) {
    const std::string inner = level->second + head;
    head = varint(level->first << 3 | 2) + varint(inner.size() + size) + inner;
  }
  return head;
}

}  // namespace

TEST_CASE("a model of 3 GiB is read and written without touching its weights") {
  const TempFolder folder;
  const std::string raw_data = varint(9 << 3 | 2) + varint(three_gib);
  const std::string tensor = "\x08" + varint(three_gib) + "\x10\x03" + field(8, "w") + raw_data;
  const std::string head =
      "\x08\x0a" + head_of({{7, field(1, field(1, "w") + field(2, "y") + field(4, "Neg"))}, {5, tensor}}, three_gib);
  put_file(folder / "big.onnx", head);
  std::filesystem::resize_file(folder / "big.onnx", head.size() + three_gib);

  const std::int64_t before = resident();
  const auto file = MappedFile::open(folder / "big.onnx");
  REQUIRE(file.ok());
  const auto model = wire::read_binary(*file);
  REQUIRE(model.ok());
  REQUIRE(model->graph->initializers.size() == 1);
  CHECK(model->graph->nodes.size() == 1);
  CHECK(model->graph->initializers[0].raw_data.size() == three_gib);

  std::string start;
  std::uint64_t written = 0;
  const auto sink = [&](std::string_view piece) {
    if (written == 0) start = piece.substr(0, head.size());
    written += piece.size();
    return Result<void>();
  };
  CHECK(wire::write_binary(*model, sink).ok());
  CHECK(written == head.size() + three_gib);
  CHECK(wire::encoded_size(*model) == written);
  CHECK(start == head);
  CHECK(resident() - before < 8 * 1024);
}

TEST_CASE("external data beyond 4 GiB") {
  const TempFolder folder;
  put_file(folder / "w.bin", "");
  std::filesystem::resize_file(folder / "w.bin", 2 * three_gib);
  ir::Tensor tensor;
  tensor.data_type = 1;
  tensor.dims = {3, 1};
  tensor.data_location = ir::Tensor::location_external;
  const std::string offset = std::to_string(2 * three_gib - 12);
  tensor.external_data.push_back({.key = "location", .value = "w.bin", .unknown_fields = {}});
  tensor.external_data.push_back({.key = "offset", .value = Text(offset), .unknown_fields = {}});
  wire::ExternalData data(folder / "m.onnx");
  const auto bytes = data.bytes(tensor);
  REQUIRE(bytes.ok());
  CHECK(bytes->size() == 12);
}

}  // namespace onnxkit::tests::wire_large
