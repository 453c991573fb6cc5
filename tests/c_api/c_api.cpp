#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <thread>
#include <vector>

#include "tests/c_api/handle.h"

namespace onnxkit::tests::c_api {
namespace {

const std::string opset_17 = R"(<ir_version: 8, opset_import: ["": 17]>
)";
const std::string scaled = opset_17 +
                           "main (float[N] x, float[1] factor) => (float[N] y) <float[1] factor = {3}> "
                           "{ g = Identity (x) h = Mul (g, factor) y = Relu (h) }";
const std::string endless = opset_17 +
                            "main (float[1] x) => (float[1] y) { y = Loop (, , x) <body = body (int64 i, bool go, "
                            "float[1] a) => (bool again, float[1] b) { again = Identity (go) b = Add (a, a) }> }";

Handle<onnxkit_value> floats(const std::vector<float>& numbers) {
  onnxkit_value* value = nullptr;
  const auto size = static_cast<std::int64_t>(numbers.size());
  REQUIRE(code_of(onnxkit_value_tensor(1, &size, 1, numbers.data(), numbers.size() * sizeof(float), &value)).empty());
  return Handle<onnxkit_value>(value);
}

Handle<onnxkit_values> named(const char* name, const onnxkit_value& value) {
  Handle<onnxkit_values> values(onnxkit_values_new());
  REQUIRE(code_of(onnxkit_values_add(values.get(), name, &value)).empty());
  return values;
}

Handle<onnxkit_session> session_of(const onnxkit_model& model, const char* options) {
  onnxkit_session* session = nullptr;
  REQUIRE(text_of(onnxkit_session_open(&model, options, nullptr, &session)).empty());
  return Handle<onnxkit_session>(session);
}

std::vector<float> numbers_of(const onnxkit_values& values, std::size_t index) {
  const Handle<onnxkit_value> value(onnxkit_values_get(&values, index));
  REQUIRE(value);
  const auto* first = static_cast<const float*>(onnxkit_value_bytes(value.get()));
  return {first, first + onnxkit_value_size(value.get()) / sizeof(float)};
}

}  // namespace

TEST_CASE("c: an error has code, kind, message, text and JSON") {
  onnxkit_model* model = nullptr;
  const Handle<onnxkit_error> error(onnxkit_model_read("/no/such.onnx", nullptr, &model, nullptr));
  REQUIRE(error);
  CHECK(model == nullptr);
  CHECK(onnxkit_error_get_kind(error.get()) == ONNXKIT_ERROR_IO);
  CHECK(std::string(onnxkit_error_code(error.get())) == "cannot-read");
  CHECK(std::string(onnxkit_error_text(error.get())).find("/no/such.onnx: error[cannot-read]") == 0);
  const auto json = nlohmann::json::parse(onnxkit_error_json(error.get()));
  CHECK(json["code"] == "cannot-read");
  CHECK(json["message"] == onnxkit_error_message(error.get()));
}

TEST_CASE("c: wrong options are told") {
  const auto model = model_of(scaled);
  const auto fault_of = [&](const char* options) {
    onnxkit_text* report = nullptr;
    const std::string text = text_of(onnxkit_check(model.get(), options, &report));
    CHECK(taken(report).empty());
    return text;
  };
  CHECK(fault_of("{") == "error[usage]: the options are not JSON\n");
  CHECK(fault_of("[1]") == "error[usage]: the options are no object\n");
  CHECK(fault_of(R"({"dim": {"N": 3}})") ==
        "error[usage]: the option \"dim\" is unknown\n  help     did you mean dims?\n");
  CHECK(fault_of(R"({"dims": {"N": 3.5}})") ==
        "error[usage]: the option \"dims\" must be an object of whole numbers\n");
  CHECK(fault_of(R"({"dims": {"N": 9999999999999999999}})") ==
        "error[usage]: the option \"dims\" must be an object of whole numbers\n");
  CHECK(fault_of(R"({"inspect_weights": 1})") ==
        "error[usage]: the option \"inspect_weights\" must be true or false\n");
  CHECK(fault_of(R"({"targets": "cpu"})") == "error[usage]: the option \"targets\" must be a list of texts\n");
  CHECK(fault_of(R"({"dims": {"M": 3}})").find("unknown-dimension") != std::string::npos);
  CHECK(fault_of(R"({"schemas": ["/no/such.yaml"]})").find("cannot-read") != std::string::npos);
}

