"""Networks at sizes of real use, with random weights, for scripts/bench_exported. Those of transformers are there where it is installed.

    from exported_networks import NETWORKS
    module, inputs = NETWORKS["efficientnet_b0"]()
"""
import torch
from torch import nn
from torch.nn import functional

NETWORKS = {}


def network(make):
    NETWORKS[make.__name__] = make
    return make


# ---- torchvision

VISION = ("efficientnet_b0", "efficientnet_v2_s", "convnext_tiny", "swin_t", "swin_v2_t", "maxvit_t", "shufflenet_v2_x1_0", "regnet_y_400mf",
          "squeezenet1_1", "mnasnet1_0", "googlenet", "inception_v3", "mobilenet_v3_large", "resnext50_32x4d",
          "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large", "fcn_resnet50")


class FirstOutput(nn.Module):
    """Segmentation networks give a dict."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)["out"]


def vision(name):
    def make():
        import torchvision
        size = 299 if name == "inception_v3" else 224
        segments = name.startswith(("deeplab", "lraspp", "fcn"))
        more = {"weights_backbone": None} if segments else {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        module = torchvision.models.get_model(name, weights=None, **more).eval()
        return FirstOutput(module) if segments else module, (torch.randn(1, 3, size, size),)

    return make


NETWORKS.update({name: vision(name) for name in VISION})


# ---- kinds of networks that torchvision does not have

class Activated(nn.Module):
    """Convolution, BatchNorm and SiLU."""

    def __init__(self, inner, outer, kernel=1, stride=1):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(inner, outer, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outer), nn.SiLU())

    def forward(self, x):
        return self.layers(x)


class Stages(nn.Module):
    """Half of the channels goes through blocks, each of whose results is kept."""

    def __init__(self, channels, blocks):
        super().__init__()
        half = channels // 2
        self.first, self.last = Activated(channels, channels), Activated((blocks + 2) * half, channels)
        self.blocks = nn.ModuleList(nn.Sequential(Activated(half, half, 3), Activated(half, half, 3)) for _ in range(blocks))

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(parts[-1] + block(parts[-1]))
        return self.last(torch.cat(parts, 1))


@network
def detector():
    class Detector(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(Activated(3, 16, 3, 2), Activated(16, 32, 3, 2), Stages(32, 1))
            self.fine = nn.Sequential(Activated(32, 64, 3, 2), Stages(64, 2))
            self.coarse = nn.Sequential(Activated(64, 128, 3, 2), Stages(128, 2))
            self.before, self.behind = Activated(128, 64), Activated(256, 128)
            self.joined = Stages(192, 1)
            self.heads = nn.ModuleList([nn.Conv2d(192, 144, 1), nn.Conv2d(128, 144, 1)])

        def forward(self, x):
            fine = self.fine(self.stem(x))
            pools = [self.before(self.coarse(fine))]
            for _ in range(3):
                pools.append(functional.max_pool2d(pools[-1], 5, 1, 2))
            coarse = self.behind(torch.cat(pools, 1))
            joined = self.joined(torch.cat([functional.interpolate(coarse, scale_factor=2), fine], 1))
            boxes, classes = torch.cat([self.heads[0](joined).flatten(2), self.heads[1](coarse).flatten(2)], 2).split([64, 80], 1)
            places = (boxes.view(1, 4, 16, -1).softmax(2) * torch.arange(16.0).view(1, 1, 16, 1)).sum(2)
            return torch.cat([places, classes.sigmoid()], 1)

    return Detector().eval(), (torch.randn(1, 3, 320, 320),)


class Residual(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, inner), nn.SiLU(), nn.Conv2d(inner, outer, 3, padding=1))
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(128, outer))
        self.second = nn.Sequential(nn.GroupNorm(8, outer), nn.SiLU(), nn.Conv2d(outer, outer, 3, padding=1))
        self.beside = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, x, time):
        return self.second(self.first(x) + self.time(time)[:, :, None, None]) + self.beside(x)


class Attention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm, self.inner, self.outer = nn.GroupNorm(8, channels), nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)

    def forward(self, x):
        batch, channels, height, width = x.shape
        parts = self.inner(self.norm(x).flatten(2).transpose(1, 2)).view(batch, height * width, 3, 4, channels // 4)
        found = functional.scaled_dot_product_attention(*parts.permute(2, 0, 3, 1, 4).unbind(0))
        found = self.outer(found.transpose(1, 2).reshape(batch, height * width, channels))
        return x + found.transpose(1, 2).view(batch, channels, height, width)


@network
def denoiser():
    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 128))
            self.first, self.down = nn.Conv2d(4, 64, 3, padding=1), nn.ModuleList([nn.Conv2d(64, 64, 3, 2, 1), nn.Conv2d(128, 128, 3, 2, 1)])
            self.blocks = nn.ModuleList([Residual(64, 64), Residual(64, 128), Residual(128, 128), Residual(256, 128), Residual(128, 64)])
            self.attention = nn.ModuleList(Attention(128) for _ in range(3))
            self.up = nn.ModuleList([nn.Conv2d(128, 128, 3, padding=1), nn.Conv2d(128, 64, 3, padding=1)])
            self.last = nn.Sequential(nn.GroupNorm(8, 64), nn.SiLU(), nn.Conv2d(64, 4, 3, padding=1))

        def forward(self, x, time):
            time = self.time(time)
            wide = self.blocks[0](self.first(x), time)
            middle = self.attention[0](self.blocks[1](self.down[0](wide), time))
            deep = self.attention[1](self.blocks[2](self.down[1](middle), time))
            x = self.up[0](functional.interpolate(deep, scale_factor=2))
            x = self.attention[2](self.blocks[3](torch.cat([x, middle], 1), time))
            x = self.up[1](functional.interpolate(x, scale_factor=2))
            return self.last(self.blocks[4](torch.cat([x, wide], 1), time))

    return Denoiser().eval(), (torch.randn(1, 4, 32, 32), torch.randn(1, 64))


@network
def vocoder():
    class Vocoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Conv1d(80, 128, 7, padding=3), nn.Conv1d(16, 1, 7, padding=3)
            sizes = ((16, 8), (16, 8), (4, 2))
            self.up = nn.ModuleList(nn.ConvTranspose1d(128 >> i, 64 >> i, kernel, stride, (kernel - stride) // 2)
                                    for i, (kernel, stride) in enumerate(sizes))
            self.blocks = nn.ModuleList(nn.ModuleList(nn.Conv1d(64 >> i, 64 >> i, 3, dilation=d, padding=d) for d in (1, 3, 5))
                                        for i in range(3))

        def forward(self, x):
            x = self.first(x)
            for up, block in zip(self.up, self.blocks):
                x = up(functional.leaky_relu(x, 0.1))
                for layer in block:
                    x = x + layer(functional.leaky_relu(x, 0.1))
            return torch.tanh(self.last(functional.leaky_relu(x)))

    return Vocoder().eval(), (torch.randn(1, 80, 64),)


@network
def volumes():
    class Volumes(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(nn.Conv3d(1, 16, 3, padding=1), nn.InstanceNorm3d(16, affine=True), nn.LeakyReLU())
            self.down = nn.Sequential(nn.Conv3d(16, 32, 3, 2, 1), nn.InstanceNorm3d(32, affine=True), nn.LeakyReLU())
            self.up = nn.ConvTranspose3d(32, 16, 2, 2)
            self.last = nn.Sequential(nn.Conv3d(32, 16, 3, padding=1), nn.LeakyReLU(), nn.Conv3d(16, 3, 1))

        def forward(self, x):
            first = self.first(x)
            return self.last(torch.cat([self.up(self.down(first)), first], 1)).softmax(1)

    return Volumes().eval(), (torch.randn(1, 1, 32, 32, 32),)


@network
def text_reader():
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.image = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1),
                                       nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d((2, 1)))
            self.line, self.last = nn.LSTM(512, 128, 2, bidirectional=True, batch_first=True), nn.Linear(256, 97)

        def forward(self, x):
            return self.last(self.line(self.image(x).permute(0, 3, 1, 2).flatten(2))[0]).log_softmax(2)

    return Reader().eval(), (torch.randn(1, 1, 32, 200),)


@network
def upscaler():
    class Upscaler(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 32, 3, padding=1), nn.Conv2d(32, 48, 3, padding=1)
            self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.PReLU(32), nn.Conv2d(32, 32, 3, padding=1))
                                        for _ in range(4))

        def forward(self, x):
            y = self.first(x)
            for block in self.blocks:
                y = y + block(y)
            return functional.pixel_shuffle(self.last(y), 4) + functional.interpolate(x, scale_factor=4, mode="bicubic")

    return Upscaler().eval(), (torch.randn(1, 3, 64, 64),)


# ---- transformers

WIDE = {"vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 1024}
GROUPED = {**WIDE, "num_key_value_heads": 2, "use_cache": False}
CODERS = {"vocab_size": 1000, "d_model": 256, "encoder_layers": 3, "decoder_layers": 3, "encoder_attention_heads": 8,
          "decoder_attention_heads": 8, "encoder_ffn_dim": 1024, "decoder_ffn_dim": 1024, "use_cache": False}


class Named(nn.Module):
    """Takes inputs by place and gives the first output."""

    def __init__(self, module, names):
        super().__init__()
        self.module, self.names = module, names

    def forward(self, *inputs):
        return self.module(**dict(zip(self.names, inputs)), return_dict=True)[0]


def tokens(count=64):
    return torch.randint(0, 1000, (1, count))


def transformer(kind, model, inputs, **config):
    """`inputs` makes them by name."""
    def make():
        import transformers
        made = inputs()
        module = getattr(transformers, model)(getattr(transformers, kind)(**config)).eval()
        return Named(module, list(made)).eval(), tuple(made.values())

    return make


def ids():
    return {"input_ids": tokens()}


def masked():
    return {"input_ids": tokens(), "attention_mask": torch.ones(1, 64, dtype=torch.int64)}


def picture():
    return {"pixel_values": torch.randn(1, 3, 224, 224)}


def coded():
    return {"input_ids": tokens(), "decoder_input_ids": tokens(16)}


def speech():
    return {"input_features": torch.randn(1, 80, 400), "decoder_input_ids": tokens(16)}


def transformers_networks():
    decoder = {"n_layer": 4, "n_head": 8, "vocab_size": 1000, "use_cache": False}
    image = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8}
    return {
        "gpt2": transformer("GPT2Config", "GPT2LMHeadModel", ids, n_embd=256, **decoder),
        "bloom": transformer("BloomConfig", "BloomForCausalLM", ids, hidden_size=256, **decoder),
        "llama": transformer("LlamaConfig", "LlamaForCausalLM", ids, **GROUPED),
        "qwen3": transformer("Qwen3Config", "Qwen3ForCausalLM", ids, head_dim=32, **GROUPED),
        "gemma2": transformer("Gemma2Config", "Gemma2ForCausalLM", ids, head_dim=32, **GROUPED),
        "phi3": transformer("Phi3Config", "Phi3ForCausalLM", ids, pad_token_id=0, **GROUPED),
        "opt": transformer("OPTConfig", "OPTForCausalLM", ids, vocab_size=1000, hidden_size=256, num_hidden_layers=4,
                           num_attention_heads=8, ffn_dim=1024, word_embed_proj_dim=256, use_cache=False),
        "bert_masked": transformer("BertConfig", "BertModel", masked, **WIDE),
        "distilbert": transformer("DistilBertConfig", "DistilBertModel", masked, vocab_size=1000, dim=256, n_layers=4, n_heads=8,
                                  hidden_dim=1024),
        "deberta": transformer("DebertaV2Config", "DebertaV2Model", masked, relative_attention=True, pos_att_type=["p2c", "c2p"],
                               position_buckets=32, **WIDE),
        "t5": transformer("T5Config", "T5ForConditionalGeneration", coded, vocab_size=1000, d_model=256, d_kv=32, d_ff=1024,
                          num_layers=3, num_heads=8, use_cache=False),
        "bart": transformer("BartConfig", "BartModel", coded, **CODERS),
        "whisper": transformer("WhisperConfig", "WhisperForConditionalGeneration", speech, max_source_positions=200, num_mel_bins=80,
                               pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, **CODERS),
        "wav2vec2": transformer("Wav2Vec2Config", "Wav2Vec2Model", lambda: {"input_values": torch.randn(1, 8000)}, hidden_size=256,
                                num_hidden_layers=3, num_attention_heads=8, intermediate_size=1024, num_conv_pos_embeddings=16,
                                num_conv_pos_embedding_groups=4),
        "vit": transformer("ViTConfig", "ViTModel", picture, intermediate_size=1024, **image),
        "dinov2": transformer("Dinov2Config", "Dinov2Model", picture, image_size=224, patch_size=14, **image),
        "clip_vision": transformer("CLIPVisionConfig", "CLIPVisionModel", picture, intermediate_size=1024, **image),
        "convnextv2": transformer("ConvNextV2Config", "ConvNextV2Model", picture, depths=[2, 2, 4, 2], hidden_sizes=[48, 96, 192, 384]),
        "segformer": transformer("SegformerConfig", "SegformerForSemanticSegmentation", picture, depths=[2, 2, 2, 2]),
        "mobilevit": transformer("MobileViTConfig", "MobileViTModel", picture),
    }


try:
    import transformers  # noqa: F401
    NETWORKS.update(transformers_networks())
except ImportError:
    pass
