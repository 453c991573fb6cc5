#pragma once

#include <cstddef>
#include <functional>

namespace onnxkit::tools {

/// Runs work(i) for every i below `count` on up to `jobs` threads, the calling one where it is one, and hands each i to `take` on the calling
/// thread, in order, as soon as its turn has come. `take` returns false to stop early. What `work` throws is thrown here at its turn.
void in_order(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work,
              const std::function<bool(std::size_t)>& take);

}  // namespace onnxkit::tools
