#include "onnxkit/session.h"

#include <doctest/doctest.h>

#include <optional>

#include "tests/unit/support/models.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/tensors.h"

namespace onnxkit::tests::api_session {
namespace {

const std::string scaled = opset_17 +
                           "main (float[N] x, float[1] factor) => (float[N] y, float[N] twice) <float[1] factor = {3}> "
                           "{ y = Mul (x, factor) twice = Add (y, y) }";
const std::string endless =
    opset_17 +
    "main (float[1] x) => (float[1] y) { y = Loop (, , x) <body = body (int64 i, bool go, float[1] a) => "
    "(bool again, float[1] b) { again = Identity (go) b = Add (a, a) }> }";

std::vector<double> reals(const Result<std::vector<NamedValue>>& outputs, std::size_t index) {
  REQUIRE(outputs);
  REQUIRE(index < outputs->size());
  return to_reals((*outputs)[index].value.tensor);
}

}  // namespace

TEST_CASE("session: runs again with other sizes, after its model has ended") {
  for (const char* backend : {"reference", "cpu"}) {
    CAPTURE(backend);
    std::optional<Model> model = parse_model(scaled);
    auto session = Session::open(*model, {.backend = backend});
    REQUIRE(session);
    model.reset();
    CHECK(reals(session->run({{"x", floats({1, 2})}}), 0) == std::vector<double>{3, 6});
    CHECK(reals(session->run({{"x", floats({1, 2, 4})}}), 1) == std::vector<double>{6, 12, 24});
    CHECK(reals(session->run({{"factor", floats({10})}, {"x", floats({7})}}), 0) == std::vector<double>{70});
    CHECK(reals(session->run({{"x", floats({1, 2})}}), 0) == std::vector<double>{3, 6});
  }
}

TEST_CASE("session: tells its inputs and outputs") {
  const auto session = Session::open(parse_model(scaled));
  REQUIRE(session);
  REQUIRE(session->inputs().size() == 2);
  CHECK(session->inputs()[0].name == "x");
  CHECK(session->inputs()[0].type == ElementType::float32);
  CHECK(session->inputs()[0].dims == std::vector<std::int64_t>{-1});
  CHECK_FALSE(session->inputs()[0].has_default);
  CHECK(session->inputs()[1].has_default);
  CHECK(session->outputs()[1].name == "twice");
}

TEST_CASE("session: gives the outputs that are asked for") {
  auto session = Session::open(parse_model(scaled), {.backend = "cpu"});
  REQUIRE(session);
  const auto outputs = session->run({{"x", floats({5})}}, {.outputs = {"twice"}});
  CHECK(reals(outputs, 0) == std::vector<double>{30});
  CHECK(outputs->size() == 1);
  CHECK(code_of(session->run({{"x", floats({5})}}, {.outputs = {"z"}})) == "unknown-value");
}

TEST_CASE("session: errors of one run leave it usable") {
  auto session = Session::open(parse_model(scaled), {.backend = "cpu"});
  REQUIRE(session);
  CHECK(code_of(session->run({})) == "input-missing");
  CHECK(code_of(session->run({{"z", floats({1})}, {"x", floats({1})}})) == "unknown-input");
  CHECK(code_of(session->run({{"x", *Tensor::from_strings({1}, {"a"})}})) == "input-type");
  CHECK(reals(session->run({{"x", floats({5})}}), 0) == std::vector<double>{15});
}

TEST_CASE("session: limits hold for each run, and a run can be stopped") {
  for (const char* backend : {"reference", "cpu"}) {
    CAPTURE(backend);
    auto limited = Session::open(parse_model(endless), {.backend = backend, .limits = {.time_ms = 30}});
    REQUIRE(limited);
    CHECK(code_of(limited->run({{"x", floats({1})}})) == "time-limit");
    CHECK(code_of(limited->run({{"x", floats({1})}})) == "time-limit");
    auto session = Session::open(parse_model(endless), {.backend = backend});
    REQUIRE(session);
    std::stop_source stop;
    stop.request_stop();
    CHECK(code_of(session->run({{"x", floats({1})}}, {.stop = stop.get_token()})) == "cancelled");
  }
}

TEST_CASE("session: wrong backends and models are told when it is opened") {
  const Model model = parse_model(scaled);
  CHECK(code_of(Session::open(model, {.backend = "no-such-backend"})) == "unknown-backend");
  CHECK(code_of(Session::open(model, {.backend = "cpu", .backend_options = {{"speed", "1"}}})) == "unknown-option");
}

}  // namespace onnxkit::tests::api_session
