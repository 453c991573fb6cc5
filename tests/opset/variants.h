#pragma once

#include <span>
#include <string_view>

#include "libonnxkit/ir/model.h"
#include "tests/official/data_set.h"

namespace onnxkit::opset_matrix {

/// Forms of one model that an opset step must treat alike.
enum class Variant : std::uint8_t {
  as_is,
  initializers,    ///< all inputs but the first are initializers
  constant_nodes,  ///< all inputs but the first are Constant nodes
  computed,        ///< all inputs go through an Identity first
  symbolic,        ///< sizes of inputs have names
  open_shapes,     ///< nothing is said of shapes
  all_known,       ///< sizes of inputs are stated, and all inputs but the first are initializers
};
inline constexpr Variant all_variants[] = {Variant::as_is,    Variant::initializers, Variant::constant_nodes,
                                           Variant::computed, Variant::symbolic,     Variant::open_shapes,
                                           Variant::all_known};
std::string_view name_of(Variant variant);

/// Makes the model that variant of itself, and takes from the sets what is no input any more. False when there is nothing to vary.
bool vary(ir::Model& model, std::vector<official::DataSet>& sets, Variant variant);

}  // namespace onnxkit::opset_matrix
