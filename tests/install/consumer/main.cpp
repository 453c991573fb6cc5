#include <cstdio>
#include <string>

#include "onnxkit/onnxkit.h"
#include "self_diff.h"

using namespace onnxkit;

namespace {

int failed(const char* what, const Error& error) {
  std::fprintf(stderr, "%s: %s error: %s", what, std::string(name_of(error.kind)).c_str(),
               format(error.diagnostic).c_str());
  return 3;
}

int wrong(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

/// Checks, infers, runs, compares and upgrades the model at `path`.
int use(const char* path) {
  const Result<Model> model = read_model(path);
  if (!model) return failed("read", model.error());
  const Result<CheckReport> checked = check(*model);
  if (!checked) return failed("check", checked.error());
  for (const Diagnostic& finding : checked->diagnostics) std::fputs(format(finding).c_str(), stdout);
  if (checked->errors != 0) return wrong("the model has errors");

  const Result<RunReport> ran = run(*model, {});
  if (!ran) return failed("run", ran.error());
  if (ran->outputs.size() != output_names(*model).size()) return wrong("outputs are missing");
  if (!is_identical_to_itself(*model, *ran)) return wrong("the model differs from itself");

  Result<Model> changed = read_model(path);
  if (!changed) return failed("read", changed.error());
  const Result<InferReport> inferred = infer(*changed);
  if (!inferred) return failed("infer", inferred.error());
  if (inferred->complete == 0) return wrong("no shape is known");
  const Result<OpsetReport> upgraded = change_opset(*changed, {.opsets = {{"", 21}}});
  if (!upgraded) return failed("upgrade", upgraded.error());
  if (!upgraded->succeeded()) return wrong("the upgrade was refused");
  const Result<VerifyReport> verified = verify_equal(*model, *changed);
  if (!verified) return failed("verify", verified.error());
  if (verified->verdict != Equality::equal) return wrong(verified->reason.c_str());
  std::printf("onnxkit %s: %zu outputs, %zu values inferred, %zu nodes changed\n", std::string(version()).c_str(),
              ran->outputs.size(), inferred->complete, upgraded->changes.size());
  return 0;
}

/// What does not exist is told apart by its kind.
int misuse() {
  if (read_model("/no/such/model.onnx").error().kind != ErrorKind::io) return wrong("kind of a missing file");
  if (list_operators({.names = {"Softmx"}}).error().kind != ErrorKind::usage) return wrong("kind of a wrong name");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int misused = misuse();
  return misused != 0 ? misused : use(argv[1]);
}
