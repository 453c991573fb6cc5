#pragma once

#include <optional>

#include "libonnxkit/workers/values.h"
#include "libonnxkit/workers/worker.h"

// What the answers of a worker say. All fail with worker-protocol, naming the part of the answer that is wrong.
namespace onnxkit::workers {

inline constexpr int protocol_version = 1;

/// The object of the answer to request `id`. Its "ok" is a boolean, and "segments" says how many came with it.
Result<Json> read_answer(std::string_view text, std::int64_t id, std::size_t segments);

/// Error that an answer with "ok": false stands for: worker-unsupported, worker-invalid, worker-failed, worker-memory or worker-unavailable, with
/// the message of the worker alone and the trace, up to that message, as notes.
Error read_error(const Json& answer);

Result<WorkerInfo> read_hello(const Json& answer);
Result<LoadedModel> read_load(const Json& answer);
Result<std::vector<exec::InnerDesc>> read_inner(const Json& answer);
/// `names`: of the outputs that must be there, in this order; `repeat`: number of samples.
Result<exec::RunAnswer> read_run(const Json& answer, const Segments& segments, std::span<const std::string> names,
                                 int repeat);

/// `repeat`: the most runs that each step may tell of.
Result<exec::RunProfile> read_profile(const Json& answer, int repeat);

}  // namespace onnxkit::workers
