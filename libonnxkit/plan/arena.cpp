#include "libonnxkit/plan/arena.h"

#include <algorithm>
#include <numeric>

#include "libonnxkit/plan/step_edit.h"

namespace onnxkit::plan {
namespace {

constexpr std::uint64_t alignment = 64;

struct Life {
  std::uint32_t buffer = 0;
  std::size_t first = 0;  ///< step
  std::vector<std::size_t> begins,
      ends;  ///< by stream: its steps before `begins` have ended, and those from `ends` on use it no more
  std::uint64_t bytes = 0;

  bool is_before(const Life& other) const {
    for (std::size_t stream = 0; stream < ends.size(); ++stream)
      if (ends[stream] > other.begins[stream]) return false;
    return true;
  }
  /// Two lives that are not one before the other have steps in common between these: all of them where there is one stream.
  std::size_t begin() const { return *std::min_element(begins.begin(), begins.end()); }
  std::size_t end() const { return *std::max_element(ends.begin(), ends.end()); }
};

/// The steps one after the other.
StepOrder order_of_steps(const Plan& plan) {
  StepOrder order;
  order.streams.resize(plan.steps.size());
  for (std::size_t at = 0; at < plan.steps.size(); ++at) order.ended.push_back({at});
  return order;
}

/// A map may write over an operand of the same layout that nobody reads later, or meanwhile.
std::vector<std::uint32_t> shared_places(const Plan& plan, const BufferUses& uses, const StepOrder& order) {
  std::vector<std::uint32_t> root(plan.buffers.size());
  std::iota(root.begin(), root.end(), 0U);
  std::vector<std::uint32_t> sharing(plan.buffers.size(), 1);  // buffers by their root
  for (std::size_t at = 0; at < plan.steps.size(); ++at) {
    const Step& step = plan.steps[at];
    if (step.kind != map_step) continue;
    const View& to = step.outputs[0];
    if (plan.buffers[to.buffer].home != Home::arena || uses.writers[to.buffer].size() != 1) continue;
    for (const View& from : step.inputs) {
      if (plan.buffers[from.buffer].home != Home::arena ||
          plan.buffers[from.buffer].bytes != plan.buffers[to.buffer].bytes)
        continue;
      const bool is_same =
          from.type == to.type && from.offset == to.offset && from.dims == to.dims && from.strides == to.strides;
      const auto& readers = uses.readers[from.buffer];
      const bool is_last = readers.back() == at && std::count(readers.begin(), readers.end(), at) == 1 &&
                           std::all_of(readers.begin(), readers.end(), [&](std::size_t reader) {
                             return reader == at || reader < order.ended[at][order.streams[reader]];
                           });
      // What was placed into another's room already may be read behind this step through the other.
      const bool is_alone = sharing[root[from.buffer]] == 1 || root[from.buffer] != from.buffer;
      if (!is_same || !is_last || !is_alone) continue;
      --sharing[root[to.buffer]];
      root[to.buffer] = root[from.buffer];
      ++sharing[root[to.buffer]];
      break;
    }
  }
  return root;
}

std::vector<Life> lives_of(const Plan& plan, const BufferUses& uses, const StepOrder& order,
                           const std::vector<std::uint32_t>& root) {
  const std::size_t streams = order.ended.empty() ? 0 : order.ended.front().size();
  std::vector<Life> lives(plan.buffers.size());
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].home != Home::arena || uses.writers[b].empty()) continue;
    Life& life = lives[root[b]];
    const std::size_t first = uses.writers[b].front();
    const bool is_new = life.bytes == 0;
    life.buffer = root[b];
    life.first = is_new ? first : std::min(life.first, first);
    if (is_new) {
      life.begins.assign(streams, plan.steps.size());
      life.ends.assign(streams, 0);
    }
    for (const auto* users : {&uses.writers[b], &uses.readers[b]}) {
      for (const std::size_t user : *users) {
        for (std::size_t stream = 0; stream < streams; ++stream)
          life.begins[stream] = std::min(life.begins[stream], order.ended[user][stream]);
        std::size_t& end = life.ends[order.streams[user]];
        end = std::max(end, user + 1);
      }
    }
    life.bytes = std::max<std::uint64_t>(life.bytes, std::max<std::uint64_t>(plan.buffers[b].bytes, 1));
  }
  std::erase_if(lives, [](const Life& life) { return life.bytes == 0; });
  std::sort(lives.begin(), lives.end(),
            [](const Life& a, const Life& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.first < b.first; });
  return lives;
}

/// The lives that have a place, by the steps in which they need it: a tree whose leaves are the steps.
class PlacedLives {
 public:
  PlacedLives(const std::vector<Life>& lives, std::size_t steps) : lives_(lives), tops_(lives.size()) {
    while (leaves_ < steps) leaves_ *= 2;
    nodes_.resize(2 * leaves_);
    by_begin_.resize(lives.size());
    std::iota(by_begin_.begin(), by_begin_.end(), std::size_t{0});
    std::sort(by_begin_.begin(), by_begin_.end(),
              [&](std::size_t a, std::size_t b) { return lives_[a].begin() < lives_[b].begin(); });
    for (const std::size_t life : by_begin_) begins_.push_back(lives_[life].begin());
  }