TEST_CASE("c: NULL handles are errors") {
  onnxkit_text* report = nullptr;
  CHECK(code_of(onnxkit_check(nullptr, nullptr, &report)) == "usage");
  CHECK(code_of(onnxkit_simplify(nullptr, nullptr, &report)) == "usage");
  CHECK(code_of(onnxkit_model_read(nullptr, nullptr, nullptr, nullptr)) == "usage");
  CHECK(code_of(onnxkit_session_run(nullptr, nullptr, nullptr, nullptr, nullptr)) == "usage");
  CHECK(code_of(onnxkit_diff(nullptr, 0, nullptr, 0, nullptr, nullptr, &report)) == "usage");
  onnxkit_model_free(nullptr);
  onnxkit_error_free(nullptr);
  onnxkit_values_free(nullptr);
}

TEST_CASE("c: a model goes through bytes and files") {
  const auto model = model_of(scaled);
  onnxkit_text* bytes = nullptr;
  REQUIRE(code_of(onnxkit_model_bytes(model.get(), nullptr, &bytes)).empty());
  const std::string binary = taken(bytes);
  onnxkit_model* again = nullptr;
  onnxkit_text* findings = nullptr;
  REQUIRE(code_of(onnxkit_model_read_bytes(binary.data(), binary.size(), "again", nullptr, &again, &findings)).empty());
  const Handle<onnxkit_model> owned(again);
  CHECK(json_of(findings).empty());
  onnxkit_text* text = nullptr;
  REQUIRE(code_of(onnxkit_model_bytes(again, R"({"format": "text"})", &text)).empty());
  CHECK(taken(text).find("Mul") != std::string::npos);
  CHECK(code_of(onnxkit_model_bytes(again, R"({"format": "no-such"})", &text)) == "unsupported-format");
  CHECK(code_of(onnxkit_model_write(again, "/no/such/folder/m.onnx", nullptr, nullptr)) == "cannot-write");
}

TEST_CASE("c: check reports findings as the command does") {
  const auto model = model_of(opset_17 + "main (float[2, 3] x) => (float[2, M] y) { y = MatMul (x, x) }");
  onnxkit_text* report = nullptr;
  REQUIRE(code_of(onnxkit_check(model.get(), nullptr, &report)).empty());
  const auto json = json_of(report);
  CHECK(json["format"] == "onnxkit-check");
  CHECK(json["exit_status"] == 1);
  REQUIRE(json["files"][0]["errors"] == 1);
  CHECK(json["files"][0]["findings"][0]["code"] == "shape-mismatch");
  REQUIRE(code_of(onnxkit_check(model.get(), R"({"suppress": ["shape-mismatch"]})", &report)).empty());
  CHECK(json_of(report)["files"][0]["suppressed"] == 1);
}

TEST_CASE("c: conversions change the model or leave it") {
  const auto model = model_of(scaled);
  onnxkit_text* report = nullptr;
  REQUIRE(code_of(onnxkit_change_opset(model.get(), R"({"opset": 21})", &report)).empty());
  const auto upgraded = json_of(report);
  CHECK(upgraded["command"] == "upgrade");
  CHECK(upgraded["files"][0]["verified"]["verdict"] == "equal");
  REQUIRE(code_of(onnxkit_inspect(model.get(), nullptr, &report)).empty());
  CHECK(taken(report).find("21") != std::string::npos);
  REQUIRE(
      code_of(onnxkit_change_opset(model.get(), R"({"opset": {"ai.onnx": 17}, "verify": false})", &report)).empty());
  CHECK(json_of(report)["command"] == "downgrade");
  CHECK(code_of(onnxkit_change_opset(model.get(), nullptr, &report)) == "usage");
  CHECK(code_of(onnxkit_change_opset(model.get(), R"({"opset": 1000})", &report)) == "opset-range");
  CHECK(code_of(onnxkit_change_opset(model.get(), R"({"opset": 21, "verify": "often"})", &report)) == "usage");

  const auto gelu =
      model_of(R"(<ir_version: 8, opset_import: ["": 20]> main (float[2] x) => (float[2] y) { y = NoSuch (x) })");
  REQUIRE(code_of(onnxkit_change_opset(gelu.get(), R"({"opset": 21})", &report)).empty());
  CHECK(json_of(report)["files"][0]["refusals"][0]["code"] == "unknown-operator");

  REQUIRE(code_of(onnxkit_simplify(model.get(), nullptr, &report)).empty());
  const auto simplified = json_of(report);
  CHECK(simplified["files"][0]["before"]["nodes"] == 3);
  CHECK(simplified["files"][0]["after"]["nodes"] == 2);
}

