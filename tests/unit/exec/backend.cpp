// One way to run a model (libonnxkit/exec/backend.h, registry.h), with the backends of this library and one made here.
#include "libonnxkit/exec/backend.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/exec/registry.h"
#include "onnxkit/model.h"
#include "onnxkit/value_file.h"
#include "tests/unit/support/models.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/tensors.h"
#include "tests/unit/temp_folder.h"

namespace onnxkit::tests::exec_backend {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const ir::Model> parse(const std::string& body) {
  const auto owner = std::make_shared<const Model>(parse_model(opset_17 + body));
  return {owner, &owner->ir()};
}

const std::string network =
    "g (float[2] a, float[2] w) => (float[2] y, float[2] z) <float[2] w = {10, 20}> {"
    " h = Add (a, w) y = Neg (h) z = Mul (h, h) }";

std::unique_ptr<exec::Backend> backend(const std::string& name, const exec::BackendSettings& settings = {}) {
  auto entry = all_backends().find(name, settings);
  REQUIRE(entry);
  return entry->make(settings);
}

/// A whole backend: its one output is the sum of all inputs.
class SumSession : public exec::Session {
 public:
  const std::vector<exec::ValueDesc>& inputs() const override { return inputs_; }
  const std::vector<exec::ValueDesc>& outputs() const override { return outputs_; }
  const exec::LoadReport& loaded() const override { return report_; }
  Result<exec::RunAnswer> run(const exec::RunRequest& request) override {
    double sum = 0;
    for (const NamedValue& input : request.inputs) {
      for (const double x : to_reals(input.value.tensor)) sum += x;
    }
    return exec::RunAnswer{{{"sum", floats({static_cast<float>(sum)})}}, {{.wall = 0}}};
  }

 private:
  std::vector<exec::ValueDesc> inputs_, outputs_{{.name = "sum", .type = ElementType::float32}};
  exec::LoadReport report_;
};

class SumBackend : public exec::Backend {
 public:
  Result<exec::BackendDesc> describe() override {
    exec::BackendDesc about;
    about.name = "sum";
    return about;
  }
  Result<std::unique_ptr<exec::Session>> load(const exec::ModelSource&, const exec::LoadOptions&) override {
    return std::unique_ptr<exec::Session>(std::make_unique<SumSession>());
  }
};

exec::BackendEntry sum_entry(const std::string& name) {
  return {.name = name, .make = [](const exec::BackendSettings&) { return std::make_unique<SumBackend>(); }};
}

}  // namespace

TEST_CASE("registry: backends that were added come first, a name that was discovered does not hide them") {
  exec::BackendRegistry registry = all_backends();
  registry.add(sum_entry("sum"));
  registry.add_discovery([](const exec::BackendSettings&) {
    return std::vector{sum_entry("zz"), sum_entry("reference"), sum_entry("aa")};
  });
  std::vector<std::string> names;
  for (const exec::BackendEntry& entry : registry.entries({})) names.push_back(entry.name);
  REQUIRE(names.size() >= 4);
  CHECK(std::count(names.begin(), names.end(), "reference") == 1);
  CHECK(std::vector(names.end() - 2, names.end()) == std::vector<std::string>{"aa", "zz"});
  CHECK((*registry.find("reference", {})).make({})->describe()->runtime == "onnxkit");

  auto sum = registry.find("sum", {});
  REQUIRE(sum);
  const auto session = sum->make({})->load({}, {});
  REQUIRE(session);
  const auto answer = (*session)->run({.inputs = {{"a", floats({1, 2})}, {"b", floats({4})}}});
  REQUIRE(answer);
  CHECK(to_reals(answer->outputs[0].value.tensor) == std::vector<double>{7});
  CHECK((*session)->perturbed() == nullptr);
}

TEST_CASE("registry: an unknown name is answered with those that users may choose") {
  const auto found = all_backends().find("refernce", {});
  REQUIRE_FALSE(found);
  CHECK(found.error().diagnostic.code == "unknown-backend");
  CHECK(found.error().diagnostic.message ==
        R"(unknown backend "refernce"; available: cpu, cuda, onnxruntime-lib, reference; did you mean reference?)");
}

TEST_CASE("reference: a session owns what it needs") {
  auto model = parse(network);
  const std::weak_ptr<const ir::Model> watched = model;
  auto table = std::make_shared<const spec::OpTable>();
  auto session = *backend("reference")->load({.model = model}, {.table = table});
  model.reset();
  table.reset();
  CHECK_FALSE(watched.expired());
  const auto answer = session->run({.inputs = {{"a", floats({1, 2})}}, .repeat = 3, .warmup = 1});
  REQUIRE(answer);
  CHECK(answer->samples.size() == 3);
  REQUIRE(answer->outputs.size() == 2);
  CHECK(to_reals(answer->outputs[0].value.tensor) == std::vector<double>{-11, -22});
  session.reset();
  CHECK(watched.expired());
}

