// Times a backend on inputs whose sizes change from run to run, as those of a decoder with a growing cache do.
//   bench_sizes MODEL INPUTS.npz...                      the backend cpu, on one thread: CPU time
//   bench_sizes --backend cuda MODEL INPUTS.npz...       wall time, and that of each first run
// Runs the model on each file in turn. Prints the medians in milliseconds of the first run with each file's sizes, for which a plan is made, and of the
// fastest of ten more.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/inputs/files/value_file.h"
#include "libonnxkit/wire/binary/reader.h"
#include "tests/bench/measure.h"

using namespace onnxkit;
using namespace onnxkit::bench;

int main(int argc, char** argv) {
  std::string name = "cpu";
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() > 1 && words[0] == "--backend") {
    name = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.size() < 2) {
    fmt::print(stderr, "bench_sizes [--backend NAME] MODEL INPUTS.npz...\n");
    return 2;
  }
  const auto clock = name == "cpu" ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  const std::string path = words[0];
  const auto file = must(MappedFile::open(path));
  const auto model = std::make_shared<const ir::Model>(must(wire::read_binary(file, path)));
  const auto backend = must(all_backends().find(name, {})).make({});
  exec::LoadOptions options;
  options.threads = 1;
  const auto session = must(backend->load({.model = model}, options));
  std::vector<double> first, again;
  for (std::size_t at = 1; at < words.size(); ++at) {
    exec::RunRequest request{.inputs = must(inputs::read_inputs(*model, words[at]))};
    const auto time = [&] {
      const double start = seconds_of(clock);
      must(session->run(request));
      return 1e3 * (seconds_of(clock) - start);
    };
    first.push_back(time());
    double fastest = time();
    for (int more = 1; more < 10; ++more) fastest = std::min(fastest, time());
    again.push_back(fastest);
  }
  fmt::print("{:.3f} {:.3f}\n", median(first), median(again));
  if (name != "cpu") fmt::print("{:.3f}\n", fmt::join(first, " "));
}