  /// `top`: where its place ends.
  void add(std::size_t life, std::uint64_t top) {
    tops_[life] = top;
    each_node(lives_[life].begin(), lives_[life].end(), [&](std::size_t node) {
      nodes_[node].covered_by.push_back(life);
      nodes_[node].cover_top = std::max(nodes_[node].cover_top, top);
      for (std::size_t above = node; above > 0; above /= 2) nodes_[above].top = std::max(nodes_[above].top, top);
    });
  }

  /// Those that may live at the same time as this one.
  std::vector<std::size_t> beside(std::size_t life) const {
    std::vector<std::size_t> found;
    const std::size_t begin = lives_[life].begin(), end = lives_[life].end();
    for (std::size_t node = leaves_ + begin; node > 0; node /= 2)
      found.insert(found.end(), nodes_[node].covered_by.begin(), nodes_[node].covered_by.end());
    for (auto at = std::upper_bound(begins_.begin(), begins_.end(), begin); at != begins_.end() && *at < end; ++at) {
      const std::size_t later = by_begin_[static_cast<std::size_t>(at - begins_.begin())];
      if (tops_[later] != 0) found.push_back(later);
    }
    return found;
  }

  /// Behind the places of all of them.
  std::uint64_t top_beside(std::size_t life) const {
    std::uint64_t top = 0;
    each_node(lives_[life].begin(), lives_[life].end(), [&](std::size_t node) {
      top = std::max(top, nodes_[node].top);
      for (std::size_t above = node; above > 0; above /= 2) top = std::max(top, nodes_[above].cover_top);
    });
    return top;
  }

 private:
  struct Node {
    std::vector<std::size_t> covered_by;  ///< lives that need a place in all of its steps
    std::uint64_t cover_top = 0;          ///< of these
    std::uint64_t top = 0;                ///< of all lives in any of its steps, but for those that cover nodes above
  };

  /// The fewest nodes with these steps.
  void each_node(std::size_t begin, std::size_t end, const auto& visit) const {
    for (begin += leaves_, end += leaves_; begin < end; begin /= 2, end /= 2) {
      if (begin % 2 != 0) visit(begin++);
      if (end % 2 != 0) visit(--end);
    }
  }

  const std::vector<Life>& lives_;
  std::vector<std::uint64_t> tops_;  ///< by life; 0: it has no place yet
  std::vector<std::size_t> by_begin_, begins_;
  std::size_t leaves_ = 1;
  std::vector<Node> nodes_;
};

std::uint64_t next_place(std::uint64_t end) { return (end + alignment - 1) / alignment * alignment; }

/// The first gap among places that are in use meanwhile.
std::uint64_t first_gap(const Plan& plan, const std::vector<Life>& lives, std::vector<std::size_t> beside,
                        const Life& life) {
  std::erase_if(beside, [&](std::size_t at) { return lives[at].is_before(life) || life.is_before(lives[at]); });
  const auto place_of = [&](std::size_t at) { return plan.buffers[lives[at].buffer].offset; };
  std::sort(beside.begin(), beside.end(), [&](std::size_t a, std::size_t b) { return place_of(a) < place_of(b); });
  std::uint64_t offset = 0;
  for (const std::size_t other : beside) {
    if (offset + life.bytes <= place_of(other)) break;
    offset = std::max(offset, next_place(place_of(other) + lives[other].bytes));
  }
  return offset;
}

}  // namespace

void place_buffers(Plan& plan) { place_buffers(plan, order_of_steps(plan)); }

void place_buffers(Plan& plan, const StepOrder& order) {
  // Of values that live at the same time. Behind so many the smaller values lie behind all others of their time, without a look for gaps.
  constexpr std::size_t most_pairs = std::size_t{1} << 24;
  plan.arena_bytes = 0;
  const BufferUses uses(plan);
  const std::vector<std::uint32_t> root = shared_places(plan, uses, order);
  const std::vector<Life> lives = lives_of(plan, uses, order, root);
  PlacedLives placed(lives, plan.steps.size());
  std::size_t pairs = 0;
  for (std::size_t at = 0; at < lives.size(); ++at) {
    const Life& life = lives[at];
    std::uint64_t offset = 0;
    if (pairs < most_pairs) {
      std::vector<std::size_t> beside = placed.beside(at);
      pairs += beside.size();
      offset = first_gap(plan, lives, std::move(beside), life);
    } else {
      offset = next_place(placed.top_beside(at));
    }
    plan.buffers[life.buffer].offset = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, offset + life.bytes);
    placed.add(at, offset + life.bytes);
  }
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) plan.buffers[b].offset = plan.buffers[root[b]].offset;
}

}  // namespace onnxkit::plan