TEST_CASE("reference: inputs and outputs are described, wanted ones and taps are given") {
  auto session = *backend("reference")->load({.model = parse(network)}, {});
  REQUIRE(session->inputs().size() == 2);
  CHECK(session->inputs()[0].name == "a");
  CHECK_FALSE(session->inputs()[0].optional);
  CHECK(session->inputs()[1].optional);
  CHECK(session->inputs()[1].dims == std::vector<std::int64_t>{2});
  CHECK(session->outputs()[1].name == "z");
  CHECK(session->perturbed() != nullptr);

  std::vector<std::string> tapped;
  exec::RunRequest request;
  request.inputs = {{"w", floats({1, 1})}, {"a", floats({1, 2})}};
  request.outputs = {"z"};
  request.taps = {"h"};
  request.on_value = [&](std::string_view name, const Value&) -> Result<void> {
    tapped.emplace_back(name);
    return {};
  };
  const auto answer = session->run(request);
  REQUIRE(answer);
  REQUIRE(answer->outputs.size() == 1);
  CHECK(answer->outputs[0].name == "z");
  CHECK(to_reals(answer->outputs[0].value.tensor) == std::vector<double>{4, 9});
  CHECK(tapped == std::vector<std::string>{"h"});

  request.outputs = {"q"};
  CHECK(code_of(session->run(request)) == "unknown-value");
  request.outputs = {};
  request.inputs.push_back({"q", floats({1})});
  CHECK(code_of(session->run(request)) == "unknown-input");
  request.inputs = {};
  CHECK(code_of(session->run(request)) == "input-missing");
}

TEST_CASE("cpu: plans go by the sizes of what an optional holds") {
  auto session = *backend("cpu")->load(
      {.model = parse("g (optional(float[n]) a) => (float[m] y) { x = OptionalGetElement (a) y = Neg (x) }")}, {});
  for (const std::vector<float>& numbers : {std::vector<float>{1, 2}, {3, 4, 5}, {6}}) {
    const auto answer = session->run({.inputs = {{"a", Value::optional(Value(floats(numbers)))}}});
    REQUIRE(answer);
    CHECK(answer->outputs[0].value.tensor.size() == static_cast<std::int64_t>(numbers.size()));
  }
}

TEST_CASE("cpu: a memory limit counts packed weights") {
  auto session =
      *backend("cpu")->load({.model = parse("g (float[1, 64] a) => (float[1, 64] y) <int64[2] s = {64, 64}> {"
                                            " w = ConstantOfShape <value = float[1] {2}> (s) y = MatMul (a, w) }")},
                            {});
  exec::RunRequest request;
  request.inputs = {{"a", floats({1, 64}, std::vector<float>(64, 1))}};
  request.limits.memory = 4096;
  CHECK(code_of(session->run(request)) == "memory-limit");
  request.limits.memory = 1 << 20;
  CHECK(session->run(request));
}

TEST_CASE("reference: what it cannot load is refused") {
  const auto reference = backend("reference");
  const auto model = parse(network);
  CHECK(code_of(reference->load({.path = "net.pt2", .format = "torch-export"}, {})) == "not-supported");
  CHECK(code_of(reference->load({.model = model}, {.options = {{"thread", "1"}}})) == "unknown-option");
  CHECK(code_of(reference->load({.model = model}, {.device = "gpu"})) == "not-supported");
  CHECK(code_of(reference->load({.model = model}, {.device = "cpu"})) == "");
}

TEST_CASE("recorded: outputs go by the number of the inputs") {
  const auto recorded = backend("recorded");
  CHECK(recorded->describe()->capabilities.replays);
  const auto session = recorded->load({.format = "recorded", .recorded = {{{"y", floats({1})}}, {}}}, {});
  REQUIRE(session);
  REQUIRE((*session)->outputs().size() == 1);
  CHECK((*session)->outputs()[0].name == "y");
  const auto first = (*session)->run({.set = 0});
  REQUIRE(first);
  CHECK(to_reals(first->outputs[0].value.tensor) == std::vector<double>{1});
  CHECK(code_of((*session)->run({.set = 1})) == "no-answer");
  CHECK(code_of((*session)->run({.set = 2})) == "no-answer");
}

