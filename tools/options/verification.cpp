#include "tools/options/verification.h"

#include <CLI/CLI.hpp>

#include "tools/options/bytes.h"
#include "tools/options/duration.h"

namespace onnxkit::tools {

void VerificationOptions::set(VerifyOptions& options) const {
  options.limits.threads = threads;
  options.limits.memory_bytes = memory_bytes;
  options.limits.time_ms = limit_ms;
}

void add_verification(CLI::App& command, VerificationOptions& options, const std::string& needed) {
  const auto belongs = [&](CLI::Option* option) {
    option->group("Verification");
    if (!needed.empty()) option->needs(needed);
    return option;
  };
  auto* none = belongs(command.add_flag("--no-verify", options.none, "Do not run both models"));
  belongs(command.add_flag("--verify", options.required,
                           "Write only if both models ran and agreed; without it a model that cannot be run is also "
                           "written"))
      ->excludes(none);
  belongs(add_duration(command, "--verify-limit", options.limit_ms, "Time limit of a run", ZeroDuration::refused));
  belongs(add_bytes(command, "--memory-limit", options.memory_bytes,
                    "Memory limit for the values of a run, such as 2GiB; default: 1GiB and four times the weights, at "
                    "most a quarter of the memory"));
  belongs(command.add_option("--threads", options.threads, "Threads of a run; 0 for all cores"))
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
}

}  // namespace onnxkit::tools
