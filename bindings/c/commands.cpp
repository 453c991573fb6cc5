#include <map>
#include <set>

#include "bindings/c/handles.h"
#include "bindings/c/option_reader.h"
#include "onnxkit/check.h"
#include "onnxkit/diff.h"
#include "onnxkit/extract.h"
#include "onnxkit/fix.h"
#include "onnxkit/infer.h"
#include "onnxkit/inspect.h"
#include "onnxkit/ops.h"
#include "tools/actions/infer.h"
#include "tools/report/backends.h"
#include "tools/report/check.h"
#include "tools/report/diagnostics.h"
#include "tools/report/extract.h"
#include "tools/report/infer.h"
#include "tools/report/inspect/inspect.h"
#include "tools/report/operators.h"

// What commands of the program do with one model, with their reports as JSON.

namespace onnxkit::c {
namespace {

Result<std::string> checked(const onnxkit_model* handle, const char* text) {
  if (auto there = needs(handle, "model"); !there) return there.error();
  const Model& model = handle->model;
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  CheckOptions check_options;
  std::vector<std::string> suppressed;
  std::map<std::string, std::string> at_nodes;
  options->read("suppress", suppressed);
  options->read("suppress_nodes", at_nodes);
  options->read("targets", check_options.targets);
  options->read("inspect_weights", check_options.inspect_weights);
  options->read("verify_checksums", check_options.verify_checksums);
  options->read("allow_outside_data", check_options.allow_outside_data);
  const DimSettings dims = dims_of(*options);
  auto context = context_of(*options);
  if (!context) return context.error();
  check_options.suppress = {suppressed.begin(), suppressed.end()};
  for (const auto& [node, code] : at_nodes) check_options.suppress_nodes.push_back({.node = node, .code = code});
  check_options.context = *std::move(context);
  const auto sized = sized_model(model, dims, DeclaredSizes::keep, check_options.dims);
  if (!sized) return sized.error();
  const auto unknown = unknown_dimensions(*sized, check_options.dims);
  if (!unknown.empty()) return unknown.begin()->second;
  auto findings = check(*sized, check_options);
  if (!findings) return findings.error();
  tools::FileReport report;
  report.path = model.path().string();
  report.findings = *std::move(findings);
  tools::CheckTotals totals;
  totals.add(report);
  return tools::check_json({&report, 1}, totals, totals.errors > 0 ? tools::Outcome::finding : tools::Outcome::ok);
}

Result<std::string> fixed(onnxkit_model* handle, const char* text) {
  if (auto there = needs(handle, "model"); !there) return there.error();
  Model& model = handle->model;
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  auto context = context_of(*options);
  if (!context) return context.error();
  const auto fixes = fix(model, {.context = *std::move(context)});
  if (!fixes) return fixes.error();
  return tools::json_text(tools::fixes_json(*fixes));
}

Result<std::string> inferred(onnxkit_model* handle, const char* text) {
  if (auto there = needs(handle, "model"); !there) return there.error();
  Model& model = handle->model;
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  InferOptions infer_options;
  options->read("assume_defaults", infer_options.assume_defaults);
  const DimSettings dims = dims_of(*options);
  auto context = context_of(*options);
  if (!context) return context.error();
  infer_options.context = *std::move(context);
  auto result = sized_model(model, dims, DeclaredSizes::replace, infer_options.dims);
  if (!result) return result.error();
  const std::string path = model.path().string();
  const auto report = tools::infer_model(*result, path, infer_options);
  if (!report) return report.error();
  if (tools::is_sound(*report)) model = *std::move(result);
  return tools::infer_json(path, *report, "");
}

Result<std::string> inspected(const onnxkit_model* handle, const char* text) {
  if (auto there = needs(handle, "model"); !there) return there.error();
  const Model& model = handle->model;
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  InspectOptions inspect_options;
  options->read("values", inspect_options.values);
  const DimSettings dims = dims_of(*options);
  auto context = context_of(*options);
  if (!context) return context.error();
  inspect_options.context = *std::move(context);
  const auto sized = sized_model(model, dims, DeclaredSizes::replace, inspect_options.dims);
  if (!sized) return sized.error();
  const auto report = inspect(*sized, inspect_options);
  if (!report) return report.error();
  return tools::inspect_json(*report);
}

Result<std::string> operators(const char* text) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  OpQuery query;
  std::string domain;
  options->read("names", query.names);
  options->read("domain", domain);
  options->read("targets", query.targets);
  auto context = context_of(*options);
  if (!context) return context.error();
  query.context = *std::move(context);
  if (!domain.empty()) query.domain = domain;
  const auto list = list_operators(query);
  if (!list) return list.error();
  return tools::operators_json(*list);
}

Result<std::string> found_backends(const char* text) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  auto context = worker_context_of(*options);
  if (!context) return context.error();
  return tools::backends_json(backends({.context = *std::move(context)}));
}

}  // namespace

}  // namespace onnxkit::c

using namespace onnxkit;
using namespace onnxkit::c;

extern "C" {

onnxkit_error* onnxkit_check(const onnxkit_model* model, const char* options, onnxkit_text** report) {
  return reported(report, [&] { return checked(model, options); });
}

onnxkit_error* onnxkit_fix(onnxkit_model* model, const char* options, onnxkit_text** report) {
  return reported(report, [&] { return fixed(model, options); });
}

onnxkit_error* onnxkit_infer(onnxkit_model* model, const char* options, onnxkit_text** report) {
  return reported(report, [&] { return inferred(model, options); });
}

onnxkit_error* onnxkit_inspect(const onnxkit_model* model, const char* options, onnxkit_text** report) {
  return reported(report, [&] { return inspected(model, options); });
}

onnxkit_error* onnxkit_extract(const onnxkit_model* model, const char* options, onnxkit_model** part,
                               onnxkit_text** report) {
  return guarded([&]() -> Result<void> {
    if (auto there = needs(model, "model"); !there) return there;
    auto read = OptionReader::parse(options);
    if (!read) return read.error();
    ExtractOptions extract_options;
    read->read("from", extract_options.from);
    read->read("to", extract_options.to);
    auto context = context_of(*read);
    if (!context) return context.error();
    extract_options.context = *std::move(context);
    auto extracted = extract(model->model, extract_options);
    if (!extracted) return extracted.error();
    std::string text = tools::extract_json(model->model.path().string(), "", *extracted);
    auto made = std::make_unique<onnxkit_model>(onnxkit_model{std::move(extracted->model)});
    set(report, std::move(text));
    *part = made.release();
    return {};
  });
}

onnxkit_error* onnxkit_ops(const char* options, onnxkit_text** report) {
  return reported(report, [&] { return operators(options); });
}

onnxkit_error* onnxkit_backends(const char* options, onnxkit_text** report) {
  return reported(report, [&] { return found_backends(options); });
}

}  // extern "C"
