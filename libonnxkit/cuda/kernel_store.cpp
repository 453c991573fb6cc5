#include "libonnxkit/cuda/kernel_store.h"

#include <fmt/core.h>

namespace onnxkit::cuda {

std::string KernelSource::key() const {
  return fmt::format("{} {} {} {}", threads, synchronizes, spends_registers, text);
}

KernelSource source_of(const Launch& launch) {
  return {launch.text, launch.threads, launch.synchronizes, launch.spends_registers};
}

KernelStore::Wanted KernelStore::wanted(const Launch& launch, const plan::Step& step) {
  Wanted wanted{.source = source_of(launch)};
  if (!has_parameters_) return wanted;
  const KernelForm form(launch.text);
  KernelSource common = wanted.source;
  common.text = fmt::format("{}\n{}", fmt::join(step.nodes, "\n"), form.key());
  const std::string key = common.key();
  const auto [at, is_new] = forms_.emplace(fmt::format("{} {}", met_[key]++, key), Form());
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
  if (known.sizes <= most_apart || known.last == known.first || find(wanted.source)) return wanted;
  goes_on_changing_ = true;
  wanted.source.text = form.with_parameters(known.varies);
  for (std::size_t i = 0; i < known.varies.size(); ++i)
    if (known.varies[i]) wanted.numbers.push_back(known.last[i]);
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
