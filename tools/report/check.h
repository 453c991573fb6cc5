#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "onnxkit/check.h"
#include "onnxkit/fix.h"
#include "tools/command.h"

namespace onnxkit::tools {

/// What `check` found in one file.
struct FileReport {
  std::string path;
  /// Why there was nothing to check; `findings` is empty then.
  std::optional<Diagnostic> unreadable;
  CheckReport findings;
  /// With --fix: what was fixed before the check.
  std::vector<Fix> fixes;
  SaveReport saved;
  /// Of --dim: what this model does not have.
  std::map<std::string, Error> unknown_dims;
  /// The place of each finding by names, for a baseline.
  std::vector<std::string> places;
  /// Findings of the baseline, which are not among `findings`.
  std::vector<Diagnostic> known;
  /// Whether the findings were held against a baseline, so that those left are new.
  bool has_baseline = false;
  /// Wrong options, or an output that could not be written; ends the command.
  std::optional<Error> refused;
};

struct CheckTotals {
  std::size_t files = 0, unreadable = 0, errors = 0, warnings = 0, infos = 0, suppressed = 0, dropped = 0, fixes = 0,
              known = 0;
  /// How many of each code, and how severe.
  std::map<std::pair<Severity, std::string>, std::size_t> codes;

  void add(const FileReport& report);
};

std::string check_text(const FileReport& report, bool color);

/// The codes of all findings with how often they occur, most frequent first.
std::string check_statistics(const CheckTotals& totals);

/// "3 files: 2 errors, 1 warning".
std::string check_summary(const CheckTotals& totals);

/// docs/json/check.schema.json
std::string check_json(std::span<const FileReport> reports, const CheckTotals& totals, Outcome outcome);

/// SARIF 2.1.0, one run over all files.
std::string check_sarif(std::span<const FileReport> reports, const CheckTotals& totals,
                        const std::set<std::string>& suppressed, Outcome outcome);

}  // namespace onnxkit::tools
