// How a measurement is shared out among starts of its sides.
#include "onnxkit/bench.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>

#include "tests/unit/support/models.h"
#include "tests/unit/support/tensors.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::api_bench {
namespace {

struct Measured {
  BenchReport report;
  std::size_t loadings = 0;
};

Measured measured(std::size_t sides, BenchOptions options) {
  DiffSide side;
  side.backend = side.label = "reference";
  side.model =
      std::make_shared<const Model>(parse_model(opset_17 + "main (float[2] x) => (float[2] y) { y = Exp (x) }"));
  Measured result;
  options.judges = false;
  options.on_step = [&](std::string_view step) { result.loadings += step.starts_with("loading"); };
  auto report = bench(std::vector<DiffSide>(sides, side), {"one", {{"x", Value(floats({2}, {1, 2}))}}}, options);
  REQUIRE_MESSAGE(report, (report ? "" : report.error().diagnostic.message));
  result.report = *std::move(report);
  return result;
}

BenchOptions short_measurement() {
  BenchOptions options;
  options.max_seconds = 60;
  options.max_rounds = 16;
  options.precision_goal = 0;  // never reached, so that rounds alone end it
  return options;
}

}  // namespace

TEST_CASE("bench: every side is started as often as asked for, and measured in as many rounds as the others") {
  const Measured found = measured(2, short_measurement());
  CHECK(found.report.starts == 4);
  CHECK(found.loadings == 8);
  REQUIRE(found.report.sides.size() == 2);
  for (const BenchSideReport& side : found.report.sides) CHECK(side.rounds.size() == 16);
  CHECK(found.report.sides[1].ratio.has_value());
  CHECK(found.report.sides[0].first_seconds > 0);
}

TEST_CASE("bench: a single side is started as often, since its report may be compared with another") {
  const Measured found = measured(1, short_measurement());
  CHECK(found.report.starts == 4);
  CHECK(found.loadings == 4);
}

TEST_CASE("bench: too few rounds for a ratio are said") {
  BenchOptions options = short_measurement();
  options.most_starts = 1;
  options.max_rounds = 3;
  const Measured found = measured(2, options);
  CHECK(!found.report.sides[1].ratio);
  const auto& warnings = found.report.warnings;
  CHECK(std::any_of(warnings.begin(), warnings.end(),
                    [](const std::string& warning) { return warning.starts_with("only 3 rounds were measured"); }));
}

TEST_CASE("bench: CPU time is the mean of rounds") {
  BenchSideReport side;
  // Threads on other processors are counted in some of the runs.
  for (int round = 0; round < 8; ++round)
    side.rounds.push_back({{.wall = 1, .cpu = 1}, {.wall = 1, .cpu = 1}, {.wall = 1, .cpu = 4}});
  summarize(side, {}, 1);
  REQUIRE(side.cpu);
  CHECK(side.cpu->median == 2);
  CHECK(side.cpu->runs == 24);
}

TEST_CASE("bench: nodes on the reference are said") {
  BenchOptions options = short_measurement();
  options.max_rounds = 1;
  options.judges = false;
  DiffSide side;
  side.backend = side.label = "cpu";
  side.model = std::make_shared<const Model>(
      parse_model(opset_17 + "main (float[2] x) => (float[N] y) { y = Unique <sorted = 0> (x) }"));
  const auto report = bench({side}, {"one", {{"x", Value(floats({2}, {1, 2}))}}}, options);
  REQUIRE(report);
  REQUIRE(report->sides[0].notes.size() == 1);
  CHECK(report->sides[0].notes[0].find("(Unique) runs on the reference: ") != std::string::npos);
}

