#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

namespace onnxkit::plan {

/// Passes in the order in which they run: by stage, those of one stage by name.
template <class P>
class StagedPasses {
 public:
  void add(const P& pass) { passes_.push_back(pass); }
  std::vector<P> ordered() const {
    std::vector<P> all = passes_;
    std::sort(all.begin(), all.end(),
              [](const P& a, const P& b) { return std::tie(a.stage, a.name) < std::tie(b.stage, b.name); });
    return all;
  }

 private:
  std::vector<P> passes_;
};

}  // namespace onnxkit::plan
