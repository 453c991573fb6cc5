#include "libonnxkit/exec/registry.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "libonnxkit/base/text/nearest.h"

namespace onnxkit::exec {
namespace {

struct ShortName {
  std::string_view shortened, name;
};

/// What people call runtimes; a backend of such a name comes first.
constexpr std::array short_names = {ShortName{"ort", "onnxruntime"}, ShortName{"ov", "openvino"},
                                    ShortName{"pytorch", "torch"},   ShortName{"ref", "reference"},
                                    ShortName{"tf", "tensorflow"},   ShortName{"trt", "tensorrt"}};

}  // namespace

BackendSettings settings_of(const WorkerSettings& workers, std::stop_token stop) {
  BackendSettings settings;
  settings.worker_folders = workers.folders;
  settings.python = workers.python;
  settings.start_limit = std::chrono::milliseconds(workers.limits.start_ms);
  settings.process_memory = workers.limits.memory_bytes;
  settings.trust_files = workers.trust_files;
  settings.stop = std::move(stop);
  return settings;
}

void BackendRegistry::add(BackendEntry entry) { added_.push_back(std::move(entry)); }

void BackendRegistry::add_discovery(Discovery discovery) { discoveries_.push_back(std::move(discovery)); }

std::vector<BackendEntry> BackendRegistry::entries(const BackendSettings& settings) const {
  std::vector<BackendEntry> all = added_;
  for (const Discovery& discover : discoveries_) {
    for (BackendEntry& entry : discover(settings)) {
      const bool is_known =
          std::any_of(all.begin(), all.end(), [&](const BackendEntry& other) { return other.name == entry.name; });
      if (!is_known) all.push_back(std::move(entry));
    }
  }
  const auto by_name = [](const BackendEntry& a, const BackendEntry& b) { return a.name < b.name; };
  std::sort(all.begin() + static_cast<std::ptrdiff_t>(added_.size()), all.end(), by_name);
  return all;
}

Result<BackendEntry> BackendRegistry::find(std::string_view name, const BackendSettings& settings) const {
  std::vector<BackendEntry> all = entries(settings);
  const auto named = [&all](std::string_view wanted) {
    return std::find_if(all.begin(), all.end(), [&](const BackendEntry& entry) { return entry.name == wanted; });
  };
  auto found = named(name);
  for (const ShortName& known : short_names)
    if (found == all.end() && known.shortened == name) found = named(known.name);
  if (found != all.end()) return std::move(*found);
  std::vector<std::string_view> names;
  for (const BackendEntry& entry : all) {
    if (entry.named) names.push_back(entry.name);
  }
  std::sort(names.begin(), names.end());
  const std::string_view close = nearest(name, names);
  return make_error("unknown-backend",
                    fmt::format("unknown backend {}; available: {}{}", quote(std::string(name)), fmt::join(names, ", "),
                                close.empty() ? "" : fmt::format("; did you mean {}?", close)));
}

std::unique_ptr<Backend> BackendRegistry::make_perturbed() const {
  const auto found =
      std::find_if(added_.begin(), added_.end(), [](const BackendEntry& entry) { return entry.perturbed_samples; });
  return found == added_.end() ? nullptr : found->make({});
}

}  // namespace onnxkit::exec
