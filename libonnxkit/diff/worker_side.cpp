#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/diff/ports.h"
#include "libonnxkit/diff/side.h"
#include "libonnxkit/diff/temp_folder.h"
#include "onnxkit/nearest.h"

namespace onnxkit::diffing {
namespace {

namespace fs = std::filesystem;

class WorkerSide : public Side {
 public:
  WorkerSide(const DiffOptions& options, SideReport& report, std::unique_ptr<workers::Worker> worker,
             workers::LoadedModel model, std::optional<TempFolder> folder)
      : options_(options),
        report_(report),
        worker_(std::move(worker)),
        model_(std::move(model)),
        folder_(std::move(folder)) {}

  Result<SideRun> run(const InputSet& set, std::size_t index, const std::vector<NamedValue>& wanted) override {
    auto inputs = inputs_for(model_.inputs, set, options_.names);
    if (!inputs) return inputs.error();
    workers::RunRequest request;
    request.model = model_.id;
    request.inputs = inputs->values;
    request.repeat = options_.repeat;
    request.warmup = index == 0 ? options_.warmup : 0;
    auto answer = worker_->run(request);
    report_.log = worker_->log();
    if (!answer) return answer.error();
    SideRun run;
    for (const workers::Sample& sample : answer->samples) run.times.push_back({sample.wall, sample.cpu});
    auto outputs = matched_outputs(std::move(answer->outputs), wanted, options_.names);
    if (!outputs) return outputs.error();
    run.moved_inputs = std::move(inputs->moved);
    run.cast_inputs = std::move(inputs->cast);
    run.take(*std::move(outputs));
    return run;
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto* ports : {&model_.inputs, &model_.outputs}) {
      for (const workers::Port& port : *ports) names.push_back(port.name);
    }
    return names;
  }

 private:
  const DiffOptions& options_;
  SideReport& report_;
  std::unique_ptr<workers::Worker> worker_;
  workers::LoadedModel model_;
  std::optional<TempFolder> folder_;
};

Result<workers::WorkerProgram> find_program(const DiffSide& side, const DiffOptions& options) {
  const auto programs = workers::find_workers(options.worker_folders, options.python);
  std::vector<std::string> names = {"reference"};
  for (const workers::WorkerProgram& program : programs) {
    if (program.name == side.backend) return program;
    names.push_back(program.name);
  }
  return make_error("unknown-backend",
                    fmt::format("there is no backend {}; there are {}", quote(side.backend), fmt::join(names, ", ")));
}

/// Whether a text is a number, of those that worker options take.
bool is_number(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end;
}

std::string listed(const std::string& wrong, const std::vector<std::string_view>& words) {
  const std::string_view close = nearest(wrong, words);
  return fmt::format("{}{}", fmt::join(words, ", "), close.empty() ? "" : fmt::format("; did you mean {}?", close));
}

/// Error unknown-option: an option that the worker does not have, or a value that it does not take.
Result<void> check_options(const DiffSide& side, const workers::WorkerInfo& info) {
  for (const auto& [name, value] : side.options) {
    const auto known = info.options.find(name);
    if (known == info.options.end()) {
      std::vector<std::string_view> names;
      for (const auto& option : info.options) names.push_back(option.first);
      return make_error("unknown-option", fmt::format("the backend {} has no option {}; there are {}", side.backend,
                                                      quote(name), names.empty() ? "none" : listed(name, names)));
    }
    const workers::WorkerOption& option = known->second;
    const std::vector<std::string_view> values(option.values.begin(), option.values.end());
    if (!values.empty() && std::find(values.begin(), values.end(), value) == values.end())
      return make_error("unknown-option", fmt::format("the option {} of the backend {} is not {}; there are {}", name,
                                                      side.backend, quote(value), listed(value, values)));
    if (values.empty() && is_number(option.fallback) && !is_number(value))
      return make_error("unknown-option", fmt::format("the option {} of the backend {} takes a number, not {}", name,
                                                      side.backend, quote(value)));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Side>> open_worker(const DiffSide& side, const DiffOptions& options, SideReport& report) {
  const auto program = find_program(side, options);
  if (!program) return program.error();
  auto worker = workers::Worker::start(*program, worker_limits(options));
  if (!worker) return worker.error();
  const workers::WorkerInfo& info = (*worker)->info();
  report.version = info.runtime + " " + info.version;
  report.device = fmt::format("{}", fmt::join(info.devices, ", "));
  report.failed_at = "load";
  if (auto known = check_options(side, info); !known) return known.error();
  if (std::find(info.formats.begin(), info.formats.end(), side.format) == info.formats.end()) {
    return make_error("not-supported", fmt::format("{} runs models of the format {}, not {}", side.backend,
                                                   fmt::join(info.formats, ", "), side.format));
  }
  std::optional<TempFolder> folder;
  fs::path path = side.path;
  if (path.empty()) {
    if (!side.model) return make_error("no-model", "the side has no model");
    auto made = TempFolder::make();
    if (!made) return made.error();
    folder = *std::move(made);
    path = folder->path() / "model.onnx";
    SaveOptions save;
    save.format = FileFormat::binary;
    save.allow_outside_data = options.allow_outside_data;
    if (auto written = write_model(*side.model, path, save); !written) return written.error();
  }
  auto model = (*worker)->load(path, side.format, side.options);
  report.log = (*worker)->log();
  if (!model) return model.error();
  report.load_seconds = model->seconds;
  report.warnings = model->warnings;
  report.arithmetic = model->arithmetic;
  return std::unique_ptr<Side>(
      new WorkerSide(options, report, *std::move(worker), *std::move(model), std::move(folder)));
}

}  // namespace onnxkit::diffing
