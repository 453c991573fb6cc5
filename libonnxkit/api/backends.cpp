#include <algorithm>
#include <iterator>
#include <thread>

#include "libonnxkit/workers/worker.h"
#include "onnxkit/diff.h"

namespace onnxkit {
namespace {

BackendInfo reference() {
  BackendInfo info;
  info.name = "reference";
  info.runtime = "onnxkit";
  info.version = ONNXKIT_VERSION;
  info.available = true;
  info.devices = {"cpu"};
  info.formats = {"onnx"};
  return info;
}

/// The message, and the last line printed where the worker could not speak for itself.
std::string reason_of(const Diagnostic& failure) {
  if (failure.code == "worker-unavailable" || failure.notes.empty()) return failure.message;
  return failure.message + ": " + failure.notes.back();
}

BackendInfo ask(const workers::WorkerProgram& program, const workers::WorkerLimits& limits) {
  BackendInfo info;
  info.name = program.name;
  const auto worker = workers::Worker::start(program, limits);
  if (!worker) {
    info.reason = reason_of(worker.error().diagnostic);
    return info;
  }
  const workers::WorkerInfo& told = (*worker)->info();
  info.available = true;
  info.runtime = told.runtime;
  info.version = told.version;
  info.devices = told.devices;
  info.formats = told.formats;
  for (const auto& [name, option] : told.options) {
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
  std::vector<workers::WorkerProgram> programs = workers::find_workers(query.worker_folders, query.python);
  const auto is_asked = [&](const std::string& name) {
    return query.names.empty() || std::find(query.names.begin(), query.names.end(), name) != query.names.end();
  };
  std::erase_if(programs, [&](const workers::WorkerProgram& program) {
    return program.name == "reference" || !is_asked(program.name);
  });
  workers::WorkerLimits limits;
  limits.start = std::chrono::milliseconds(query.start_limit_ms);
  std::vector<BackendInfo> found(programs.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < programs.size(); ++i)
      threads.emplace_back([&, i] { found[i] = ask(programs[i], limits); });
  }
  if (is_asked("reference")) found.insert(found.begin(), reference());
  return found;
}

}  // namespace onnxkit
