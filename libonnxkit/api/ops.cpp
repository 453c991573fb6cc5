#include "onnxkit/ops.h"

#include "libonnxkit/running/writers.h"
#include "libonnxkit/spec/op_table.h"

namespace onnxkit {

Result<OpList> list_operators(const OpQuery& query) { return running::list_operators(query); }

std::string onnx_release() { return std::string(spec::onnx_release()); }

}  // namespace onnxkit
