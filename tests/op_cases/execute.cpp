#include "tests/op_cases/execute.h"

#include <algorithm>

#include <fmt/core.h>

#include "checker/collector.h"
#include "checker/infer/inference.h"
#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/compare/metrics/compare.h"
#include "libonnxkit/wire/binary/writer.h"
#include "libonnxkit/wire/values/tensor_proto.h"
#include "reference/executor/executor.h"
#include "tests/op_cases/case_model.h"
#include "tests/op_cases/tensor_values.h"

namespace onnxkit::op_cases {
namespace {

bool has_values(const ValueSpec& value) { return value.omitted || (value.node.IsMap() && value.node["values"]); }

/// The tensor that a value of the case stands for; its bytes are kept in `strings`.
Tensor tensor_of(const ValueSpec& value, StringPool& strings) {
  const ir::DeclaredType type = declared_type(value, strings);
  std::vector<std::int64_t> dims;
  if (type.shape) {
    for (const ir::DeclaredDim& dim : type.shape->dims) dims.push_back(dim.value.value_or(-1));
  }
  const bool has_dims = type.shape && std::all_of(dims.begin(), dims.end(), [](std::int64_t d) { return d >= 0; });
  const ir::Tensor tensor = make_tensor(static_cast<ElementType>(type.elem_type.value_or(0)), value.node["values"],
                                        has_dims ? &dims : nullptr, strings);
  auto packed = wire::tensor_of(tensor);
  if (!packed) throw YAML::Exception(value.node.Mark(), packed.error().diagnostic.message);
  return *packed;
}

std::string text_of(const Error& error) {
  return fmt::format("{} ({}): {}", error.diagnostic.code, error.diagnostic.location.path(), error.diagnostic.message);
}

}  // namespace

bool can_run(const Case& c) {
  if (!c.finds.empty()) return false;
  if (!std::all_of(c.inputs.begin(), c.inputs.end(), has_values)) return false;
  return !c.fails.empty() || std::any_of(c.outputs.begin(), c.outputs.end(),
                                         [](const ValueSpec& output) { return !output.omitted && has_values(output); });
}

namespace {

/// The values of the case for the inputs of its model.
std::vector<Value> given_values(const Case& c, const ir::Model& model) {
  StringPool& strings = *model.strings;
  std::vector<Value> inputs;
  for (const ir::ValueInfo& info : model.graph->inputs) {
    const auto given = std::find_if(c.inputs.begin(), c.inputs.end(), [&](const ValueSpec& value) {
      return value.name == model.graph->name_of(info.value);
    });
    inputs.push_back(given == c.inputs.end() ? Value() : Value(tensor_of(*given, strings)));
  }
  return inputs;
}

/// What differs from the case in the outcome of its run. True when the run came to its end.
bool judge(const Case& c, const ir::Model& model, const Result<std::vector<Value>>& outputs,
           std::vector<std::string>& problems) {
  StringPool& strings = *model.strings;
  if (!c.fails.empty()) {
    if (outputs)
      problems.push_back("the run succeeds");
    else if (outputs.error().diagnostic.code != c.fails)
      problems.push_back("the run ends with " + text_of(outputs.error()));
    return false;
  }
  if (!outputs) {
    problems.push_back("the run ends with " + text_of(outputs.error()));
    return false;
  }
  for (std::size_t i = 0; i < model.graph->outputs.size(); ++i) {
    const std::string_view name = model.graph->name_of(model.graph->outputs[i].value);
    const auto expected =
        std::find_if(c.outputs.begin(), c.outputs.end(), [&](const ValueSpec& value) { return value.name == name; });
    if (expected == c.outputs.end() || expected->omitted || !has_values(*expected)) continue;
    const auto differs = comparison::difference(tensor_of(*expected, strings), (*outputs)[i], {c.relative, c.absolute});
    if (differs) problems.push_back(fmt::format("run: {}: {}", name, *differs));
  }
  return true;
}

}  // namespace

bool run_on_reference(const Case& c, const ir::Model& model, const spec::OpTable& table,
                      std::vector<std::string>& problems) {
  const auto session = reference::Executor::make(model, table, {});
  if (!session) {
    problems.push_back("cannot be run: " + text_of(session.error()));
    return false;
  }
  return judge(c, model, (*session)->run(given_values(c, model), {}), problems);
}

namespace {

/// A model whose outputs have no type is not valid; plans leave such models to the reference.
void declare_outputs(ir::Model& model, const spec::OpTable& table) {
  checker::Collector collector;
  checker::InferredModel inferred = infer_types(model, table, {}, collector);
  for (ir::ValueInfo& output : model.graph->outputs) {
    const checker::ValueInfo* info = output.type ? nullptr : inferred.find(*model.graph, output.value);
    if (info)
      output.type =
          checker::to_declared(info->type, inferred.dims, [&](const std::string& text) { return model.keep(text); });
  }
}

}  // namespace

std::vector<std::string> run_on_backend(const Case& c, ir::Model model, BackendUnderTest& under_test) {
  // A plan leaves out what nobody asks for.
  if (model.graph->outputs.empty() && !model.graph->nodes.empty()) {
    for (const ir::ValueId id : model.graph->nodes.back().outputs) {
      if (id != ir::ValueId::none) model.graph->outputs.emplace_back().value = id;
    }
  }
  declare_outputs(model, *under_test.table);
  const auto shared = std::make_shared<const ir::Model>(std::move(model));
  std::vector<std::string> problems;
  const auto session =
      under_test.backend->load({.model = shared}, {.context = under_test.context, .table = under_test.table});
  if (!session) {
    // A plan may find out what is wrong before there is a run.
    if (c.fails.empty()) problems.push_back("cannot be run: " + text_of(session.error()));
    return problems;
  }
  exec::RunRequest request;
  std::vector<Value> inputs = given_values(c, *shared);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind != ValueKind::none) request.inputs.push_back({(*session)->inputs()[i].name, inputs[i]});
  }
  auto answer = (*session)->run(request);
  Result<std::vector<Value>> outputs = std::vector<Value>();
  if (answer) {
    for (NamedValue& output : answer->outputs) outputs->push_back(std::move(output.value));
  } else {
    outputs = answer.error();
  }
  judge(c, *shared, outputs, problems);
  if (const auto report = (*session)->plan_report()) {
    for (const std::string& note : report->notes) under_test.notes.insert(note);
  }
  return problems;
}

void export_case(const Case& c, const spec::OpSchema& schema, std::int64_t opset, const std::filesystem::path& folder) {
  Case open = c;
  for (ValueSpec& input : open.inputs) {
    if (input.omitted) continue;
    input.node.reset(YAML::Clone(input.node));
    input.node["constant"] = false;
  }
  ir::Model model = make_model(open, schema, opset);
  std::filesystem::create_directories(folder / "test_data_set_0");
  const auto write = [&](const std::string& name, const std::string& bytes) {
    (void)replace_file(folder / name, bytes);
  };
  write("model.onnx", wire::to_bytes(model));
  for (const auto& [role, values] : {std::pair("input", &open.inputs), std::pair("output", &open.outputs)}) {
    std::size_t index = 0;
    for (const ValueSpec& value : *values) {
      if (value.omitted) continue;
      const std::string name = fmt::format("test_data_set_0/{}_{}.pb", role, index++);
      if (has_values(value)) write(name, wire::write_value(Value(tensor_of(value, *model.strings)), value.name));
    }
  }
}

}  // namespace onnxkit::op_cases
