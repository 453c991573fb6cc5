#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "onnxkit/context.h"
#include "onnxkit/diff.h"
#include "onnxkit/result.h"

namespace onnxkit::tools {

/// Whether a number of threads can be given to a backend, by its name; those that could not be asked are left out.
using ThreadOptions = std::map<std::string, bool>;

/// Asks backends. `asked` is what wants a number of threads, for messages: "--threads". Error usage where it would change nothing.
Result<ThreadOptions> thread_options(const std::set<std::string>& backends, const Context& context,
                                     const std::string& asked);

/// Every side with so many threads, where its backend has that option; what is said of the others.
std::vector<std::string> set_threads(std::vector<DiffSide>& sides, std::int64_t threads, const ThreadOptions& known,
                                     const std::string& asked);

/// Error usage where the options of a backend say another number of threads.
Result<void> check_threads(std::int64_t threads, const std::string& backend,
                           const std::map<std::string, std::string>& options, const std::string& asked);

}  // namespace onnxkit::tools
