#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/diff.h"
#include "onnxkit/export.h"
#include "onnxkit/limits.h"
#include "onnxkit/result.h"

// How long models take on backends, compared so that the figures can be relied on (docs/bench.md). Times are in seconds.
namespace onnxkit {

struct Interval {
  double low = 0, high = 0;
};

/// Of all measured runs of a side.
struct Latency {
  std::size_t runs = 0;
  double median = 0;        ///< of the medians of the rounds
  double p90 = 0, p99 = 0;  ///< of all runs; each round counts the same, however many it has
  double fastest = 0;
  /// Where the median lies with 95 %; nothing for too few rounds.
  std::optional<Interval> interval = {};
};

/// How much longer a side takes than the first: below 1 it is faster.
struct Ratio {
  double value = 1;
  Interval interval = {};  ///< bootstrap over rounds, 99.99 %
  /// The interval leaves out everything within 1 % of 1: the two differ. Else no difference can be told.
  bool differs = false;
};

struct BenchOptions {
  Context context = {};
  Limits limits = {};            ///< threads and memory of backends in this process
  double precision_goal = 0.02;  ///< half of the interval of each median and ratio, as a share of it
  double max_seconds = 30;       ///< of measuring, warm-up included; the runs at hand are finished
  std::size_t min_rounds = 10;
  std::size_t max_rounds = 10'000;
  bool profiles =
      false;  ///< the time of each node or step is taken as well, in runs of their own behind the measured ones
  bool keeps_runs = false;  ///< every run in the report, not only some of each round
  bool judges = true;       ///< the outputs of measured runs are compared with the reference by the noise floor
  std::uint64_t seed = 0;   ///< of the order of sides, the bootstrap, and the noise
  bool allow_outside_data = false;
  std::stop_token stop = {};
  std::function<void(std::string_view step)> on_step = {};  ///< for progress; told of every tenth round
  /// How often every side is started anew, each time for an equal share of the rounds: where a process lies and which processor it keeps to change its
  /// speed for as long as it lives. Fewer where loading again would take more than half of max_seconds.
  std::size_t most_starts = 4;
};

/// Runs that were measured one behind the other, between those of other sides.
using BenchRound = std::vector<RunTime>;

/// A part of a run: a node, nodes that the backend fused, or work that it added.
struct BenchStep {
  std::string name, op;              ///< in the backend's words
  std::vector<std::string> nodes;    ///< of the model that it computes, as far as that can be told
  double seconds = 0;                ///< median over the profiled runs, without steps inside it
  double start = 0, last = 0;        ///< when it began in the last profiled run, and its seconds there
  std::uint64_t calls = 1;           ///< in one run
  std::optional<double> operations;  ///< multiplications and additions; nothing where they are not known
  std::optional<double> bytes;       ///< that it has to read and write
  std::optional<double> floor;       ///< seconds that it would take at the machine's peak
};

/// What the machine reaches at most, by a short measurement: products and sums of float32 in registers, and a copy in memory.
struct BenchRoof {
  double operations_per_second = 0, bytes_per_second = 0;
  int threads = 0;
};

struct BenchProfile {
  double seconds = 0;  ///< of a whole run, median; slower than others, since the backend keeps notes
  std::size_t runs = 0;
  std::string device;             ///< where the steps ran
  std::optional<BenchRoof> roof;  ///< of the threads that the side may use, where it ran on the processor
  std::vector<BenchStep> steps;
};

struct BenchSideReport {
  std::string label, backend, version, device, arithmetic, model;
  std::map<std::string, std::string> options;
  std::optional<Error> failure;
  std::string failed_at;  ///< "start", "load", "run"
  double load_seconds = 0;
  double first_seconds = 0;  ///< the first run, when nothing is warm
  std::size_t warmups = 0;   ///< unmeasured runs, the first included
  bool stationary = false;   ///< the warm-up of every start ended because times no longer changed
  /// Of a round of more than 21 runs those at evenly spaced ranks, from the fastest by the median to the slowest, unless BenchOptions::keeps_runs; the
  /// figures below are of all runs.
  std::vector<BenchRound> rounds;
  Latency wall;
  /// Of the whole process, in the mean of each round: the system counts threads that wait awake on other processors at its ticks only, some
  /// milliseconds apart, so single runs tell nothing.
  std::optional<Latency> cpu;
  std::optional<Latency> on_device;         ///< of the work on a GPU, without copies from and to the host
  std::optional<Ratio> ratio, cpu_ratio;    ///< to the first side that ran
  std::optional<std::uint64_t> peak_bytes;  ///< largest resident size of its process, where it has one
  /// Of a side in our own process: how far that grew at most from before it was loaded to the end of its first run.
  std::optional<std::uint64_t> grown_bytes;
  std::optional<std::uint64_t> device_bytes;  ///< the most memory of a GPU that it held, as far as it tells
  std::optional<Verdict> verdict;             ///< of its outputs; nothing when they were not judged
  std::optional<Profile> rounding;            ///< with the verdict rounding: the coarsest that one of its outputs needs
  std::string why;                            ///< of the verdict, or why there is none
  std::vector<std::string> warnings;    ///< of loading it and of what it was given: "computes in bf16 on this device"
  std::vector<std::string> notes;       ///< what ran elsewhere than meant: "Unique runs on the reference: ..."
  std::optional<BenchProfile> profile;  ///< with BenchOptions::profiles, where the backend tells
  std::string unprofiled;               ///< why there is none
};

/// An input that was measured with.
struct BenchInput {
  std::string name, type;  ///< "x", "float[1, 3, 224, 224]"
  friend bool operator==(const BenchInput&, const BenchInput&) = default;
};
/// Those that have a value.
ONNXKIT_API std::vector<BenchInput> bench_inputs(const InputSet& inputs);

struct BenchReport {
  std::vector<BenchSideReport> sides;
  std::string inputs;  ///< how they were made
  std::vector<BenchInput> input_types;
  std::string processor;
  int processors = 0;
  std::uint64_t memory_bytes = 0;
  std::vector<std::string> warnings;  ///< what disturbed the measurement
  /// Some of them say that others took processors away: wall time is longer than the work takes.
  bool lost_processors = false;
  double seconds = 0;  ///< spent on measuring
  bool reached_goal = false;
  bool cancelled = false;  ///< ended by BenchOptions::stop: what was finished before
  std::size_t starts = 1;  ///< of every side
};

/// The processor and memory of this machine, as reports name them.
struct BenchMachine {
  std::string processor;
  int processors = 0;  ///< that this process may use
  std::uint64_t memory_bytes = 0;
};
ONNXKIT_API BenchMachine bench_machine();

/// Changes when the model of the side does: a hash of its file, or of a large file, a folder and external data that of sizes and times of change.
/// Empty where nothing can be told.
ONNXKIT_API std::string model_state(const DiffSide& side);
/// Changes when a value of the inputs does.
ONNXKIT_API std::string inputs_state(const InputSet& inputs);

/// Runs every side on the inputs, round by round in random order, until the figures are as precise as asked for. A side that cannot be started, loaded
/// or run is reported as such and the others stand. Errors: no side, cancelled before anything was measured.
ONNXKIT_API Result<BenchReport> bench(const std::vector<DiffSide>& sides, const InputSet& inputs,
                                      const BenchOptions& options = {});

/// How much longer rounds take than others that were measured at another time: of two sides that never ran beside each other. Nothing for fewer
/// than 6 of either.
ONNXKIT_API std::optional<Ratio> change_of(const std::vector<BenchRound>& after, const std::vector<BenchRound>& before,
                                           std::uint64_t seed);
/// Whether the intervals of all medians and ratios are as narrow as BenchOptions::precision_goal asks.
ONNXKIT_API bool is_as_precise(const BenchReport& report, double precision_goal);
/// The figures of a side from its rounds, and its ratios to the rounds of another: for reports that were stored.
ONNXKIT_API void summarize(BenchSideReport& side, const std::vector<BenchRound>& base, std::uint64_t seed);

}  // namespace onnxkit
