#include "tools/options/sides.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "libonnxkit/base/text/extension.h"
#include "tools/command.h"
#include "tools/model_file.h"
#include "tools/options/short_paths.h"

namespace onnxkit::tools {
namespace {

namespace fs = std::filesystem;

/// What a file of another framework is, by its name: formats of workers that are not known here are called as their files end. "onnx" for ONNX.
std::string format_of(const fs::path& path) {
  if (const auto known = format_of_path(path)) return known->is_onnx ? "onnx" : known->name;
  std::error_code fault;
  return fs::is_directory(path, fault) ? "saved-model" : lower_extension(path).substr(1);
}

/// Whether a file without a backend is no ONNX model for sure. ONNX files have all sorts of names, .pb is one of them.
bool is_foreign(const fs::path& path) {
  std::error_code fault;
  if (fs::is_directory(path, fault)) return true;
  const auto known = format_of_path(path);
  const auto as_output = output_format(path);
  return known && !known->is_onnx && !(as_output && as_output->is_onnx);
}

/// The backend and its options, after the model where there are several: its file name, with as many folders as tell it from the others.
void name_sides(std::vector<DiffSide>& sides, const std::vector<std::string>& models) {
  std::vector<std::string> paths;
  for (const std::string& model : models) paths.push_back(split_model(model).second);
  const std::vector<std::string> names = short_paths(paths);
  std::map<std::string, int> labels;
  for (DiffSide& side : sides) {
    const std::string name =
        names[static_cast<std::size_t>(std::find(paths.begin(), paths.end(), side.label) - paths.begin())];
    side.label = label_of(side.backend, side.options);
    if (models.size() > 1) side.label = name + " on " + side.label;
    if (const int number = ++labels[side.label]; number > 1) side.label += " #" + std::to_string(number);
  }
}

Error no_backend(const std::string& word) {
  return make_error("usage", quote(word) + " is not an ONNX model: name the backend, as in torch:net.pt2");
}

Result<double> number(const std::string& text) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || !(value >= 0))
    return make_error("usage", quote(text) + " is not a tolerance");
  return value;
}

/// ATOL or ATOL,RTOL.
Result<OutputTolerance> tolerance_named(const std::string& word) {
  const std::vector<std::string> parts = split(word, ',');
  OutputTolerance tolerance;
  const auto absolute = number(parts[0]);
  if (!absolute) return absolute.error();
  tolerance.absolute = *absolute;
  if (parts.size() < 2) return tolerance;
  const auto relative = number(parts[1]);
  if (!relative) return relative.error();
  tolerance.relative = *relative;
  return tolerance;
}

Result<std::string> task_named(const std::string& word) {
  std::vector<std::string> words = {std::string(no_task)};
  for (const TaskInfo& task : tasks()) words.emplace_back(task.name);
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  return make_error("usage", "unknown task " + quote(word) + did_you_mean(word, words));
}

Result<Axes> axes_named(const std::string& word) {
  constexpr std::pair<std::string_view, Axes> known[] = {
      {"nchw", Axes::nchw}, {"nhwc", Axes::nhwc}, {"same", Axes::same}};
  for (const auto& [name, axes] : known) {
    if (name == word) return axes;
  }
  return make_error("usage", "axes must be nchw, nhwc or same, not " + quote(word));
}

Result<std::string> any_word(const std::string& word) { return word; }

/// The NAME=VALUE words of an option, each name once.
template <class Value>
Result<void> take(const char* option, const std::vector<std::string>& words,
                  Result<Value> (*value_named)(const std::string&), std::map<std::string, Value>& values) {
  for (const std::string& word : words) {
    const std::size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0) return make_error("usage", quote(word) + " is not NAME=VALUE");
    const std::string name = word.substr(0, equals);
    auto value = value_named(word.substr(equals + 1));
    if (!value) return value.error();
    if (!values.emplace(name, *std::move(value)).second)
      return make_error("usage", std::string(option) + " names " + quote(name) + " twice");
  }
  return {};
}

}  // namespace

