#pragma once

#include "libonnxkit/diff/layers.h"

namespace onnxkit::diffing {

/// Compares values inside an ONNX model with those inside a model of another framework, whose worker shows them. They are matched by content and
/// structure (correspondence.h). Nothing is run alone there: a value is a culprit when the outputs deviate, it does, and what it is made from agrees.
/// Results go into the report's layers, first_culprit and layers_note. Errors: of running the models; not-supported where the worker shows nothing.
Result<void> compare_foreign_layers(const LayerQuestion& question, SideReport& report);

}  // namespace onnxkit::diffing
