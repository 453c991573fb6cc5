#include "libonnxkit/workers/worker.h"

#include <algorithm>
#include <numeric>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/workers/last_lines.h"
#include "tests/unit/support/tensors.h"
#include "tests/unit/temp_folder.h"
#include "tests/unit/workers/fake.h"

namespace onnxkit::tests::workers_worker {

using workers::Worker;

namespace {

Tensor counted(ElementType type, std::vector<std::int64_t> dims) {
  const std::int64_t count = std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  std::vector<std::byte> bytes(*packed_size(type, count));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(type == ElementType::boolean ? i % 2 : i * 37);
  return *Tensor::from_bytes(type, std::move(dims), std::move(bytes));
}

bool same(const Value& a, const Value& b) {
  return a.kind == b.kind && a.declared == b.declared && same_content(a.tensor, b.tensor) &&
         std::ranges::equal(a.items, b.items, [](const Value& x, const Value& y) { return same(x, y); });
}

/// One value of every kind and element type.
std::vector<NamedValue> all_values() {
  std::vector<NamedValue> values;
  const auto add = [&](Value value) { values.push_back({"v" + std::to_string(values.size()), std::move(value)}); };
  for (int code = 1; code < element_type_count; ++code) {
    const auto type = static_cast<ElementType>(code);
    if (type != ElementType::string) add(counted(type, {3, 5}));
  }
  add(words({"", "größe", "日本 𝄞", std::string("a\0b", 3), "\xff"}));
  add(*Tensor::from_strings({0, 3}, {}));
  add(counted(ElementType::float32, {}));
  add(counted(ElementType::float64, {2, 0, 3}));
  add(counted(ElementType::float32, {1000, 1000}));
  add(Value::sequence({}, ElementType::int64));
  add(Value::sequence({counted(ElementType::float32, {2}), counted(ElementType::float32, {0}), words({"x"})}));
  add(Value::sequence({Value::map(words({"a", "b"}), counted(ElementType::float32, {2}))}));
  add(Value::optional(std::nullopt, ElementType::float16));
  add(Value::optional(Value(counted(ElementType::bfloat16, {7})), ElementType::bfloat16));
  add(Value::optional(Value::sequence({counted(ElementType::int4, {3})}, ElementType::int4)));
  add(Value::map(counted(ElementType::int64, {3}), words({"x", "y", "z"})));
  add(Value::map(words({}), counted(ElementType::int64, {0})));
  add(Value());
  return values;
}

}  // namespace

TEST_CASE("workers: values of every kind and element type travel to a worker and back") {
  for (const char* fault : {"none", "copied"}) {
    CAPTURE(fault);
    const std::string token = fresh_token();
    const auto descriptors = open_descriptors();
    std::vector<NamedValue> values = all_values();
    {
      auto worker = Worker::start(fake_worker(fault, token), patient());
      REQUIRE(worker);
      std::string names;
      for (const NamedValue& value : values) names += value.name + " ";
      const auto model = (*worker)->load("model.onnx", "onnx", {{"outputs", names}});
      REQUIRE(model);
      auto run = (*worker)->run({.model = model->id, .inputs = values});
      REQUIRE_MESSAGE(run.ok(), run.error().diagnostic.message);
      worker->reset();
      REQUIRE(run->outputs.size() == values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        CAPTURE(type_text(values[i].value));
        CHECK(run->outputs[i].name == values[i].name);
        CHECK(same(run->outputs[i].value, values[i].value));
      }
    }
    CHECK(all_gone(token));
    CHECK(open_descriptors() == descriptors);
  }
}

TEST_CASE("workers: what hello, load and run tell") {
  auto worker = Worker::start(fake_worker("none", fresh_token()), patient());
  REQUIRE(worker);
  const workers::WorkerInfo& info = (*worker)->info();
  CHECK(info.runtime == "fake");
  CHECK(info.version == "1.2.3");
  CHECK(info.devices == std::vector<std::string>{"cpu", "fpga"});
  CHECK(info.formats == std::vector<std::string>{"onnx", "fake"});
  CHECK(info.opsets == std::map<std::string, std::int64_t>{{"", 23}, {"ai.onnx.ml", 4}});
  CHECK(info.options.at("mode").fallback == "slow");
  CHECK(info.options.at("mode").values == std::vector<std::string>{"slow", "fast"});

  const auto model = (*worker)->load("model.onnx", "onnx", {{"outputs", "b a"}});
  REQUIRE(model);
  CHECK(model->report.seconds == 0.25);
  CHECK(model->report.warnings == std::vector<std::string>{"it is a fake"});
  REQUIRE(model->outputs.size() == 2);
  CHECK(model->outputs[0].name == "b");
  CHECK(model->outputs[0].type == ElementType::undefined);
  CHECK(!model->outputs[0].has_shape);

  const std::vector<NamedValue> inputs = {{"b", floats({1})}, {"a", floats({2, 3})}};
  const auto run = (*worker)->run({.model = model->id, .inputs = inputs, .outputs = {"a"}, .repeat = 3, .warmup = 1});
  REQUIRE(run);
  REQUIRE(run->outputs.size() == 1);
  CHECK(same(run->outputs[0].value, inputs[1].value));
  REQUIRE(run->samples.size() == 3);
  CHECK(run->samples[2].wall == 0.5);
  CHECK(run->samples[2].cpu == 0.25);
  CHECK(!run->device_bytes);

  CHECK((*worker)->unload(model->id).ok());
  const auto gone = (*worker)->run({.model = model->id, .inputs = inputs});
  REQUIRE(!gone);
  CHECK(gone.error().diagnostic.code == "worker-invalid");
}

TEST_CASE("workers: a worker may tell the memory of its device") {
  const auto worker = workers::Worker::start(fake_worker("device-bytes", fresh_token()), patient());
  REQUIRE(worker);
  const auto model = (*worker)->load("model.onnx", "onnx", {});
  REQUIRE(model);
  const std::vector<NamedValue> inputs = {{"y", floats({1})}};
  const auto run = (*worker)->run({.model = model->id, .inputs = inputs});
  REQUIRE(run);
  CHECK(run->device_bytes == std::uint64_t{3} << 20);
}

TEST_CASE("workers: programs are found by their files") {
  const TempFolder first, second;
  put_file(first / "b.py", "");
  put_file(first / "_helper.py", "");
  put_file(first / "README.md", "");
  put_file(first / "tool", "");
  put_file(first / "deep/inner.py", "");
  std::filesystem::permissions(first / "tool", std::filesystem::perms::owner_all);
  put_file(second / "a.py", "");
  put_file(second / "b.py", "");
  const std::vector<std::filesystem::path> folders = {first.path(), second.path(), first / "absent"};
  const auto found = workers::find_workers(folders, "python9");
  REQUIRE(found.size() == 3);
  CHECK(found[0].name == "a");
  CHECK(found[1].name == "b");
  CHECK(found[1].command == std::vector<std::string>{"python9", (first / "b.py").string()});
  CHECK(found[2].command == std::vector<std::string>{(first / "tool").string()});
}

TEST_CASE("workers: the last lines of what is printed") {
  workers::LastLines lines;
  lines.add("one\ntw");
  lines.add("o\r\n\n 1 %\r 2 %");
  CHECK(lines.lines() == std::vector<std::string>{"one", "two", " 2 %"});
  for (int i = 0; i < 100; ++i) lines.add(std::string(5000, 'x') + "\n");
  CHECK(lines.lines().size() == workers::LastLines::most_lines);
  CHECK(lines.lines().back().size() == workers::LastLines::longest_line);
}

}  // namespace onnxkit::tests::workers_worker
