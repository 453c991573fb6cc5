#pragma once

/// Marks what libonnxkit.so exports; everything else in the library is hidden.
#define ONNXKIT_API __attribute__((visibility("default")))
