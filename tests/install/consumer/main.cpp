#include <cstdio>

#include "onnxkit/check.h"
#include "onnxkit/model.h"

/// Checks the model that the first argument names.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const onnxkit::Result<onnxkit::Model> model = onnxkit::read_model(argv[1]);
  if (!model) {
    std::fprintf(stderr, "%s\n", model.error().diagnostic.message.c_str());
    return 3;
  }
  const onnxkit::Result<onnxkit::CheckReport> report = onnxkit::check(*model);
  if (!report) return 3;
  for (const onnxkit::Diagnostic& finding : report->diagnostics) {
    std::printf("%s %s\n", finding.code.c_str(), finding.message.c_str());
  }
  return report->errors == 0 ? 0 : 1;
}
