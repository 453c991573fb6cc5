#include "onnxkit/context.h"

#include <filesystem>
#include <thread>
#include <vector>

#include "checker/targets/profile.h"
#include "doctest/doctest.h"
#include "libonnxkit/spec/op_table.h"
#include "onnxkit/ops.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::api_context {

TEST_CASE("context: schema packs are read once and serve every call") {
  const TempFolder folder;
  put_file(folder / "pack.yaml",
           "domain: org.example\noperators:\n  - name: Twice\n    since_version: 1\n"
           "    inputs: [{name: X, type: tensor(float)}]\n    outputs: [{name: Y, type: tensor(float)}]\n");
  const auto context = Context::make({.schemas = {folder / "pack.yaml"}});
  REQUIRE(context.ok());
  std::filesystem::remove(folder / "pack.yaml");
  for (int i = 0; i < 2; ++i)
    CHECK(list_operators({.names = {"org.example::Twice"}, .domain = {}, .context = *context, .targets = false}).ok());
  CHECK_FALSE(list_operators({.names = {"org.example::Twice"}, .domain = {}, .context = {}, .targets = false}).ok());
}

TEST_CASE("context: a pack that is not there") {
  const auto context = Context::make({.schemas = {"no/such.yaml"}});
  REQUIRE_FALSE(context.ok());
  CHECK(context.error().diagnostic.code == "cannot-read");
  CHECK(context.error().kind == ErrorKind::io);
}

TEST_CASE("context: copies share a parsed support profile, also between threads") {
  const Context context;
  const auto first = checker::load_target("onnxruntime", context);
  REQUIRE(first.ok());
  std::vector<const checker::TargetProfile*> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& profile : seen)
      threads.emplace_back([&profile, copy = context] { profile = checker::load_target("onnxruntime", copy)->get(); });
  }
  for (const auto* profile : seen) CHECK(profile == first->get());
  CHECK(checker::load_target("onnxruntime", Context())->get() != first->get());
}

TEST_CASE("context: a call's own limits win, the others are the context's") {
  const auto context = Context::make({.limits = {.threads = 3, .memory_bytes = 100}});
  REQUIRE(context.ok());
  const Limits limits = context->limits({.memory_bytes = 7, .time_ms = 5});
  CHECK(limits.threads == 3);
  CHECK(limits.memory_bytes == 7);
  CHECK(limits.time_ms == 5);
  CHECK(limits.iterations == 0);
}

}  // namespace onnxkit::tests::api_context
