#include "tools/convert_file.h"
#include "tools/actions/opset.h"
#include "tools/actions/sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "onnxkit/check.h"
#include "onnxkit/convert.h"
#include "onnxkit/infer.h"
#include "tools/interrupt.h"
#include "tools/model_file.h"
#include "tools/opset_command.h"
#include "tools/options/inference.h"
#include "tools/options/input_shape.h"
#include "tools/progress.h"
#include "tools/report/diagnostics.h"
#include "tools/report/explain.h"
#include "tools/report/weights.h"

namespace onnxkit::tools {
namespace {

namespace fs = std::filesystem;

/// Null when there is none.
std::optional<FormatInfo> format_named(const std::string& name) {
  for (const FormatInfo& known : known_formats())
    if (known.name == name) return known;
  return std::nullopt;
}

Error cannot_write(const std::string& output, const std::string& message) {
  Error error = make_error("cannot-write", message);
  error.diagnostic.location.file = output;
  return error;
}

/// The place of an output that may be named as a folder, with a slash behind.
fs::path place_of(const std::string& output) {
  const fs::path path(output);
  return path.has_filename() ? path : path.parent_path();
}

/// What keeps a folder from the place where one is to be, or stands in it already.
std::optional<Error> obstacle_to_folder(const fs::path& place, const ConvertArguments& arguments) {
  std::error_code status;
  if (!fs::exists(place, status) || fs::is_empty(place, status)) return std::nullopt;
  const bool is_model = fs::is_regular_file(place / "saved_model.pb", status);
  if (is_model && arguments.save.force) return std::nullopt;
  Error error = cannot_write(arguments.output, is_model ? "the folder holds a SavedModel already"
                                                        : "something else than a SavedModel has this name");
  if (is_model) error.diagnostic.help = "--force replaces it";
  return error;
}

/// The hidden file or folder gets its name. A folder that it replaces goes when the new one is in its place.
std::error_code take_place(const fs::path& hidden, const fs::path& output, bool is_folder) {
  std::error_code status, ignored;
  const bool replaces = is_folder && fs::is_directory(output, ignored);
  const fs::path old = hidden.parent_path() / (hidden.filename().string() + ".old");
  if (replaces) fs::rename(output, old, status);
  if (!status) fs::rename(hidden, output, status);
  if (replaces && status) fs::rename(old, output, ignored);
  if (replaces && !status) fs::remove_all(old, ignored);
  return status;
}

/// A file or folder under a name beside its place that no one looks for; gone at the end unless it is moved away.
class HiddenOutput {
 public:
  HiddenOutput(const fs::path& output, const FormatInfo& format)
      : path_(output.parent_path() / fmt::format(".{}-{}", ::getpid(), output.filename().string())),
        companion_(format.companion),
        is_folder_(format.is_folder) {
    std::error_code ignored;
    if (is_folder_ && output.has_parent_path() && fs::create_directories(output.parent_path(), ignored))
      parent_ = output.parent_path();
  }
  HiddenOutput(const HiddenOutput&) = delete;
  HiddenOutput& operator=(const HiddenOutput&) = delete;
  ~HiddenOutput() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    if (!companion_.empty()) fs::remove(beside(path_), ignored);
    if (!parent_.empty()) fs::remove(parent_, ignored);  // which fails when the output is in it
  }

  const fs::path& path() const { return path_; }
  Result<void> move_to(const fs::path& output) const {
    std::error_code status;
    if (!companion_.empty()) fs::rename(beside(path_), beside(output), status);
    if (!status) status = take_place(path_, output, is_folder_);
    if (!status) return {};
    return cannot_write(output.string(), status.message());
  }

 private:
  fs::path beside(fs::path file) const { return file.replace_extension(companion_); }

  fs::path path_;
  std::string companion_;
  bool is_folder_;
  fs::path parent_;  ///< that was made for it
};

/// The conversion of one file. Steps return whether the next one follows; what stops it is printed and kept in `file`.
class Conversion {
 public:
  Conversion(const ConvertArguments& arguments, ConvertedFile& file)
      : arguments_(arguments), file_(file), save_(save_options(arguments)) {}

