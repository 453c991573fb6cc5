#include "tools/actions/backend_word.h"

#include <filesystem>

#include "onnxkit/diagnostic.h"

namespace onnxkit::tools {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t to = text.find(at); to != std::string_view::npos; to = text.find(at, from)) {
    parts.emplace_back(text.substr(from, to - from));
    from = to + 1;
  }
  parts.emplace_back(text.substr(from));
  return parts;
}

std::pair<std::string, std::string> split_model(const std::string& word) {
  std::size_t colon = word.find(':');
  std::error_code fault;
  if (colon == std::string::npos || colon == 0 || word.find('/') < colon || std::filesystem::exists(word, fault))
    return {"", word};
  for (std::size_t next = word.find(':', colon + 1); next != std::string::npos; next = word.find(':', next + 1)) {
    const std::string_view option = std::string_view(word).substr(colon + 1, next - colon - 1);
    if (option.find('=') == std::string::npos || option.find('/') < option.find('=')) break;
    colon = next;
  }
  return {word.substr(0, colon), word.substr(colon + 1)};
}

Result<BackendWord> parse_backend(const std::string& word) {
  const std::vector<std::string> parts = split(word, ':');
  BackendWord backend{parts.front(), {}};
  if (backend.name.empty()) return make_error("usage", "the backend " + quote(word) + " has no name");
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string::npos || equals == 0)
      return make_error("usage", quote(parts[i]) + " of the backend " + quote(word) + " is not OPTION=VALUE");
    if (!backend.options.emplace(parts[i].substr(0, equals), parts[i].substr(equals + 1)).second)
      return make_error("usage",
                        "the backend " + quote(word) + " has the option " + parts[i].substr(0, equals) + " twice");
  }
  return backend;
}

std::vector<std::string> usual_backends(std::size_t models) {
  return models == 1 ? std::vector<std::string>{"reference", "onnxruntime"} : std::vector<std::string>{"reference"};
}

std::string label_of(const std::string& backend, const std::map<std::string, std::string>& options) {
  std::string label = backend;
  for (const auto& [option, value] : options) label += " " + option + "=" + value;
  return label;
}

}  // namespace onnxkit::tools
