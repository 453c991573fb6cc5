#include "tools/options/limits.h"

#include <CLI/CLI.hpp>

#include "tools/options/bytes.h"
#include "tools/options/duration.h"
#include "tools/options/number.h"

namespace onnxkit::tools {

void add_limits(CLI::App& command, Limits& limits, const std::string& needed) {
  const auto belongs = [&](CLI::Option* option) {
    if (!needed.empty()) option->needs(needed);
  };
  belongs(add_bytes(command, "--memory-limit", limits.memory_bytes,
                    "Memory limit for values, such as 2GiB; default: no limit"));
  belongs(add_duration(command, "--time-limit", limits.time_ms, "Time limit of the run", ZeroDuration::means_no_limit));
  belongs(command.add_option("--iteration-limit", limits.iterations, "Iteration limit of loops; default: no limit")
              ->type_name("N")
              ->check(whole_number));
}

}  // namespace onnxkit::tools
