#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "onnxkit/diff.h"
#include "tools/bench/arguments.h"

// What --resume holds, and what of it can be taken.
namespace onnxkit::tools {

/// What the inputs are, and how they were made, for a later --resume.
void describe_inputs(Benchmark& benchmark, const InputSet& inputs, const BenchOptions& options);

/// What a sweep has asked for once.
struct KnownOrigins {
  std::map<std::string, std::string> model_states, runtimes;  ///< by path, and by backend
};
/// The machine, and the states of models and versions of runtimes.
void describe_setting(Benchmark& benchmark, const std::vector<DiffSide>& sides, const Context& context,
                      KnownOrigins& known_origins);

struct StoredBenchmark {
  std::vector<Benchmark>::iterator at;  ///< the end where there is none
  bool is_up_to_date = false;           ///< the models and runtimes are what they were, as far as it tells
};

/// The stored measurement of these sides in this setting with these inputs on this machine.
StoredBenchmark find_stored(std::vector<Benchmark>& stored, const Benchmark& planned,
                            const std::vector<DiffSide>& sides);

/// The sides to measure again: none where all is there, those that failed where only they lack something, else all of them.
std::vector<std::size_t> missing_sides(const Benchmark& stored, const BenchArguments& arguments);

/// `stored` with the sides `which` from a later measurement of them. Their ratios are those of two measurements that were not made side by side, and
/// a warning says so.
Benchmark with_sides(const Benchmark& stored, const std::vector<std::size_t>& which, Benchmark later);

}  // namespace onnxkit::tools
