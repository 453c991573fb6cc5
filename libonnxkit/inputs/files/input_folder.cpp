#include "libonnxkit/inputs/files/input_folder.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include <fmt/core.h>

#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/exec/stored_values.h"
#include "libonnxkit/exec/value_desc.h"

namespace onnxkit::inputs {
namespace {

namespace fs = std::filesystem;

/// Gaps in the numbers of files that are looked across.
constexpr std::size_t most_numbers_beyond = 64;

fs::path numbered_input(const fs::path& folder, std::size_t number) {
  return folder / fmt::format("input_{}.pb", number);
}

class InputFolder {
 public:
  InputFolder(const ir::Graph& graph, const fs::path& folder)
      : graph_(graph), folder_(folder), defaults_(exec::default_names(graph)), file_of_(graph.inputs.size()) {
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      if (!has_default(i)) required_.push_back(i);
    }
  }

  Result<std::vector<NamedValue>> read() {
    if (auto opened = open(); !opened) return opened.error();
    if (const auto other = numbered_beyond(folder_, "input", graph_.inputs.size()))
      return fault("the folder contains more inputs than the model has", *other);
    find_names();
    if (auto placed = place(); !placed) return placed.error();
    std::vector<NamedValue> values;
    for (std::size_t i = 0; i < file_of_.size(); ++i) {
      if (!file_of_[i] && has_default(i)) continue;
      if (!file_of_[i]) return MappedFile::open(numbered_input(folder_, number_of(i))).error();
      const Numbered& file = files_[*file_of_[i]];
      auto value = exec::read_stored(file.content, graph_.inputs[i]);
      if (!value) return about(value.error(), file.path);
      values.push_back({std::string(name_of(i)), std::move(value->value)});
    }
    return values;
  }

 private:
  struct Numbered {
    std::size_t number = 0;
    fs::path path;
    std::shared_ptr<const MappedFile> content;
    std::optional<std::size_t> input = {};  ///< that its value has the name of
  };

  std::string_view name_of(std::size_t input) const { return graph_.name_of(graph_.inputs[input].value); }
  bool has_default(std::size_t input) const { return defaults_.contains(name_of(input)); }

  static Error about(Error error, const fs::path& file) {
    if (error.diagnostic.location.file.empty()) error.diagnostic.location.file = file.string();
    return error;
  }
  static Error fault(std::string message, const fs::path& file) {
    return about(make_error("cannot-read", std::move(message)), file);
  }

  Result<void> open() {
    for (std::size_t number = 0; number < graph_.inputs.size(); ++number) {
      const fs::path path = numbered_input(folder_, number);
      std::error_code ignored;
      if (!fs::exists(path, ignored)) continue;
      auto content = MappedFile::open(path);
      if (!content) return content.error();
      files_.push_back({number, path, *std::move(content), {}});
    }
    return {};
  }

  /// A name that several files have says nothing.
  void find_names() {
    std::vector<std::size_t> count(graph_.inputs.size());
    for (Numbered& file : files_) {
      file.input = named_input(file);
      if (file.input) ++count[*file.input];
    }
    for (Numbered& file : files_) {
      if (file.input && count[*file.input] > 1) file.input.reset();
    }
  }

  /// What kind of message a file holds is known by its input only, so each kind is tried.
  std::optional<std::size_t> named_input(const Numbered& file) const {
    std::set<ValueKind> tried;
    for (const ir::ValueInfo& like : graph_.inputs) {
      const ValueKind kind = exec::stored_kind_of(like);
      if (!tried.insert(kind).second) continue;
      const auto value = exec::read_stored(file.content, like);
      if (!value || value->name.empty()) continue;
      for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
        if (name_of(i) == value->name && exec::stored_kind_of(graph_.inputs[i]) == kind) return i;
      }
    }
    return std::nullopt;
  }

  bool counts_all() const {
    return std::any_of(files_.begin(), files_.end(),
                       [&](const Numbered& file) { return !file.input && file.number >= required_.size(); });
  }

  /// The number of the file that would hold an input.
  std::size_t number_of(std::size_t input) const {
    const auto position = std::find(required_.begin(), required_.end(), input);
    return counts_all() ? input : static_cast<std::size_t>(position - required_.begin());
  }

  Result<void> place() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const Numbered& file = files_[i];
      const std::size_t input = file.input ? *file.input : counts_all() ? file.number : required_[file.number];
      std::optional<std::size_t>& holder = file_of_[input];
      if (holder) {
        return fault(
            fmt::format("input {} is in {} already", quote(name_of(input)), files_[*holder].path.filename().string()),
            file.path);
      }
      holder = i;
    }
    return {};
  }

  const ir::Graph& graph_;
  const fs::path& folder_;
  const std::set<std::string_view> defaults_;
  std::vector<std::size_t> required_;  ///< inputs without an initializer
  std::vector<Numbered> files_;
  std::vector<std::optional<std::size_t>> file_of_;  ///< by input: index into files_
};

}  // namespace

std::optional<fs::path> numbered_beyond(const fs::path& folder, std::string_view stem, std::size_t count) {
  for (std::size_t i = count; i < count + most_numbers_beyond; ++i) {
    fs::path path = folder / fmt::format("{}_{}.pb", stem, i);
    std::error_code ignored;
    if (fs::exists(path, ignored)) return path;
  }
  return std::nullopt;
}

Result<std::vector<NamedValue>> read_input_folder(const ir::Graph& graph, const fs::path& folder) {
  return InputFolder(graph, folder).read();
}

}  // namespace onnxkit::inputs