  void run() {
    if (auto model = opened(); model && fits(*model) && prepared(*model)) write(*model);
  }

 private:
  // ---- what is said

  bool stop(const Error& error) {
    report_error(error);
    file_.error = error;
    return false;
  }
  bool wrong_usage(std::string fault) {
    file_.usage = std::move(fault);
    return false;
  }
  void print(Diagnostic finding) {
    if (finding.location.file.empty()) finding.location.file = arguments_.input;
    std::fputs(diagnostic_text(finding, color_on(arguments_.report.color, stderr)).c_str(), stderr);
  }
  bool refuse(const std::vector<Diagnostic>& findings) {
    for (const Diagnostic& finding : findings) {
      print(finding);
      file_.findings.push_back(finding);
    }
    return false;
  }
  bool refuse_unverified(const std::string& reason) {
    Diagnostic finding;
    finding.code = "not-verified";
    finding.location.file = arguments_.input;
    finding.message = reason;
    finding.help = "--no-verify writes the model nevertheless";
    return refuse({finding});
  }
  /// Of the file, where it is one of many.
  void remark(const std::string& text) const {
    note(arguments_.notes,
         fmt::format("onnxkit: {}{}\n", arguments_.is_one_of_many ? without_controls(arguments_.input) + ": " : "",
                     text));
  }

  /// What became of each node goes to standard output, unless the model or JSON goes there.
  void explain(const std::vector<NodeMapping>& nodes, const std::string& from, const std::string& to) const {
    if (nodes.empty() || arguments_.report.format == Format::json) return;
    std::fputs(mapping_table(nodes, from, to).c_str(), arguments_.output == "-" ? stderr : stdout);
  }

  // ---- reading

  std::optional<Model> opened() {
    ReadOptions read = arguments_.read;
    if (std::string fault = read_input_shapes(arguments_.input_shapes, read); !fault.empty()) {
      wrong_usage(std::move(fault));
      return std::nullopt;
    }
    if (std::string fault = read_values(arguments_.values, read); !fault.empty()) {
      wrong_usage(std::move(fault));
      return std::nullopt;
    }
    shapes_ = read.input_shapes;
    ReadReport reading;
    std::vector<NodeMapping> mapped;
    if (arguments_.explain) read.mapped = &mapped;
    auto model = open_model(arguments_.input, read, &reading);
    file_.from = reading.format;
    if (arguments_.explain && is_of_framework(file_.from)) file_.read = mapped;
    explain(mapped, file_.from, "ONNX");
    if (model) return *std::move(model);
    if (model.error().diagnostic.code == "unsupported-operator") file_.findings = std::move(reading.diagnostics);
    stop(model.error());
    return std::nullopt;
  }

  /// Whether the options suit the model.
  bool fits(const Model&) {
    converts_ = is_of_framework(file_.from);
    writes_ = writes_framework();
    if (!arguments_.read.signature.empty() && file_.from != "saved-model")
      return wrong_usage("--signature requires a SavedModel");
    if (!arguments_.values.empty() && file_.from != "torchscript")
      return wrong_usage("--set requires a TorchScript model");
    const bool changes_framework = converts_ || writes_;
    if (arguments_.opsets.empty() && !changes_framework && !arguments_.proof_option.empty())
      return wrong_usage(arguments_.proof_option + " requires --opset");
    if (!changes_framework && arguments_.names_backend)
      return wrong_usage("--verify-with requires a model of another framework");
    if (arguments_.explain && !changes_framework)
      return wrong_usage("--explain requires a model or an output of another framework");
    if (arguments_.round_trip && !converts_ && !writes_)
      return wrong_usage("--round-trip requires a model or an output of another framework");
    return true;
  }

  bool writes_framework() {
    file_.to = arguments_.save.format;
    if (file_.to.empty() && arguments_.output != "-") {
      const auto format = output_format(arguments_.output);
      if (format) file_.to = format->name;
    }
    if (file_.to.empty()) file_.to = "binary";
    return arguments_.output != "-" && is_of_framework(file_.to);
  }

