#include "onnxkit/check.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <thread>

#include "libonnxkit/base/system/atomic_file.h"
#include "onnxkit/fix.h"
#include "tools/command.h"
#include "tools/in_order.h"
#include "tools/model_file.h"
#include "tools/options/baseline.h"
#include "tools/options/inference.h"
#include "tools/options/list.h"
#include "tools/options/models.h"
#include "tools/options/output.h"
#include "tools/progress.h"
#include "tools/report/check.h"
#include "tools/report/diagnostics.h"

namespace onnxkit::tools {
namespace {

struct CheckArguments {
  std::vector<std::string> models;
  std::vector<std::string> suppress, suppress_nodes;
  std::vector<std::string> targets;
  std::string explain;
  std::string output_model;
  std::size_t jobs = 0;
  bool fix = false;
  bool strict = false;
  bool statistics = false;
  std::string baseline, new_baseline;
  Notes notes = Notes::usual;
  InferenceOptions inference;
  OutputOptions output;
  CheckOptions check;
};

ErrorReporter reporter(const CheckArguments& arguments) { return {"check", arguments.output.format == Format::json}; }

/// Fixes the model and writes it; what is left to find is found by the check that follows.
std::optional<Error> fix_model(Model& model, const CheckArguments& arguments, FileReport& report) {
  auto fixed = fix(model, {.context = arguments.check.context});
  if (!fixed) return fixed.error();
  report.fixes = *std::move(fixed);
  SaveOptions options;
  options.allow_outside_data = arguments.check.allow_outside_data;
  auto saved = save_model(model, arguments.output_model, options);
  if (!saved) return saved.error();
  report.saved = *std::move(saved);
  return std::nullopt;
}

std::optional<Error> set_dims(Model& model, const CheckArguments& arguments, CheckOptions& options) {
  auto dims = declare_dims(model, arguments.inference.dims, DeclaredSizes::keep);
  if (!dims) return dims.error();
  options.dims = *std::move(dims);
  return std::nullopt;
}

FileReport check_file(const ModelInput& input, const CheckArguments& arguments) {
  FileReport report;
  report.path = input.path;
  if (input.fault) {
    report.unreadable = input.fault;
    return report;
  }
  auto model = open_model(input.path);
  if (!model) {
    report.unreadable = model.error().diagnostic;
    return report;
  }
  CheckOptions options = arguments.check;
  Model declared = *model;  // what --fix writes has the sizes that the file declares
  if (auto fault = set_dims(declared, arguments, options)) return report.refused = std::move(fault), report;
  report.unknown_dims = unknown_dimensions(declared, options.dims);
  if (arguments.fix && !report.unknown_dims.empty()) return report;
  if (arguments.fix) {
    report.refused = fix_model(*model, arguments, report);
    if (report.refused) return report;
    declared = *model;
    report.refused = set_dims(declared, arguments, options);
  }
  if (report.refused) return report;
  auto findings = check(declared, options);
  if (!findings)
    report.refused = findings.error();
  else
    report.findings = *std::move(findings);
  if (!arguments.baseline.empty() || !arguments.new_baseline.empty())
    report.places = places_by_name(declared, report.findings.diagnostics);
  for (Diagnostic& finding : report.findings.diagnostics)
    if (finding.location.file.empty()) finding.location.file = input.path == "-" ? standard_input_name : input.path;
  return report;
}

Outcome outcome_of(const CheckTotals& totals, bool strict) {
  if (totals.unreadable > 0) return Outcome::failure;
  return totals.errors > 0 || (strict && totals.warnings > 0) ? Outcome::finding : Outcome::ok;
}

/// Names of --dim that no model has: misspelt ones, which would leave the sizes open that were meant.
class MisspeltDims {
 public:
  void add(const FileReport& report) {
    if (!report.unreadable) ++read_;
    may_be_elsewhere_ = may_be_elsewhere_ || report.unreadable;
    for (const auto& [name, error] : report.unknown_dims) {
      auto& [count, shown] = lacking_.try_emplace(name, 0, error).first->second;
      ++count;
      // Of many models, one with a name to propose has the better answer.
      if (shown.diagnostic.help.empty()) shown = error;
    }
  }
  std::optional<Error> error() const {
    for (const auto& [name, lack] : lacking_) {
      if (may_be_elsewhere_ || lack.first < read_) continue;
      Error error = lack.second;
      if (read_ > 1) error.diagnostic.message = "no model has a dimension " + quote(name);
      return error;
    }
    return std::nullopt;
  }

