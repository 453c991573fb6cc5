// Times the backend `cpu` on inputs whose sizes change from run to run, as those of a decoder with a growing cache do.
//   bench_sizes MODEL INPUTS.npz...
// Runs the model on each file in turn, on one thread. Prints the medians in milliseconds of CPU time of the first run with each file's sizes, for which a
// plan is made, and of the fastest of ten more.
#include <fmt/core.h>

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
  if (argc < 3) {
    fmt::print(stderr, "bench_sizes MODEL INPUTS.npz...\n");
    return 2;
  }
  const std::string path = argv[1];
  const auto file = must(MappedFile::open(path));
  const auto model = std::make_shared<const ir::Model>(must(wire::read_binary(file, path)));
  const auto backend = must(all_backends().find("cpu", {})).make({});
  exec::LoadOptions options;
  options.threads = 1;
  const auto session = must(backend->load({.model = model}, options));
  std::vector<double> first, again;
  for (int at = 2; at < argc; ++at) {
    exec::RunRequest request{.inputs = must(inputs::read_inputs(*model, argv[at]))};
    const auto time = [&] {
      const double start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
      must(session->run(request));
      return 1e3 * (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start);
    };
    first.push_back(time());
    double fastest = time();
    for (int more = 1; more < 10; ++more) fastest = std::min(fastest, time());
    again.push_back(fastest);
  }
  fmt::print("{:.3f} {:.3f}\n", median(first), median(again));
}