TEST_CASE("recorded: a folder of outputs, or one of such folders") {
  const TempFolder folder;
  const auto model = parse(network);
  const auto load = [&](const std::string& name) {
    return backend("recorded")->load({.model = model, .path = folder / name, .format = "recorded"}, {});
  };
  for (const auto& [name, first] : {std::pair{"test_data_set_0", 1.0F}, std::pair{"test_data_set_1", 5.0F}}) {
    const std::vector<NamedValue> outputs = {{"any", floats({first, 2})}, {"name", floats({3, 4})}};
    REQUIRE(write_folder(outputs, folder / name));
  }
  const auto one = load("test_data_set_1"), both = load("");
  REQUIRE(one);
  REQUIRE(both);
  for (const auto& [session, set] : {std::pair{one->get(), 0}, std::pair{both->get(), 1}}) {
    const auto answer = session->run({.outputs = {"y"}, .set = static_cast<std::size_t>(set)});
    REQUIRE(answer);
    CHECK(to_reals(answer->outputs[0].value.tensor) == std::vector<double>{5, 2});
  }
  CHECK(code_of(load("elsewhere")) == "cannot-read");
  CHECK(code_of(backend("recorded")->load({.path = folder.path()}, {})) == "no-model");
}

TEST_CASE("session context: one pool for a number of threads, one file while it is held") {
  exec::SessionContext context;
  CHECK(context.threads(2) == context.threads(2));
  CHECK(context.threads(2)->threads() == 2);
  CHECK(context.threads(0)->threads() == usable_cores());

  const auto model = parse(network);
  auto file = context.file_of(model, false);
  REQUIRE(file);
  const fs::path path = (*file)->path();
  CHECK(*context.file_of(model, false) == *file);
  const auto other = context.file_of(parse(network), false);
  REQUIRE(other);
  CHECK(*other != *file);
  REQUIRE(read_model(path));
  *file = nullptr;
  CHECK_FALSE(fs::exists(path));
  const auto again = context.file_of(model, false);
  REQUIRE(again);
  CHECK(fs::exists((*again)->path()));
}

TEST_CASE("data files of a model in a file of our own are linked, not copied") {
  const TempFolder folder;
  const fs::path path = folder.path() / "whole.onnx", data = folder.path() / "weights.data";
  SaveOptions save;
  save.weights = Weights::extract;
  save.sidecar = "weights.data";
  save.threshold = 0;
  REQUIRE(write_model(parse_model(opset_17 + network), path, save));
  const auto owner = std::make_shared<const Model>(*read_model(path));
  {
    const auto file = exec::SessionContext().file_of({owner, &owner->ir()}, false);
    REQUIRE(file);
    CHECK(fs::equivalent(data, (*file)->path().parent_path() / "weights.data"));
    REQUIRE(read_model((*file)->path()));
  }
  CHECK(fs::hard_link_count(data) == 1);
}

TEST_CASE("worker: an unchanged file is loaded where it is, a changed model is written once") {
  const TempFolder folder;
  const fs::path workers = folder.path() / "workers";
  fs::create_directory(workers);
  // The fake worker, with the path that it loads in place of its warning.
  std::ofstream(workers / "fake.py") << "import sys\nsys.argv = ['fake.py', 'none']\n"
                                     << "source = open('" << ONNXKIT_TESTDATA << "/../tests/workers/fake.py').read()\n"
                                     << "exec(source.replace('\"it is a fake\"', 'request[\"path\"]'))\n";
  const exec::BackendSettings settings{.worker_folders = {workers}};
  const auto fake = backend("fake", settings), another = backend("fake", settings);
  const auto desc = fake->describe();
  REQUIRE(desc);
  CHECK(desc->title == "fake 1.2.3");
  CHECK(desc->capabilities.own_process);
  CHECK_FALSE(desc->capabilities.in_memory);

  exec::LoadOptions options;
  options.context = std::make_shared<exec::SessionContext>();
  const auto model = parse(network);
  const auto in_place = fake->load({.model = model, .path = folder.path() / "model.onnx"}, options);
  REQUIRE(in_place);
  CHECK((*in_place)->loaded().warnings == std::vector{(folder.path() / "model.onnx").string()});

  auto written = fake->load({.model = model}, options), shared = another->load({.model = model}, options);
  REQUIRE(written);
  REQUIRE(shared);
  const fs::path path = (*written)->loaded().warnings.at(0);
  CHECK((*shared)->loaded().warnings.at(0) == path);
  CHECK(fs::exists(path));
  const auto answer = (*written)->run({.inputs = {{"x", floats({1, 2})}}});
  REQUIRE(answer);
  CHECK(answer->outputs[0].name == "y");
  CHECK(to_reals(answer->outputs[0].value.tensor) == std::vector<double>{1, 2});
  CHECK(code_of((*written)->run({.taps = {"h"}})) == "not-supported");
  *written = nullptr;
  CHECK(fs::exists(path));
  *shared = nullptr;
  CHECK_FALSE(fs::exists(path));

  CHECK(code_of(fake->load({.model = model}, {.options = {{"mod", "fast"}}})) == "unknown-option");
  CHECK(code_of(fake->load({.model = model}, {.math = exec::MathMode::unrounded})) == "not-supported");
  CHECK(code_of(fake->load({}, {})) == "no-model");
}

}  // namespace onnxkit::tests::exec_backend