TEST_CASE("c: infer writes shapes, extract cuts") {
  const auto model = model_of(scaled);
  onnxkit_text* report = nullptr;
  REQUIRE(code_of(onnxkit_infer(model.get(), R"({"dims": {"N": 4}})", &report)).empty());
  CHECK(json_of(report)["values"][0]["type"] == "float[4]");
  onnxkit_model* part = nullptr;
  REQUIRE(code_of(onnxkit_extract(model.get(), R"({"to": ["h"]})", &part, &report)).empty());
  const Handle<onnxkit_model> owned(part);
  CHECK(json_of(report)["nodes"]["extracted"] == 2);
  CHECK(code_of(onnxkit_extract(model.get(), R"({"to": ["z"]})", &part, &report)) == "unknown-value");
}

TEST_CASE("c: sessions run again and again") {
  for (const char* options :
       {R"({"backend": "reference"})", R"({"backend": "cpu:threads=1", "memory_bytes": 1000000})"}) {
    CAPTURE(options);
    auto model = model_of(scaled);
    const auto session = session_of(*model, options);
    model.reset();
    for (const auto& [given, expected] :
         {std::pair<std::vector<float>, std::vector<float>>{{1, 2}, {3, 6}}, {{5}, {15}}}) {
      const auto inputs = named("x", *floats(given));
      onnxkit_values* outputs = nullptr;
      REQUIRE(text_of(onnxkit_session_run(session.get(), inputs.get(), nullptr, nullptr, &outputs)).empty());
      const Handle<onnxkit_values> owned(outputs);
      CHECK(onnxkit_values_count(outputs) == 1);
      CHECK(std::string(onnxkit_values_name(outputs, 0)) == "y");
      CHECK(numbers_of(*outputs, 0) == expected);
    }
  }
}

TEST_CASE("c: a session describes itself and tells what does not fit") {
  const auto model = model_of(scaled);
  const auto session = session_of(*model, R"({"backend": "cpu"})");
  onnxkit_text* text = nullptr;
  REQUIRE(code_of(onnxkit_session_describe(session.get(), &text)).empty());
  const auto json = json_of(text);
  CHECK(json["inputs"][0]["dims"][0].is_null());
  CHECK(json["inputs"][1]["has_default"] == true);
  CHECK(json["outputs"][0]["type"] == "float");
  onnxkit_values* outputs = nullptr;
  const Handle<onnxkit_values> none(onnxkit_values_new());
  CHECK(code_of(onnxkit_session_run(session.get(), none.get(), nullptr, nullptr, &outputs)) == "input-missing");
  const auto wrong = named("z", *floats({1}));
  CHECK(code_of(onnxkit_session_run(session.get(), wrong.get(), nullptr, nullptr, &outputs)) == "unknown-input");
  CHECK(outputs == nullptr);
}

TEST_CASE("c: a run is stopped from another thread") {
  const auto model = model_of(endless);
  for (const char* options : {R"({"backend": "reference"})", R"({"backend": "cpu"})"}) {
    CAPTURE(options);
    const auto session = session_of(*model, options);
    const auto inputs = named("x", *floats({1}));
    const Handle<onnxkit_stop> stop(onnxkit_stop_new());
    std::thread other([&] { onnxkit_stop_request(stop.get()); });
    onnxkit_values* outputs = nullptr;
    CHECK(code_of(onnxkit_session_run(session.get(), inputs.get(), nullptr, stop.get(), &outputs)) == "cancelled");
    other.join();
  }
}