  // ---- what is changed before writing

  bool prepared(Model& model) {
    if (!set_sizes(model)) return false;
    if (!arguments_.weights.empty() && !take_weights(model)) return false;
    if (!arguments_.opsets.empty() && !move_to_opsets(model)) return false;
    if (converts_ && !arguments_.verification.none && arguments_.weights.empty()) {
      const auto compare = [&](const SourceCheckOptions& options) {
        return compare_with_source(proved_equal_ ? *proved_equal_ : model, arguments_.input, options);
      };
      if (!prove(compare, file_.verified)) return false;
    }
    if (converts_ && !writes_ && arguments_.round_trip && !go_back(model)) return false;
    if (arguments_.half && !store_weights_as_half(model)) return false;
    if (arguments_.reorders_boundary) reorder(model);
    if (converts_)
      record_conversion(model, {.file = arguments_.input == "-" ? "" : fs::path(arguments_.input).filename().string(),
                                .format = file_.from,
                                .options = arguments_.recorded_options});
    return true;
  }

  bool set_sizes(Model& model) {
    const auto format = format_named(file_.from);
    const bool sets_shapes = !shapes_.empty() && !(format && format->takes_shapes);
    if (sets_shapes) {
      if (const auto set = declare_shapes(model, shapes_); !set) return stop(set.error());
    }
    if (const auto fixed = fix_sizes(model, arguments_.dims); !fixed) return stop(fixed.error());
    return !sets_shapes || inferred_anew(model);
  }

  /// Declared shapes that follow from those of the inputs.
  bool inferred_anew(Model& model) {
    const auto inferred = infer(model);
    return inferred ? true : stop(inferred.error());
  }

  /// Takes the weights of another file.
  bool take_weights(Model& model) {
    auto report = load_weights(model, arguments_.weights, arguments_.weights_options);
    if (!report) return stop(report.error());
    file_.weights_file = arguments_.weights;
    file_.weights = *std::move(report);
    if (arguments_.report.format == Format::text) {
      for (const Diagnostic& finding : file_.weights->findings) print(finding);
      note(arguments_.notes, weights_summary(*file_.weights, arguments_.weights));
      if (arguments_.notes == Notes::steps) std::fputs(weights_table(*file_.weights).c_str(), stderr);
    }
    if (!file_.weights->fits()) file_.findings = file_.weights->findings;
    return file_.weights->fits();
  }

  bool move_to_opsets(Model& model) {
    OpsetChoices choices;
    choices.conversion.align_corners = arguments_.align_corners;
    choices.conversion.allow_outside_data = choices.verification.allow_outside_data = save_.allow_outside_data;
    choices.verifies = !arguments_.verification.none;
    choices.must_verify = arguments_.verification.required;
    arguments_.verification.set(choices.verification);
    read_targets(arguments_.opsets, choices.conversion.opsets);
    std::optional<Model> before;
    if (converts_ && !arguments_.names_backend) before = model;
    const OpsetFile moved = convert_opsets(model, arguments_.input, choices);
    if (moved.unreadable) return stop(*moved.unreadable);
    std::fputs(opset_obstacles(moved, color_on(arguments_.report.color, stderr)).c_str(), stderr);
    note(arguments_.notes, opset_summary(moved, false) + "\n");
    file_.findings.insert(file_.findings.end(), moved.report.refusals.begin(), moved.report.refusals.end());
    if (moved.differs()) file_.findings.push_back(difference_of(moved));
    if (moved.verified && moved.verified->verdict == Equality::equal) proved_equal_ = std::move(before);
    return moved.converted();
  }

  /// Inputs and outputs take the order of axes of what is written: no Transpose stands there.
  void reorder(Model& model) {
    for (const BoundaryChange& change : reorder_boundary(model, writes_ ? file_.to : std::string()))
      remark(fmt::format("{} {}: its axes are in the order {}", change.is_output ? "output" : "input",
                         quote(change.name), fmt::join(change.order, ", ")));
  }

