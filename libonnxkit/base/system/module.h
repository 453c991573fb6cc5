#pragma once

#include "onnxkit/result.h"

namespace onnxkit {

/// Loads a module: a shared object with a C interface that holds what few calls need and whose libraries take long to
/// load. libonnxkit_NAME.so is looked for in the folder "onnxkit" beside this library, in that of the library folder
/// beside a program's own, and where the library is installed; it stays loaded. `entry` is the name of a function without
/// arguments; the result is what it returns, a table. Fails with missing-module.
Result<const void*> load_module(const char* name, const char* entry);

}  // namespace onnxkit
