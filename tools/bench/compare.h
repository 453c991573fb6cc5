#pragma once

#include <string>
#include <vector>

#include "tools/bench/arguments.h"

namespace CLI {
class App;
}

namespace onnxkit::tools {

/// What two reports have in common. Errors: not-supported where that is nothing.
Result<BenchComparison> compare_reports(const std::vector<Benchmark>& before, const std::vector<Benchmark>& after,
                                        double most);

/// Before anything is measured: whether the earlier report has one of the models in one of the settings. Error not-supported.
Result<void> check_baseline(const std::vector<Benchmark>& baseline, const BenchArguments& arguments);

/// The exit status that a printed comparison asks for; where nothing could be compared the reason goes to standard error.
Outcome finish_comparison(const BenchComparison& comparison);

/// --compare: prints what has changed from the first report to the second. `command` tells which options were given, since most make no sense here.
Outcome run_comparison(const BenchArguments& arguments, const CLI::App& command, double most);

}  // namespace onnxkit::tools
