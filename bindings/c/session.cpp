#include <nlohmann/json.hpp>

#include "bindings/c/handles.h"
#include "bindings/c/option_reader.h"
#include "onnxkit/dims.h"
#include "onnxkit/plan.h"
#include "onnxkit/run.h"
#include "tools/actions/backend_word.h"
#include "tools/report/diagnostics.h"
#include "tools/report/inspect/inspect.h"

namespace onnxkit::c {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kind_names[] = {"none", "tensor", "sequence", "optional", "map"};

/// "backend" (`usual` where there is none) and the options of workers, into the options of a run or of a session.
template <class Options>
Result<void> choose_backend(OptionReader& reader, std::string usual, const onnxkit_stop* stop, Options& options) {
  reader.read("backend", usual);
  auto context = worker_context_of(reader);
  if (!context) return context.error();
  auto backend = tools::parse_backend(usual);
  if (!backend) return backend.error();
  options.backend = std::move(backend->name);
  options.backend_options = std::move(backend->options);
  options.context = *std::move(context);
  options.stop = token_of(stop);
  return {};
}

Result<SessionOptions> session_options(const char* text, const onnxkit_stop* stop) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  SessionOptions opened;
  options->read("threads", opened.limits.threads);
  options->read("memory_bytes", opened.limits.memory_bytes);
  options->read("time_ms", opened.limits.time_ms);
  options->read("iterations", opened.limits.iterations);
  options->read("unrounded", opened.unrounded);
  options->read("allow_outside_data", opened.allow_outside_data);
  if (auto chosen = choose_backend(*options, opened.backend, stop, opened); !chosen) return chosen.error();
  return opened;
}

Json ports_json(const std::vector<SessionPort>& ports) {
  Json list = Json::array();
  for (const SessionPort& port : ports) {
    Json described = {{"name", port.name}, {"kind", kind_names[static_cast<int>(port.kind)]}};
    if (port.type != ElementType::undefined) described["type"] = name_of(port.type);
    if (port.dims) {
      described["dims"] = Json::array();
      for (const std::int64_t size : *port.dims) described["dims"].push_back(size < 0 ? Json() : Json(size));
    }
    described["has_default"] = port.has_default;
    list.push_back(std::move(described));
  }
  return list;
}

Result<SessionRun> run_options(const char* text, const onnxkit_stop* stop) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  SessionRun run;
  options->read("outputs", run.outputs);
  options->read("seed", run.seed);
  if (auto read = options->finish(); !read) return read.error();
  run.stop = token_of(stop);
  return run;
}

/// Those that got a value.
std::vector<NamedValue> with_values(std::vector<RunInput> inputs) {
  std::vector<NamedValue> values;
  for (RunInput& input : inputs) {
    if (input.value.kind != ValueKind::none) values.push_back({std::move(input.name), std::move(input.value)});
  }
  return values;
}

/// Of generated inputs, but for sizes.
void read_input_options(OptionReader& options, RunOptions& run) {
  options.read("seed", run.seed);
  options.read("memory_bytes", run.limits.memory_bytes);
  options.read("time_ms", run.limits.time_ms);
}

Result<std::vector<NamedValue>> made_inputs(const Model& model, const onnxkit_values* given, const char* text,
                                            const onnxkit_stop* stop) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  RunOptions run;
  read_input_options(*options, run);
  const DimSettings dims = dims_of(*options);
  auto context = context_of(*options);
  if (!context) return context.error();
  run.context = *std::move(context);
  run.stop = token_of(stop);
  auto sized = sized_model(model, dims, DeclaredSizes::keep, run.dims);
  if (!sized) return sized.error();
  auto completed = complete_inputs(*sized, given ? given->list : std::vector<NamedValue>(), run);
  if (!completed) return completed.error();
  return with_values(std::move(completed->inputs));
}

Result<std::string> planned(const onnxkit_model* handle, const onnxkit_values* inputs, const char* text,
                            const onnxkit_stop* stop) {
  if (auto there = needs(handle, "model"); !there) return there.error();
  const Model& model = handle->model;
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  RunOptions run;
  options->read("threads", run.limits.threads);
  options->read("allow_outside_data", run.allow_outside_data);
  read_input_options(*options, run);
  const DimSettings dims = dims_of(*options);
  if (auto chosen = choose_backend(*options, "cpu", stop, run); !chosen) return chosen.error();
  auto sized = sized_model(model, dims, DeclaredSizes::keep, run.dims);
  if (!sized) return sized.error();
  const auto summary = summarize_plan(*sized, inputs ? inputs->list : std::vector<NamedValue>(), run);
  if (!summary) return summary.error();
  return tools::plan_json(model.path().string(), *summary);
}

}  // namespace

}  // namespace onnxkit::c

using namespace onnxkit;
using namespace onnxkit::c;

extern "C" {

onnxkit_error* onnxkit_session_open(const onnxkit_model* model, const char* options, const onnxkit_stop* stop,
                                    onnxkit_session** session) {
  return guarded([&]() -> Result<void> {
    if (auto there = needs(model, "model"); !there) return there;
    const auto read = session_options(options, stop);
    if (!read) return read.error();
    auto opened = Session::open(model->model, *read);
    if (!opened) return opened.error();
    *session = new onnxkit_session{*std::move(opened)};
    return {};
  });
}

onnxkit_error* onnxkit_session_describe(const onnxkit_session* session, onnxkit_text** description) {
  return guarded([&]() -> Result<void> {
    if (auto there = needs(session, "session"); !there) return there;
    const Session& own = session->session;
    set(description, tools::json_text({{"inputs", ports_json(own.inputs())},
                                       {"outputs", ports_json(own.outputs())},
                                       {"warnings", own.warnings()}}));
    return {};
  });
}

onnxkit_error* onnxkit_model_describe(const onnxkit_model* model, onnxkit_text** description) {
  return reported(description, [&]() -> Result<std::string> {
    if (auto there = needs(model, "model"); !there) return there.error();
    const ModelPorts ports = ports_of(model->model);
    return tools::json_text({{"inputs", ports_json(ports.inputs)}, {"outputs", ports_json(ports.outputs)}});
  });
}

onnxkit_error* onnxkit_session_run(onnxkit_session* session, const onnxkit_values* inputs, const char* options,
                                   const onnxkit_stop* stop, onnxkit_values** outputs) {
  return guarded([&]() -> Result<void> {
    if (auto there = needs(session, "session"); !there) return there;
    if (auto there = needs(inputs, "inputs"); !there) return there;
    const auto read = run_options(options, stop);
    if (!read) return read.error();
    auto given = session->session.run(inputs->list, *read);
    if (!given) return given.error();
    *outputs = new onnxkit_values{*std::move(given)};
    return {};
  });
}

void onnxkit_session_free(onnxkit_session* session) { delete session; }

onnxkit_error* onnxkit_generate_inputs(const onnxkit_model* model, const onnxkit_values* given, const char* options,
                                       const onnxkit_stop* stop, onnxkit_values** inputs) {
  return guarded([&]() -> Result<void> {
    if (auto there = needs(model, "model"); !there) return there;
    auto made = made_inputs(model->model, given, options, stop);
    if (!made) return made.error();
    *inputs = new onnxkit_values{*std::move(made)};
    return {};
  });
}

onnxkit_error* onnxkit_plan(const onnxkit_model* model, const onnxkit_values* inputs, const char* options,
                            const onnxkit_stop* stop, onnxkit_text** report) {
  return reported(report, [&] { return planned(model, inputs, options, stop); });
}

}  // extern "C"