  bool store_weights_as_half(Model& model) {
    const auto report = store_half(model);
    if (!report) return stop(report.error());
    remark(fmt::format("{} stored as float16, {} kept; {} bytes less", counted(report->stored, "weight"), report->kept,
                       report->saved));
    return true;
  }

  static Diagnostic difference_of(const OpsetFile& moved) {
    Diagnostic finding;
    finding.code = "not-verified";
    finding.location = moved.verified->location;
    finding.message = "the results differ: " + moved.verified->reason;
    return finding;
  }

  // ---- proof

  Result<SourceCheckOptions> proof_options() const {
    SourceCheckOptions options;
    options.backend = arguments_.verify_with;
    VerifyOptions limits;
    arguments_.verification.set(limits);
    options.limits = limits.limits;
    auto context = Context::make({.workers = worker_settings(arguments_.workers)});
    if (!context) return std::move(context).error();
    options.context = *std::move(context);
    return options;
  }

  /// Runs two forms of the model and compares, with `compare`; true when the result may be written.
  template <class Compare>
  bool prove(Compare compare, std::optional<SourceReport>& kept, std::string_view way = {}) {
    auto options = proof_options();
    if (!options) return stop(options.error());
    const Interrupt interrupt;
    options->stop = interrupt.token();
    const auto compared = [&] {
      Progress progress("comparing", 1, arguments_.is_one_of_many ? Notes::none : arguments_.notes);
      progress.start(arguments_.input);
      return compare(*options);
    }();
    if (!compared && compared.error().kind == ErrorKind::usage) return stop(compared.error());
    if (!compared && compared.error().kind == ErrorKind::cancelled) return stop(compared.error());
    SourceReport report;
    if (compared) report = *compared;
    if (!compared) report.reason = headline(compared.error().diagnostic);
    kept = report;
    const std::string with = way.empty() ? report.runtime : std::string(way);
    if (report.verdict == Equality::different)
      return refuse_unverified(report.outputs == 0
                                   ? fmt::format("{} cannot run the result: {}", report.runtime, report.reason)
                                   : fmt::format("the result differs from {}: {}", with, report.reason));
    if (report.verdict == Equality::not_compared) {
      if (arguments_.verification.required) return refuse_unverified("the result was not compared: " + report.reason);
      remark("not verified: " + report.reason);
      return true;
    }
    remark(
        fmt::format("verified: {} compared with {}: {}", counted(report.outputs, "output"), with,
                    report.finest_profile.empty() ? "identical" : fmt::format("rounding ({})", report.finest_profile)));
    return true;
  }

  /// What a file of another framework holds, as ONNX, against the model.
  bool compare_returned(const Model& model, const fs::path& file, const std::string& format) {
    ReadOptions read;
    read.format = format;
    read.input_shapes = input_shapes(model);
    auto returned = read_model(file, read);
    if (!returned) return stop(returned.error());
    const auto compare = [&](const SourceCheckOptions& options) { return compare_models(model, *returned, options); };
    return prove(compare, file_.round_trip, "the model after the way back");
  }

  /// Writes the model in the format that it came from, and reads it again.
  bool go_back(const Model& model) {
    const auto format = format_named(file_.from);
    if (!format || !format->can_write)
      return wrong_usage("--round-trip: models cannot be written as " + (format ? format->title : file_.from));
    std::error_code status;
    std::string folder = (fs::temp_directory_path(status) / "onnxkit-XXXXXX").string();
    if (status || !::mkdtemp(folder.data()))
      return stop(make_error("cannot-write", "a temporary folder could not be created"));
    const fs::path path = fs::path(folder) / "returned";
    std::vector<Diagnostic> refusals;
    SaveOptions save;
    save.format = format->name;
    save.refusals = &refusals;
    const auto saved = save_model(model, path.string(), save);
    const bool is_equal =
        saved ? compare_returned(model, path, format->name) : refuse_operators(saved.error(), refusals);
    fs::remove_all(folder, status);
    return is_equal;
  }

  // ---- writing

  bool write(const Model& model) { return writes_ ? write_foreign(model) : write_onnx(model); }