TEST_CASE("c: values of all kinds") {
  onnxkit_value* made = nullptr;
  const char* texts[] = {"a", "b\0c"};
  const std::size_t sizes[] = {1, 3};
  const std::int64_t two = 2;
  REQUIRE(code_of(onnxkit_value_strings(&two, 1, texts, sizes, 2, &made)).empty());
  const Handle<onnxkit_value> strings(made);
  std::size_t size = 0;
  CHECK(std::string(onnxkit_value_string(strings.get(), 1, &size), 3) == std::string("b\0c", 3));
  CHECK(size == 3);
  CHECK(onnxkit_value_string(strings.get(), 2, &size) == nullptr);
  CHECK(onnxkit_value_element_type(strings.get()) == 8);

  const auto numbers = floats({1, 2});
  const onnxkit_value* items[] = {numbers.get(), numbers.get()};
  REQUIRE(code_of(onnxkit_value_sequence(items, 2, 0, &made)).empty());
  const Handle<onnxkit_value> sequence(made);
  CHECK(onnxkit_value_get_kind(sequence.get()) == ONNXKIT_VALUE_SEQUENCE);
  CHECK(onnxkit_value_item_count(sequence.get()) == 2);
  const Handle<onnxkit_value> item(onnxkit_value_item(sequence.get(), 1));
  CHECK(onnxkit_value_dims(item.get())[0] == 2);
  CHECK(onnxkit_value_item(sequence.get(), 2) == nullptr);

  REQUIRE(code_of(onnxkit_value_map(strings.get(), numbers.get(), &made)).empty());
  const Handle<onnxkit_value> map(made);
  CHECK(onnxkit_value_item_count(map.get()) == 2);
  const Handle<onnxkit_value> keys(onnxkit_value_item(map.get(), 0));
  CHECK(onnxkit_value_element_type(keys.get()) == 8);
  CHECK(code_of(onnxkit_value_map(numbers.get(), numbers.get(), &made)) == "usage");

  REQUIRE(code_of(onnxkit_value_optional(nullptr, 1, &made)).empty());
  const Handle<onnxkit_value> empty(made);
  CHECK(onnxkit_value_get_kind(empty.get()) == ONNXKIT_VALUE_OPTIONAL);
  CHECK(onnxkit_value_item_count(empty.get()) == 0);
  CHECK(onnxkit_value_rank(empty.get()) == 0);
}

TEST_CASE("c: tensors whose bytes do not fit are refused") {
  onnxkit_value* made = nullptr;
  const std::int64_t dims[] = {3, -1, std::int64_t{1} << 62};
  const float numbers[3] = {1, 2, 3};
  CHECK(code_of(onnxkit_value_tensor(1, dims, 1, numbers, 8, &made)) == "tensor-size");
  CHECK(code_of(onnxkit_value_tensor(1, dims, 2, numbers, 12, &made)) == "tensor-size");
  CHECK(code_of(onnxkit_value_tensor(1, dims + 2, 1, numbers, 12, &made)) == "tensor-size");
  CHECK(code_of(onnxkit_value_tensor(99, dims, 1, numbers, 12, &made)) == "tensor-type");
  CHECK(code_of(onnxkit_value_tensor(1, nullptr, 1, numbers, 12, &made)) == "usage");
  CHECK(made == nullptr);
}

