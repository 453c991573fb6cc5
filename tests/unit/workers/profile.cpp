// What a worker tells of the time of its steps.
#include <doctest/doctest.h>

#include "libonnxkit/workers/answers.h"

namespace onnxkit::tests::workers_profile {
namespace {

using workers::Json;

Json profile_answer() {
  return Json::parse(R"({"walls": [0.5, 0.25], "device": "cpu", "steps": [
    {"name": "a", "op": "Conv", "covers": ["a", "b"], "place": 4, "bytes": 12, "calls": 3, "spans": [[0.0, 0.1], [null, 0.2]]},
    {"name": "c", "op": "Relu", "covers": [], "bytes": null, "spans": [[0.3, 0.1], [0.3, 0.2]]}]})");
}

std::string fault_of(const Json& answer, int repeat = 2) {
  const auto profile = workers::read_profile(answer, repeat);
  return profile ? "" : profile.error().diagnostic.code + ": " + profile.error().diagnostic.message;
}

}  // namespace

TEST_CASE("a worker's steps are read") {
  const auto profile = workers::read_profile(profile_answer(), 2);
  REQUIRE(profile);
  CHECK(profile->walls == std::vector<double>{0.5, 0.25});
  CHECK(profile->device == "cpu");
  REQUIRE(profile->steps.size() == 2);
  const exec::StepTime& step = profile->steps[0];
  CHECK(step.name == "a");
  CHECK(step.op == "Conv");
  CHECK(step.covers == std::vector<std::string>{"a", "b"});
  CHECK(step.place == 4);
  CHECK(step.bytes == 12);
  CHECK(step.calls == 3);
  REQUIRE(step.spans.size() == 2);
  CHECK(step.spans[0].start == 0.0);
  CHECK(!step.spans[1].start);
  CHECK(step.spans[1].seconds == 0.2);
  CHECK(!profile->steps[1].bytes);
  CHECK(profile->steps[1].calls == 1);
}

TEST_CASE("steps that break the protocol are refused") {
  CHECK(fault_of(profile_answer()).empty());
  const auto broken = [](const char* pointer, const Json& value) {
    Json answer = profile_answer();
    answer[Json::json_pointer(pointer)] = value;
    return fault_of(answer);
  };
  for (const auto& replaced : std::vector<std::pair<const char*, Json>>{{"/walls", Json::array()},
                                                                        {"/walls", {1, 2, 3}},
                                                                        {"/walls", {-1, 1}},
                                                                        {"/walls", 3},
                                                                        {"/device", 3},
                                                                        {"/steps", "none"},
                                                                        {"/steps/0", 3},
                                                                        {"/steps/0/name", nullptr},
                                                                        {"/steps/0/op", 3},
                                                                        {"/steps/0/covers", {1}},
                                                                        {"/steps/0/bytes", -1},
                                                                        {"/steps/0/calls", 0.5},
                                                                        {"/steps/0/spans", Json::array()},
                                                                        {"/steps/0/spans/1", {1}},
                                                                        {"/steps/0/spans/1", {1, nullptr}},
                                                                        {"/steps/0/spans/1", {"x", 1}}}) {
    CAPTURE(replaced.first);
    CAPTURE(replaced.second.dump());
    CHECK(broken(replaced.first, replaced.second).starts_with("worker-protocol: "));
  }
  CHECK(fault_of(profile_answer(), 1).starts_with("worker-protocol: "));
}

}  // namespace onnxkit::tests::workers_profile