TEST_CASE("bench: of a side in our own process its growth is told, not the size of ours") {
  constexpr std::uint64_t bytes = 64 << 20;
  DiffSide side;
  side.model = std::make_shared<const Model>(
      parse_model(opset_17 + "main (float[1] x) => (float[16777216] y) { s = Constant <value_ints = [16777216]> ()"
                             " y = Expand (x, s) }"));
  BenchOptions options = short_measurement();
  options.max_rounds = options.most_starts = 1;
  options.judges = false;
  for (const char* backend : {"reference", "cpu"}) {
    CAPTURE(backend);
    side.backend = side.label = backend;
    const auto report = bench({side}, {"one", {{"x", Value(floats({1}, {1}))}}}, options);
    REQUIRE_MESSAGE(report, (report ? "" : report.error().diagnostic.message));
    const BenchSideReport& found = report->sides[0];
    CHECK(!found.peak_bytes);
    if (!found.grown_bytes) continue;  // the system does not tell
    CHECK(*found.grown_bytes >= bytes);
    CHECK(*found.grown_bytes < 16 * bytes);
  }
}

TEST_CASE("bench: of a round of many runs some are kept, and all where they are asked for") {
  BenchOptions options = short_measurement();
  const BenchSideReport some = measured(1, options).report.sides[0];
  options.keeps_runs = true;
  const BenchSideReport all = measured(1, options).report.sides[0];
  const auto runs_of = [](const BenchSideReport& side) {
    std::size_t runs = 0;
    for (const BenchRound& round : side.rounds) runs += round.size();
    return runs;
  };
  CHECK(runs_of(all) == all.wall.runs);
  CHECK(some.wall.runs > runs_of(some));
  for (const BenchRound& round : some.rounds) {
    CHECK(round.size() == 21);
    CHECK(
        std::is_sorted(round.begin(), round.end(), [](const RunTime& a, const RunTime& b) { return a.wall < b.wall; }));
  }
}

TEST_CASE("bench: starts are left out where their rounds do not fit the time") {
  BenchOptions options = short_measurement();
  options.max_seconds = 1e-4;
  const Measured found = measured(2, options);
  CHECK(found.report.starts == 1);
  CHECK(found.loadings == 2);
}

TEST_CASE("the state of a model changes with its content, and with the size or time of what it refers to") {
  const TempFolder folder;
  const auto path = folder.path() / "net.onnx";
  const auto write = [&](const char* value) {
    const Model model = parse_model(opset_17 + "main (float[2] x) => (float[2] y) <float[2] w = {1, " + value +
                                    "}> { y = Add (x, w) }");
    SaveOptions options;
    options.weights = Weights::extract;
    options.threshold = 0;
    options.sidecar = "net.data";
    REQUIRE(write_model(model, path, options));
  };
  const auto state = [&] {
    DiffSide side;
    auto model = read_model(path);
    REQUIRE(model);
    side.model = std::make_shared<const Model>(*std::move(model));
    return model_state(side);
  };
  write("2");
  const std::string before = state();
  CHECK(!before.empty());
  CHECK(state() == before);
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(state() == before);
  std::filesystem::last_write_time(folder.path() / "net.data",
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const std::string touched = state();
  CHECK(touched != before);
  std::ofstream(folder.path() / "net.data", std::ios::app) << "more";
  CHECK(state() != touched);

  DiffSide foreign;
  foreign.path = folder.path();
  const std::string folder_before = model_state(foreign);
  CHECK(!folder_before.empty());
  std::ofstream(folder.path() / "another") << "file";
  CHECK(model_state(foreign) != folder_before);
  foreign.path = folder.path() / "another";
  const std::string file_before = model_state(foreign);
  std::ofstream(foreign.path) << "fila";
  CHECK(model_state(foreign) != file_before);
  foreign.path = folder.path() / "none";
  CHECK(model_state(foreign).empty());
}

TEST_CASE("the state of a model from memory is that of its content") {
  const auto state = [](const char* op) {
    DiffSide side;
    side.model = std::make_shared<const Model>(
        parse_model(opset_17 + "main (float[2] x) => (float[2] y) { y = " + op + " (x) }"));
    return model_state(side);
  };
  CHECK(!state("Exp").empty());
  CHECK(state("Exp") == state("Exp"));
  CHECK(state("Exp") != state("Log"));
}

}  // namespace onnxkit::tests::api_bench
