"""Whole networks, as users have them: dozens of layers, of which many are alike."""

from __future__ import annotations

from typing import Any

from . import network
from .images import convnext, inverted, unit
from .sequences import transformer


def head(m: Any, features: int, classes: int = 1000) -> list[Any]:
    return [m.nn.AdaptiveAvgPool2d(1), m.nn.Flatten(), m.nn.Linear(features, classes)]


def stem(m: Any, out: int = 64) -> list[Any]:
    return [unit(m, 3, out, 7, stride=2), m.nn.MaxPool2d(3, stride=2, padding=1)]


def residual(m: Any, body: Any, short: Any) -> Any:
    if short is None:
        return m.compose(lambda s, x: s.act(x + s.body(x)), body=body, act=m.nn.ReLU())
    return m.compose(lambda s, x: s.act(s.short(x) + s.body(x)), body=body, short=short, act=m.nn.ReLU())


def normed(m: Any, into: int, out: int, size: int, **options: Any) -> Any:
    """A unit without its activation."""
    return m.nn.Sequential(
        m.nn.Conv2d(into, out, size, padding=size // 2, bias=False, **options), m.nn.BatchNorm2d(out)
    )


def basic(m: Any, into: int, out: int, stride: int) -> Any:
    body = m.nn.Sequential(unit(m, into, out, 3, stride=stride), normed(m, out, out, 3))
    return residual(m, body, None if into == out else normed(m, into, out, 1, stride=stride))


def bottleneck(m: Any, into: int, out: int, stride: int) -> Any:
    body = m.nn.Sequential(
        unit(m, into, out // 4, 1), unit(m, out // 4, out // 4, 3, stride=stride), normed(m, out // 4, out, 1)
    )
    return residual(m, body, None if into == out else normed(m, into, out, 1, stride=stride))


def residual_network(m: Any, block: Any, widths: tuple[int, ...], depths: tuple[int, ...]) -> Any:
    layers, into = stem(m), 64
    for stage, (out, depth) in enumerate(zip(widths, depths, strict=True)):
        for at in range(depth):
            layers.append(block(m, into, out, 2 if at == 0 and stage else 1))
            into = out
    return m.nn.Sequential(*layers, *head(m, into))


@network((1, 3, 224, 224), whole=True)
def resnet18(m: Any) -> Any:
    return residual_network(m, basic, (64, 128, 256, 512), (2, 2, 2, 2))


@network((1, 3, 224, 224), whole=True)
def resnet50(m: Any) -> Any:
    return residual_network(m, bottleneck, (256, 512, 1024, 2048), (3, 4, 6, 3))


@network((1, 3, 224, 224), whole=True)
def mobilenet_v2(m: Any) -> Any:
    nn = m.nn
    layers = [unit(m, 3, 32, 3, "ReLU6", stride=2), unit(m, 32, 32, 3, "ReLU6", groups=32), normed(m, 32, 16, 1)]
    into = 16
    for out, depth, stride in ((24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1)):
        for at in range(depth):
            layers.append(inverted(m, into, 6 * into, out, stride if at == 0 else 1))
            into = out
    return nn.Sequential(*layers, unit(m, 320, 1280, 1, "ReLU6"), *head(m, 1280))


def squeezing(m: Any, into: int, wide: int, out: int, size: int, stride: int) -> Any:
    """A block of EfficientNet."""
    nn = m.nn
    few = max(1, into // 4)
    gate = nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, few, 1), nn.SiLU(), nn.Conv2d(few, wide, 1), nn.Sigmoid()
    )
    across = [unit(m, into, wide, 1, "SiLU")] if wide != into else []
    across.append(unit(m, wide, wide, size, "SiLU", stride=stride, groups=wide))

    def forward(s: Any, x: Any) -> Any:
        y = s.across(x)
        y = s.out(y * s.gate(y))
        return x + y if stride == 1 and into == out else y

    return m.compose(forward, across=nn.Sequential(*across), gate=gate, out=normed(m, wide, out, 1))


@network((1, 3, 224, 224), whole=True)
def efficientnet_b0(m: Any) -> Any:
    layers, into = [unit(m, 3, 32, 3, "SiLU", stride=2)], 32
    for wide, out, depth, size, stride in (
        (1, 16, 1, 3, 1),
        (6, 24, 2, 3, 2),
        (6, 40, 2, 5, 2),
        (6, 80, 3, 3, 2),
        (6, 112, 3, 5, 1),
        (6, 192, 4, 5, 2),
        (6, 320, 1, 3, 1),
    ):
        for at in range(depth):
            layers.append(squeezing(m, into, wide * into, out, size, stride if at == 0 else 1))
            into = out
    return m.nn.Sequential(*layers, unit(m, 320, 1280, 1, "SiLU"), *head(m, 1280))


@network((1, 3, 224, 224), whole=True)
def densenet121(m: Any) -> Any:
    nn = m.nn

    def layer(into: int) -> Any:
        body = nn.Sequential(
            nn.BatchNorm2d(into), nn.ReLU(), unit(m, into, 128, 1), nn.Conv2d(128, 32, 3, padding=1, bias=False)
        )
        return m.compose(lambda s, x: m.concat([x, s.body(x)], 1), body=body)

    layers, features = stem(m), 64
    for depth in (6, 12, 24, 16):
        for _ in range(depth):
            layers.append(layer(features))
            features += 32
        layers += [nn.BatchNorm2d(features), nn.ReLU()]
        if depth != 16:
            layers += [nn.Conv2d(features, features // 2, 1, bias=False), nn.AvgPool2d(2)]
            features //= 2
    return nn.Sequential(*layers, *head(m, features))


@network((1, 3, 224, 224), whole=True)
def convnext_tiny(m: Any) -> Any:
    nn = m.nn

    def norm(features: int) -> Any:
        return m.compose(
            lambda s, x: m.permute(s.norm(m.permute(x, (0, 2, 3, 1))), (0, 3, 1, 2)), norm=nn.LayerNorm(features)
        )

    layers, into = [nn.Conv2d(3, 96, 4, stride=4), norm(96)], 96
    for features, depth in ((96, 3), (192, 3), (384, 9), (768, 3)):
        if features != into:
            layers += [norm(into), nn.Conv2d(into, features, 2, stride=2)]
        layers += [convnext(m, features) for _ in range(depth)]
        into = features
    return nn.Sequential(*layers, *head(m, 768))


@network((1, 3, 224, 224), whole=True)
def vit_tiny(m: Any) -> Any:
    nn = m.nn

    def forward(s: Any, x: Any) -> Any:
        y = m.permute(s.patches(x).reshape((1, 192, 196)), (0, 2, 1))
        return s.head(s.norm(s.blocks(y + s.places.weight))[:, 0])

    return m.compose(
        forward,
        patches=nn.Conv2d(3, 192, 16, stride=16),
        places=nn.Embedding(196, 192),
        blocks=nn.Sequential(*(transformer(m, 192, 3) for _ in range(12))),
        norm=nn.LayerNorm(192),
        head=nn.Linear(192, 1000),
    )


@network((1, 64, 768), whole=True)
def gpt2(m: Any) -> Any:
    """From embedded tokens to the logits of the last one."""
    nn = m.nn
    return m.compose(
        lambda s, x: s.head(s.norm(s.blocks(x))[:, -1]),
        blocks=nn.Sequential(*(transformer(m, 768, 12, causal=True) for _ in range(12))),
        norm=nn.LayerNorm(768),
        head=nn.Linear(768, 50257, bias=False),
    )


@network((4, 128, 256), whole=True)
def small_gpt(m: Any) -> Any:
    """One that fits a lesson: six layers, a batch of four."""
    nn = m.nn
    return nn.Sequential(
        *(transformer(m, 256, 4, causal=True) for _ in range(6)), nn.LayerNorm(256), nn.Linear(256, 512)
    )


@network((2, 64, 256), whole=True)
def encoder_and_decoder(m: Any) -> Any:
    nn = m.nn
    return m.compose(
        lambda s, x: s.decoder(x[:, :32], s.encoder(x)),
        encoder=nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 512, 0.0, batch_first=True), 3),
        decoder=nn.TransformerDecoder(nn.TransformerDecoderLayer(256, 4, 512, 0.0, batch_first=True), 3),
    )


@network((1, 3, 64, 64), whole=True)
def unet(m: Any) -> Any:
    """Three levels, with skips, as segmentation and small diffusion models have them."""
    nn = m.nn

    def double(into: int, out: int) -> Any:
        return nn.Sequential(unit(m, into, out, 3), unit(m, out, out, 3))

    def forward(s: Any, x: Any) -> Any:
        a = s.down1(x)
        b = s.down2(s.pool(a))
        c = s.down3(s.pool(b))
        y = s.up2(m.concat([s.wide2(c), b], 1))
        return s.last(s.up1(m.concat([s.wide1(y), a], 1)))

    return m.compose(
        forward,
        pool=nn.MaxPool2d(2),
        down1=double(3, 32),
        down2=double(32, 64),
        down3=double(64, 128),
        wide2=nn.ConvTranspose2d(128, 64, 2, stride=2),
        up2=double(128, 64),
        wide1=nn.ConvTranspose2d(64, 32, 2, stride=2),
        up1=double(64, 32),
        last=nn.Conv2d(32, 2, 1),
    )


@network((35, 20, 200), whole=True)
def lstm_language_model(m: Any) -> Any:
    return m.compose(
        lambda s, x: s.head(s.cells(x)[0]), cells=m.nn.LSTM(200, 200, num_layers=2), head=m.nn.Linear(200, 10000)
    )
