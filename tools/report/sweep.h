#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "onnxkit/result.h"
#include "tools/report/json.h"

// One command on many models (docs/sweep.md).
namespace onnxkit::tools {

enum class SweepOutcome : std::uint8_t {
  ok,       ///< exit status 0
  finding,  ///< 1
  failed,   ///< 2 and more, or it could not be started
  crashed,  ///< ended by a signal
  late,     ///< its time was up
};
std::string name_of(SweepOutcome outcome);

/// What became of one model.
struct SweepResult {
  std::string model;        ///< as named
  std::string model_state;  ///< changes when the model does; empty where that is not known
  SweepOutcome outcome = SweepOutcome::ok;
  std::optional<int> status;  ///< nothing after a signal
  std::string signal;
  double seconds = 0, cpu_seconds = 0;
  std::uint64_t peak_bytes = 0;
  std::string host;              ///< where it ran, unless that is here
  Json report = nullptr;         ///< what the command printed as JSON
  std::string output, messages;  ///< what it printed otherwise, and to standard error
  bool is_kept = false;          ///< of an earlier sweep
};

struct SweepReport {
  std::vector<std::string> command;  ///< words, without the model
  std::vector<SweepResult> results;  ///< in the order of models
  std::size_t left = 0;              ///< models that were not begun or not finished, since the sweep ended early
  std::optional<Error> failure;      ///< why it did, unless it was stopped: of Ray, or of the file that keeps results
};

/// What the report of a model found: codes of errors and verdicts that are findings, each once; a signal, or what kept it from running.
std::vector<std::string> findings_of(const SweepResult& result);

std::string sweep_text(const SweepReport& sweep, bool color);
std::string sweep_json(const SweepReport& sweep);
std::string sweep_csv(const SweepReport& sweep);

/// One result in one line, as the file of --resume has them.
std::string result_line(const SweepResult& result, const std::vector<std::string>& command);
struct StoredResult {
  SweepResult result;
  std::vector<std::string> command;
  std::string version;  ///< of onnxkit
};
/// The way back. Errors: json-syntax, not-supported.
Result<StoredResult> result_in(const std::string& line, const std::string& path, std::size_t line_number);

}  // namespace onnxkit::tools
