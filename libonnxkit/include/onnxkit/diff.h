#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/diagnostic.h"
#include "onnxkit/export.h"
#include "onnxkit/metrics.h"
#include "onnxkit/model.h"
#include "onnxkit/result.h"
#include "onnxkit/value.h"

// The same question put to several backends, and a verdict on their answers (docs/diff.md).
namespace onnxkit {

// ---- what is compared

/// One side: a model and what runs it.
struct DiffSide {
  std::string
      backend;  ///< "reference", or the name of a worker ("onnxruntime", "openvino", "torch" ...); "recorded": answers from files
  std::string label;                   ///< what reports call it; empty: the backend's name
  std::shared_ptr<const Model> model;  ///< null for formats that only the worker reads, and for recorded answers
  std::filesystem::path path;          ///< the file that a worker loads
  std::string format = "onnx";         ///< of `path`, as in docs/worker-protocol.md
  std::map<std::string, std::string> options;    ///< of the worker
  std::vector<std::vector<NamedValue>> answers;  ///< recorded: one list for each set of inputs
  std::string arithmetic = {};  ///< recorded: what they were computed in, as SideReport::arithmetic; empty: not known
};

/// Values for all inputs of one run.
struct InputSet {
  std::string name;  ///< of the folder or file, or how it was made up
  std::vector<NamedValue> values;
  /// What to say when a side cannot run it, as that of CompletedInputs.
  std::vector<std::string> notes = {};
  std::string help = {};
};

/// Arithmetic whose rounding may explain a deviation, from the finest to the coarsest (docs/noise-floor.md).
enum class Profile : std::uint8_t { float32, winograd, tf32, float16, bfloat16, fp8, int8 };
inline constexpr std::array all_profiles = {Profile::float32,  Profile::winograd, Profile::tf32, Profile::float16,
                                            Profile::bfloat16, Profile::fp8,      Profile::int8};
ONNXKIT_API std::string_view name_of(Profile profile);
/// The profile of that name, in any case.
ONNXKIT_API std::optional<Profile> profile_named(std::string_view name);
/// Those by which a side is judged that computes in one: float32, that one, and float16 for fp8, which is float16 where no product has weights that fit.
ONNXKIT_API std::vector<Profile> profiles_of(Profile arithmetic);

struct OutputTolerance {
  std::optional<double> relative, absolute;  ///< |b - a| <= absolute + relative |a|
};

/// Where a model has the channels of an input or output: on the second axis, on the last, or where the first side has them.
enum class Axes : std::uint8_t { nchw, nhwc, same };

struct DiffOptions {
  /// Profiles that may explain a deviation, from fine to coarse; empty: float32 and the arithmetic that the side says it computes in, all of
  /// them but fp8 where it does not say.
  std::vector<Profile> profiles = {};
  int perturbed_samples = 4;
  OutputTolerance tolerance = {};                          ///< set by hand: overrides the noise floor
  std::map<std::string, OutputTolerance> tolerances = {};  ///< by output; overrides `tolerance`
  std::map<std::string, std::string> tasks = {};           ///< by output; others are guessed
  std::map<std::string, std::string> scores =
      {};  ///< of detections: name of the output with the boxes to that with their scores
  std::map<std::string, std::string> names =
      {};  ///< input or output of the first side to that of the other, where they differ
  /// Input or output of the first side to where other models than its have the channels; those of the first side are then in the other location.
  std::map<std::string, Axes> axes = {};
  bool bisect = false;  ///< find the first wrong node with few values inside the graph
  /// Folder for the smallest model that shows the first wrong node; with several sides to look into, one in it for each that is wrong.
  std::filesystem::path repro = {};
  bool layers = false;  ///< also compare values inside the graph
  /// Also run backends that make plans without passes of these, to find the pass that makes outputs wrong.
  bool passes = false;
  int repeat = 1;          ///< measured runs of each side on each set
  int warmup = 1;          ///< unmeasured runs of each side before its first measured one
  std::uint64_t seed = 0;  ///< of the noise of perturbed samples
  Context context = {};    ///< its workers' limits hold for every side
  Limits limits = {};      ///< threads and memory of the reference
  bool allow_outside_data = false;
  std::stop_token stop = {};
  std::function<void(std::string_view step)> on_step = {};  ///< for progress
};

// ---- what comes out

/// The verdict on one output of one side, from the best to the worst.
enum class Verdict : std::uint8_t {
  identical,     ///< bit for bit
  within,        ///< within a tolerance that was set by hand
  rounding,      ///< explained by rounding in `profile`
  undecidable,   ///< only elements differ that rounding can flip
  not_compared,  ///< the noise floor is unknown and no tolerance was set
  beyond,        ///< beyond a tolerance that was set by hand
  not_rounding,  ///< a deviation that no profile explains
  mismatch,      ///< other type, shape, kind, or number of elements; NaN or infinity on one side only
};
ONNXKIT_API std::string_view name_of(Verdict verdict);
/// Verdicts that make `onnxkit diff` end with status 1.
inline bool is_finding(Verdict verdict) { return verdict >= Verdict::beyond; }

/// A deviation measured in standard deviations of the noise floor; healthy when largest <= 12 and rms is at most 2 for many elements, more for few
/// (docs/noise-floor.md).
struct FloorMeasure {
  Profile profile = Profile::float32;
  double rms = 0;      ///< root mean square of |d| / sigma of the element
  double largest = 0;  ///< max |d| / sigma, the larger of the element's and the pooled one of the tensor
  bool healthy = false;
  std::uint64_t elements = 0;  ///< that rms is taken over
  std::uint64_t draws = 0;     ///< so many of these err independently, as the perturbed samples show
};

/// A sample of element pairs and the distribution of |d|, for plots.
struct Scatter {
  std::vector<double> a, b;  ///< at most 2,000 pairs, evenly taken
  int lowest_exponent = 0;   ///< log10 |d| of the first bin
  std::vector<std::uint64_t>
      histogram;  ///< of |d| by decades of a quarter: bin i holds 10^(lowest + i/4) <= |d| < 10^(lowest + (i+1)/4)
  std::uint64_t zeros = 0;  ///< elements with d = 0
};

/// A picture of class numbers, for segmentation: of the first sample that differs, else of the first.
struct ClassMaps {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint16_t> a, b;
};

/// One output, sequence elements apart ("y[0]"), of one side against the first, over one set of inputs.
struct OutputDiff {
  std::string name;
  std::string type;  ///< as type_text, of the expected value
  std::string set;   ///< of inputs
  Verdict verdict = Verdict::not_compared;
  std::optional<Profile> profile;    ///< with rounding: the finest that explains
  std::vector<FloorMeasure> floors;  ///< every profile that was tried
  std::uint64_t flips = 0;           ///< elements whose difference rounding can explain by a flip
  std::string why;                   ///< one line for people: what differs, or why no verdict was possible
  std::optional<Metrics> metrics;    ///< absent where types or shapes differ and for strings
  Outcome outcome;
  Scatter scatter;
  std::optional<ClassMaps> maps;
};

/// The nodes that make a value from the nearest values that both models have; those that only hold a constant are left out.
struct Subgraph {
  std::vector<std::string> from;     ///< these values, inputs of the model among them
  std::vector<Location> nodes;       ///< of the first model
  std::vector<Location> side_nodes;  ///< of the side's model
  bool is_one_node() const { return nodes.size() == 1 && side_nodes.size() == 1; }
};

/// How a value inside the graph was found on the other side.
enum class MatchedBy : std::uint8_t {
  name,       ///< both models call it so
  content,    ///< it holds the same on the same inputs
  structure,  ///< it lies at the same place between values that are matched, and has the same sizes
};
ONNXKIT_API std::string_view name_of(MatchedBy matched);

/// A value inside the graph, at the node of the first model that wrote it. What leads to it may have been run alone, on exact inputs; then, element
/// by element, total = own + inherited. Measures are absent where there is none: of other types than floating ones, of other shapes, with NaN on one side.
struct LayerDiff {
  std::string value;
  Location location;
  std::string side_value;  ///< its name on the side, where that is another
  MatchedBy matched_by = MatchedBy::name;
  std::string type;
  Verdict verdict = Verdict::not_compared;
  std::optional<FloorMeasure> total;  ///< the side's value within the model, less the exact one
  std::optional<FloorMeasure> own;    ///< the side's value of `subgraph` run alone on exact inputs, less the exact one
  std::optional<FloorMeasure> inherited;  ///< the side's value within the model, less that of `subgraph` run alone
  bool is_culprit = false;                ///< its own deviation is more than rounding
  std::optional<Subgraph> subgraph;       ///< what was run alone
  Metrics metrics;
};

/// A run on a plan that was made without some passes.
struct PassTrial {
  std::vector<std::string> without;
  Verdict verdict = Verdict::not_compared;  ///< the worst of the outputs
  std::optional<Error> failure = {};        ///< why there are none
};

struct RunTime {
  double wall = 0;                    ///< seconds
  std::optional<double> cpu;          ///< seconds of the whole process
  std::optional<double> device = {};  ///< seconds of the work on a GPU, without copies from and to the host
};

struct SideReport {
  std::string label, backend, version, device;
  std::string arithmetic;  ///< that it says it computes float32 in; empty when it does not say
  std::map<std::string, std::string> options;
  std::string model;             ///< file
  std::optional<Error> failure;  ///< why it gave no answer
  std::string failed_at;         ///< "start", "load", "run"
  std::string log;               ///< what it printed last
  std::vector<std::string> warnings;
  double load_seconds = 0;
  std::vector<RunTime> runs;             ///< measured runs over all sets
  int warmups = 0;                       ///< unmeasured runs before those
  Verdict verdict = Verdict::identical;  ///< the worst of its outputs; not_compared when it failed before it had any
  std::vector<OutputDiff> outputs;       ///< empty for the first side
  std::vector<LayerDiff> layers;         ///< in the order of execution
  std::optional<std::size_t> first_culprit;  ///< of layers: the first culprit, else the first that is off
  std::size_t not_looked_at = 0;             ///< layers that are off and were not run alone, since there were too many
  std::string layers_note;                   ///< why layers could not be compared, or what the comparison leaves open
  std::vector<PassTrial> pass_trials;        ///< with DiffOptions::passes
  /// Of the backend's plan: the outputs are wrong with them and right without. Empty where they are right, or wrong without any pass.
  std::vector<std::string> wrong_passes;
  /// Label of the first side with the same backend and model, where that is not the base and gave the same outputs bit for bit on all sets.
  std::string same_as;
  std::string repro;                   ///< folder that shows the first culprit alone
  std::optional<Error> repro_failure;  ///< why that folder could not be written
};

struct DiffReport {
  std::vector<SideReport> sides;
  std::size_t base = 0;                  ///< the side that others are compared with: the first that gave an answer
  std::vector<std::string> sets;         ///< names of the sets of inputs
  std::string floor_note;                ///< why there is no noise floor, when there is none
  double floor_seconds = 0;              ///< spent on the noise floor
  Verdict verdict = Verdict::identical;  ///< the worst
  bool compared = false;                 ///< at least one side was compared with the first
  bool cancelled = false;                ///< ended by DiffOptions::stop: what was finished before
};

/// Runs every side on every set and compares. A side that cannot be started, loaded or run is reported as such and the others stand. A comparison that is
/// stopped gives what was finished, or the error cancelled when nothing was. Errors: else only what makes any comparison impossible: fewer than two sides, no set, an unknown name in the options.
ONNXKIT_API Result<DiffReport> diff(const std::vector<DiffSide>& sides, const std::vector<InputSet>& sets,
                                    const DiffOptions& options = {});

// ---- backends

/// A backend, there or not.
struct BackendInfo {
  std::string name, runtime, version;
  bool available = false;
  std::string reason;  ///< when it is not available
  std::vector<std::string> devices, formats;
  std::map<std::string, std::string> options;  ///< name to help
  std::map<std::string, std::vector<std::string>>
      choices;                           ///< of options that take certain words only: these, the default first
  std::vector<std::string> passes = {};  ///< that it makes plans with, in the order in which they run
};

struct BackendQuery {
  Context context = {};
  std::vector<std::string> names = {};  ///< those asked; empty: all
};

/// All backends, or those of the query's names, each asked what is there, in parallel: those in this process, then the workers, both sorted by name.
ONNXKIT_API std::vector<BackendInfo> backends(const BackendQuery& query);

/// Names of all backends that users may choose, there or not; none is started.
ONNXKIT_API std::vector<std::string> backend_names(const Context& context);

/// Whether there is such a backend, and whether it takes these options: it is started for that where there are any, and one that cannot be started is
/// none's fault here. Errors: unknown-backend, unknown-option.
ONNXKIT_API Result<void> check_backend(const std::string& name, const std::map<std::string, std::string>& options,
                                       const Context& context);

/// The name of the backend that a usual short name means ("ort": onnxruntime), or `name` as it is.
ONNXKIT_API std::string backend_name(const std::string& name, const Context& context);

/// Whether the limits of the context's workers hold for this backend; it is not started. False for an unknown one.
ONNXKIT_API bool runs_in_own_process(const std::string& name, const Context& context);

}  // namespace onnxkit