 private:
  std::size_t read_ = 0;
  bool may_be_elsewhere_ = false;                                 ///< in a model that could not be read
  std::map<std::string, std::pair<std::size_t, Error>> lacking_;  ///< in how many models, and what to say
};

/// What --baseline knows and what --write-baseline is to know. Findings that are written count as known.
class Baselines {
 public:
  Result<void> read(const CheckArguments& arguments) {
    writes_ = !arguments.new_baseline.empty();
    reads_ = !arguments.baseline.empty();
    if (!reads_) return {};
    auto known = Baseline::read(arguments.baseline);
    if (known) known_ = *std::move(known);
    return known ? Result<void>() : known.error();
  }
  void apply(FileReport& report) {
    Baseline own;
    if (writes_) {
      new_.add(report.path, report.findings, report.places);
      own.add(report.path, report.findings, report.places);
    }
    if (writes_ || reads_)
      report.known = (writes_ ? own : known_).take_from(report.path, report.findings, report.places);
    report.has_baseline = reads_;
  }
  Result<void> write(const std::string& path) const {
    return writes_ ? replace_file(path, new_.json()) : Result<void>();
  }

 private:
  Baseline known_, new_;
  bool writes_ = false, reads_ = false;
};

/// Text goes out file by file; the other formats need all reports first.
Outcome check_files(const CheckArguments& arguments) {
  const std::vector<ModelInput> inputs = expand_models(arguments.models);
  const bool is_text = arguments.output.format == Format::text;
  const bool color = color_on(arguments.output.color, stdout);
  const std::size_t jobs = arguments.jobs ? arguments.jobs : std::max(1u, std::thread::hardware_concurrency());
  std::vector<FileReport> reports(inputs.size());
  CheckTotals totals;
  MisspeltDims misspelt;
  Baselines baselines;
  if (const auto read = baselines.read(arguments); !read) return reporter(arguments)(read.error());
  std::optional<Error> refused;
  {
    Progress progress("checking", inputs.size(), arguments.notes);
    const auto work = [&](std::size_t i) {
      progress.start(inputs[i].path);
      reports[i] = check_file(inputs[i], arguments);
      progress.advance();
    };
    in_order(inputs.size(), jobs, work, [&](std::size_t i) {
      refused = reports[i].refused;
      misspelt.add(reports[i]);
      if (!refused && i + 1 == inputs.size()) refused = misspelt.error();
      baselines.apply(reports[i]);
      totals.add(reports[i]);
      if (const std::string text = saved_text(reports[i].saved); !text.empty())
        progress.while_hidden([&] { note(arguments.notes, text); });
      if (arguments.statistics && !reports[i].unreadable) return !refused;
      if (!is_text || refused) return !refused;
      if (const std::string text = check_text(reports[i], color); !text.empty())
        progress.while_hidden([&text] { std::fputs(text.c_str(), stdout), std::fflush(stdout); });
      reports[i] = {};
      return true;
    });
  }
  if (refused) return reporter(arguments)(*refused);
  if (const auto written = baselines.write(arguments.new_baseline); !written)
    return reporter(arguments)(written.error());
  if (is_text && arguments.statistics) std::fputs(check_statistics(totals).c_str(), stdout);
  const Outcome outcome = outcome_of(totals, arguments.strict);
  if (arguments.output.format == Format::json) std::fputs(check_json(reports, totals, outcome).c_str(), stdout);
  if (arguments.output.format == Format::sarif)
    std::fputs(check_sarif(reports, totals, arguments.check.suppress, outcome).c_str(), stdout);
  std::fflush(stdout);
  note(arguments.notes, check_summary(totals) + "\n");
  return outcome;
}

Outcome explain(const CLI::App& command, const std::string& code) {
  std::vector<std::string> codes;
  for (const CodeExplanation& page : explain_codes()) {
    if (code == "all")
      std::printf("%-24s %s\n", page.code.c_str(), page.summary.c_str());
    else if (code == page.code)
      return std::fputs(page.text.c_str(), stdout), Outcome::ok;
    codes.push_back(page.code);
  }
  if (code == "all") return Outcome::ok;
  return usage_error(command, "unknown code " + quote(code) + did_you_mean(code, codes));
}

/// What is wrong with --suppress or --suppress-node; empty when nothing is.
std::string read_suppressions(CheckArguments& arguments) {
  std::vector<std::string> codes;
  for (const CodeExplanation& page : explain_codes()) codes.push_back(page.code);
  const auto fault_of = [&](const std::string& option, const std::string& code) {
    const bool is_known = std::find(codes.begin(), codes.end(), code) != codes.end();
    return is_known ? std::string() : option + ": unknown code " + quote(code) + did_you_mean(code, codes);
  };
  for (const std::string& code : arguments.suppress) {
    if (std::string fault = fault_of("--suppress", code); !fault.empty()) return fault;
  }
  arguments.check.suppress = {arguments.suppress.begin(), arguments.suppress.end()};
  for (const std::string& word : arguments.suppress_nodes) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals + 1 == word.size())
      return "--suppress-node must be CODE=NODE, not " + quote(word);
    const std::string code = word.substr(0, equals);
    if (std::string fault = code == "*" ? "" : fault_of("--suppress-node", code); !fault.empty()) return fault;
    arguments.check.suppress_nodes.push_back({.node = word.substr(equals + 1), .code = code});
  }
  return {};
}

