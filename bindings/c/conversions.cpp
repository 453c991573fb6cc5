#include <algorithm>

#include "bindings/c/handles.h"
#include "bindings/c/option_reader.h"
#include "tools/actions/opset.h"
#include "tools/actions/simplify.h"
#include "tools/report/opset.h"
#include "tools/report/simplify.h"

// Commands that change a model and compare it with what it was.

namespace onnxkit::c {
namespace {

using nlohmann::json;

/// 21, or {"ai.onnx": 21, "ai.onnx.ml": 5}.
void read_opsets(OptionReader& options, std::map<std::string, std::int64_t>& opsets) {
  const json* member = options.find("opset");
  const auto wrong = [&] {
    options.wrong("opset", R"(a number, or an object with one for each domain: {"ai.onnx": 21})");
  };
  if (!member) return wrong();
  if (member->is_number_integer()) {
    opsets[""] = member->get<std::int64_t>();
    return;
  }
  if (!member->is_object() || member->empty()) return wrong();
  options.read("opset", opsets);
  if (const auto standard = opsets.find("ai.onnx"); standard != opsets.end()) {
    opsets[""] = standard->second;
    opsets.erase(standard);
  }
}

/// "verify" and what goes with it, into choices of either conversion.
template <class Choices>
void read_verification(OptionReader& options, Choices& choices) {
  if (const json* member = options.find("verify")) {
    if (member->is_boolean())
      choices.verifies = member->get<bool>();
    else if (*member == "required")
      choices.must_verify = true;
    else
      options.wrong("verify", R"(true, false or "required")");
  }
  VerifyOptions& verification = choices.verification;
  options.read("verify_ms", verification.limits.time_ms);
  options.read("verify_bytes", verification.limits.memory_bytes);
  options.read("threads", verification.limits.threads);
  options.read("allow_outside_data", verification.allow_outside_data);
  choices.dims = dims_of(options);
}

Result<tools::OpsetChoices> opset_choices(const char* text) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  tools::OpsetChoices choices;
  read_opsets(*options, choices.conversion.opsets);
  std::int64_t ir_version = 0;
  options->read("ir_version", ir_version);
  if (ir_version != 0) choices.conversion.ir_version = ir_version;
  options->read_word<AlignCorners>("align_corners", choices.conversion.align_corners,
                                   {{"refuse", AlignCorners::refuse},
                                    {"scaled-length", AlignCorners::scaled_length},
                                    {"result-size", AlignCorners::result_size}});
  read_verification(*options, choices);
  choices.conversion.allow_outside_data = choices.verification.allow_outside_data;
  auto context = context_of(*options);
  if (!context) return context.error();
  choices.conversion.context = choices.verification.context = *std::move(context);
  return choices;
}

Result<tools::SimplifyChoices> simplify_choices(const char* text) {
  auto options = OptionReader::parse(text);
  if (!options) return options.error();
  tools::SimplifyChoices choices;
  SimplifyOptions& simplification = choices.simplification;
  std::vector<std::string> without, with;
  options->read("without", without);
  options->read("with", with);
  options->read("fix_defaults", simplification.fix_defaults);
  options->read("most_growth", simplification.most_growth);
  read_verification(*options, choices);
  simplification.without = {without.begin(), without.end()};
  simplification.with = {with.begin(), with.end()};
  simplification.allow_outside_data = choices.verification.allow_outside_data;
  simplification.limits.threads = choices.verification.limits.threads;
  auto context = context_of(*options);
  if (!context) return context.error();
  simplification.context = choices.verification.context = *std::move(context);
  return choices;
}

/// The command that does the same.
const char* command_of(const OpsetReport& report) {
  const bool goes_down = std::any_of(report.imports.begin(), report.imports.end(),
                                     [](const OpsetImportChange& import) { return import.to < import.from; });
  return goes_down ? "downgrade" : "upgrade";
}

}  // namespace

}  // namespace onnxkit::c

using namespace onnxkit;
using namespace onnxkit::c;

extern "C" {

onnxkit_error* onnxkit_change_opset(onnxkit_model* model, const char* options, onnxkit_text** report) {
  return guarded([&]() -> Result<void> {
    if (auto there = needs(model, "model"); !there) return there;
    const auto choices = opset_choices(options);
    if (!choices) return choices.error();
    Model changed = model->model;
    const tools::OpsetFile file = tools::convert_opsets(changed, model->model.path().string(), *choices);
    if (file.unreadable) return *file.unreadable;
    set(report, tools::opset_json(command_of(file.report), {&file, 1}, false));
    if (file.converted()) model->model = std::move(changed);
    return {};
  });
}

onnxkit_error* onnxkit_simplify(onnxkit_model* model, const char* options, onnxkit_text** report) {
  return guarded([&]() -> Result<void> {
    if (auto there = needs(model, "model"); !there) return there;
    const auto choices = simplify_choices(options);
    if (!choices) return choices.error();
    Model changed = model->model;
    const tools::SimplifiedFile file = tools::simplify_model(changed, model->model.path().string(), *choices);
    if (file.unreadable) return *file.unreadable;
    set(report, tools::simplify_json({&file, 1}, false));
    if (file.simplified()) model->model = std::move(changed);
    return {};
  });
}

}  // extern "C"
