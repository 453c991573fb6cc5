// opset_matrix [options] FOLDER: converts models with recorded runs to every opset and holds what comes out against the recordings.
//
// FOLDER holds official cases (model.onnx with test_data_set_*) or, with --manifest, exported models (see tests/official/run_models.cpp).
// --only TEXT     subjects whose name holds TEXT; may be repeated          --to N       only this target; may be repeated
// --variants      also with inputs as constants, computed, with symbolic and with unknown shapes
// --table FILE    a line for each pair (tab-separated, all reasons)        --save DIR   converted models that came out equal
// --round-trip    what came out equal is converted back and judged again
// --reasons       what was refused, counted                                --domain D   "" (default) or ai.onnx.ml
// --corrections DIR   outputs that replace recorded ones                   --part K/N   every N-th subject, from the K-th on
// --judge DIR     instead of converting: judges models that another converter left in DIR under the names that --save gives them
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <fmt/core.h>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "libonnxkit/base/system/atomic_file.h"
#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/binary/writer.h"
#include "tests/official/random_cases.h"
#include "tests/official/recorded.h"
#include "tests/opset/pair.h"
#include "tests/opset/variants.h"

namespace {

namespace fs = std::filesystem;
using namespace onnxkit;
using namespace onnxkit::opset_matrix;
using opset_matrix::Outcome;  // not the public one

struct Arguments {
  fs::path folder, table, save, corrections, judge;
  std::vector<std::string> only;
  std::set<std::int64_t> targets;
  std::string domain;
  bool variants = false, manifest = false, reasons = false, round_trip = false;
  std::size_t part = 0, parts = 1;
};

Result<ir::Model> read_model(const fs::path& path) {
  const auto file = MappedFile::open(path);
  if (!file) return file.error();
  auto model = wire::read_binary(*file);
  if (!model) return model.error();
  if (!model->graph) return make_error("no-graph", "the model has no graph");
  model->path = path;
  return model;
}

std::vector<Subject> official_subjects(const Arguments& arguments) {
  std::vector<Subject> subjects;
  for (const auto& entry : fs::recursive_directory_iterator(arguments.folder)) {
    if (entry.path().filename() != "model.onnx") continue;
    Subject subject;
    const fs::path path = entry.path();
    subject.name = fs::relative(path.parent_path(), arguments.folder).string();
    subject.read = [path] { return read_model(path); };
    const std::string last = path.parent_path().filename().string();
    subject.is_random = official::is_random_case(last);
    subject.tolerance = [last](const Value& recorded) {
      comparison::Tolerance tolerance = official::official_tolerance(recorded);
      if (last.find("densenet121") != std::string::npos) tolerance.relative = 2e-3;
      return tolerance;
    };
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

std::vector<Subject> exported_subjects(const Arguments& arguments) {
  std::vector<Subject> subjects;
  for (const YAML::Node& entry : YAML::LoadFile((arguments.folder / "manifest.json").string())["models"]) {
    const auto name = entry["model"] ? entry["model"].as<std::string>() : std::string();
    if (!name.ends_with(".onnx")) continue;
    const comparison::Tolerance tolerance = {entry["rtol"].as<double>(), entry["atol"].as<double>(), 0};
    Subject subject;
    subject.name = entry["folder"].as<std::string>() + "/" + name;
    const fs::path path = arguments.folder / subject.name;
    subject.read = [path] { return read_model(path); };
    subject.tolerance = [tolerance](const Value&) { return tolerance; };
    subjects.push_back(std::move(subject));
  }
  return subjects;
}

/// Recorded runs of a subject; empty when they cannot be read.
std::vector<official::DataSet> read_sets(const Subject& subject, const ir::Graph& graph, const Arguments& arguments) {
  std::vector<official::DataSet> sets;
  const fs::path model = arguments.folder / subject.name;
  const fs::path folder = arguments.manifest ? model.parent_path() : model;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  for (const fs::path& path : folders) {
    auto set = arguments.manifest ? official::read_exported_set(graph, path)
                                  : official::read_official_set(graph, path, arguments.corrections / subject.name);
    if (!set) return {};
    sets.push_back(*std::move(set));
  }
  return sets;
}

struct Counts {
  std::size_t equal = 0, refused = 0, wrong = 0, invalid = 0;
  std::size_t of(Outcome outcome) const {
    return outcome == Outcome::equal     ? equal
           : outcome == Outcome::refused ? refused
           : outcome == Outcome::wrong   ? wrong
                                         : invalid;
  }
  void add(Outcome outcome) {
    ++(outcome == Outcome::equal     ? equal
       : outcome == Outcome::refused ? refused
       : outcome == Outcome::wrong   ? wrong
                                     : invalid);
  }
};

constexpr std::string_view outcome_name(Outcome outcome) {
  constexpr std::string_view names[] = {"equal", "refused", "WRONG", "INVALID"};
  return names[static_cast<std::size_t>(outcome)];
}

class Matrix {
 public:
  explicit Matrix(Arguments arguments) : arguments_(std::move(arguments)) {
    if (!arguments_.table.empty()) table_file_ = std::fopen(arguments_.table.c_str(), "w");
  }
  ~Matrix() {
    if (table_file_) std::fclose(table_file_);
  }

  int run() {
    auto subjects = arguments_.manifest ? exported_subjects(arguments_) : official_subjects(arguments_);
    std::sort(subjects.begin(), subjects.end(), [](const Subject& a, const Subject& b) { return a.name < b.name; });
    std::size_t index = 0;
    for (Subject& subject : subjects) {
      const bool wanted = arguments_.only.empty() ||
                          std::any_of(arguments_.only.begin(), arguments_.only.end(), [&](const std::string& part) {
                            return subject.name.find(part) != std::string::npos;
                          });
      if (!wanted || index++ % arguments_.parts != arguments_.part) continue;
      run_subject(subject);
      subject.sets.clear();
    }
    report();
    const std::size_t bad = total_.wrong + total_.invalid + unreadable_;
    fmt::print("{} passed, {} failed\n", total_.equal + total_.refused, bad);
    return bad == 0 && total_.equal > 0 ? 0 : 1;
  }

 private:
  void run_subject(Subject& subject) {
    const auto first = subject.read();
    if (!first) {
      fmt::print("{}: cannot be read: {}\n", subject.name, first.error().diagnostic.message);
      ++unreadable_;
      return;
    }
    if (imported(*first, arguments_.domain) == 0) return;
    const auto sets = read_sets(subject, *first->graph, arguments_);
    if (sets.empty()) {
      fmt::print("{}: no recorded runs\n", subject.name);
      ++unreadable_;
      return;
    }
    const auto read = subject.read;
    for (const Variant variant : all_variants) {
      if (variant != Variant::as_is && !arguments_.variants) break;
      auto probe = read();
      subject.sets = sets;
      if (!probe || !vary(*probe, subject.sets, variant)) continue;
      if (variant != Variant::as_is && !holds_as_varied(subject, read, sets, variant)) continue;
      subject.read = [read, sets, variant]() -> Result<ir::Model> {
        auto model = read();
        auto unused = sets;
        if (model) vary(*model, unused, variant);
        return model;
      };
      run_targets(subject, variant);
      subject.read = read;
    }
  }

  /// The varied model, unconverted, still is valid and gives what was recorded.
  bool holds_as_varied(Subject subject, const std::function<Result<ir::Model>()>& read,
                       const std::vector<official::DataSet>& sets, Variant variant) {
    subject.read = [read, sets, variant]() -> Result<ir::Model> {
      auto model = read();
      auto unused = sets;
      if (model) vary(*model, unused, variant);
      return model;
    };
    const auto model = subject.read();
    return judge(subject, arguments_.domain, imported(*model, arguments_.domain), table_).outcome == Outcome::equal;
  }

  void run_targets(const Subject& subject, Variant variant) {
    const auto model = subject.read();
    const std::int64_t from = imported(*model, arguments_.domain);
    for (std::int64_t to = 1; to <= spec::newest_opset(arguments_.domain); ++to) {
      if (to == from || (!arguments_.targets.empty() && !arguments_.targets.contains(to))) continue;
      count(subject, variant, from, to, judged(subject, variant, to));
    }
  }

  PairResult judged(const Subject& subject, Variant variant, std::int64_t to) const {
    std::string name = fmt::format("{}@{}@{}.onnx", subject.name, to, name_of(variant));
    std::replace(name.begin(), name.end(), '/', '+');
    if (arguments_.judge.empty()) {
      const auto save = [&](const ir::Model& converted) {
        if (arguments_.save.empty()) return;
        fs::create_directories(arguments_.save);
        (void)replace_file(arguments_.save / name, wire::to_bytes(converted));
      };
      return judge(subject, arguments_.domain, to, table_, {arguments_.round_trip, save});
    }
    const fs::path file = arguments_.judge / name;
    auto converted =
        fs::exists(file) ? read_model(file) : Result<ir::Model>(make_error(ErrorKind::io, "no-file", "refused"));
    PairResult pair = judge_given(subject, arguments_.domain, to, table_, std::move(converted));
    if (!fs::exists(file)) pair.outcome = Outcome::refused;
    return pair;
  }

  void count(const Subject& subject, Variant variant, std::int64_t from, std::int64_t to, const PairResult& pair) {
    total_.add(pair.outcome);
    const bool up = to > from;
    counts_[{up ? 0 : 1, up                            ? "all"
                         : pair.nature.fits            ? "fits as it stands"
                         : pair.nature.operators_exist ? "operators exist"
                                                       : "some operator is newer"}]
        .add(pair.outcome);
    if (pair.outcome == Outcome::wrong || pair.outcome == Outcome::invalid)
      fmt::print("{} ({}) {} -> {}: {}: {}\n", subject.name, name_of(variant), from, to, outcome_name(pair.outcome),
                 pair.reason);
    const std::set<std::string> blockers(pair.blockers.begin(), pair.blockers.end());
    for (const std::string& blocker : blockers) ++reasons_[(pair.back ? "back: " : "") + blocker];
    if (pair.back) {
      counts_[{2, up ? "up, then down" : "down, then up"}].add(*pair.back);
      if (*pair.back == Outcome::wrong || *pair.back == Outcome::invalid) {
        total_.add(*pair.back);
        fmt::print("{} ({}) {} -> {} -> {}: {}: {}\n", subject.name, name_of(variant), from, to, from,
                   outcome_name(*pair.back), pair.back_reason);
      }
    }
    std::string reason = pair.outcome == Outcome::refused ? fmt::format("{}", fmt::join(blockers, " | ")) : pair.reason;
    std::replace_if(
        reason.begin(), reason.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    if (table_file_)
      fmt::print(table_file_, "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", subject.name, name_of(variant), from, to,
                 outcome_name(pair.outcome), pair.nature.fits, pair.nature.operators_exist, reason);
  }

  void report() const {
    for (const auto& [key, counts] : counts_) {
      fmt::print("{:4} {:24} equal {:6}  refused {:6}  wrong {:4}  invalid {:4}\n",
                 key.first == 0   ? "up"
                 : key.first == 1 ? "down"
                                  : "back",
                 key.second, counts.equal, counts.refused, counts.wrong, counts.invalid);
    }
    if (!arguments_.reasons) return;
    std::vector<std::pair<std::size_t, std::string>> sorted;
    for (const auto& [reason, n] : reasons_) sorted.emplace_back(n, reason);
    std::sort(sorted.rbegin(), sorted.rend());
    for (const auto& [n, reason] : sorted) fmt::print("{:6} {}\n", n, reason);
  }

  const Arguments arguments_;
  const spec::OpTable table_;
  std::FILE* table_file_ = nullptr;
  Counts total_;
  std::size_t unreadable_ = 0;
  std::map<std::pair<int, std::string>, Counts> counts_;
  std::map<std::string, std::size_t> reasons_;
};

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto next = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (word == "--only")
      arguments.only.push_back(next());
    else if (word == "--to")
      arguments.targets.insert(std::stoll(next()));
    else if (word == "--variants")
      arguments.variants = true;
    else if (word == "--manifest")
      arguments.manifest = true;
    else if (word == "--round-trip")
      arguments.round_trip = true;
    else if (word == "--reasons")
      arguments.reasons = true;
    else if (word == "--domain")
      arguments.domain = next();
    else if (word == "--table")
      arguments.table = next();
    else if (word == "--save")
      arguments.save = next();
    else if (word == "--judge")
      arguments.judge = next();
    else if (word == "--corrections")
      arguments.corrections = next();
    else if (word == "--part") {
      const std::string part = next();
      arguments.part = std::stoull(part);
      arguments.parts = std::stoull(part.substr(part.find('/') + 1));
    } else
      arguments.folder = word;
  }
  return Matrix(std::move(arguments)).run();
}
