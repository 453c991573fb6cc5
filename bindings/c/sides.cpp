#include "bindings/c/sides.h"

#include <utility>

#include "onnxkit/run.h"
#include "tools/actions/backend_word.h"
#include "tools/actions/input_set.h"

namespace onnxkit::c {
namespace {

/// A model on a backend.
Result<DiffSide> side_on(const std::shared_ptr<const Model>& model, const std::string& word) {
  const auto backend = tools::parse_backend(word);
  if (!backend) return backend.error();
  DiffSide side;
  side.backend = backend->name;
  side.options = backend->options;
  side.label = tools::label_of(backend->name, backend->options);
  side.model = model;
  return side;
}

/// BACKEND:FILE, a file of another framework.
Result<DiffSide> side_of_file(const std::string& word) {
  const auto [name, path] = tools::split_model(word);
  if (name.empty()) return make_error("usage", quote(word) + " names no backend, as torch:net.pt2 does");
  auto side = side_on(nullptr, name);
  if (!side) return side;
  const auto known = format_of_path(path);
  side->path = path;
  side->format = known ? known->name : "onnx";
  return side;
}

std::vector<std::string> backends_for(std::size_t models, const SideOptions& options) {
  if (!options.backends.empty()) return options.backends;
  return options.files.empty() ? tools::usual_backends(models) : std::vector<std::string>{"reference"};
}

}  // namespace

SideOptions side_options_of(OptionReader& options) {
  SideOptions sides;
  options.read("backends", sides.backends);
  options.read("files", sides.files);
  return sides;
}

Result<std::vector<std::shared_ptr<const Model>>> models_of(const onnxkit_model* const* models, std::size_t count) {
  if (count == 0 || !models) return make_error("usage", "at least one model is needed, which defines the inputs");
  std::vector<std::shared_ptr<const Model>> owned;
  for (std::size_t i = 0; i < count; ++i) {
    if (auto there = needs(models[i], "models[i]"); !there) return there.error();
    owned.push_back(std::make_shared<const Model>(models[i]->model));
  }
  return owned;
}

Result<std::vector<DiffSide>> sides_of(const std::vector<std::shared_ptr<const Model>>& models,
                                       const SideOptions& options) {
  std::vector<DiffSide> sides;
  for (std::size_t i = 0; i < models.size(); ++i) {
    for (const std::string& word : backends_for(models.size(), options)) {
      auto side = side_on(models[i], word);
      if (!side) return side.error();
      if (models.size() > 1) side->label = "model " + std::to_string(i) + " on " + side->label;
      sides.push_back(*std::move(side));
    }
  }
  for (const std::string& word : options.files) {
    auto side = side_of_file(word);
    if (!side) return side.error();
    sides.push_back(*std::move(side));
  }
  return sides;
}

Result<InputSet> set_of(const Model& model, std::string name, const std::vector<NamedValue>& given,
                        const InputOptions& options) {
  RunOptions run;
  const auto sized = sized_model(model, options.dims, DeclaredSizes::keep, run.dims);
  if (!sized) return sized.error();
  run.context = options.context;
  run.stop = options.stop;
  run.seed = options.seed;
  auto inputs = complete_inputs(*sized, given, run);
  if (!inputs) return inputs.error();
  return tools::input_set(std::move(name), *std::move(inputs));
}

}  // namespace onnxkit::c
