# SPDX-License-Identifier: MIT
"""The networks of bench/train_vision.c and bench/train_text.c in PyTorch, and their training step in several forms.

Same layers, batch, dtypes and optimiser (AdamW). Import after OMP_NUM_THREADS is set.
"""
import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Two 3 x 3 convolutions with norms, and a shortcut."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.first = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(out)
        self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(out)
        self.shortcut = nn.Sequential()
        if stride != 1:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.second_norm(self.second(torch.relu(self.first_norm(self.first(x)))))
        return torch.relu(y + self.shortcut(x))


def digits():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(1568, 128), nn.ReLU(), nn.Linear(128, 10))


def resnet18():
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage in range(4):
        out = 64 << stage
        layers += [Block(channels, out, 2 if stage > 0 else 1), Block(out, out, 1)]
        channels = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class TextLayer(nn.Module):
    """Attention to earlier tokens and two products with gelu between them, each after a norm and added to what came in."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.attend(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.join(found.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.widen(self.norm2(x)), approximate="tanh"))


class Text(nn.Module):
    def __init__(self, words, length, width, layers, heads):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers = nn.Sequential(*[TextLayer(width, heads) for _ in range(layers)])
        self.norm, self.score = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return self.score(self.norm(self.layers(x))).flatten(0, 1)


def image_batch(batch, channels, side, classes, is_last):
    x = torch.randn(batch, channels, side, side)
    return (x.to(memory_format=torch.channels_last) if is_last else x), torch.arange(batch) * 7919 % classes


def token_batch(batch, length, words):
    tokens = torch.arange(batch * length) * 7919 % words
    return tokens.view(batch, length), (tokens + 1) % words


# name: (function that makes the network, function that makes a batch of n, whether products are bf16, default batch size)
MODELS = {
    "digits": (digits, lambda n: image_batch(n, 1, 28, 10, False), False, 128),
    "resnet18": (resnet18, lambda n: image_batch(n, 3, 224, 1000, True), True, 64),
    "characters": (lambda: Text(128, 128, 128, 4, 4), lambda n: token_batch(n, 128, 128), False, 32),
    "gpt2": (lambda: Text(50257, 1024, 768, 12, 12), lambda n: token_batch(n, 1024, 50257), True, 8),
}


def training_step(name, device, form, batch=None):
    """A function that runs one step of `form`: eager, graph (the eager step in a CUDA graph), compiled, compiled-graph."""
    make, data, is_bf16, usual = MODELS[name]
    network = make().to(device)
    if name == "resnet18":
        network = network.to(memory_format=torch.channels_last)
    x, labels = (t.to(device) for t in data(batch or usual))
    is_gpu, has_graph = device == "cuda", form.endswith("graph")
    optimiser = torch.optim.AdamW(network.parameters(), fused=is_gpu or None, capturable=has_graph)
    forward = torch.compile(network) if form.startswith("compiled") else network

    def step():
        optimiser.zero_grad(set_to_none=not has_graph)
        with torch.autocast(device, torch.bfloat16, enabled=is_bf16):
            loss = functional.cross_entropy(forward(x), labels)
        loss.backward()
        optimiser.step()

    if not has_graph:
        return step
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay
