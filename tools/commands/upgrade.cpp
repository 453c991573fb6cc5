#include "tools/opset_command.h"

namespace onnxkit::tools {

void register_upgrade(CommandList& list) { add_opset_command(list, OpsetDirection::up); }

}  // namespace onnxkit::tools
