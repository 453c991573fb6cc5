#include "libonnxkit/formats/frame/save.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "libonnxkit/ir/tensor/tensor_data.h"
#include "libonnxkit/ir/tensor/tensors.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/external/external_data.h"
#include "tests/unit/support/results.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::formats_save {

namespace fs = std::filesystem;

namespace {

ir::Model load(const fs::path& path) {
  auto file = MappedFile::open(path);
  REQUIRE(file.ok());
  auto model = wire::read_binary(*file, path);
  REQUIRE(model.ok());
  return *std::move(model);
}

/// Every numeric tensor of the model at `path` with its values, wherever they lie.
std::vector<std::vector<double>> values_in(const fs::path& path) {
  const ir::Model model = load(path);
  wire::ExternalData data(path);
  std::vector<std::vector<double>> all;
  ir::each_tensor(model, [&](const ir::Tensor& tensor, ir::TensorRole) {
    std::span<const std::byte> external;
    if (tensor.is_external()) {
      const auto bytes = data.bytes(tensor);
      REQUIRE_MESSAGE(bytes.ok(), bytes.error().diagnostic.message);
      external = *bytes;
    }
    all.push_back(ir::read_reals(tensor, SIZE_MAX, external).value_or(std::vector<double>()));
    std::replace_if(
        all.back().begin(), all.back().end(), [](double v) { return v != v; }, 1e300);  // NaN equals nothing
  });
  return all;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

const fs::path sample = ONNXKIT_TESTDATA "/models/rnn/gru_opset11.onnx";
const SaveOptions extract_all = {.weights = Weights::extract, .sidecar = {}, .threshold = 1};
const SaveOptions embed = {.weights = Weights::embed, .sidecar = {}};

/// a.onnx takes its weights in, and a.onnx.data stays.
void check_embedding_leaves_data(const fs::path& folder) {
  const auto embedded = formats::save_model(load(folder / "a.onnx"), folder / "a.onnx", embed);
  REQUIRE(embedded.ok());
  CHECK(embedded->removed.empty());
  CHECK(fs::exists(folder / "a.onnx.data"));
}

}  // namespace

TEST_CASE("weights go out into one file and come back") {
  const TempFolder folder;
  const auto values = values_in(sample);
  CHECK(code_of(formats::save_model(load(sample), folder / "m.onnx", extract_all)) == "");
  CHECK(names_in(folder.path()) == Names{"m.onnx", "m.onnx.data"});
  CHECK(values_in(folder / "m.onnx") == values);
  CHECK(fs::file_size(folder / "m.onnx") < fs::file_size(sample) / 2);

  const ir::Model out = load(folder / "m.onnx");
  for (const ir::Tensor& tensor : out.graph->initializers) {
    if (!tensor.is_external()) continue;
    const auto reference = wire::parse_external_data(tensor);
    REQUIRE(reference.ok());
    CHECK(reference->offset % (*reference->length >= 4096 ? 4096 : 64) == 0);
  }

  CHECK(code_of(formats::save_model(out, folder / "m.onnx", embed)) == "");
  CHECK(names_in(folder.path()) == Names{"m.onnx"});
  CHECK(values_in(folder / "m.onnx") == values);
}

TEST_CASE("weights of a model beyond protobuf's limit go into a data file unless the caller decides") {
  const TempFolder folder;
  const auto values = values_in(sample);
  const std::uint64_t size = fs::file_size(sample);

  const auto fits = formats::save_model(load(sample), folder / "fits.onnx", {}, size);
  REQUIRE(fits.ok());
  CHECK(fits->moved_weights.empty());
  CHECK_FALSE(fits->exceeds_protobuf);

  const auto moved = formats::save_model(load(sample), folder / "moved.onnx", {}, size - 1);
  REQUIRE(moved.ok());
  CHECK(moved->moved_weights == folder / "moved.onnx.data");
  CHECK_FALSE(moved->exceeds_protobuf);
  CHECK(values_in(folder / "moved.onnx") == values);

  const auto embedded = formats::save_model(load(sample), folder / "embedded.onnx", embed, size - 1);
  REQUIRE(embedded.ok());
  CHECK(embedded->moved_weights.empty());
  CHECK(embedded->exceeds_protobuf);

  const auto graph = formats::save_model(load(sample), folder / "graph.onnx", {}, 10);
  REQUIRE(graph.ok());
  CHECK(graph->moved_weights == folder / "graph.onnx.data");
  CHECK(graph->exceeds_protobuf);

  const auto text = formats::save_model(load(sample), folder / "text.onnxtxt", {}, 10);
  REQUIRE(text.ok());
  CHECK(text->moved_weights.empty());
  CHECK_FALSE(text->exceeds_protobuf);

  const ByteSink nowhere = [](std::string_view) -> Result<void> { return {}; };
  const auto streamed = formats::save_model(load(sample), nowhere, {}, size - 1);
  REQUIRE(streamed.ok());
  CHECK(streamed->exceeds_protobuf);

  CHECK(names_in(folder.path()) == Names{"embedded.onnx", "fits.onnx", "graph.onnx", "graph.onnx.data", "moved.onnx",
                                         "moved.onnx.data", "text.onnxtxt"});
}

TEST_CASE("the input may take its weights out into a data file beside itself") {
  const TempFolder folder;
  const auto values = values_in(sample);
  REQUIRE(formats::save_model(load(sample), folder / "m.onnx", {}).ok());
  const auto moved = formats::save_model(load(folder / "m.onnx"), folder / "m.onnx", {}, 2000);
  REQUIRE(moved.ok());
  CHECK(moved->moved_weights == folder / "m.onnx.data");
  CHECK(values_in(folder / "m.onnx") == values);
}

TEST_CASE("a file for each tensor, and small ones stay") {
  const TempFolder folder;
  const auto values = values_in(sample);
  SaveOptions options = extract_all;
  options.file_per_tensor = true;
  options.threshold = 500;
  CHECK(code_of(formats::save_model(load(sample), folder / "m.onnx", options)) == "");
  const Names names = names_in(folder.path());
  CHECK(names.size() > 2);
  for (const std::string& name : names) CHECK((name == "m.onnx" || fs::file_size(folder / name) >= 500));
  CHECK(values_in(folder / "m.onnx") == values);

  CHECK(code_of(formats::save_model(load(folder / "m.onnx"), folder / "m.onnx", extract_all)) == "");
  CHECK(names_in(folder.path()) == Names{"m.onnx", "m.onnx.data"});
  CHECK(values_in(folder / "m.onnx") == values);
}

TEST_CASE("typed data of every element type is extracted as raw data") {
  const TempFolder folder;
  const fs::path typed = ONNXKIT_TESTDATA "/models/precision/storage_typed.onnx";
  CHECK(code_of(formats::save_model(load(typed), folder / "m.onnx", extract_all)) == "");
  CHECK(values_in(folder / "m.onnx") == values_in(typed));
  const ir::Model out = load(folder / "m.onnx");
  const auto external = std::count_if(out.graph->initializers.begin(), out.graph->initializers.end(),
                                      [](const ir::Tensor& tensor) { return tensor.is_external(); });
  CHECK(external >= 20);
}

TEST_CASE("replacing a model in its place replaces its data file, too") {
  const TempFolder folder;
  CHECK(code_of(formats::save_model(load(sample), folder / "m.onnx", extract_all)) == "");
  const fs::path other = ONNXKIT_TESTDATA "/models/rnn/lstm_packed_opset13.onnx";
  CHECK(code_of(formats::save_model(load(other), folder / "m.onnx", extract_all)) == "");
  CHECK(names_in(folder.path()) == Names{"m.onnx", "m.onnx.data"});
  CHECK(values_in(folder / "m.onnx") == values_in(other));
  CHECK(fs::hard_link_count(folder / "m.onnx.data") == 1);

  // The same once more: nothing changes, not even the file.
  const auto written = fs::last_write_time(folder / "m.onnx.data");
  CHECK(code_of(formats::save_model(load(folder / "m.onnx"), folder / "m.onnx", extract_all)) == "");
  CHECK(fs::last_write_time(folder / "m.onnx.data") == written);
}

TEST_CASE("to another folder the data files go along") {
  const TempFolder folder;
  SaveOptions options = extract_all;
  options.sidecar = "data/weights.bin";
  CHECK(code_of(formats::save_model(load(sample), folder / "a.onnx", options)) == "");
  fs::create_directory(folder / "out");
  CHECK(code_of(formats::save_model(load(folder / "a.onnx"), folder / "out/b.onnx", {})) == "");
  CHECK(values_in(folder / "out/b.onnx") == values_in(sample));
  CHECK(code_of(formats::save_model(load(folder / "a.onnx"), folder / "out/b.onnx", {})) == "");
  CHECK(code_of(formats::save_model(load(folder / "a.onnx"), folder / "c.onnx", {})) == "");
  CHECK(names_in(folder.path()) == Names{"a.onnx", "c.onnx", "data", "out"});

  // Other bytes under the same name, which b.onnx uses: fine for b.onnx, refused for a model beside it.
  put_file(folder / "out/data/weights.bin", std::string(fs::file_size(folder / "data/weights.bin"), 'x'));
  CHECK(code_of(formats::save_model(load(folder / "a.onnx"), folder / "out/other.onnx", {})) == "data-file-exists");
  CHECK(names_in(folder / "out") == Names{"b.onnx", "data"});
  CHECK(code_of(formats::save_model(load(folder / "a.onnx"), folder / "out/b.onnx", {})) == "");
  CHECK(values_in(folder / "out/b.onnx") == values_in(sample));
  CHECK(names_in(folder / "out/data") == Names{"weights.bin"});
}

TEST_CASE("a data file that another model of the folder uses stays") {
  const TempFolder folder;
  const fs::path other = ONNXKIT_TESTDATA "/models/rnn/lstm_packed_opset13.onnx";
  CHECK(code_of(formats::save_model(load(sample), folder / "a.onnx", extract_all)) == "");

  SUBCASE("a copy of the model") { fs::copy_file(folder / "a.onnx", folder / "b.onnx"); }
  SUBCASE("a hard link, which keeps what the model was") { fs::create_hard_link(folder / "a.onnx", folder / "b.onnx"); }
  SUBCASE("the model in JSON") {
    CHECK(code_of(formats::save_model(load(folder / "a.onnx"), folder / "b.json", {})) == "");
  }
  CHECK(code_of(formats::save_model(load(other), folder / "a.onnx", extract_all)) == "data-file-exists");
  check_embedding_leaves_data(folder.path());
}

TEST_CASE("a data file that nobody needs any more is removed and named") {
  const TempFolder folder;
  CHECK(code_of(formats::save_model(load(sample), folder / "a.onnx", extract_all)) == "");
  fs::create_symlink("a.onnx", folder / "latest.onnx");  // no model of its own
  put_file(folder / "broken.onnx", "a.onnx.data");
  const auto embedded = formats::save_model(load(folder / "a.onnx"), folder / "a.onnx", embed);
  REQUIRE(embedded.ok());
  CHECK(embedded->removed == std::vector<fs::path>{folder / "a.onnx.data"});
  CHECK(names_in(folder.path()) == Names{"a.onnx", "broken.onnx", "latest.onnx"});
}

TEST_CASE("in a folder of too many models a data file counts as used") {
  const TempFolder folder;
  for (int i = 0; i < 1001; ++i) put_file(folder / ("m" + std::to_string(i) + ".onnx"), "x");
  CHECK(code_of(formats::save_model(load(sample), folder / "a.onnx", extract_all)) == "");
  check_embedding_leaves_data(folder.path());
}

TEST_CASE("data files that a save must not touch") {
  const TempFolder folder;
  SaveOptions options = extract_all;
  options.sidecar = "b.onnx.data";
  CHECK(code_of(formats::save_model(load(sample), folder / "a.onnx", options)) == "");
  const fs::path other = ONNXKIT_TESTDATA "/models/rnn/lstm_packed_opset13.onnx";

  SUBCASE("that of an input which stays") {
    options.threshold = 500;  // other bytes under the default name of b.onnx
    CHECK(code_of(formats::save_model(load(folder / "a.onnx"), folder / "b.onnx", options)) == "data-file-exists");
    CHECK(code_of(formats::save_model(load(folder / "a.onnx"), folder / "b.onnx", {})) == "");
    CHECK(code_of(formats::save_model(load(folder / "a.onnx"), folder / "b.onnx", embed)) == "");
    CHECK(names_in(folder.path()) == Names{"a.onnx", "b.onnx", "b.onnx.data"});
  }
  SUBCASE("one of a model beside, unless forced") {
    CHECK(code_of(formats::save_model(load(other), folder / "c.onnx", options)) == "data-file-exists");
    CHECK(names_in(folder.path()) == Names{"a.onnx", "b.onnx.data"});
    CHECK(values_in(folder / "a.onnx") == values_in(sample));
    options.force = true;
    CHECK(code_of(formats::save_model(load(other), folder / "c.onnx", options)) == "");
    CHECK(values_in(folder / "c.onnx") == values_in(other));
    return;
  }
  SUBCASE("the models themselves") {
    for (const char* name : {"a.onnx", "c.onnx"}) {
      options.sidecar = name;
      options.force = true;
      CHECK(code_of(formats::save_model(load(folder / "a.onnx"), folder / "c.onnx", options)) == "data-file-exists");
    }
  }
  SUBCASE("anything outside the output's folder") {
    fs::create_directory(folder / "out");
    fs::create_symlink("..", folder / "out/up");
    for (const char* name : {"../w.bin", "/tmp/onnxkit-w.bin", "up/w.bin", "sub/", "."}) {
      CAPTURE(std::string(name));
      options.sidecar = name;
      CHECK(code_of(formats::save_model(load(sample), folder / "out/m.onnx", options)) == "external-location");
    }
    CHECK(names_in(folder / "out") == Names{"up"});
  }
  CHECK(values_in(folder / "a.onnx") == values_in(sample));
}

TEST_CASE("tensors that share bytes go on sharing them") {
  const TempFolder folder;
  std::string bytes(200'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  put_file(folder / "w.bin", bytes);
  ir::Model model;
  model.ir_version = 10;
  model.path = folder / "in.onnx";
  model.graph = std::make_unique<ir::Graph>();
  const auto add = [&](const char* name, const char* offset, std::int64_t count) {
    ir::Tensor& tensor = model.graph->initializers.emplace_back();
    tensor.name = name;
    tensor.data_type = static_cast<std::int32_t>(ElementType::uint8);
    tensor.dims = {count};
    tensor.data_location = ir::Tensor::location_external;
    tensor.external_data.push_back({.key = "location", .value = "w.bin", .unknown_fields = {}});
    tensor.external_data.push_back({.key = "offset", .value = offset, .unknown_fields = {}});
    tensor.external_data.push_back({.key = "length", .value = model.keep(std::to_string(count)), .unknown_fields = {}});
  };
  add("middle", "50000", 50'000);
  add("tied", "50000", 50'000);
  add("whole", "0", 150'000);
  add("apart", "190000", 10'000);
  add("empty", "10", 0);
  CHECK(code_of(formats::save_model(model, folder / "out.onnx", extract_all)) == "");
  CHECK(fs::file_size(folder / "out.onnx.data") < 150'000 + 4096 + 10'000);
  const auto values = values_in(folder / "out.onnx");
  REQUIRE(values.size() == 5);
  CHECK(values[0] == values[1]);
  CHECK(values[0][3] == static_cast<unsigned char>(bytes[50'003]));
  CHECK(values[2][149'999] == static_cast<unsigned char>(bytes[149'999]));
  CHECK(values[3][9'999] == static_cast<unsigned char>(bytes[199'999]));
  CHECK(values[4].empty());
}

TEST_CASE("names that a model chooses for its data files") {
  const TempFolder folder;
  SaveOptions options = extract_all;
  options.sidecar = ".bashrc";
  CHECK(code_of(formats::save_model(load(sample), folder / "in/m.onnx", options)) == "cannot-write");
  fs::create_directories(folder / "in");
  CHECK(code_of(formats::save_model(load(sample), folder / "in/m.onnx", options)) == "");
  CHECK(code_of(formats::save_model(load(folder / "in/m.onnx"), folder / "m.onnx", {})) == "external-location");
  CHECK(code_of(formats::save_model(load(folder / "in/m.onnx"), folder / "m.onnx", embed)) == "");
  CHECK(names_in(folder.path()) == Names{"in", "m.onnx"});
}

TEST_CASE("weights that cannot be had stop the saving") {
  const TempFolder folder;
  CHECK(code_of(formats::save_model(load(sample), folder / "m.onnx", extract_all)) == "");
  const std::string before = get_file(folder / "m.onnx");
  fs::remove(folder / "m.onnx.data");
  fs::create_directory(folder / "out");
  CHECK(code_of(formats::save_model(load(folder / "m.onnx"), folder / "m.onnx", embed)) == "external-missing");
  CHECK(code_of(formats::save_model(load(folder / "m.onnx"), folder / "out/m.onnx", {})) == "external-missing");
  CHECK(names_in(folder / "out").empty());
  CHECK(get_file(folder / "m.onnx") == before);
  CHECK(code_of(formats::save_model(load(folder / "m.onnx"), folder / "copy.onnx", {})) == "");
}

}  // namespace onnxkit::tests::formats_save