TEST_CASE("c: inputs are generated, plans told, backends compared") {
  const auto model = model_of(scaled);
  onnxkit_values* inputs = nullptr;
  REQUIRE(code_of(onnxkit_generate_inputs(model.get(), nullptr, R"({"dims": {"N": 5}})", nullptr, &inputs)).empty());
  const Handle<onnxkit_values> owned(inputs);
  CHECK(numbers_of(*inputs, 0).size() == 5);
  onnxkit_text* report = nullptr;
  REQUIRE(code_of(onnxkit_plan(model.get(), inputs, nullptr, nullptr, &report)).empty());
  CHECK(json_of(report)["backend"] == "cpu");
  REQUIRE(code_of(onnxkit_model_describe(model.get(), &report)).empty());
  const auto described = json_of(report);
  CHECK(described["inputs"][1]["has_default"] == true);
  CHECK(described["outputs"][0]["type"] == "float");
  const onnxkit_model* models[] = {model.get()};
  const onnxkit_values* sets[] = {inputs};
  REQUIRE(text_of(onnxkit_diff(models, 1, sets, 1, R"({"backends": ["reference", "cpu"]})", nullptr, &report)).empty());
  const auto compared = json_of(report);
  CHECK(compared["compared"] == true);
  CHECK(compared["sides"][1]["backend"] == "cpu");
  CHECK(compared["verdict"] == "identical");
  CHECK(code_of(onnxkit_diff(models, 1, sets, 1, R"({"backends": ["cpu"]})", nullptr, &report)) == "usage");
}

TEST_CASE("c: models are measured, and reports formatted") {
  const auto model = model_of(scaled);
  const onnxkit_model* models[] = {model.get()};
  onnxkit_text* report = nullptr;
  const auto fault_of = [&](const char* options) {
    return text_of(onnxkit_bench(models, 1, nullptr, options, nullptr, &report));
  };
  REQUIRE(fault_of(R"({"backends": ["cpu"], "dims": {"N": 5}, "max_seconds": 0.05, "threads": 1})").empty());
  const std::string text = taken(report);
  const auto measured = nlohmann::json::parse(text);
  CHECK(measured["benchmarks"][0]["model"] == "model");
  CHECK(measured["benchmarks"][0]["threads"] == 1);
  CHECK(measured["benchmarks"][0]["sides"][0]["verdict"] == "identical");
  CHECK(fault_of(R"({"backends": ["cpu"], "precision_goal": 0})") ==
        "error[usage]: the option \"precision_goal\" must be from 0.0001 to 1\n");
  CHECK(fault_of(R"({"backends": ["cpu"], "max_seconds": 0})") ==
        "error[usage]: the option \"max_seconds\" must be above 0\n");
  CHECK(fault_of(R"({"backends": ["cpu:threads=2"], "threads": 1})") ==
        "error[usage]: the option \"threads\": 1 contradicts the option threads=2 of cpu\n");
  CHECK(code_of(onnxkit_bench(models, 0, nullptr, nullptr, nullptr, &report)) == "usage");
  const auto formatted = [&](const char* options) {
    REQUIRE(text_of(onnxkit_bench_format(text.data(), text.size(), options, &report)).empty());
    return taken(report);
  };
  CHECK(formatted(nullptr).find("cpu") != std::string::npos);
  CHECK(formatted(R"({"format": "html"})").find("<html") != std::string::npos);
  const std::string before = nlohmann::json({{"before", text}}).dump();
  CHECK(formatted(before.c_str()).find("cpu") != std::string::npos);
  CHECK(code_of(onnxkit_bench_format("{}", 2, nullptr, &report)) == "json-syntax");
  CHECK(code_of(onnxkit_bench_format("{", 1, nullptr, &report)) == "json-syntax");
  CHECK(code_of(onnxkit_bench_format(nullptr, 0, nullptr, &report)) == "usage");
}

TEST_CASE("c: operators and backends are listed") {
  onnxkit_text* report = nullptr;
  REQUIRE(code_of(onnxkit_ops(R"({"names": ["Resize"]})", &report)).empty());
  CHECK(json_of(report)["operators"][0]["name"] == "Resize");
  CHECK(code_of(onnxkit_ops(R"({"names": ["Resiz"]})", &report)) == "unknown-operator");
  REQUIRE(code_of(onnxkit_backends(R"({"python": "/no/such/python"})", &report)).empty());
  CHECK(json_of(report)["backends"][0]["name"] == "cpu");
}

}  // namespace onnxkit::tests::c_api
