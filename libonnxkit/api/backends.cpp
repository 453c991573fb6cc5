#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <thread>

#include "libonnxkit/backends/backends.h"
#include "onnxkit/diff.h"

namespace onnxkit {
namespace {

/// The message, and the last line printed where the backend could not speak for itself.
std::string reason_of(const Diagnostic& failure) {
  if (failure.code == "worker-unavailable" || failure.notes.empty()) return failure.message;
  return failure.message + ": " + failure.notes.back();
}

BackendInfo ask(const exec::BackendEntry& entry, const exec::BackendSettings& settings) {
  BackendInfo info;
  info.name = entry.name;
  const auto desc = entry.make(settings)->describe();
  if (!desc) {
    info.reason = reason_of(desc.error().diagnostic);
    return info;
  }
  info.available = true;
  info.runtime = desc->runtime;
  info.version = desc->version;
  info.devices = desc->devices;
  info.formats = desc->formats;
  info.passes = desc->capabilities.passes;
  for (const auto& [name, option] : desc->options) {
    info.options[name] = option.help;
    if (option.values.empty()) continue;
    std::vector<std::string>& words = info.choices[name] = option.values;
    std::stable_partition(words.begin(), words.end(),
                          [&fallback = option.fallback](const std::string& word) { return word == fallback; });
  }
  return info;
}

}  // namespace

std::vector<BackendInfo> backends(const BackendQuery& query) {
  const exec::BackendSettings settings = exec::settings_of(query.context.workers());
  std::vector<exec::BackendEntry> entries = all_backends().entries(settings);
  std::set<std::string> asked;
  for (const std::string& name : query.names) {
    if (const auto entry = all_backends().find(name, settings)) asked.insert(entry->name);
  }
  std::erase_if(entries, [&](const exec::BackendEntry& entry) {
    return query.names.empty() ? !entry.listed : !asked.contains(entry.name);
  });
  std::vector<BackendInfo> found(entries.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < entries.size(); ++i)
    threads.emplace_back([&, i] { found[i] = ask(entries[i], settings); });
  threads.clear();
  return found;
}

std::vector<std::string> backend_names(const Context& context) {
  std::vector<std::string> names;
  for (const exec::BackendEntry& entry : all_backends().entries(exec::settings_of(context.workers())))
    if (entry.named) names.push_back(entry.name);
  return names;
}

Result<void> check_backend(const std::string& name, const std::map<std::string, std::string>& options,
                           const Context& context) {
  const exec::BackendSettings settings = exec::settings_of(context.workers());
  const auto entry = all_backends().find(name, settings);
  if (!entry) return entry.error();
  if (options.empty()) return {};
  const auto desc = entry->make(settings)->describe();
  return desc ? exec::check_options(*desc, options) : Result<void>();
}

std::string backend_name(const std::string& name, const Context& context) {
  const auto entry = all_backends().find(name, exec::settings_of(context.workers()));
  return entry ? entry->name : name;
}

bool runs_in_own_process(const std::string& name, const Context& context) {
  const auto entry = all_backends().find(name, exec::settings_of(context.workers()));
  return entry && entry->own_process;
}

}  // namespace onnxkit
