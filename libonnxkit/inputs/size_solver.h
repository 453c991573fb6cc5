#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "checker/infer/inference.h"
#include "libonnxkit/ir/dim/dim.h"

namespace onnxkit::inputs {

/// Whether two sizes stand in a relation that a node needs.
bool holds(checker::SizeRelation relation, std::int64_t a, std::int64_t b);

/// A size that the model leaves open.
struct FreeSize {
  std::string name;        ///< of its symbol
  std::int64_t usual = 1;  ///< the size that it has where nothing is demanded
  bool is_named = false;   ///< by the model
  bool is_hinted = false;  ///< its name says what it is for, so `usual` is no mere guess
};

/// Finds sizes that meet what nodes demand. It settles what has one answer, gives the others their usual sizes, and then changes the sizes in
/// demands that are not met, so long as fewer and lesser ones remain.
class SizeSolver {
 public:
  /// How much a demand counts. One that is heavier is never given up for lighter ones, of which there are thousands at most.
  enum class Weight : std::int64_t {
    wish = 1,           ///< no tensor is empty
    perhaps = 100'000,  ///< holds in some branch, or is declared
    must = 10'000'000'000,
  };

  /// What it finds once `goes_on` says no counts for nothing; null: always yes.
  SizeSolver(ir::DimPool& pool, std::vector<FreeSize> sizes, std::function<bool()> goes_on = {});

  /// `subject` stands for the demand in `unmet`. Ignored where a size is not made up of the free ones.
  void demand(checker::SizeRelation relation, ir::Dim a, ir::Dim b, Weight weight, std::size_t subject);
  void solve();
  /// Halves sizes that are not settled while the sum of `work` is above `most` and no more is left unmet. After solve().
  void shrink(const std::vector<ir::Dim>& work, double most);

  /// Doubles the sizes beyond 1 that are not settled, where no more is left unmet.
  void grow();

  /// By the names of symbols.
  std::map<std::string, std::int64_t> sizes() const;
  /// Those of them that have one answer.
  std::map<std::string, std::int64_t> settled() const;
  /// The subjects of demands of weight `must` that no sizes were found for, and of those that settled sizes contradict.
  std::vector<std::size_t> unmet() const;
  std::vector<std::size_t> contradicted() const;

 private:
  struct Group {
    std::int64_t size = 1;
    bool is_hinted = false;
    bool is_settled = false;
  };
  struct Demand {
    checker::SizeRelation relation;
    ir::Dim a, b;
    Weight weight;
    std::size_t subject;
    std::vector<std::size_t> sizes;  ///< that occur in it
  };
  using Change = std::vector<std::pair<std::size_t, std::int64_t>>;  ///< groups and their sizes

  /// After many evaluations, or when it shall not go on.
  bool has_ended();
  std::optional<std::int64_t> value(ir::Dim dim) const;
  bool is_met(const Demand& demand) const;
  std::vector<std::size_t> open_groups(const Demand& demand) const;
  std::optional<std::size_t> group_of_symbol(ir::Dim dim) const;

  void unite();
  bool settle();
  std::optional<std::int64_t> only_answer(const Demand& demand, std::size_t group);
  /// Of all symbols by how much their sizes change, in powers of two; a name that says what it is for counts more.
  double extent(const Change& change) const;
  bool improve(const Demand& demand);
  std::vector<Change> changes(const Demand& demand);
  std::optional<Change> first_that_meets(const Demand& demand, const std::vector<std::size_t>& groups);
  std::int64_t missed(const Change& change);
  std::int64_t missed_in(const std::vector<std::size_t>& demands) const;
  std::vector<std::size_t> touched_by(const Change& change) const;
  void apply(const Change& change);

  ir::DimPool& pool_;
  std::vector<FreeSize> free_;
  std::unordered_map<std::string, std::size_t> index_;  ///< by name
  std::vector<std::size_t> group_;                      ///< of each free size
  std::vector<Group> groups_;
  std::vector<Demand> demands_;
  mutable std::uint64_t evaluations_ = 0;
  std::uint64_t next_question_ = 0;  ///< the number of evaluations with which `goes_on_` is asked again
  std::function<bool()> goes_on_;
  bool has_ended_ = false;
};

}  // namespace onnxkit::inputs
