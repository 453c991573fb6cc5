#include "onnxkit/diff.h"

#include <algorithm>
#include <deque>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "checker/two_readings.h"
#include "libonnxkit/base/text/unknown_name.h"
#include "libonnxkit/compare/verdict.h"
#include "libonnxkit/diff/axes.h"
#include "libonnxkit/diff/layers.h"
#include "libonnxkit/diff/model_traits.h"
#include "libonnxkit/diff/noise_floor.h"
#include "libonnxkit/diff/outputs.h"
#include "libonnxkit/diff/passes.h"
#include "libonnxkit/diff/side.h"
#include "libonnxkit/diff/verdict_reasons.h"
#include "libonnxkit/exec/passes_option.h"
#include "libonnxkit/ir/model.h"

namespace onnxkit {
namespace {

using diffing::NoiseFloor;
using diffing::Side;

class Comparison {
 public:
  Comparison(const std::vector<DiffSide>& sides, const std::vector<InputSet>& sets, const DiffOptions& options)
      : sides_(sides), sets_(sets), options_(options), sessions_(options), traits_(sides.size()), pools_(sides.size()) {
    report_.sides.resize(sides.size());
    for (const InputSet& set : sets) report_.sets.push_back(set.name);
    for (std::size_t i = 0; i < sides.size(); ++i) open_.emplace_back(sides[i], sessions_, report_.sides[i]);
    while (input_side_ + 1 < sides.size() && !sides[input_side_].model) ++input_side_;
  }

  Result<DiffReport> run() {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      if (auto opened = open(i); !opened) return opened.error();
    }
    if (auto error = unknown_other_name()) return *std::move(error);
    for (std::size_t set = 0; set < sets_.size() && !is_stopped(); ++set) compare_set(set);
    if (is_stopped() && !report_.compared) return cancelled();
    if (is_stopped()) note_stop();
    if (!report_.compared) report_.verdict = Verdict::not_compared;
    for (SideReport& side : report_.sides) {
      if (side.failure && side.outputs.empty()) side.verdict = Verdict::not_compared;
      for (const OutputDiff& output : side.outputs) side.verdict = std::max(side.verdict, output.verdict);
      if (!side.failure) side.failed_at.clear();
      report_.verdict = std::max(report_.verdict, side.verdict);
    }
    if (is_finding(report_.verdict)) warn_of_readings();
    tell_repetitions();
    if (options_.layers || options_.bisect || !options_.repro.empty()) {
      if (!report_.cancelled) look_inside();
    }
    if (options_.passes && !report_.cancelled) try_passes();
    if (noise_floor_) report_.floor_seconds = noise_floor_->seconds();
    return std::move(report_);
  }

  /// What other runtimes read in another way than the reference.
  void warn_of_readings() {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      if (sides_[i].backend != "reference" || !sides_[i].model) continue;
      auto note = checker::two_readings_note(sides_[i].model->ir(), options_.context.table(), sets_.front().values,
                                             "the reference");
      if (!note.empty()) report_.sides[i].warnings.push_back(std::move(note));
    }
  }

  /// Whether sides gave what the first side with their backend and model gave; one with the same options should.
  void tell_repetitions() {
    for (const auto& [i, repetition] : repetitions_) {
      SideReport& side = report_.sides[i];
      const std::string& first = report_.sides[repetition.first].label;
      if (repetition.differing.empty()) {
        if (repetition.first != report_.base && !side.failure) side.same_as = first;
      } else if (sides_[i].options == sides_[repetition.first].options) {
        side.warnings.push_back(fmt::format("{} {} not the same bit for bit as on {}: the backend is not deterministic",
                                            names_text(repetition.differing),
                                            repetition.differing.size() == 1 ? "is" : "are", first));
      }
    }
  }

  static std::string names_text(const std::set<std::string>& outputs) {
    std::vector<std::string> names;
    for (const std::string& output : outputs) names.push_back(quote(output));
    return fmt::format("output{} {}", names.size() == 1 ? "" : "s", fmt::join(names, ", "));
  }

  bool is_stopped() const { return options_.stop.stop_requested(); }

