#include "libonnxkit/compare/metrics/pair_blocks.h"

#include <algorithm>

namespace onnxkit::comparison {

void over_chunks(std::size_t elements, int threads,
                 const std::function<void(std::size_t, std::size_t, std::size_t)>& body) {
  const std::size_t chunks = (elements + chunk_elements - 1) / chunk_elements;
  const auto range = [&](std::int64_t from, std::int64_t until) {
    for (auto chunk = static_cast<std::size_t>(from); chunk < static_cast<std::size_t>(until); ++chunk)
      body(chunk, chunk * chunk_elements, std::min(elements, (chunk + 1) * chunk_elements));
  };
  if (chunks < 2 || threads == 1) return range(0, static_cast<std::int64_t>(chunks));
  ThreadPool pool(threads);
  pool.for_range(static_cast<std::int64_t>(chunks), 1, range);
}

}  // namespace onnxkit::comparison