  Result<SaveReport> saved_model(const Model& model, const std::string& path) {
    Progress progress("writing", 1, arguments_.is_one_of_many ? Notes::none : arguments_.notes);
    progress.start(arguments_.output);
    return save_model(model, path, save_);
  }

  bool write_onnx(const Model& model) {
    const auto saved = saved_model(model, arguments_.output);
    if (!saved) return stop(saved.error());
    note(arguments_.notes, saved_text(*saved));
    file_.is_written = true;
    return true;
  }

  /// What the format cannot express.
  bool refuse_operators(const Error& error, const std::vector<Diagnostic>& refusals) {
    refuse(refusals);
    file_.is_refused = error.diagnostic.code == "not-supported";
    return stop(error);
  }

  /// Only sound models are written in other frameworks' operators.
  bool is_sound(const Model& model) {
    CheckOptions options;
    options.allow_outside_data = save_.allow_outside_data;
    const auto report = check(model, options);
    if (!report) return stop(report.error());
    std::vector<Diagnostic> errors;
    for (const Diagnostic& finding : report->diagnostics)
      if (finding.severity == Severity::error) errors.push_back(finding);
    refuse(errors);
    return errors.empty();
  }

  /// A message about the hidden file, with the name that it is to have.
  static std::string with_name(std::string text, const std::string& hidden, const std::string& name) {
    for (std::size_t at = text.find(hidden); at != text.npos; at = text.find(hidden, at + name.size()))
      text.replace(at, hidden.size(), name);
    return text;
  }

  /// The file or folder stands beside its place under a hidden name until it is proved.
  bool write_foreign(const Model& model) {
    if (!is_sound(model)) return false;
    const fs::path output = place_of(arguments_.output);
    const FormatInfo format = *format_named(file_.to);
    if (format.is_folder) {
      if (const auto obstacle = obstacle_to_folder(output, arguments_)) return stop(*obstacle);
    }
    if (arguments_.round_trip && !format.can_read)
      return wrong_usage("--round-trip: " + format.title + " cannot be read");
    const HiddenOutput hidden(output, format);
    std::vector<Diagnostic> refusals;
    save_.refusals = &refusals;
    save_.format = format.name;
    if (arguments_.explain) save_.mapped = &file_.written.emplace();
    const auto saved = saved_model(model, hidden.path().string());
    if (arguments_.explain) explain(*file_.written, "ONNX", file_.to);
    if (!saved) return refuse_operators(saved.error(), refusals);
    const auto compare = [&](SourceCheckOptions options) {
      options.format = format.name;
      auto compared = compare_with_result(model, hidden.path(), options);
      if (compared) compared->reason = with_name(compared->reason, hidden.path().filename(), output.filename());
      return compared;
    };
    if (!arguments_.verification.none && !prove(compare, file_.verified)) return false;
    if (arguments_.round_trip && !compare_returned(model, hidden.path(), format.name)) return false;
    const auto moved = hidden.move_to(output);
    file_.is_written = moved.ok();
    return moved ? true : stop(moved.error());
  }

  const ConvertArguments& arguments_;
  ConvertedFile& file_;
  SaveOptions save_;
  std::map<std::string, InputShape> shapes_;
  /// The model before a change of opset that was proved. The framework is compared with it: steps that compute in float64 would leave
  /// nothing of the rounding that its own operators do.
  std::optional<Model> proved_equal_;
  bool converts_ = false;  ///< from another framework
  bool writes_ = false;    ///< for another framework
};

}  // namespace

SaveOptions save_options(const ConvertArguments& arguments) {
  SaveOptions save = arguments.save;
  if (arguments.embed) save.weights = Weights::embed;
  if (!arguments.external.empty() || save.file_per_tensor) save.weights = Weights::extract;
  if (arguments.external != no_file_name) save.sidecar = arguments.external;
  return save;
}

bool is_of_framework(const std::string& format) {
  const auto known = format_named(format);
  return known && !known->is_onnx;
}

void convert_file(const ConvertArguments& arguments, ConvertedFile& file) {
  file.model = arguments.input;
  file.output = arguments.output;
  Conversion(arguments, file).run();
}

}  // namespace onnxkit::tools
