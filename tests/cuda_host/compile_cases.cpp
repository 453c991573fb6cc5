// compile_cases [--every N] FOLDER...: the kernels of the plans of every N-th model.onnx and of all *.onnxtxt below the folders, in float32, float64, float16 and fp8, compiled by the real NVRTC for
// the architectures that a GPU may have. Needs no GPU; without NVRTC it is skipped.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "libonnxkit/backends/backends.h"
#include "libonnxkit/base/system/mapped_file.h"
#include "libonnxkit/cuda/kernels.h"
#include "libonnxkit/plan/fp8_products.h"
#include "libonnxkit/plan/planned.h"
#include "libonnxkit/plan/precision.h"
#include "libonnxkit/wire/binary/reader.h"
#include "libonnxkit/wire/text.h"

namespace {

namespace fs = std::filesystem;
using namespace onnxkit;

/// Launches of different texts.
struct Launches {
  std::map<std::string, cuda::Launch> by_text;
  std::map<std::string, std::string> kind_of;
  std::set<std::string> refused;
};

void write_steps(const plan::Plan& plan, Launches& launches) {
  const cuda::Preparation preparation{.plan = plan};
  for (const plan::Step& step : plan.steps) {
    if (step.kind == plan::host_step || step.outputs[0].size() == 0) continue;
    const cuda::WriteStep write = cuda::step_registry().find(step.kind);
    if (!write) continue;
    auto made = write(step, preparation);
    if (!made) {
      launches.refused.insert(fmt::format("{}: {}", step.kind.name, made.error().diagnostic.message));
      continue;
    }
    for (cuda::Launch& launch : *made) {
      const std::string key = fmt::format("{} {}", launch.threads, launch.text);
      launches.kind_of.emplace(key, step.kind.name);
      launches.by_text.emplace(key, std::move(launch));
    }
  }
}

void write_model(const fs::path& path, exec::Backend& host, const exec::LoadOptions& load, Launches& launches) {
  const auto file = MappedFile::open(path);
  if (!file) return;
  auto read =
      path.extension() == ".onnxtxt" ? wire::parse_text((*file)->view(), path.string()) : wire::read_binary(*file);
  if (!read || !read->graph) return;
  const auto model = std::make_shared<ir::Model>(*std::move(read));
  model->path = path;
  plan::PlannedOptions options;
  options.load = load;
  options.host = std::shared_ptr<exec::Backend>(std::shared_ptr<void>(), &host);
  options.make = [&launches](plan::Plan plan, plan::HostNodes&,
                             const plan::PlannedRun&) -> Result<std::unique_ptr<plan::Executable>> {
    write_steps(plan, launches);
    plan::Plan wide = plan, narrow = plan;
    if (plan::widen(wide, true)) write_steps(wide, launches);
    if (plan::narrow(narrow, ElementType::float16)) {
      write_steps(narrow, launches);
      plan::use_fp8_products(narrow);
      write_steps(narrow, launches);
    }
    return make_error("not-supported", "only written");
  };
  (void)plan::PlannedSession(model, options).prepare("float32");
}

/// How many of every `step`-th kernel do not compile.
int compile(const Launches& launches, std::size_t step, const cuda::Nvrtc& nvrtc, const std::string& architecture) {
  std::vector<cuda::KernelSource> all;
  std::vector<std::string> kinds;
  std::size_t index = 0;
  for (const auto& [key, launch] : launches.by_text) {
    if (index++ % step != 0) continue;
    all.push_back(cuda::source_of(launch));
    kinds.push_back(launches.kind_of.at(key));
  }
  int failed = 0;
  constexpr std::size_t batch = 64;
  for (std::size_t first = 0; first < all.size(); first += batch) {
    const std::span part = std::span(all).subspan(first, std::min(batch, all.size() - first));
    if (nvrtc.compile(cuda::join_kernels(part).text, architecture, true)) continue;
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto alone = nvrtc.compile(cuda::join_kernels(part.subspan(i, 1)).text, architecture, true);
      if (alone) continue;
      ++failed;
      fmt::print("{} for {}: {}\n", kinds[first + i], architecture, alone.error().diagnostic.message);
    }
  }
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t every = 1;
  std::vector<fs::path> folders;
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string_view("--every") && i + 1 < argc)
      every = std::stoul(argv[++i]);
    else
      folders.emplace_back(argv[i]);
  }
  const auto nvrtc = cuda::Nvrtc::open(LibraryPlaces::of_environment("python3"), 0);
  if (!nvrtc) {
    fmt::print("skipped: {}: 3 cases\n3 skipped\n0 passed, 0 failed\n", nvrtc.error().diagnostic.message);
    return 0;
  }
  std::vector<fs::path> models, texts;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().filename() == "model.onnx") models.push_back(entry.path());
      if (entry.path().extension() == ".onnxtxt") texts.push_back(entry.path());
    }
  }
  std::sort(models.begin(), models.end());
  const auto host = all_backends().find("reference", {})->make({});
  const exec::LoadOptions load{.context = std::make_shared<exec::SessionContext>(),
                               .table = std::make_shared<const spec::OpTable>()};
  Launches launches;
  for (std::size_t i = 0; i < models.size(); i += every) write_model(models[i], *host, load, launches);
  for (const fs::path& text : texts) write_model(text, *host, load, launches);
  for (const std::string& reason : launches.refused) fmt::print("no kernel: {}\n", reason);
  int passed = 0, failed = 0;
  for (const int capability : {80, 90, 100}) {
    const auto architecture = (*nvrtc)->architecture_for(capability);
    // What the oldest lacks shows there; of a sample the newer ones take a sample.
    const std::size_t step = capability == 80 ? 1 : std::min<std::size_t>(every, 4);
    const int faults = architecture ? compile(launches, step, **nvrtc, *architecture) : 1;
    failed += faults != 0 ? 1 : 0;
    passed += faults == 0 ? 1 : 0;
    fmt::print("sm_{}: {} kernels, {} do not compile\n", capability, (launches.by_text.size() + step - 1) / step,
               faults);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
