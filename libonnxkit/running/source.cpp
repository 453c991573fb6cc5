#include "libonnxkit/running/source.h"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "converters/formats/saved_model/graph_writer.h"
#include "libonnxkit/exec/time_limit.h"
#include "libonnxkit/formats/frame/load.h"
#include "libonnxkit/formats/frame/registry.h"
#include "libonnxkit/ir/model.h"
#include "libonnxkit/running/aligned_ports.h"
#include "libonnxkit/running/run.h"
#include "onnxkit/diff.h"
#include "onnxkit/version.h"

namespace onnxkit::running {
namespace {

/// "s77=5,s3=12"
std::map<std::string, std::int64_t> sizes_in(std::string_view text) {
  std::map<std::string, std::int64_t> sizes;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t split = item.find('=');
    std::int64_t size = 0;
    if (split == item.npos ||
        std::from_chars(item.data() + split + 1, item.data() + item.size(), size).ec != std::errc())
      continue;
    sizes.emplace(item.substr(0, split), size);
  }
  return sizes;
}

bool has_dimension(const ir::Graph& graph, std::string_view name) {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](const ir::ValueInfo& input) {
    if (!input.type || !input.type->shape) return false;
    const auto& dims = input.type->shape->dims;
    return std::any_of(dims.begin(), dims.end(), [&](const ir::DeclaredDim& d) { return d.param == name; });
  });
}

/// The sizes that the model was exported with, then those that are asked for.
std::map<std::string, std::int64_t> chosen_sizes(const ir::Model& model, const SourceCheckOptions& options) {
  std::map<std::string, std::int64_t> sizes = options.dims;
  for (const ir::StringEntry& entry : model.metadata_props) {
    if (entry.key != "source_sizes") continue;
    for (const auto& [name, size] : sizes_in(entry.value))
      if (has_dimension(*model.graph, name)) sizes.emplace(name, size);
  }
  return sizes;
}

/// Options of the worker that say what of the file was converted, and how: those of its format.
std::map<std::string, std::string> conversion_options(const ir::Model& model, std::string_view format) {
  struct Option {
    std::string_view format, metadata, name;
  };
  constexpr Option known[] = {{"saved-model", "source_signature", "signature"},
                              {"torchscript", "source_inputs", "inputs"},
                              {"torchscript", "source_outputs", "outputs"},
                              {"torchscript", "source_attributes", "attributes"},
                              {"torchscript", "source_changes", "changes"}};
  std::map<std::string, std::string> options;
  for (const ir::StringEntry& entry : model.metadata_props)
    for (const Option& option : known)
      if (option.format == format && option.metadata == entry.key) options.emplace(option.name, entry.value);
  return options;
}

/// Whether a framework that works here could not load or run the file. What it says that it lacks proves nothing.
bool is_refused(const SideReport& side) {
  const std::string& code = side.failure->diagnostic.code;
  return side.failed_at != "start" && (code == "worker-failed" || code == "worker-invalid" || code == "worker-crashed");
}

std::string reason_of(const OutputDiff& output) {
  if (!output.why.empty() || !output.metrics) return output.why;
  return fmt::format("it deviates by at most {:.3g}", output.metrics->max_absolute);
}

SourceReport report_of(const DiffReport& compared, std::size_t framework) {
  SourceReport report;
  const SideReport& runtime = compared.sides[framework];
  const SideReport& result = compared.sides.back();
  report.runtime = runtime.version.empty() ? runtime.backend : runtime.version;
  for (const SideReport& side : compared.sides) {
    if (!side.failure) continue;
    report.reason = fmt::format("{}: {}", side.label, side.failure->diagnostic.message);
    if (&side == &result && &side == &runtime && is_refused(side)) report.verdict = Equality::different;
    return report;
  }
  report.outputs = result.outputs.size();
  Profile coarsest = Profile::float32;
  bool is_rounding = false;
  for (const OutputDiff& output : result.outputs) {
    if (is_finding(output.verdict)) {
      report.verdict = Equality::different;
      report.reason =
          fmt::format("output {} is {}: {}", quote(output.name), name_of(output.verdict), reason_of(output));
      return report;
    }
    if (output.verdict == Verdict::not_compared) {
      report.reason = output.why;
      return report;
    }
    is_rounding = is_rounding || output.verdict == Verdict::rounding;
    coarsest = std::max(coarsest, output.profile.value_or(Profile::float32));
  }
  report.verdict = Equality::equal;
  if (is_rounding) report.finest_profile = name_of(coarsest);
  return report;
}

