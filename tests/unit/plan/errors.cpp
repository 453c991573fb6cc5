// Errors inside plans (libonnxkit/plan/plan.h).
#include <doctest/doctest.h>

#include "libonnxkit/plan/places.h"
#include "libonnxkit/plan/plan.h"
#include "libonnxkit/plan/steps.h"

namespace onnxkit::tests::plan_errors {
namespace {

using namespace plan;

std::string note_of(std::vector<std::string> nodes) {
  const Error error =
      in_step(make_error("kernel", "it failed"), Plan(), {.kind = product_step, .nodes = std::move(nodes)});
  return error.diagnostic.notes.empty() ? "" : error.diagnostic.notes.front();
}

TEST_CASE("an error names the nodes of its step, and an output once") {
  CHECK(note_of({"fc"}) == "in the step product of fc");
  CHECK(note_of({"y", "output y"}) == "in the step product of y");
  CHECK(note_of({"fc", "output y"}) == "in the step product of fc, output y");
  CHECK(note_of({}).empty());
}

TEST_CASE("a limit of memory counts the arena, the outputs and what a backend holds") {
  Plan plan;
  plan.arena_bytes = 100;
  plan.buffers = {{.home = Home::output, .bytes = 20}, {.home = Home::input, .bytes = 1000}};
  CHECK(check_memory(plan, 0).ok());
  CHECK(check_memory(plan, 120).ok());
  CHECK_FALSE(check_memory(plan, 119).ok());
  CHECK_FALSE(check_memory(plan, 120, 1).ok());
}

}  // namespace
}  // namespace onnxkit::tests::plan_errors