  static Error cancelled() { return make_error("cancelled", "the comparison was cancelled"); }

  /// Sides without an output were not reached.
  void note_stop() {
    report_.cancelled = true;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      SideReport& side = report_.sides[i];
      if (i == report_.base || side.failure || !side.outputs.empty()) continue;
      side.failure = cancelled();
      if (side.failed_at.empty()) side.failed_at = "run";
    }
  }

  /// Where the sides part from the floor's model, on the first set of inputs that shows a finding, else the first.
  void look_inside() {
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      SideReport& side = report_.sides[i];
      if (i == report_.base || side.failure || replays(i)) continue;
      if (!noise_floor_) {
        side.layers_note = report_.floor_note;
        continue;
      }
      if (!random_.empty()) {
        side.layers_note = "the model draws random numbers, which differ on every side";
        continue;
      }
      std::size_t set = 0;
      const std::vector<Profile> profiles = profiles_for(i, report_.base);
      Profile profile = profiles.front();
      const auto wrong = std::find_if(side.outputs.begin(), side.outputs.end(),
                                      [](const OutputDiff& output) { return is_finding(output.verdict); });
      if (wrong != side.outputs.end()) {
        while (set + 1 < sets_.size() && sets_[set].name != wrong->set) ++set;
        // In a finer arithmetic than its own all nodes of a side would be wrong.
        if (!side.arithmetic.empty()) profile = profiles.back();
      } else {
        for (const OutputDiff& output : side.outputs) profile = std::max(profile, output.profile.value_or(profile));
      }
      tell("looking inside", side);
      if (const auto compared = compare_inside(i, set, profile); !compared)
        side.layers_note = headline(compared.error().diagnostic);
      if (!sides_[report_.base].model && !replays(report_.base))
        side.layers_note +=
            fmt::format("{}with the ONNX model as the first side its layers are compared with those of {}",
                        side.layers_note.empty() ? "" : "; ", report_.sides[report_.base].label);
      const bool has_culprit =
          std::any_of(side.layers.begin(), side.layers.end(), [](const LayerDiff& layer) { return layer.is_culprit; });
      if (has_culprit) side.verdict = std::max(side.verdict, Verdict::not_rounding);
      report_.verdict = std::max(report_.verdict, side.verdict);
    }
  }

 private:
  Result<void> compare_inside(std::size_t i, std::size_t set, Profile profile) {
    if (const auto begun = begun_.find(i); begun != begun_.end() && begun->second.profile == profile)
      return begun->second.finish();
    const InputSet inputs = set_for(floor_side_, set);
    return diffing::compare_layers(question_of(i, inputs, profile), report_.sides[i]);
  }

  diffing::LayerQuestion question_of(std::size_t i, const InputSet& inputs, Profile profile) {
    diffing::LayerQuestion question{sides_[floor_side_], sides_[i],      inputs, *noise_floor_, profile, options_,
                                    sessions_,           repro_folder(i)};
    if (open_[i].is_open()) question.open = &open_[i];
    return question;
  }

  /// Where all inner values are asked for anyway, the runs that they take give the noise floor of the outputs, too: of the only set, of a side that runs
  /// the floor's own model.
  void look_ahead(std::size_t i) {
    if (!options_.layers || sets_.size() != 1 || !noise_floor_ || !random_.empty() || replays(i)) return;
    if (!sides_[i].model || sides_[i].model != sides_[floor_side_].model) return;
    tell("looking inside", report_.sides[i]);
    const auto inputs = std::make_shared<const InputSet>(set_for(floor_side_, 0));
    const auto question =
        std::make_shared<diffing::LayerQuestion>(question_of(i, *inputs, profiles_for(i, report_.base).front()));
    question->set_index = 0;
    const auto rest = diffing::begin_layers(*question, report_.sides[i]);
    begun_.emplace(i, Begun{question->profile, [inputs, question, rest] { return rest(); }});
  }

  /// Sides whose backends make plans, one for each backend and model, on the first set of inputs that shows a finding, else the first.
  void try_passes() {
    std::set<std::pair<std::string, const Model*>> tried;
    for (std::size_t i = 0; i < sides_.size(); ++i) {
      SideReport& side = report_.sides[i];
      const std::vector<std::string> passes = passes_of(i);
      if (i == report_.base || passes.empty() || side.outputs.empty() || !open_[report_.base].is_open()) continue;
      if (!tried.emplace(sides_[i].backend, sides_[i].model.get()).second) continue;
      std::size_t set = 0;
      const auto wrong = std::find_if(side.outputs.begin(), side.outputs.end(),
                                      [](const OutputDiff& output) { return is_finding(output.verdict); });
      while (wrong != side.outputs.end() && set + 1 < sets_.size() && sets_[set].name != wrong->set) ++set;
      const auto base = open_[report_.base].run_once(set_for(report_.base, set));
      if (!base) continue;
      const diffing::JudgePasses judge = [&](const std::vector<std::string>& without) {
        return verdict_without(i, set, without, base->outputs);
      };
      if (wrong == side.outputs.end()) {
        side.pass_trials = diffing::without_each(passes, judge);
        for (const PassTrial& trial : side.pass_trials) {
          if (trial.failure || is_finding(trial.verdict))
            side.verdict = std::max({side.verdict, trial.verdict, Verdict::not_rounding});
        }
        report_.verdict = std::max(report_.verdict, side.verdict);
        continue;
      }
      diffing::PassSearch search = diffing::wrong_passes(passes, judge);
      side.pass_trials = std::move(search.trials);
      side.wrong_passes = std::move(search.wrong);
    }
  }

  /// Those that the plans of the side are made with: its own options may leave some out.
  std::vector<std::string> passes_of(std::size_t i) const {
    std::vector<std::string> passes = open_[i].capabilities().passes;
    const auto without = sides_[i].options.find(exec::without_pass_option);
    if (without == sides_[i].options.end()) return passes;
    if (const auto left_out = exec::passes_named(without->second, passes))
      std::erase_if(passes, [&](const std::string& pass) { return left_out->contains(pass); });
    return passes;
  }

  /// The worst verdict on the outputs of the side with a plan that was made without these passes.
  Result<Verdict> verdict_without(std::size_t i, std::size_t set, const std::vector<std::string>& without,
                                  const std::vector<NamedValue>& answers) {
    if (is_stopped()) return cancelled();
    DiffSide changed = sides_[i];
    std::string& left_out = changed.options[exec::without_pass_option];
    left_out += (left_out.empty() ? "" : "+") + fmt::format("{}", fmt::join(without, "+"));
    SideReport report;
    report.label = fmt::format("{} without {}", report_.sides[i].label,
                               without.size() == 1 ? without.front() : fmt::format("{} passes", without.size()));
    tell("running", report);
    Side side(changed, sessions_, report);
    if (auto opened = side.open(1); !opened) return opened.error();
    auto run = side.run_once(set_for(i, set));
    if (!run) return run.error();
    diffing::Pools pools;
    const InputSet floor_set = set_for(floor_side_, set);
    auto compared = diffing::compare_outputs(criteria_for(i, set, answers, floor_set, pools), run->outputs, options_);
    if (!compared) return compared.error();
    leave_random(*compared, i);
    Verdict worst = Verdict::identical;
    for (const OutputDiff& output : *compared) worst = std::max(worst, output.verdict);
    return worst;
  }

  /// That of the options where one side is looked into, else one in it for each side.
  std::filesystem::path repro_folder(std::size_t i) const {
    const auto may_have_layers = [&](std::size_t side) { return side != report_.base && sides_[side].model; };
    std::size_t count = 0;
    for (std::size_t side = 0; side < sides_.size(); ++side) count += may_have_layers(side);
    if (options_.repro.empty() || count < 2) return options_.repro;
    return options_.repro / fmt::format("{}-{}", i, sides_[i].backend);
  }

  /// The profiles that may explain a deviation between the two: float32, what they say they compute in, all but fp8 where one does not say, what
  /// the models ask for where there are two, and int8 where one of them allows it.
  std::vector<Profile> profiles_for(std::size_t i, std::size_t at) const {
    if (!options_.profiles.empty()) return options_.profiles;
    const std::optional<Profile> own = profile_named(report_.sides[i].arithmetic),
                                 other = profile_named(report_.sides[at].arithmetic);
    std::set<Profile> asked;
    for (const std::size_t side : {i, at}) {
      if (is_other_model(i, at)) asked.insert(traits_[side].profiles.begin(), traits_[side].profiles.end());
    }
    for (const auto& arithmetic : {own, other}) {
      if (!arithmetic) continue;
      const std::vector<Profile> said = profiles_of(*arithmetic);
      asked.insert(said.begin(), said.end());
    }
    const bool allows_int8 = allows_int8_of(i) || allows_int8_of(at);
    if (allows_int8) asked.insert(Profile::int8);
    const bool may_be_int8 = allows_int8 || quantize_otherwise(i, at) || own == Profile::int8 || other == Profile::int8;
    const bool is_fp8 = own == Profile::fp8 || other == Profile::fp8;
    std::vector<Profile> profiles;
    for (const Profile profile : all_profiles) {
      if (profile == Profile::int8 && !may_be_int8) continue;
      if (profile == Profile::fp8 && !is_fp8) continue;
      const bool may_explain = !own || !other || asked.contains(profile);
      if (profile == Profile::float32 || (may_explain && (!noise_floor_ || noise_floor_->applies(profile))))
        profiles.push_back(profile);
    }
    return profiles;
  }

  /// The model of a side lets its runtime round factors to int8.
  bool allows_int8_of(std::size_t side) const {
    return traits_[sides_[side].model ? side : input_side_].may_round_to_int8;
  }

  /// One model, quantized, and two with the same quantizers round to the same steps; of other frameworks nothing is known.
  bool quantize_otherwise(std::size_t i, std::size_t at) const {
    if (!is_other_model(i, at)) return traits_[sides_[at].model ? at : input_side_].quantizers.empty();
    return !sides_[i].model || !sides_[at].model ||
           !diffing::quantize_alike(traits_[i].quantizers, traits_[at].quantizers);
  }

  void tell(std::string_view step, const SideReport& side) const {
    if (options_.on_step) options_.on_step(std::string(step) + " " + side.label);
  }

  /// A name that options_.names gives and no side has; nothing can be told where a side could not be opened.
  std::optional<Error> unknown_other_name() const {
    std::set<std::string> all;
    for (const Side& side : open_) {
      if (!side.is_open()) return std::nullopt;
      for (std::string& name : side.names()) all.insert(std::move(name));
    }
    for (const auto& [name, other] : options_.names) {
      if (all.contains(other)) continue;
      Error error = unknown_name("unknown-value", "input or output", other, {all.begin(), all.end()});
      error.diagnostic.message =
          fmt::format("no side has the input or output {} that {} is mapped to", quote(other), quote(name));
      return error;
    }
    return std::nullopt;
  }

  /// Whose model a side runs; recorded answers are those of the model that the inputs are for.
  diffing::Owner owner(std::size_t i) const {
    const DiffSide &side = replays(i) ? sides_[input_side_] : sides_[i], &first = sides_.front();
    const bool is_first = side.model ? side.model == first.model : !first.model && side.path == first.path;
    return is_first ? diffing::Owner::first : diffing::Owner::other;
  }

  bool replays(std::size_t i) const { return open_[i].capabilities().replays; }

  bool is_other_model(std::size_t i, std::size_t at) const {
    return !replays(i) && (!sides_[i].model || sides_[i].model != sides_[at].model);
  }

  /// Where a model gives another floating type than the base's, as a float16 one does, its numbers are compared.
  void cast_outputs(std::vector<NamedValue>& outputs, const std::vector<NamedValue>& wanted, std::size_t i) {
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      const Value &want = wanted[at].value, &is = outputs[at].value;
      if (!want.is_tensor() || !is.is_tensor() || want.tensor.type() == is.tensor.type()) continue;
      if (!is_floating(want.tensor.type()) || !is_floating(is.tensor.type())) continue;
      const std::string warning = fmt::format("output {} is {} on this side and was cast to {}", quote(wanted[at].name),
                                              name_of(is.tensor.type()), name_of(want.tensor.type()));
      auto made = diffing::cast(is.tensor, want.tensor.type());
      if (!made) continue;
      outputs[at].value = Value(*std::move(made));
      auto& warnings = report_.sides[i].warnings;
      if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(warning);
    }
  }

  InputSet set_for(std::size_t i, std::size_t set) const {
    return {sets_[set].name, diffing::in_axes_of(sets_[set].values, options_, owner(input_side_), owner(i))};
  }

  /// A side that cannot be opened is told in the report; a wrong word is an error.
  Result<void> open(std::size_t i) {
    tell("loading", report_.sides[i]);
    if (sides_[i].model) read_traits(i);
    const auto opened = open_[i].open(options_.repeat);
    if (opened) return {};
    if (opened.error().diagnostic.code == "unknown-option") return opened;
    report_.sides[i].failure = opened.error();
    open_[i].close();
    return {};
  }

  void read_traits(std::size_t i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (sides_[k].model != sides_[i].model) continue;
      traits_[i] = traits_[k];
      return;
    }
    traits_[i] = diffing::read_traits(sides_[i].model->ir(), sets_);
    for (const auto& [output, draw] : traits_[i].random) {
      const auto [known, is_new] = random_.emplace(output, draw);
      if (!is_new && !draw.seeded) known->second = draw;
    }
  }

  /// The floor is that of the base's model, or of the first ONNX model where the base has none.
  void make_noise_floor() {
    const auto has_model = [&](std::size_t i) { return open_[i].is_open() && sides_[i].model; };
    std::size_t at = report_.base;
    if (!has_model(at)) at = 0;
    while (at < sides_.size() && !has_model(at)) ++at;
    if (at == sides_.size()) {
      report_.floor_note = "no side is an ONNX model that was loaded";
      return;
    }
    if (open_[at].is_exact()) sessions_.take_floor_from(sides_[at].backend, sides_[at].options);
    auto noise_floor = NoiseFloor::make(sides_[at].model, sessions_);
    if (!noise_floor) {
      report_.floor_note = headline(noise_floor.error().diagnostic);
      return;
    }
    noise_floor_ = *std::move(noise_floor);
    floor_side_ = at;
  }

  /// The side's answer; one that fails is closed.
  std::optional<diffing::SideRun> answer(std::size_t i, std::size_t set, const std::vector<NamedValue>& wanted) {
    if (!open_[i].is_open()) return std::nullopt;
    SideReport& side = report_.sides[i];
    tell("running", side);
    side.failed_at = "run";
    const bool is_base = wanted.empty();
    const diffing::Owner here = owner(i), base = owner(is_base ? i : report_.base);
    if (options_.repeat > 1) diffing::let_rest(all_sides());
    auto run = open_[i].run(set_for(i, set), set, diffing::in_axes_of(wanted, options_, base, here));
    std::optional<Error> failure;
    if (!run)
      failure = run.error();
    else
      failure = settle_axes(*run, i, set);
    if (failure) {
      side.failure = *std::move(failure);
      diffing::tell_of_inputs(side.failure->diagnostic, sets_[set]);
      open_[i].close();
      return std::nullopt;
    }
    if (!is_base) run->outputs = diffing::in_axes_of(std::move(run->outputs), options_, here, base);
    if (!is_base && is_other_model(i, report_.base)) cast_outputs(run->outputs, wanted, i);
    if (!run->times.empty()) side.warmups = options_.warmup;
    side.runs.insert(side.runs.end(), run->times.begin(), run->times.end());
    if (set == 0) {
      std::ranges::move(diffing::warnings_of_inputs(*run), std::back_inserter(side.warnings));
      for (const std::string& output : run->moved)
        side.warnings.push_back("the channels of output " + quote(output) +
                                " were moved to the first side's layout, inferred from the shapes; --axes sets it");
    }
    return *std::move(run);
  }

  std::vector<const Side*> all_sides() const {
    std::vector<const Side*> all;
    for (const Side& side : open_) all.push_back(&side);
    return all;
  }

  /// Where a side has the channels elsewhere, shapes that allow both have to be told: an input ends the side, an output is left out.
  std::optional<Error> settle_axes(diffing::SideRun& run, std::size_t i, std::size_t set) const {
    constexpr std::string_view why =
        "its shape does not show whether its channels must be moved like those of other inputs";
    if (owner(i) == owner(input_side_)) return std::nullopt;
    const std::vector<std::size_t> ranks = diffing::moved_ranks(sets_[set], run.moved_inputs, options_);
    if (const auto inputs = diffing::undecided_axes(sets_[set].values, ranks, options_); !inputs.empty()) {
      Error error = make_error("ambiguous-axes", fmt::format("input {}: {}", quote(inputs.front()), why));
      error.diagnostic.help = fmt::format("--axes {}=nhwc, nchw or same sets it", inputs.front());
      return error;
    }
    for (const std::string& output : diffing::undecided_axes(run.outputs, ranks, options_))
      run.absent[output] = fmt::format("{}; --axes {}=nhwc, nchw or same sets it", why, output);
    return std::nullopt;
  }

  void leave_random(std::vector<OutputDiff>& outputs, std::size_t i) const {
    diffing::leave_random(outputs, random_, sides_[i].backend == sides_[report_.base].backend);
  }

  /// What outputs of a side are judged by; views of what the caller has.
  diffing::Criteria criteria_for(std::size_t i, std::size_t set, const std::vector<NamedValue>& answers,
                                 const InputSet& floor_set, diffing::Pools& pools) {
    return {&floor_set,
            set,
            &answers,
            open_[report_.base].is_exact() && floor_side_ == report_.base,
            noise_floor_ ? &*noise_floor_ : nullptr,
            floor_side_ != report_.base,
            owner(floor_side_),
            owner(report_.base),
            profiles_for(i, report_.base),
            sets_.size(),
            &pools};
  }

  /// Compares outputs of the side with those of the first one with its backend and model, which are kept in `firsts`.
  void note_repetition(std::size_t i, const std::vector<NamedValue>& outputs,
                       std::map<std::size_t, std::vector<NamedValue>>& firsts) {
    if (replays(i)) return;
    const DiffSide& side = sides_[i];
    const auto first = std::find_if(firsts.begin(), firsts.end(), [&](const auto& entry) {
      const DiffSide& other = sides_[entry.first];
      return other.backend == side.backend && other.model == side.model && other.path == side.path;
    });
    if (first == firsts.end()) {
      firsts.emplace(i, outputs);
      return;
    }
    Repetition& repetition = repetitions_[i];
    repetition.first = first->first;
    for (std::size_t at = 0; at < outputs.size(); ++at) {
      const auto draw = random_.find(outputs[at].name);
      if (draw != random_.end() && !draw->second.seeded) continue;
      const bool is_same =
          at < first->second.size() && comparison::identical(outputs[at].value, first->second[at].value);
      if (!is_same) repetition.differing.insert(outputs[at].name);
    }
  }

  void compare_set(std::size_t set) {
    std::optional<diffing::SideRun> base;
    if (set == 0) {
      std::size_t at = 0;
      for (; at < sides_.size() && !base; ++at) base = answer(at, set, {});
      report_.base = at - 1;
      if (base) make_noise_floor();
    } else {
      base = answer(report_.base, set, {});
    }
    if (!base) return;
    std::map<std::size_t, std::vector<NamedValue>> firsts;
    note_repetition(report_.base, base->outputs, firsts);
    for (std::size_t i = report_.base + 1; i < sides_.size(); ++i) {
      if (is_stopped()) return;
      const auto run = answer(i, set, base->outputs);
      if (!run) continue;
      note_repetition(i, run->outputs, firsts);
      SideReport& side = report_.sides[i];
      look_ahead(i);
      if (options_.on_step) options_.on_step("judging " + side.label);
      const InputSet floor_set = set_for(floor_side_, set);
      diffing::Criteria criteria = criteria_for(i, set, base->outputs, floor_set, pools_[i]);
      auto compared = diffing::compare_outputs(criteria, run->outputs, options_);
      if (!compared && is_stopped()) return;
      if (!compared) {  // the reference does not know the noise floor of this model: compare without it
        report_.floor_note = headline(compared.error().diagnostic);
        noise_floor_.reset();
        criteria.noise_floor = nullptr;
        compared = diffing::compare_outputs(criteria, run->outputs, options_);
      }
      if (is_stopped()) return;  // the noise floor may lack samples
      if (sides_[i].model && sides_[report_.base].model) diffing::refuse_moved(run->moved, *compared);
      diffing::report_absent(run->absent, *compared);
      leave_random(*compared, i);
      if (is_other_model(i, report_.base) && traits_[i].profiles.contains(Profile::int8))
        diffing::report_quantized(*compared);
      side.outputs.insert(side.outputs.end(), std::make_move_iterator(compared->begin()),
                          std::make_move_iterator(compared->end()));
      report_.compared = true;
    }
  }

  const std::vector<DiffSide>& sides_;
  const std::vector<InputSet>& sets_;
  const DiffOptions& options_;
  diffing::Sessions sessions_;
  std::deque<Side> open_;                     // one for each side
  std::vector<diffing::ModelTraits> traits_;  // of each side, without any where that is no ONNX model
  std::vector<diffing::Pools> pools_;         // of each side
  std::optional<NoiseFloor> noise_floor_;
  struct Begun {
    Profile profile;
    std::function<Result<void>()> finish;
  };
  struct Repetition {
    std::size_t first = 0;            ///< side
    std::set<std::string> differing;  ///< outputs
  };
  std::map<std::size_t, Repetition> repetitions_;  // by side
  std::map<std::size_t, Begun> begun_;             // comparisons of inner values, by side
  std::size_t floor_side_ = 0;
  std::map<std::string, diffing::Draw> random_;  // outputs of the sides' models
  std::size_t input_side_ = 0;                   // the first with an ONNX model, whose inputs the sets have
  DiffReport report_;
};