/// The backend that runs a file of another framework as it is.
Result<DiffSide> framework_side(const std::filesystem::path& path, const std::string& name) {
  const auto opened = formats::open_source(path);
  if (!opened) return opened.error();
  const formats::Format* format = name.empty() ? formats::registry().to_read(*opened) : formats::registry().find(name);
  if (!format || format->backend.empty())
    return make_error("usage", fmt::format("no backend runs {} as it is", quote(path.string())));
  DiffSide side;
  side.backend = side.label = format->backend;
  side.path = path;
  side.format = format->name;
  return side;
}

/// Compares two sides on generated inputs of the model, which is one of them. `framework` is the index of the other.
Result<SourceReport> compare(const Model& model, std::vector<DiffSide> sides, std::size_t framework,
                             const SourceCheckOptions& options, std::map<std::string, std::string> names = {}) {
  RunOptions run;
  run.context = options.context;
  run.seed = options.seed;
  run.dims = chosen_sizes(model.ir(), options);
  run.stop = options.stop;
  auto inputs = running::complete_inputs(model, {}, run);
  if (!inputs) return std::move(inputs).error();
  InputSet set;
  set.name = "generated";
  for (RunInput& input : inputs->inputs)
    if (input.value.kind != ValueKind::none) set.values.push_back({input.name, std::move(input.value)});
  const exec::TimeLimit limit(std::chrono::milliseconds(options.limits.time_ms), options.stop);
  DiffOptions diffing;
  diffing.context = options.context;
  diffing.limits = options.limits;
  diffing.seed = options.seed;
  diffing.warmup = 0;
  diffing.stop = limit.token();
  diffing.names = std::move(names);
  const auto compared = diff(std::move(sides), {std::move(set)}, diffing);
  if (limit.is_over() && (!compared || compared->cancelled)) {
    SourceReport late;
    late.reason = fmt::format("the comparison takes more than {} s", options.limits.time_ms / 1000);
    return late;
  }
  return compared ? report_of(*compared, framework) : Result<SourceReport>(compared.error());
}

DiffSide model_side(const Model& model, const std::string& backend) {
  DiffSide side;
  side.backend = side.label = backend;
  side.model = std::make_shared<const Model>(model);
  return side;
}

/// TorchScript numbers its outputs.
std::map<std::string, std::string> numbered_outputs(const ir::Graph& graph) {
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    names.emplace(graph.name_of(graph.outputs[i].value), fmt::format("output_{}", i));
  return names;
}

/// A frozen graph has names of tensors.
std::map<std::string, std::string> tensor_names(const ir::Graph& graph) {
  std::map<std::string, std::string> names;
  for (const ir::ValueInfo& output : graph.outputs) {
    const std::string name(graph.name_of(output.value));
    names.emplace(name, saved_model::tensor_of_output(name));
  }
  return names;
}

}  // namespace

Result<SourceReport> compare_with_source(const Model& converted, const std::filesystem::path& source,
                                         const SourceCheckOptions& options) {
  auto before = framework_side(source, options.format);
  if (!before) return std::move(before).error();
  before->options = conversion_options(converted.ir(), before->format);
  return compare(converted, {*std::move(before), model_side(converted, options.backend)}, 0, options);
}

Result<SourceReport> compare_with_result(const Model& source, const std::filesystem::path& result,
                                         const SourceCheckOptions& options) {
  const formats::Format* format = formats::registry().find(options.format);
  if (format && format->backend.empty()) {
    SourceReport report;
    report.reason = fmt::format("no backend runs {} as it is", format->title);
    return report;
  }
  auto after = framework_side(result, options.format);
  if (!after) return std::move(after).error();
  std::map<std::string, std::string> names;
  if (after->format == "torchscript" && source.ir().graph) names = numbered_outputs(*source.ir().graph);
  if (after->format == "frozen-graph" && source.ir().graph) names = tensor_names(*source.ir().graph);
  return compare(source, {model_side(source, options.backend), *std::move(after)}, 1, options, std::move(names));
}

Result<SourceReport> compare_models(const Model& before, const Model& after, const SourceCheckOptions& options) {
  Model aligned = after;
  align_ports(aligned.ir(), before.ir());
  return compare(before, {model_side(before, options.backend), model_side(aligned, options.backend)}, 1, options);
}

void record_conversion(ir::Model& model, const ConversionRecord& record) {
  const std::pair<std::string_view, std::string> entries[] = {
      {"source_file", record.file}, {"source_format", record.format}, {"converter_options", record.options}};
  model.producer_name = "onnxkit";
  model.producer_version = version();
  for (const auto& [name, value] : entries) {
    if (value.empty()) continue;
    const std::string_view key = name;
    const auto known = std::find_if(model.metadata_props.begin(), model.metadata_props.end(),
                                    [&](const ir::StringEntry& entry) { return entry.key == key; });
    ir::StringEntry& entry = known == model.metadata_props.end() ? model.metadata_props.emplace_back() : *known;
    entry.key = model.keep(key);
    entry.value = model.keep(value);
  }
}

}  // namespace onnxkit::running