Result<void> check_model_word(const std::string& word) {
  const auto [backend, path] = split_model(word);
  return backend.empty() && is_foreign(path) && format_of(path) != "onnx" ? no_backend(word) : Result<void>();
}

Result<std::vector<DiffSide>> read_sides(const std::vector<std::string>& models,
                                         const std::vector<std::string>& backends) {
  std::vector<BackendWord> parsed;
  for (const std::string& word : backends.empty() ? usual_backends(models.size()) : backends) {
    auto backend = parse_backend(word);
    if (!backend) return backend.error();
    parsed.push_back(*std::move(backend));
  }
  std::vector<DiffSide> sides;
  for (const std::string& word : models) {
    const auto [own_backend, path] = split_model(word);
    std::error_code fault;
    DiffSide side;
    side.label = path;
    side.format = format_of(path);
    if (own_backend.empty() && !is_foreign(path)) side.format = "onnx";
    if (side.format == "onnx") {
      auto model = open_model(path);
      if (!model) return model.error();
      side.model = std::make_shared<const Model>(*std::move(model));
    } else if (own_backend.empty()) {
      return no_backend(word);
    }
    if (!side.model || is_binary_file(path)) side.path = path;
    if (!side.model && !fs::exists(path, fault))
      return in_file(make_error("cannot-read", "the file does not exist"), path);
    if (!own_backend.empty()) {
      auto backend = parse_backend(own_backend);
      if (!backend) return backend.error();
      side.backend = backend->name;
      side.options = backend->options;
      sides.push_back(side);
      continue;
    }
    for (const BackendWord& backend : parsed) {
      side.backend = backend.name;
      side.options = backend.options;
      sides.push_back(side);
    }
  }
  name_sides(sides, models);
  return sides;
}

Result<std::vector<DiffSide>> read_self(const std::string& model, const std::string& backend,
                                        const BackendQuery& query) {
  auto sides = read_sides({model}, {backend, backend});
  if (!sides) return sides.error();
  BackendQuery one = query;
  one.names = {sides->front().backend};
  const auto found = backends(one);
  const DiffSide first = sides->front();
  const auto add = [&](const std::string& option, const std::string& value) {
    DiffSide side = first;
    side.options[option] = value;
    side.label += " " + option + "=" + value;
    sides->push_back(std::move(side));
  };
  for (const BackendInfo& info : found) {
    if (!info.passes.empty()) {  // a wrong pass is wrong in every run of the backend
      auto with_reference = read_sides({model}, {"reference"});
      if (!with_reference) return with_reference.error();
      with_reference->front().model = first.model;
      sides->insert(sides->begin(), with_reference->front());
    }
    if (info.options.contains("threads") && !first.options.contains("threads")) add("threads", "1");
    for (const char* option : {"optimization", "tf32"}) {
      const auto choices = info.choices.find(option);
      if (choices == info.choices.end() || first.options.contains(option)) continue;
      for (std::size_t i = 1; i < choices->second.size(); ++i) add(option, choices->second[i]);
    }
  }
  return sides;
}

Result<void> take_names(const std::vector<std::string>& tolerances, const std::vector<std::string>& tasks,
                        const std::vector<std::string>& scores, const std::vector<std::string>& names,
                        const std::vector<std::string>& axes, DiffOptions& options) {
  if (auto taken = take("--tolerance", tolerances, tolerance_named, options.tolerances); !taken) return taken;
  if (auto taken = take("--task", tasks, task_named, options.tasks); !taken) return taken;
  if (auto taken = take("--axes", axes, axes_named, options.axes); !taken) return taken;
  if (auto taken = take("--scores", scores, any_word, options.scores); !taken) return taken;
  return take("--name", names, any_word, options.names);
}

}  // namespace onnxkit::tools
