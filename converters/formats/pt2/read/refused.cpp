#include "converters/formats/pt2/mappings.h"

namespace onnxkit::pt2 {

void register_refused(Mappings& mappings);
void register_refused(Mappings& mappings) {
  mappings.refuse(
      {"aten.rand.default", "aten.rand_like.default", "aten.randn.default", "aten.randn_like.default",
       "aten.randint.default", "aten.randint.low", "aten.randint_like.default", "aten.randint_like.low_dtype",
       "aten.randperm.default", "aten.bernoulli.default", "aten.bernoulli.p", "aten.multinomial.default",
       "aten.normal.Tensor_Tensor", "aten.normal.Tensor_float", "aten.normal.float_Tensor", "aten.normal.default",
       "aten.uniform.default", "aten.exponential.default", "aten.poisson.default"},
      {.reason = "it draws random numbers",
       .help = "draw them outside of the model, and give them to it as an input",
       .is_free_of_effects = true});
  mappings.refuse({"aten.nuclear_norm.default", "aten.nuclear_norm.dim"},
                  {.reason = "norms by singular values have no counterpart in ONNX"});
  mappings.refuse({"aten.ctc_loss.IntList", "aten.ctc_loss.Tensor", "aten._ctc_loss.default", "aten._ctc_loss.Tensor"},
                  {.reason = "sums over all alignments of sequences have no counterpart in ONNX"});
  mappings.refuse({"aten._batch_norm_with_update.default"},
                  {.reason = "batch normalization in training has no counterpart",
                   .help = "call eval() on the module before exporting it"});
  mappings.refuse({"higher_order.wrap_with_autocast"}, {.reason = "autocast that is on computes in shorter types",
                                                        .help = "export the module without torch.autocast"});
  // Exporters check the places of parts whose sizes are not known.
  mappings.refuse({"aten.sym_storage_offset.default"},
                  {.reason = "where a tensor lies in memory has no counterpart", .is_free_of_effects = true});
}

}  // namespace onnxkit::pt2
