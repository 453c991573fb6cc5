#include "onnxkit/context.h"

#include <utility>

#include "libonnxkit/spec/context_cache.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit {

struct Context::State {
  ContextOptions options;
  spec::OpTable table;
  mutable Cache cache;
};

Context::Context() : Context(std::make_shared<const State>()) {}
Context::Context(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Result<Context> Context::make(ContextOptions options) {
  auto state = std::make_shared<State>();
  for (const std::filesystem::path& path : options.schemas) {
    auto pack = spec::SchemaPack::from_file(path);
    if (!pack) return std::move(pack).error();
    state->table.add(*std::move(pack));
  }
  state->options = std::move(options);
  return Context(std::shared_ptr<const State>(std::move(state)));
}

const WorkerSettings& Context::workers() const { return state_->options.workers; }

Limits Context::limits(const Limits& own) const {
  const Limits& common = state_->options.limits;
  const auto either = [](auto mine, auto other) { return mine != 0 ? mine : other; };
  return {.threads = either(own.threads, common.threads),
          .memory_bytes = either(own.memory_bytes, common.memory_bytes),
          .time_ms = either(own.time_ms, common.time_ms),
          .iterations = either(own.iterations, common.iterations)};
}

const spec::OpTable& Context::table() const { return state_->table; }
std::shared_ptr<const spec::OpTable> Context::shared_table() const { return {state_, &state_->table}; }
Context::Cache& Context::cache() const { return state_->cache; }

}  // namespace onnxkit
