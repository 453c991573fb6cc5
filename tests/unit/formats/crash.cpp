// A process that saves over and over is killed at any moment: the model at the location is whole, and its data are its own.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libonnxkit/formats/frame/save.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/external/external_data.h"
#include "onnxkit/element_type.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::formats_crash {
namespace {

constexpr std::int64_t elements = 40'000;

/// One tensor whose bytes are all `mark`; its name is the mark, too.
ir::Model model_full_of(char mark) {
  ir::Model model;
  model.ir_version = 10;
  model.graph = std::make_unique<ir::Graph>();
  ir::Tensor& tensor = model.graph->initializers.emplace_back();
  tensor.name = model.keep(std::string(1, mark));
  tensor.data_type = static_cast<std::int32_t>(ElementType::uint8);
  tensor.dims = {elements + mark};
  tensor.raw_data = model.keep(std::string(static_cast<std::size_t>(elements + mark), mark));
  return model;
}

[[noreturn]] void save_for_ever(const std::filesystem::path& path) {
  const ir::Model models[] = {model_full_of('a'), model_full_of('b')};
  for (std::size_t i = 0;; ++i) {
    if (!formats::save_model(models[i % 2], path, {.weights = Weights::extract, .sidecar = {}})) ::_exit(1);
  }
}

/// The model at `path` refers to bytes that are its own.
void check_whole(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  REQUIRE(file.ok());
  const auto model = wire::read_binary(*file, path);
  REQUIRE(model.ok());
  const ir::Tensor& tensor = model->graph->initializers.at(0);
  // A kill between the two names of a data file leaves both.
  wire::ExternalData data(path, {.allow_outside = true});
  const auto bytes = data.bytes(tensor);
  REQUIRE_MESSAGE(bytes.ok(), bytes.error().diagnostic.message);
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  CHECK(text.find_first_not_of(tensor.name.view()[0]) == text.npos);
}

}  // namespace

TEST_CASE("a killed save leaves the old model or the new one, with its data") {
  const TempFolder folder;
  const std::filesystem::path path = folder / "m.onnx";
  REQUIRE(formats::save_model(model_full_of('c'), path, {.weights = Weights::extract, .sidecar = {}}).ok());
  for (int round = 0; round < 60; ++round) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) save_for_ever(path);
    ::usleep(static_cast<useconds_t>(500 + round * 331 % 20'000));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    check_whole(path);
  }
  CHECK(formats::save_model(model_full_of('d'), path, {.weights = Weights::extract, .sidecar = {}}).ok());
  check_whole(path);
}

}  // namespace onnxkit::tests::formats_crash