Outcome run_check(const CLI::App& command, CheckArguments& arguments) {
  if (!arguments.explain.empty()) return explain(command, arguments.explain);
  if (arguments.models.empty()) return usage_error(command, "MODEL is required");
  if (std::count(arguments.models.begin(), arguments.models.end(), "-") > 1)
    return usage_error(command, "standard input can only be read once");
  if (arguments.fix && expand_models(arguments.models).size() != 1)
    return usage_error(command, "--fix takes one model at a time");
  if (arguments.output_model == "-")
    return usage_error(command, "--output: standard output is used for the report; name a file");
  if (arguments.fix) {
    if (const auto fits = check_model_output(arguments.output_model, arguments.models.front()); !fits)
      return reporter(arguments)(fits.error());
  }
  if (const std::string fault = read_suppressions(arguments); !fault.empty()) return usage_error(command, fault);
  arguments.check.targets = arguments.targets;
  auto context = Context::make({.schemas = arguments.inference.schemas});
  if (!context) return reporter(arguments)(context.error());
  arguments.check.context = *std::move(context);
  return check_files(arguments);
}

void add_what_to_check(CLI::App& command, CheckArguments& arguments) {
  add_list(command, "--target", arguments.targets,
           "Also report what prevents the models from running on this target (docs/targets.md); may be repeated")
      ->type_name("TARGET[@VERSION],...");
  add_inference(command, arguments.inference);
  command.add_flag("--inspect-weights", arguments.check.inspect_weights,
                   "Also check the weights for NaN, infinities and denormals");
  command.add_flag("--allow-outside-data", arguments.check.allow_outside_data,
                   "Allow external data outside the model's folder");
  command.add_flag("--verify-checksums", arguments.check.verify_checksums,
                   "Compare external data with its SHA1 checksums");
  command.add_option("--jobs,-j", arguments.jobs, "Models to check in parallel; default: one per core")
      ->type_name("N")
      ->check(CLI::Range(1, 4096).description(""));
}

void add_fix(CLI::App& command, CheckArguments& arguments) {
  auto* fix =
      command.add_flag("--fix", arguments.fix,
                       "Fix what is safe to fix: node order, names that hide others, stale shapes, a missing import");
  auto* output = command.add_option("--output,-o", arguments.output_model, "File that --fix writes; may be MODEL")
                     ->type_name("FILE");
  fix->needs(output);
  output->needs(fix);
}

void add_what_to_report(CLI::App& command, CheckArguments& arguments) {
  add_list(command, "--suppress", arguments.suppress, "Codes to suppress; may be repeated")
      ->type_name("CODE,...")
      ->group("Output");
  command
      .add_option(
          "--suppress-node", arguments.suppress_nodes,
          "Code to suppress at the nodes of this name, which may have wildcards; CODE * for all; may be repeated")
      ->type_name("CODE=NODE")
      ->allow_extra_args(false)
      ->group("Output");
  command.add_flag("--strict", arguments.strict, "Exit with status 1 on warnings, too")->group("Output");
  add_output(command, arguments.output, {Format::text, Format::json, Format::sarif});
  add_notes(command, arguments.notes);
  command.add_flag("--statistics", arguments.statistics, "Print how often each code occurs instead of the findings")
      ->group("Output");
  auto* known =
      command.add_option("--baseline", arguments.baseline, "Do not report or count the findings that this file lists")
          ->type_name("FILE")
          ->group("Output");
  command
      .add_option("--write-baseline", arguments.new_baseline,
                  "Write all findings to this file, for --baseline; they do not count")
      ->type_name("FILE")
      ->group("Output")
      ->excludes(known);
  command.add_option("--explain", arguments.explain, "Explain a code, or list all codes")
      ->type_name("CODE|all")
      ->group("Output");
}

}  // namespace

void register_check(CommandList& list) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = list.app().add_subcommand("check", "Report all errors in models");
  add_models(*command, arguments->models);
  add_what_to_check(*command, *arguments);
  add_fix(*command, *arguments);
  add_what_to_report(*command, *arguments);
  command->footer(
      "Exit status: 0 no error found, 1 errors found, 2 wrong usage, 3 a model could not be read.\n"
      "Examples:\n"
      "  onnxkit check model.onnx                               all errors in a model\n"
      "  onnxkit check models/ --suppress unused-node           all models of a folder\n"
      "  onnxkit check model.onnx --target onnxruntime@1.31     does this target support it?\n"
      "  onnxkit check model.onnx --fix -o fixed.onnx           fix what is safe to fix\n"
      "  onnxkit check models/ --format sarif > models.sarif    for code scanning in CI\n"
      "  onnxkit check --explain shape-mismatch                 what a code means");
  list.add(command, [command, arguments] { return run_check(*command, *arguments); });
}

}  // namespace onnxkit::tools
