// The targets as one program of libFuzzer, which runs the one that it is called after: build/fuzz/bin/fuzz_text is a link to it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/fuzz/mutate_run.h"
#include "tests/fuzz/targets.h"

namespace {

const onnxkit::fuzz::Target* target = nullptr;

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
  const std::string name = std::filesystem::path((*arguments)[0]).filename();
  target = onnxkit::fuzz::find_target(name);
  if (!target) {
    std::fprintf(stderr, "%s is no target of tests/fuzz; call one of the links that point here\n", name.c_str());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { return target->run(data, size); }

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  const std::size_t changed = target->takes_models ? onnxkit::fuzz::mutate_model(data, size, most, seed) : 0;
  return changed > 0 ? changed : LLVMFuzzerMutate(data, size, most);
}
