#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libonnxkit/plan/arena.h"

// Which works may run side by side, and on which streams they do.
namespace onnxkit::cuda {

/// Bytes of memory, as the elements of a view: begin + i * strides[0] + j * strides[1] + ...
struct Region {
  std::uint64_t begin = 0;
  plan::Dims dims = {}, strides = {};  ///< in bytes; the last axis is that of the bytes of an element
  bool is_written = false;
  std::uint64_t first = 0, end = 0;  ///< the bytes between which it lies
};

/// Of a view whose buffer begins at `buffer`.
Region region_of(const plan::View& view, std::uint64_t buffer, bool is_written);
/// Whether a byte is in both. Where telling takes too long, they are said to.
bool overlap(const Region& a, const Region& b);

/// By work: the earlier works that it has to come behind, ascending. Those behind which it comes through others may be missing.
using Dependencies = std::vector<std::vector<std::size_t>>;
/// A work comes behind those that wrote what it reads or writes, and behind those that read what it writes.
Dependencies dependencies_of(std::span<const std::vector<Region>> works);

/// Works on streams.
struct Schedule {
  plan::StepOrder order;                        ///< of works
  std::vector<std::vector<std::size_t>> waits;  ///< by work: works of other streams to wait for, no more than it takes
  std::size_t streams = 0;                      ///< that are used: the first ones
};
/// On at most so many streams. A work goes on where the last of those that it comes behind has just run; else a free stream takes it.
Schedule schedule(const Dependencies& dependencies, std::size_t most_streams);
/// On these streams.
Schedule schedule(const Dependencies& dependencies, std::span<const std::size_t> streams);

/// The steps of a plan on streams, by the values that they read and write alone: buffers have no places yet. All before a host step has ended when it
/// begins, and nothing runs beside it.
Schedule schedule_steps(const plan::Plan& plan, std::size_t most_streams);
/// Gives the buffers places that let the steps run as that says, where it takes more than one stream.
void place_side_by_side(plan::Plan& plan, std::size_t most_streams);

}  // namespace onnxkit::cuda
