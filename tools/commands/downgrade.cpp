#include "tools/opset_command.h"

namespace onnxkit::tools {

void register_downgrade(CommandList& list) { add_opset_command(list, OpsetDirection::down); }

}  // namespace onnxkit::tools
