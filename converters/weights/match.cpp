#include "converters/weights/match.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "libonnxkit/base/checked.h"
#include "libonnxkit/base/dtype/dtype.h"

namespace onnxkit::weights {
namespace {

using containers::StoredTensor;
using Names = std::unordered_map<std::string_view, std::size_t>;
constexpr std::size_t not_unique = static_cast<std::size_t>(-1);

/// What DataParallel, torch.compile and classes around a network put before the names of its weights.
std::string_view without_wrappers(std::string_view name) {
  constexpr std::array<std::string_view, 6> prefixes = {"module.",     "model.", "_orig_mod.",
                                                        "state_dict.", "net.",   "network."};
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view prefix : prefixes) {
      if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
      name.remove_prefix(prefix.size());
      found = true;
    }
  }
  return name;
}

bool has_type(const ir::Tensor& initializer, const StoredTensor& tensor) {
  return initializer.data_type == static_cast<std::int32_t>(tensor.elem);
}

bool is_transpose(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  return a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
}

class Matching {
 public:
  Matching(const ir::Graph& graph, std::span<const StoredTensor> tensors, std::vector<Match>& misfits)
      : graph_(graph),
        tensors_(tensors),
        misfits_(misfits),
        is_matched_(graph.initializers.size(), false),
        is_used_(tensors.size(), false) {}

  std::vector<Match> run() {
    by_name(WeightMatch::How::name, [](std::string_view name) { return name; });
    by_name(WeightMatch::How::prefix, without_wrappers);
    by_shape(false);
    by_shape(true);
    for (std::vector<Match>* pairs : {&matches_, &misfits_})
      std::sort(pairs->begin(), pairs->end(),
                [](const Match& a, const Match& b) { return a.initializer < b.initializer; });
    return std::move(matches_);
  }

 private:
  template <class Key>
  void by_name(WeightMatch::How how, Key key) {
    Names initializers, tensors;
    const auto add = [](Names& names, std::string_view name, std::size_t index) {
      const auto [entry, is_new] = names.emplace(name, index);
      if (!is_new) entry->second = not_unique;
    };
    for (std::size_t i = 0; i < graph_.initializers.size(); ++i)
      if (!is_matched_[i]) add(initializers, key(graph_.initializers[i].name.view()), i);
    for (std::size_t t = 0; t < tensors_.size(); ++t)
      if (!is_used_[t]) add(tensors, key(tensors_[t].name), t);
    for (const auto& [name, initializer] : initializers) {
      const auto found = tensors.find(name);
      if (found == tensors.end() || found->second == not_unique || initializer == not_unique) continue;
      pair(initializer, found->second, how);
    }
  }

  void pair(std::size_t initializer, std::size_t tensor, WeightMatch::How how) {
    const ir::Tensor& to = graph_.initializers[initializer];
    const StoredTensor& from = tensors_[tensor];
    Match match{initializer, tensor, how};
    match.is_transposed = to.dims != from.dims && is_transpose(to.dims, from.dims);
    const bool fits = has_type(to, from) && (to.dims == from.dims || match.is_transposed);
    is_matched_[initializer] = is_used_[tensor] = true;
    (fits ? matches_ : misfits_).push_back(match);
  }

  using Shape = std::pair<ElementType, std::vector<std::int64_t>>;
  struct Group {
    std::vector<std::size_t> initializers, tensors;
  };

  /// What is left is paired where as many initializers as tensors have a type and shape, in their order. Square matrices that a
  /// MatMul reads may be transposed or not, which only a name could tell.
  void by_shape(bool transposed) {
    std::map<Shape, Group> groups;
    for (std::size_t i = 0; i < graph_.initializers.size(); ++i) {
      const ir::Tensor& initializer = graph_.initializers[i];
      const bool is_square = initializer.dims.size() == 2 && initializer.dims[0] == initializer.dims[1];
      if (is_matched_[i] || !is_weight(initializer) || is_square) continue;
      std::vector<std::int64_t> dims = initializer.dims;
      if (transposed && dims.size() == 2) std::swap(dims[0], dims[1]);
      if (transposed && dims.size() != 2) continue;
      groups[{static_cast<ElementType>(initializer.data_type.value_or(0)), dims}].initializers.push_back(i);
    }
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (is_used_[t]) continue;
      const auto group = groups.find({tensors_[t].elem, tensors_[t].dims});
      if (group != groups.end()) group->second.tensors.push_back(t);
    }
    for (const auto& [shape, group] : groups) {
      if (group.initializers.size() != group.tensors.size()) continue;
      const auto how = group.tensors.size() == 1 ? WeightMatch::How::shape : WeightMatch::How::order;
      for (std::size_t i = 0; i < group.tensors.size(); ++i) pair(group.initializers[i], group.tensors[i], how);
    }
  }

  const ir::Graph& graph_;
  std::span<const StoredTensor> tensors_;
  std::vector<Match>& misfits_;
  std::vector<bool> is_matched_, is_used_;
  std::vector<Match> matches_;
};

}  // namespace

bool is_weight(const ir::Tensor& initializer) {
  const auto elem = static_cast<ElementType>(initializer.data_type.value_or(0));
  const auto count = checked_element_count(initializer.dims);
  const bool is_number = elem != ElementType::undefined && elem != ElementType::string;
  return is_number && domain_of(elem) != Domain::integer && domain_of(elem) != Domain::natural &&
         domain_of(elem) != Domain::boolean && count && *count > 1;
}

std::vector<Match> match_weights(const ir::Graph& graph, std::span<const StoredTensor> tensors,
                                 std::vector<Match>& misfits) {
  return Matching(graph, tensors, misfits).run();
}

}  // namespace onnxkit::weights
