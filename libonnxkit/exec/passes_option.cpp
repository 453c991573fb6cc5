#include "libonnxkit/exec/passes_option.h"

#include <algorithm>

#include "libonnxkit/base/text/unknown_name.h"
#include "onnxkit/diagnostic.h"

namespace onnxkit::exec {
namespace {

Error unknown_pass(std::string_view name, const std::vector<std::string>& known) {
  Error error = unknown_name("unknown-option", "pass", name, {known.begin(), known.end()}, known.size());
  error.diagnostic.message = "a plan has no pass " + quote(name);
  return error;
}

}  // namespace

Result<std::set<std::string, std::less<>>> passes_named(std::string_view list, const std::vector<std::string>& known) {
  std::set<std::string, std::less<>> names;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find('+'), list.size());
    const std::string_view name = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (name.empty()) continue;
    if (std::find(known.begin(), known.end(), name) == known.end()) return unknown_pass(name, known);
    names.emplace(name);
  }
  return names;
}

}  // namespace onnxkit::exec
