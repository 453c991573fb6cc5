#include "libonnxkit/cuda/kernel_store.h"

#include <functional>
#include <utility>

#include <fmt/ranges.h>

namespace onnxkit::cuda {

std::string KernelSource::key() const {
  return fmt::format("{} {} {} {}", threads, synchronizes, spends_registers, text);
}

KernelSource source_of(const Launch& launch) {
  return {launch.text, launch.threads, launch.synchronizes, launch.spends_registers};
}

void KernelStore::begin_plan() {
  constexpr std::size_t most_forms = 1 << 13;  // each is as long as a kernel
  met_.clear();
  if (forms_.size() <= most_forms) return;
  forms_.clear();
  texts_.clear();
}

KernelStore::Wanted KernelStore::wanted(const Launch& launch, const plan::Step& step) {
  Wanted wanted{.source = source_of(launch)};
  wanted.held = find(wanted.source);
  const std::string nodes = fmt::format("{}", fmt::join(step.nodes, "\n"));
  const std::string place = fmt::format("{} {}", met_[nodes]++, nodes);
  const std::size_t hash = std::hash<std::string>()(launch.text);
  const bool is_as_before = std::exchange(texts_[place], hash) == hash;
  if (!has_parameters_ || (is_as_before && wanted.held)) return wanted;
  const KernelForm form(launch.text);
  KernelSource common = wanted.source;
  common.text = form.key();
  const auto [at, is_new] = forms_.emplace(fmt::format("{}\n{}", place, common.key()), Form());
  Form& known = at->second;
  if (is_new) {
    known.first = known.last = form.numbers();
    known.varies.resize(known.first.size());
    return wanted;
  }
  if (known.last != form.numbers()) ++known.sizes;
  known.last = form.numbers();
  for (std::size_t i = 0; i < known.first.size(); ++i)
    if (known.last[i] != known.first[i]) known.varies[i] = true;
  // Sessions of two sizes keep kernels that know theirs, which are faster.
  const int most_apart = goes_on_changing_ ? 1 : 2;
  if (known.sizes <= most_apart || known.last == known.first || wanted.held) return wanted;
  goes_on_changing_ = true;
  wanted.source.text = form.with_parameters(known.varies);
  for (std::size_t i = 0; i < known.varies.size(); ++i)
    if (known.varies[i]) wanted.numbers.push_back(known.last[i]);
  wanted.held = find(wanted.source);
  return wanted;
}

std::optional<LoadedKernel> KernelStore::find(const KernelSource& source) const {
  const auto found = held_.find(source.key());
  if (found == held_.end()) return std::nullopt;
  auto loaded = found->second.loaded.lock();
  if (!loaded) return std::nullopt;
  return LoadedKernel{std::move(loaded), found->second.function};
}

void KernelStore::keep(const KernelSource& source, const LoadedKernel& kernel) {
  if (held_.size() >= most_held_) {
    std::erase_if(held_, [](const auto& entry) { return entry.second.loaded.expired(); });
    most_held_ = 2 * held_.size() + 64;
  }
  held_[source.key()] = {kernel.loaded, kernel.function};
}

}  // namespace onnxkit::cuda
