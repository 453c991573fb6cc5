#pragma once

#include "libonnxkit/ir/model.h"

namespace onnxkit::legalize {

/// Writes LSTM, GRU and RNN of opset 7 to 13 as Scan, for frameworks whose own operators keep states from run to run or lack activations. The
/// products with the whole input come before the loop. Nodes with activations that have parameters stay. Whether there were any.
bool write_recurrent(ir::Model& model);

}  // namespace onnxkit::legalize
