#pragma once

#include "onnxkit/result.h"

namespace onnxkit {

/// The entry of a module: a shared object with a C interface that holds what few calls need and whose libraries take long to load. `name` is that of
/// libonnxkit_NAME.so, which is looked for in the folder "onnxkit" beside this library, below the library folder beside a program's own, and
/// where the library is installed. It is loaded once and stays. Fails with missing-module. `entry` is the name of a function without arguments that returns
/// a table.
Result<const void*> load_module(const char* name, const char* entry);

}  // namespace onnxkit
