#include "tools/completion/value_words.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "onnxkit/check.h"
#include "onnxkit/diff.h"
#include "onnxkit/ops.h"
#include "tools/help.h"
#include "tools/options/workers.h"

namespace onnxkit::tools {
namespace {

std::vector<Candidate> plain(const std::vector<std::string>& words) {
  std::vector<Candidate> candidates;
  for (const std::string& word : words) candidates.push_back({word, ""});
  return candidates;
}

std::vector<Candidate> backends() {
  const auto context = Context::make({.workers = worker_settings({})});
  return context ? plain(backend_names(*context)) : std::vector<Candidate>();
}

std::vector<Candidate> codes() {
  std::vector<Candidate> candidates;
  for (const CodeExplanation& page : explain_codes()) candidates.push_back({page.code, page.summary});
  return candidates;
}

std::vector<Candidate> operators() {
  std::vector<Candidate> candidates;
  const auto list = list_operators();
  if (!list) return candidates;
  for (const OpInfo& info : list->operators)
    candidates.push_back({info.domain == "ai.onnx" ? info.name : info.domain + "::" + info.name, ""});
  return candidates;
}

/// The kinds of values that a list of words is known for.
struct Kind {
  std::string_view type;
  std::vector<Candidate> (*words)();
};
constexpr Kind kinds[] = {
    {"BACKEND", backends},
    {"CODE", codes},
    {"OPERATOR", operators},
    {"TARGET", [] { return plain(target_names()); }},
};

/// "text|json|sarif": words in lower case, in contrast to names of kinds.
bool is_choice(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

}  // namespace

Completion values_of(const CLI::Option& option) {
  Completion values;
  const std::string type = type_of(option);
  for (const std::string& part : CLI::detail::split(type, '|')) {
    const std::string_view name = std::string_view(part).substr(0, part.find_first_of("[,.="));
    if (is_choice(part)) values.words.push_back({part, ""});
    for (const Kind& kind : kinds) {
      if (kind.type != name) continue;
      const auto words = kind.words();
      values.words.insert(values.words.end(), words.begin(), words.end());
    }
    if (name == "DIR") values.paths = PathKind::folders;
    if (name == "FILE" || name == "PATH") values.paths = PathKind::files;
  }
  return values;
}

}  // namespace onnxkit::tools
