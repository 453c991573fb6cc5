// Times the reference executor on a model with random inputs.
//   bench_reference [--keep] [--nodes] [--floor] [--threads N] [--repeats N] MODEL
// Prints the least CPU time and the least wall time of a run in milliseconds, on one thread unless told; --nodes adds what each operator took in the
// last run. --keep: the session keeps constants from run to run. --floor: the medians of the time of a run and of the float32 noise floor, by turns,
// and how many runs the floor takes; first in CPU time, then in wall time.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/inputs/generate.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/external/external_data.h"
#include "reference/executor/executor.h"
#include "tests/bench/measure.h"

using namespace onnxkit;
using namespace onnxkit::bench;

namespace {

struct Arguments {
  std::string path;
  int repeats = 3, threads = 1;
  std::uint64_t kept = 0;
  bool nodes = false, floor = false;
};

Arguments read(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--nodes")
      arguments.nodes = true;
    else if (word == "--floor")
      arguments.floor = true;
    else if (word == "--repeats" && i + 1 < argc)
      arguments.repeats = std::atoi(argv[++i]);
    else if (word == "--threads" && i + 1 < argc)
      arguments.threads = std::atoi(argv[++i]);
    else if (word == "--keep")
      arguments.kept = exec::usual_kept_bytes;
    else
      arguments.path = word;
  }
  return arguments;
}

/// A model ready to run, with inputs made up for it.
struct Prepared {
  const ir::Model& model;
  const Arguments& arguments;
  spec::OpTable table = {};
  wire::ExternalData external{model.path};
  std::vector<Value> inputs = {};

  reference::ExecutorOptions options(std::uint64_t kept_bytes) {
    return {.external_bytes = [this](const ir::Tensor& tensor) { return external.bytes(tensor); },
            .kept_bytes = kept_bytes};
  }

  Result<void> make_inputs() {
    const auto generated = inputs::generate_inputs(model, table, {}, {});
    if (!generated) return generated.error();
    for (const inputs::GeneratedInput& input : generated->inputs) inputs.push_back(input.value);
    return {};
  }

  Result<void> time_runs() {
    const auto session = reference::Executor::make(model, table, options(arguments.kept));
    if (!session) return session.error();
    std::map<std::string, double> took;
    reference::RunOptions run;
    run.threads = arguments.threads;
    double cpu = 1e9, wall = 1e9;
    for (int turn = 0; turn < arguments.repeats; ++turn) {
      if (arguments.nodes && turn + 1 == arguments.repeats) {
        run.on_node = [&](const exec::NodeEvent& event) {
          took[std::string(event.graph->nodes[event.node].op_type.view())] +=
              std::chrono::duration<double>(event.wall).count();
        };
      }
      const double cpu_start = seconds_of(CLOCK_PROCESS_CPUTIME_ID), wall_start = seconds_of(CLOCK_MONOTONIC);
      const auto outputs = (*session)->run(inputs, run);
      if (!outputs) return outputs.error();
      cpu = std::min(cpu, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_start);
      wall = std::min(wall, seconds_of(CLOCK_MONOTONIC) - wall_start);
    }
    fmt::print("{:.2f} {:.2f}\n", 1e3 * cpu, 1e3 * wall);
    for (const auto& [op, seconds] : took) fmt::print("{:>10.2f} ms  {}\n", 1e3 * seconds, op);
    return {};
  }

  Result<void> time_floor() {
    const auto session = reference::Executor::make(model, table, options(arguments.kept));
    if (!session) return session.error();
    const exec::PerturbedOptions floor;
    reference::RunOptions run;
    run.threads = arguments.threads;
    for (const clockid_t clock : {CLOCK_PROCESS_CPUTIME_ID, CLOCK_MONOTONIC}) {
      std::vector<double> runs, floors;
      for (int turn = 0; turn < arguments.repeats; ++turn) {
        const double start = seconds_of(clock);
        if (const auto outputs = (*session)->run(inputs, run); !outputs) return outputs.error();
        const double between = seconds_of(clock);
        if (const auto spreads = (*session)->run_perturbed(inputs, floor, run); !spreads) return spreads.error();
        runs.push_back(between - start);
        floors.push_back(seconds_of(clock) - between);
      }
      fmt::print("{:.2f} {:.2f} {:.2f}\n", 1e3 * median(runs), 1e3 * median(floors), median(floors) / median(runs));
    }
    return {};
  }
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = read(argc, argv);
  const auto fail = [](const Error& error) {
    fmt::print(stderr, "{} {}: {}\n", error.diagnostic.code, error.diagnostic.location.path(),
               error.diagnostic.message);
    return 1;
  };
  const auto file = MappedFile::open(arguments.path);
  if (!file) return fail(file.error());
  auto model = wire::read_binary(*file);
  if (!model) return fail(model.error());
  model->path = arguments.path;
  Prepared prepared{*model, arguments};
  if (const auto made = prepared.make_inputs(); !made) return fail(made.error());
  const auto done = arguments.floor ? prepared.time_floor() : prepared.time_runs();
  return done ? 0 : fail(done.error());
}
