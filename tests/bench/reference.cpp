// Times the reference executor on a model, on one thread, with random inputs.
//   bench_reference [--nodes] [--repeats N] MODEL
// Prints the least CPU time and the least wall time of a run in milliseconds; --nodes adds what each operator took in the last run.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/base/mapped_file.h"
#include "libonnxkit/exec/generate.h"
#include "libonnxkit/wire/external_data.h"
#include "libonnxkit/wire/reader.h"
#include "reference/backend.h"

using namespace onnxkit;

namespace {

double seconds_of(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  std::string path;
  int repeats = 3;
  bool nodes = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--nodes")
      nodes = true;
    else if (word == "--repeats" && i + 1 < argc)
      repeats = std::atoi(argv[++i]);
    else
      path = word;
  }
  const auto fail = [](const Error& error) {
    fmt::print(stderr, "{} {}: {}\n", error.diagnostic.code, error.diagnostic.place.path(), error.diagnostic.message);
    return 1;
  };
  const auto file = MappedFile::open(path);
  if (!file) return fail(file.error());
  auto model = wire::read_binary(*file);
  if (!model) return fail(model.error());
  model->path = path;
  wire::ExternalData external(model->path);
  const reference::ReferenceBackend backend;
  const spec::OpTable table;
  const auto session = backend.prepare(
      *model, table, {.external_bytes = [&external](const ir::Tensor& tensor) { return external.bytes(tensor); }});
  if (!session) return fail(session.error());
  const auto generated = exec::generate_inputs(*model, table, {}, {});
  if (!generated) return fail(generated.error());
  std::vector<Value> inputs;
  for (const exec::GeneratedInput& input : *generated) inputs.push_back(input.value);

  std::map<std::string, double> took;
  exec::RunOptions options;
  options.threads = 1;
  double cpu = 1e9, wall = 1e9;
  for (int turn = 0; turn < repeats; ++turn) {
    if (nodes && turn + 1 == repeats) {
      options.on_node = [&](const exec::NodeEvent& event) {
        took[std::string(event.graph->nodes[event.node].op_type.view())] +=
            std::chrono::duration<double>(event.wall).count();
      };
    }
    const double cpu_start = seconds_of(CLOCK_PROCESS_CPUTIME_ID), wall_start = seconds_of(CLOCK_MONOTONIC);
    const auto outputs = (*session)->run(inputs, options);
    if (!outputs) return fail(outputs.error());
    cpu = std::min(cpu, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_start);
    wall = std::min(wall, seconds_of(CLOCK_MONOTONIC) - wall_start);
  }
  fmt::print("{:.2f} {:.2f}\n", 1e3 * cpu, 1e3 * wall);
  for (const auto& [op, seconds] : took) fmt::print("{:>10.2f} ms  {}\n", 1e3 * seconds, op);
}
