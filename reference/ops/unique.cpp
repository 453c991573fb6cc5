// Unique: the different elements of the flattened tensor, or the different slices along `axis`, in ascending order or in that of their first
// occurrence.
#include <algorithm>
#include <numeric>

#include "reference/kernels/axes.h"
#include "reference/kernels/order.h"
#include "reference/kernels/select.h"

namespace onnxkit::reference {
namespace {

/// -1, 0 or 1 as slice a of [outer, length, inner] comes before, with or after slice b.
template <class T>
int compare(const T* x, const AxisView& view, std::int64_t a, std::int64_t b) {
  for (std::int64_t o = 0; o < view.outer; ++o) {
    for (std::int64_t i = 0; i < view.inner; ++i) {
      const T& left = x[(o * view.length + a) * view.inner + i];
      const T& right = x[(o * view.length + b) * view.inner + i];
      if (precedes(left, right)) return -1;
      if (precedes(right, left)) return 1;
    }
  }
  return 0;
}

struct Groups {
  std::vector<std::int64_t> firsts, counts;  ///< of each group, in the order of the result
  std::vector<std::int64_t> group;           ///< of each slice
};

template <class T>
Groups group_slices(const KernelContext& context, const T* x, const AxisView& view, bool sorted) {
  SortWatch watch(context);
  std::vector<std::int64_t> order = identity_index(view.length);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    watch.look();
    return compare(x, view, a, b) < 0;
  });
  Groups groups;
  groups.group.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(x, view, order[i - 1], order[i]) != 0) {
      groups.firsts.push_back(order[i]);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.group[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(groups.firsts.size()) - 1;
  }
  if (sorted) return groups;

  std::vector<std::size_t> by_first(groups.firsts.size()), rank(groups.firsts.size());
  std::iota(by_first.begin(), by_first.end(), std::size_t{0});
  std::sort(by_first.begin(), by_first.end(), [&](std::size_t a, std::size_t b) {
    watch.look();
    return groups.firsts[a] < groups.firsts[b];
  });
  Groups reordered;
  for (std::size_t i = 0; i < by_first.size(); ++i) {
    rank[by_first[i]] = i;
    reordered.firsts.push_back(groups.firsts[by_first[i]]);
    reordered.counts.push_back(groups.counts[by_first[i]]);
  }
  for (const std::int64_t group : groups.group)
    reordered.group.push_back(static_cast<std::int64_t>(rank[static_cast<std::size_t>(group)]));
  return reordered;
}

Tensor list(const KernelContext& context, const std::vector<std::int64_t>& values) {
  Tensor tensor = context.make(ElementType::int64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.write<std::int64_t>().begin());
  return tensor;
}

void unique(KernelContext& context) {
  const Tensor& input = context.input(0);
  const auto stated = context.find_integer("axis");
  const Tensor x = stated ? input : input.reshaped({input.size()});
  const std::int64_t axis = stated ? normalize_axis(*stated, x.rank()) : 0;
  const AxisView view = view_axis(x.dims(), axis);
  require(x.size() > 0 || view.length == 0, "the slices have no elements to compare");
  const bool sorted = context.integer("sorted", 1) != 0;
  const Groups groups = dispatch_all(x.domain(), [&]<class T>(std::type_identity<T>) {
    return group_slices(context, x.as<T>().data(), view, sorted);
  });
  Dims dims = x.dims();
  dims[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(groups.firsts.size());
  context.set_output(0, select(context, x, std::move(dims), [&](std::int64_t of_axis, std::int64_t i) {
                       return of_axis == axis ? groups.firsts[static_cast<std::size_t>(i)] : i;
                     }));
  context.set_output(1, list(context, groups.firsts));
  context.set_output(2, list(context, groups.group));
  context.set_output(3, list(context, groups.counts));
}

}  // namespace

void register_unique(KernelRegistry& registry) {
  registry.add("Unique", all_versions(), unique, {.noise = noise::moved});
}

}  // namespace onnxkit::reference
