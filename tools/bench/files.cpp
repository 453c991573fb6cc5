#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "libonnxkit/base/system/atomic_file.h"
#include "onnxkit/diagnostic.h"
#include "tools/bench/arguments.h"
#include "tools/options/diff_files.h"

namespace onnxkit::tools {
namespace {

namespace fs = std::filesystem;

/// Where a file is or would be. A relative path of which nothing is there would stay as it is written.
fs::path place_of(const fs::path& path) {
  std::error_code fault;
  return fs::weakly_canonical(fs::absolute(follow_links(path), fault), fault);
}

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code fault;
  return fs::equivalent(a, b, fault) || place_of(a) == place_of(b);
}

/// Two options that would destroy what the other one writes or reads.
Result<void> check_apart(const BenchArguments& arguments) {
  const std::pair<const char*, const std::string*> files[] = {{"--report", &arguments.report},
                                                              {"--trace", &arguments.trace},
                                                              {"--resume", &arguments.resume},
                                                              {"--baseline", &arguments.baseline}};
  for (const auto& one : files) {
    for (const auto* other = &one + 1; other != std::end(files); ++other) {
      if (one.second->empty() || other->second->empty() || !is_same_file(*one.second, *other->second)) continue;
      return make_error("usage",
                        std::string(one.first) + " and " + other->first + " name the same file, " + quote(*one.second));
    }
  }
  return {};
}

/// A write of nothing tells whether a device takes any.
int fault_of_device(const fs::path& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return errno;
  const int fault = ::write(file, "", 0) < 0 ? errno : 0;
  ::close(file);
  return fault;
}

/// Whether it can be opened for writing; what is there stays.
Result<void> check_writable(const fs::path& path) {
  std::error_code fault;
  const fs::file_status status = fs::status(path, fault);
  if (fs::is_fifo(status) || fs::is_socket(status)) return {};  // opening one would be seen at its other end
  if (!fs::is_character_file(status)) {
    const auto file = AtomicFile::create(path);
    return file ? Result<void>() : file.error();
  }
  const int reason = fault_of_device(path);
  if (reason == 0) return {};
  Error error = make_error("cannot-write", std::string("cannot write: ") + std::strerror(reason));
  error.diagnostic.location.file = path.string();
  return error;
}

}  // namespace

Result<void> check_bench_files(const BenchArguments& arguments) {
  if (auto checked = check_apart(arguments); !checked) return checked;
  Result<void> checked;
  if (!arguments.report.empty()) checked = check_report(arguments.report);
  if (checked && !arguments.trace.empty()) checked = check_trace(arguments.trace);
  if (checked && !arguments.resume.empty()) checked = check_kept(arguments.resume);
  for (const std::string* path : {&arguments.report, &arguments.trace, &arguments.resume})
    if (checked && !path->empty()) checked = check_writable(*path);
  return checked;
}

Result<void> write_bench_files(const std::vector<Benchmark>& benchmarks, const BenchComparison* comparison,
                               const BenchArguments& arguments) {
  Result<void> report, trace;
  if (!arguments.report.empty()) report = replace_file(arguments.report, bench_html(benchmarks, comparison));
  if (!arguments.trace.empty()) trace = replace_file(arguments.trace, bench_trace(benchmarks));
  return report ? trace : report;
}

}  // namespace onnxkit::tools
