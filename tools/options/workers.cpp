#include "tools/options/workers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>

#include "onnxkit/diff.h"
#include "tools/actions/python.h"
#include "tools/options/bytes.h"
#include "tools/options/duration.h"

namespace onnxkit::tools {
namespace {

namespace fs = std::filesystem;

CLI::Option* add_time(CLI::App& command, const std::string& name, std::uint64_t& limit, const std::string& what) {
  return add_duration(command, name, limit, what, ZeroDuration::refused)->group("Backends");
}

/// The installed program lies in bin beside share; the build tree has a link of that name. Nothing where it cannot be told.
std::optional<fs::path> own_workers() {
  std::error_code status;
  const fs::path program = fs::read_symlink("/proc/self/exe", status);
  if (status) return std::nullopt;
  return program.parent_path() / ONNXKIT_WORKERS_FROM_BIN;
}

}  // namespace

void add_workers(CLI::App& command, WorkerOptions& options) {
  command
      .add_option(
          "--workers", options.settings.folders,
          "Folder with more backends (docs/worker-protocol.md); may be repeated. The first backend with a name is used")
      ->type_name("DIR")
      ->check(CLI::Validator(CLI::ExistingDirectory).description(""))
      ->allow_extra_args(false)
      ->group("Backends");
  command
      .add_flag_callback(
          "--no-own-workers", [&options] { options.own_folder = false; }, "Use only the folders of --workers")
      ->group("Backends");
  command
      .add_option("--python", options.settings.python,
                  "Interpreter for Python backends; default: ONNXKIT_PYTHON, else python3")
      ->type_name("PATH")
      ->group("Backends");
  add_time(command, "--start-limit", options.settings.limits.start_ms,
           "Time limit for starting a backend that runs in a process of its own");
}

void add_worker_limits(CLI::App& command, WorkerOptions& options) {
  add_time(command, "--load-limit", options.settings.limits.load_ms,
           "Time limit for loading a model in a backend that runs in a process of its own");
  add_time(command, "--run-limit", options.settings.limits.run_ms, "Time limit for one run request, in every backend");
  add_bytes(command, "--worker-memory", options.settings.limits.memory_bytes,
            "Memory limit for a backend that runs in processes of its own, such as 8GiB; default: 0 (no limit)")
      ->group("Backends");
  command
      .add_flag("--trust", options.settings.trust_files,
                "Also load files of other frameworks that run code when they are loaded, such as pickled objects")
      ->group("Backends");
}

namespace {

/// Of the options those that the command has and was given.
void warn_of_unused(const CLI::App& command, std::initializer_list<const char*> options, const char* whom) {
  std::vector<std::string> unused;
  for (const char* option : options) {
    const CLI::Option* known = command.get_option_no_throw(option);
    if (known && known->count() > 0) unused.emplace_back(option);
  }
  if (unused.empty()) return;
  std::fputs(fmt::format("onnxkit {}: warning: {} {} only backends that run in {}\n", command.get_name(),
                         fmt::join(unused, " and "), unused.size() == 1 ? "limits" : "limit", whom)
                 .c_str(),
             stderr);
}

}  // namespace

void warn_of_unused_limits(const CLI::App& command, const std::vector<std::string>& backends, const Context& context) {
  const auto is_apart = [&](const std::string& name) { return runs_in_own_process(name, context); };
  if (std::none_of(backends.begin(), backends.end(), is_apart))
    warn_of_unused(command, {"--start-limit", "--load-limit", "--worker-memory"}, "processes of their own");
  if (std::all_of(backends.begin(), backends.end(), is_apart))
    warn_of_unused(command, {"--iteration-limit"}, "onnxkit's own process");
}

WorkerSettings worker_settings(const WorkerOptions& options) {
  WorkerSettings settings = options.settings;
  if (settings.python.empty()) settings.python = usual_python();
  if (auto own = options.own_folder ? own_workers() : std::nullopt) settings.folders.push_back(*std::move(own));
  return settings;
}

fs::path own_file(const std::string& name) {
  const auto workers = own_workers();
  return workers ? (workers->parent_path() / name).lexically_normal() : fs::path();
}

}  // namespace onnxkit::tools
