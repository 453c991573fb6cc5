#include "tools/actions/threads.h"

#include <fmt/format.h>

#include "onnxkit/diagnostic.h"
#include "onnxkit/run.h"

namespace onnxkit::tools {

Result<ThreadOptions> thread_options(const std::set<std::string>& backends, const Context& context,
                                     const std::string& asked) {
  ThreadOptions threads;
  bool may_change = false;
  for (const std::string& name : backends) {
    for (const BackendInfo& info : onnxkit::backends({.context = context, .names = {name}})) {
      if (info.available) threads[name] = info.options.contains("threads");
      may_change = may_change || !info.available || threads[name];
    }
  }
  if (may_change) return threads;
  return make_error("usage",
                    fmt::format("no backend here has an option \"threads\", so {} would change nothing", asked));
}

std::vector<std::string> set_threads(std::vector<DiffSide>& sides, std::int64_t threads, const ThreadOptions& known,
                                     const std::string& asked) {
  std::vector<std::string> warnings;
  std::set<std::string> told;
  for (DiffSide& side : sides) {
    const auto found = known.find(side.backend);
    if (found == known.end()) continue;
    if (found->second)
      side.options["threads"] = std::to_string(threads);
    else if (told.insert(side.backend).second)
      warnings.push_back(
          fmt::format("{} has no option \"threads\": {} does not change how many it uses", side.backend, asked));
  }
  return warnings;
}

Result<void> check_threads(std::int64_t threads, const std::string& backend,
                           const std::map<std::string, std::string>& options, const std::string& asked) {
  const auto own = options.find("threads");
  if (own == options.end() || own->second == std::to_string(threads)) return {};
  return make_error("usage", fmt::format("{} {} contradicts the option threads={} of {}", asked, threads,
                                         without_controls(own->second), without_controls(backend)));
}

}  // namespace onnxkit::tools
