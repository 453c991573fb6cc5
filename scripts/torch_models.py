"""The PyTorch models that conversions from and to PyTorch are measured with: random weights, nothing is downloaded.

    from torch_models import MODELS
    module, inputs, dynamic_shapes = MODELS["resnet18"]()

`inputs` is a tuple of positional inputs or a dict of named ones; `dynamic_shapes` is what torch.export.export takes.
"""
import torch


def lively(module, inputs):
    """Parameters without variance get some, and batch normalizations the statistics of these inputs, so that no signal dies out
    in a deep network with random weights."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.is_floating_point() and parameter.numel() > 1 and parameter.std() == 0:
                parameter.add_(torch.randn_like(parameter) * 0.1)
        norms = [m for m in module.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
        for norm in norms:
            norm.momentum = 1.0
            norm.train()
        if norms:
            module(*inputs)
    return module.eval()


def image(size=64, batch=2, channels=3):
    return (torch.randn(batch, channels, size, size),)


def dynamic_batch(count=1):
    return tuple({0: torch.export.Dim("batch", min=1, max=64)} for _ in range(count))


def vision(name, size=64, **options):
    def make():
        import torchvision

        module = torchvision.models.get_model(name, weights=None, **options).eval()
        inputs = image(size)
        return lively(module, inputs), inputs, dynamic_batch()

    return make


class OneOutput(torch.nn.Module):
    """Segmentation networks return a dict; the exporters of ONNX want tensors in an order."""

    def __init__(self, module, key):
        super().__init__()
        self.module, self.key = module, key

    def forward(self, x):
        return self.module(x)[self.key]


def segmentation(name, size=64):
    def make():
        import torchvision

        module = torchvision.models.get_model(name, weights=None, weights_backbone=None).eval()
        inputs = image(size)
        return OneOutput(lively(module, inputs), "out"), inputs, dynamic_batch()

    return make


def video():
    import torchvision

    module = torchvision.models.video.r3d_18(weights=None).eval()
    inputs = (torch.randn(2, 3, 8, 32, 32),)
    return lively(module, inputs), inputs, dynamic_batch()


def flow():
    import torchvision

    class Flow(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.raft = torchvision.models.optical_flow.raft_small(weights=None).eval()

        def forward(self, a, b):
            return self.raft(a, b, num_flow_updates=3)[-1]

    frames = (torch.rand(1, 3, 128, 128) * 2 - 1, torch.rand(1, 3, 128, 128) * 2 - 1)
    return Flow().eval(), frames, None


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 16)
        self.lstm = torch.nn.LSTM(16, 24, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = torch.nn.GRU(48, 20, batch_first=True)
        self.head = torch.nn.Linear(20, 5)

    def forward(self, tokens):
        states, _ = self.lstm(self.embedding(tokens))
        _, last = self.gru(states)
        return self.head(last[-1])


def recurrent():
    return Recurrent().eval(), (torch.randint(0, 50, (2, 7)),), dynamic_batch()


def transformer():
    module = torch.nn.Transformer(32, 4, 2, 2, 64, batch_first=True).eval()
    inputs = (torch.randn(2, 9, 32), torch.randn(2, 6, 32))
    return module, inputs, {"src": {0: torch.export.Dim("batch")}, "tgt": {0: torch.export.Dim("batch")}}


class NamedInputs(torch.nn.Module):
    """Positional inputs for a model of the transformers library, whose forward has many optional ones."""

    def __init__(self, module, names, keys):
        super().__init__()
        self.module, self.names, self.keys = module, names, keys

    def forward(self, *inputs):
        result = self.module(**dict(zip(self.names, inputs)), return_dict=True)
        return tuple(result[key] for key in self.keys)


def language(config_name, model_name, keys=("logits",), mask=True, is_open=True, **settings):
    """A model over tokens with dynamic batch, and sequence where `is_open`."""

    def make():
        import transformers

        config = getattr(transformers, config_name)(**settings)
        if hasattr(config, "use_cache"):
            config.use_cache = False
        module = getattr(transformers, model_name)(config).eval()
        tokens = torch.randint(3, 90, (2, 11))
        names = ("input_ids", "attention_mask") if mask else ("input_ids",)
        inputs = (tokens, torch.ones_like(tokens)) if mask else (tokens,)
        axes = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("sequence", min=2, max=32)}
        if not is_open:
            del axes[1]
        return NamedInputs(module, names, keys), inputs, (tuple(axes for _ in names),)

    return make


def transformers_image(config_name, model_name, keys=("logits",), size=32, **settings):
    def make():
        import transformers

        config = getattr(transformers, config_name)(**settings)
        module = getattr(transformers, model_name)(config).eval()
        return NamedInputs(module, ("pixel_values",), keys), image(size), (dynamic_batch(),)

    return make


def t5():
    import transformers

    config = transformers.T5Config(vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                                   use_cache=False, decoder_start_token_id=0)
    module = transformers.T5ForConditionalGeneration(config).eval()
    inputs = (torch.randint(3, 90, (2, 11)), torch.randint(3, 90, (2, 5)))
    return NamedInputs(module, ("input_ids", "decoder_input_ids"), ("logits",)), inputs, (dynamic_batch(2),)


def whisper():
    import transformers

    config = transformers.WhisperConfig(vocab_size=100, d_model=32, encoder_layers=2, decoder_layers=2,
                                        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                                        decoder_ffn_dim=64, num_mel_bins=16, max_source_positions=20,
                                        max_target_positions=20, use_cache=False, pad_token_id=0, bos_token_id=1,
                                        eos_token_id=2, decoder_start_token_id=1)
    module = transformers.WhisperForConditionalGeneration(config).eval()
    inputs = (torch.randn(2, 16, 40), torch.randint(3, 90, (2, 5)))
    return NamedInputs(module, ("input_features", "decoder_input_ids"), ("logits",)), inputs, (dynamic_batch(2),)


def wav2vec2():
    import transformers

    config = transformers.Wav2Vec2Config(vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                         intermediate_size=64, conv_dim=(16, 16, 16), conv_stride=(5, 2, 2),
                                         conv_kernel=(10, 3, 3), num_feat_extract_layers=3,
                                         num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2)
    module = transformers.Wav2Vec2ForCTC(config).eval()
    return NamedInputs(module, ("input_values",), ("logits",)), (torch.randn(2, 800),), (dynamic_batch(),)


def clip():
    import transformers

    text = dict(vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                max_position_embeddings=20)
    vision_part = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=32,
                       patch_size=8)
    module = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config=vision_part)).eval()
    inputs = (torch.randint(3, 90, (2, 7)), torch.randn(2, 3, 32, 32))
    return NamedInputs(module, ("input_ids", "pixel_values"), ("logits_per_image",)), inputs, None


def experts(config_name, model_name, **settings):
    """A language model whose layers choose a few of their experts for each token."""
    return language(config_name, model_name, num_key_value_heads=2, **SMALL, **settings)


def patches_of_series():
    import transformers

    config = transformers.PatchTSTConfig(num_input_channels=2, context_length=32, patch_length=8, patch_stride=8, d_model=16,
                                         num_hidden_layers=2, num_attention_heads=2, ffn_dim=32)
    module = transformers.PatchTSTModel(config).eval()
    return NamedInputs(module, ("past_values",), ("last_hidden_state",)), (torch.randn(2, 32, 2),), (dynamic_batch(),)


class Regions(torch.nn.Module):
    """What detectors do behind their networks: the best of overlapping boxes, and what the image shows there."""

    def __init__(self):
        super().__init__()
        import torchvision

        self.network, self.ops = torch.nn.Conv2d(3, 8, 3, padding=1), torchvision.ops

    def forward(self, image, boxes, scores):
        best = boxes[self.ops.nms(boxes, scores, 0.5)]
        return best, self.ops.roi_align(self.network(image), [best], 3, 1.0, 2, True)


def regions():
    corner = torch.rand(12, 2) * 16
    boxes = torch.cat([corner, corner + 2 + torch.rand(12, 2) * 14], 1)
    return Regions().eval(), (torch.randn(1, 3, 32, 32), boxes, torch.rand(12)), None


class Cells(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.LSTMCell(6, 8), torch.nn.GRUCell(8, 5)

    def forward(self, steps):
        memory = state = None
        for step in steps.unbind(1):
            memory = self.first(step, memory)
            state = self.second(memory[0], state)
        return state


def cells():
    return Cells().eval(), (torch.randn(2, 4, 6),), dynamic_batch()


SMALL = dict(vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)

MODELS = {
    "alexnet": vision("alexnet", 96),
    "vgg11_bn": vision("vgg11_bn", 32),
    "resnet18": vision("resnet18"),
    "resnext50": vision("resnext50_32x4d"),
    "mobilenet_v2": vision("mobilenet_v2"),
    "mobilenet_v3": vision("mobilenet_v3_small"),
    "efficientnet_b0": vision("efficientnet_b0"),
    "efficientnet_v2_s": vision("efficientnet_v2_s"),
    "squeezenet": vision("squeezenet1_1"),
    "shufflenet": vision("shufflenet_v2_x1_0"),
    "densenet": vision("densenet121"),
    "googlenet": vision("googlenet", init_weights=False, aux_logits=False),
    "inception_v3": vision("inception_v3", 96, init_weights=False, aux_logits=False),
    "mnasnet": vision("mnasnet1_0"),
    "regnet": vision("regnet_y_400mf"),
    "convnext_tiny": vision("convnext_tiny"),
    "vit_b_16": vision("vit_b_16", 32, image_size=32),
    "swin_t": vision("swin_t"),
    "swin_v2_t": vision("swin_v2_t"),
    "maxvit_t": vision("maxvit_t", 224),
    "deeplabv3": segmentation("deeplabv3_mobilenet_v3_large"),
    "fcn": segmentation("fcn_resnet50"),
    "lraspp": segmentation("lraspp_mobilenet_v3_large"),
    "r3d_18": video,
    "raft_small": flow,
    "lstm_gru": recurrent,
    "transformer": transformer,
    "bert": language("BertConfig", "BertForSequenceClassification", **SMALL),
    "distilbert": language("DistilBertConfig", "DistilBertForSequenceClassification", vocab_size=100, dim=32,
                           hidden_dim=64, n_layers=2, n_heads=4),
    "roberta": language("RobertaConfig", "RobertaForSequenceClassification", **SMALL),
    "electra": language("ElectraConfig", "ElectraForSequenceClassification", embedding_size=32, **SMALL),
    "gpt2": language("GPT2Config", "GPT2LMHeadModel", vocab_size=100, n_embd=32, n_layer=2, n_head=4),
    "llama": language("LlamaConfig", "LlamaForCausalLM", num_key_value_heads=2, **SMALL),
    "qwen2": language("Qwen2Config", "Qwen2ForCausalLM", num_key_value_heads=2, **SMALL),
    "mistral": language("MistralConfig", "MistralForCausalLM", num_key_value_heads=2, **SMALL),
    "t5": t5,
    "whisper": whisper,
    "wav2vec2": wav2vec2,
    "clip": clip,
    "vit": transformers_image("ViTConfig", "ViTForImageClassification", hidden_size=32, intermediate_size=64,
                              num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8),
    "deit": transformers_image("DeiTConfig", "DeiTForImageClassification", hidden_size=32, intermediate_size=64,
                               num_hidden_layers=2, num_attention_heads=4, image_size=32, patch_size=8),
    "segformer": transformers_image("SegformerConfig", "SegformerForSemanticSegmentation", size=64,
                                    hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], decoder_hidden_size=32),
    "yolos": transformers_image("YolosConfig", "YolosForObjectDetection", keys=("logits", "pred_boxes"),
                                hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                                image_size=[32, 32], patch_size=8, num_detection_tokens=10),
    "deberta_v2": language("DebertaV2Config", "DebertaV2ForSequenceClassification", **SMALL),
    "regions": regions,
    "recurrent_cells": cells,
    "qwen3_moe": experts("Qwen3MoeConfig", "Qwen3MoeForCausalLM", head_dim=8, moe_intermediate_size=16, num_experts=4,
                         num_experts_per_tok=2),
    "mixtral": experts("MixtralConfig", "MixtralForCausalLM", num_local_experts=4),
    "mamba": language("MambaConfig", "MambaForCausalLM", mask=False, is_open=False, vocab_size=100, hidden_size=32, state_size=4,
                      num_hidden_layers=2),
    "bloom": language("BloomConfig", "BloomForCausalLM", vocab_size=100, hidden_size=32, n_layer=2, n_head=4),
    "falcon": language("FalconConfig", "FalconForCausalLM", **SMALL),
    "xlnet": language("XLNetConfig", "XLNetForSequenceClassification", is_open=False, vocab_size=100, d_model=32, n_layer=2, n_head=4, d_inner=64),
    "funnel": language("FunnelConfig", "FunnelForSequenceClassification", is_open=False, vocab_size=100, block_sizes=[1, 1], d_model=32, n_head=4,
                       d_head=8, d_inner=64),
    "fnet": language("FNetConfig", "FNetForSequenceClassification", mask=False, vocab_size=100, hidden_size=32, intermediate_size=64,
                     num_hidden_layers=2, max_position_embeddings=64),
    "canine": language("CanineConfig", "CanineForSequenceClassification", is_open=False, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                       num_attention_heads=4, max_position_embeddings=64, num_hash_buckets=64),
    "patchtst": patches_of_series,
}
