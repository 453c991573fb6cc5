// The targets as one program of libFuzzer, which runs the one that it is called after: build/fuzz/bin/fuzz_text is a link to it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/fuzz/mutate_run.h"
#include "tests/fuzz/targets.h"

namespace {

const onnxkit::fuzz::Target* target = nullptr;

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
  const std::string name = std::filesystem::path((*arguments)[0]).filename();
  const auto all = onnxkit::fuzz::targets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  if (found == all.end()) {
    std::fprintf(stderr, "%s is no target of tests/fuzz; call one of the links that point here\n", name.c_str());
    std::exit(2);
  }
  target = &*found;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return target->run(data, size); }

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  const std::size_t changed = target->takes_models ? onnxkit::fuzz::mutate_model(data, size, most, seed) : 0;
  return changed > 0 ? changed : LLVMFuzzerMutate(data, size, most);
}