/// Names in the options that no output of the first side has; checked where that is an ONNX model.
std::optional<Error> unknown_names(const std::vector<DiffSide>& sides, const DiffOptions& options) {
  if (!sides.front().model || !sides.front().model->has_graph()) return std::nullopt;
  const ir::Graph& graph = *sides.front().model->ir().graph;
  std::vector<std::string_view> outputs, all;
  for (const ir::ValueInfo& output : graph.outputs) outputs.push_back(graph.name_of(output.value));
  all = outputs;
  for (const ir::ValueInfo& input : graph.inputs) all.push_back(graph.name_of(input.value));
  const auto check = [](const auto& map, const std::vector<std::string_view>& names,
                        std::string_view what) -> std::optional<Error> {
    for (const auto& [name, value] : map) {
      if (std::find(names.begin(), names.end(), name) == names.end())
        return unknown_name("unknown-value", what, name, names);
    }
    return std::nullopt;
  };
  if (auto error = check(options.tolerances, outputs, "output")) return error;
  if (auto error = check(options.tasks, outputs, "output")) return error;
  if (auto error = check(options.scores, outputs, "output")) return error;
  if (auto error = check(options.axes, all, "input or output")) return error;
  return check(options.names, all, "input or output");
}

}  // namespace

Result<DiffReport> diff(const std::vector<DiffSide>& sides, const std::vector<InputSet>& sets,
                        const DiffOptions& options) {
  const diffing::Sessions sessions(options);
  std::vector<DiffSide> renamed;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    auto known = sessions.registry().find(sides[i].backend, sessions.settings());
    if (!known) return known.error();
    if (known->name == sides[i].backend) continue;
    if (renamed.empty()) renamed = sides;
    if (renamed[i].label.empty()) renamed[i].label = renamed[i].backend;
    renamed[i].backend = known->name;
  }
  if (!renamed.empty()) return diff(renamed, sets, options);
  if (sides.size() < 2) return make_error("usage", "a comparison requires at least two sides");
  if (sets.empty()) return make_error("usage", "no inputs were given");
  if (auto error = unknown_names(sides, options)) return *std::move(error);
  return Comparison(sides, sets, options).run();
}

}  // namespace onnxkit
