// Times what a worker adds to the runs of its runtime.
//   bench_worker FOLDER PYTHON NAME MODEL REQUESTS [OPTION=VALUE]...
// Runs the model on zeros in REQUESTS requests of one run each. Prints the least in milliseconds of the CPU time of a run and of its wall time, as the
// worker measures them, and of what a request takes longer than its run: tensors sent and read, messages.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "libonnxkit/base/dtype/dtype.h"
#include "libonnxkit/workers/worker.h"
#include "tests/bench/measure.h"

using namespace onnxkit;
using namespace onnxkit::bench;

namespace {

std::vector<NamedValue> zeros(const workers::LoadedModel& model) {
  std::vector<NamedValue> inputs;
  for (const exec::ValueDesc& input : model.inputs) {
    if (input.optional) continue;
    std::vector<std::int64_t> dims = input.dims;
    std::int64_t count = 1;
    for (std::int64_t& dim : dims) count *= dim = std::max<std::int64_t>(1, dim);
    inputs.push_back(
        {input.name, *Tensor::from_bytes(input.type, dims, std::vector<std::byte>(*packed_size(input.type, count)))});
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  const std::vector<std::filesystem::path> folders = {argv[1]};
  std::map<std::string, std::string> settings;
  for (int i = 6; i < argc; ++i) {
    const std::string word = argv[i];
    settings[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  for (const workers::WorkerProgram& program : workers::find_workers(folders, argv[2])) {
    if (program.name != argv[3]) continue;
    const auto worker = must(workers::Worker::start(program, {}));
    const workers::LoadedModel model = must(worker->load(argv[4], "onnx", settings));
    const std::vector<NamedValue> inputs = zeros(model);
    double cpu = 1e9, wall = 1e9, added = 1e9;
    workers::WorkerRequest request;
    request.model = model.id;
    request.inputs = inputs;
    for (int i = -3; i < std::atoi(argv[5]); ++i) {
      const auto start = std::chrono::steady_clock::now();
      const exec::RunAnswer run = must(worker->run(request));
      const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (i < 0) continue;
      const exec::RunSample& sample = run.samples.back();
      cpu = std::min(cpu, sample.cpu.value_or(sample.wall));
      wall = std::min(wall, sample.wall);
      added = std::min(added, took - sample.wall);
    }
    fmt::print("{:.3f} {:.3f} {:.3f}\n", 1e3 * cpu, 1e3 * wall, 1e3 * added);
    return 0;
  }
  fmt::print(stderr, "there is no worker {}\n", argv[3]);
  return 1;
}
