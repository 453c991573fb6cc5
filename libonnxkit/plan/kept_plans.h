#pragma once

#include <cstdint>
#include <vector>

namespace onnxkit::plan {

class Planned;

/// All plans that a session keeps, those of bodies and of rests among them, so that where memory is short the oldest go, whatever they belong to.
class KeptPlans {
 public:
  void add(Planned& planned) { all_.push_back(&planned); }
  void remove(const Planned& planned);

  /// The number of a use, for the plan that is used now.
  std::uint64_t next_use() { return ++uses_; }
  /// That all of them hold.
  std::uint64_t bytes() const;
  /// Gives up the plan that was not used for longest and does not run. False: there is none.
  bool give_up_oldest();
  /// As many as it takes for `more` bytes beside those that stay; 0: there is no limit.
  void give_up_beyond(std::uint64_t limit, std::uint64_t more);

 private:
  std::vector<Planned*> all_;
  std::uint64_t uses_ = 0;
};

}  // namespace onnxkit::plan
