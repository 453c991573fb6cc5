#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "onnxkit/model.h"
#include "onnxkit/run.h"

namespace onnxkit::tests::free_sizes {
namespace {

namespace fs = std::filesystem;

/// "x [1, 3], h [2]" of the inputs that a run made.
std::string made_shapes(const RunReport& report) {
  std::string text;
  for (const RunInput& input : report.inputs) {
    if (input.origin == "initializer") continue;
    text += fmt::format("{}{} [{}]", text.empty() ? "" : ", ", input.name, fmt::join(input.value.tensor.dims(), ", "));
  }
  return text;
}

std::string expected_shapes(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const std::string mark = "# expect: ";
  return line.starts_with(mark) ? line.substr(mark.size()) : "a first line that begins with '# expect: '";
}

}  // namespace

TEST_CASE("free sizes: generated inputs meet what the nodes demand") {
  std::vector<fs::path> models;
  for (const auto& entry : fs::directory_iterator(fs::path(ONNXKIT_TESTDATA) / "free_sizes"))
    models.push_back(entry.path());
  std::sort(models.begin(), models.end());
  REQUIRE(!models.empty());
  for (const fs::path& path : models) {
    CAPTURE(path.string());
    const auto model = read_model(path);
    REQUIRE(model);
    const auto report = run(*model, {});
    CHECK_MESSAGE(report, (report ? "" : report.error().diagnostic.message));
    if (report) CHECK(made_shapes(*report) == expected_shapes(path));
  }
}

}  // namespace onnxkit::tests::free_sizes
