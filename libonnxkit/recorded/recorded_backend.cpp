#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "libonnxkit/exec/registry.h"
#include "libonnxkit/exec/stored_values.h"

namespace onnxkit::recorded {
namespace {

namespace fs = std::filesystem;

/// Outputs that were recorded, one list for each set of inputs.
class RecordedSession : public exec::Session {
 public:
  explicit RecordedSession(std::vector<std::vector<NamedValue>> recorded) : recorded_(std::move(recorded)) {
    for (const auto& set : recorded_) {
      for (const NamedValue& output : set) add_output(output);
    }
  }

  const std::vector<exec::ValueDesc>& inputs() const override { return inputs_; }
  const std::vector<exec::ValueDesc>& outputs() const override { return outputs_; }
  const exec::LoadReport& loaded() const override { return report_; }

  Result<exec::RunAnswer> run(const exec::RunRequest& request) override {
    if (request.set >= recorded_.size() || recorded_[request.set].empty())
      return make_error("no-answer", "no outputs were recorded for the inputs " + quote(request.set_name));
    auto selected = exec::select_outputs(recorded_[request.set], request.outputs);
    if (!selected) return selected.error();
    return exec::RunAnswer{*std::move(selected), {}};
  }

 private:
  void add_output(const NamedValue& output) {
    const auto is_it = [&](const exec::ValueDesc& known) { return known.name == output.name; };
    if (std::any_of(outputs_.begin(), outputs_.end(), is_it)) return;
    exec::ValueDesc& desc = outputs_.emplace_back();
    desc.name = output.name;
    desc.kind = output.value.kind;
    desc.type = output.value.is_tensor() ? output.value.tensor.type() : output.value.declared;
  }

  std::vector<std::vector<NamedValue>> recorded_;
  std::vector<exec::ValueDesc> inputs_, outputs_;
  exec::LoadReport report_;
};

/// The folders of one set of outputs each: test_data_set_* by name, else the folder itself.
std::vector<fs::path> set_folders(const fs::path& folder) {
  std::vector<fs::path> sets;
  std::error_code fault;
  for (const auto& entry : fs::directory_iterator(folder, fault)) {
    if (entry.is_directory(fault) && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path());
  }
  std::sort(sets.begin(), sets.end());
  return sets.empty() ? std::vector{folder} : sets;
}

/// Outputs of a model, whose names and kinds they have, in files output_0.pb ...
Result<std::vector<std::vector<NamedValue>>> read_sets(const exec::ModelSource& source) {
  if (!source.model || !source.model->graph)
    return make_error("no-model", "recorded outputs in files need the model that they are of");
  std::vector<std::vector<NamedValue>> sets;
  for (const fs::path& folder : set_folders(source.path)) {
    auto outputs = exec::read_outputs(*source.model->graph, folder);
    if (!outputs) return outputs.error();
    sets.push_back(*std::move(outputs));
  }
  return sets;
}

class RecordedBackend : public exec::Backend {
 public:
  Result<exec::BackendDesc> describe() override {
    exec::BackendDesc desc;
    desc.name = "recorded";
    desc.capabilities.in_memory = true;
    desc.capabilities.replays = true;
    return desc;
  }

  Result<std::unique_ptr<exec::Session>> load(const exec::ModelSource& source, const exec::LoadOptions&) override {
    auto sets = source.path.empty() ? Result<std::vector<std::vector<NamedValue>>>(source.recorded) : read_sets(source);
    if (!sets) return sets.error();
    return std::unique_ptr<exec::Session>(std::make_unique<RecordedSession>(*std::move(sets)));
  }
};

}  // namespace

void register_recorded_backend(exec::BackendRegistry& registry);
void register_recorded_backend(exec::BackendRegistry& registry) {
  registry.add({.name = "recorded",
                .make = [](const exec::BackendSettings&) { return std::make_unique<RecordedBackend>(); },
                .listed = false,
                .named = false});
}

}  // namespace onnxkit::recorded
