#include "libonnxkit/exec/threads_option.h"

#include <charconv>

namespace onnxkit::exec {

OptionDesc describe_threads_option() {
  constexpr int most_threads = 1024;
  return {.help = "threads that share the work; 0: all cores", .fallback = "0", .values = {}, .most = most_threads};
}

int threads_of(const LoadOptions& options) {
  int threads = options.threads;
  if (const auto given = options.options.find(threads_option); given != options.options.end())
    std::from_chars(given->second.data(), given->second.data() + given->second.size(), threads);
  return threads;
}

}  // namespace onnxkit::exec
