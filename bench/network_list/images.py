"""Networks of images (and of sounds, along one axis): N, features, then the space."""

from __future__ import annotations

from typing import Any

from . import network


def unit(m: Any, into: int, out: int, size: int, act: str = "ReLU", **options: Any) -> Any:
    """Convolution, batch norm, activation."""
    options.setdefault("padding", size // 2 * options.get("dilation", 1))
    nn = m.nn
    return nn.Sequential(nn.Conv2d(into, out, size, bias=False, **options), nn.BatchNorm2d(out), getattr(nn, act)())


def inverted(m: Any, into: int, wide: int, out: int, stride: int = 1) -> Any:
    """The inverted residual of MobileNetV2."""
    body = m.nn.Sequential(
        unit(m, into, wide, 1, "ReLU6"),
        unit(m, wide, wide, 3, "ReLU6", stride=stride, groups=wide),
        m.nn.Conv2d(wide, out, 1, bias=False),
        m.nn.BatchNorm2d(out),
    )
    return m.compose(lambda s, x: x + s.body(x), body=body) if stride == 1 and into == out else body


@network((1, 24, 56, 56))
def inverted_56(m: Any) -> Any:
    return inverted(m, 24, 144, 24)


@network((1, 16, 112, 112))
def inverted_112_stride_2(m: Any) -> Any:
    return inverted(m, 16, 96, 24, 2)


@network((1, 96, 14, 14))
def inverted_14(m: Any) -> Any:
    return m.nn.Sequential(inverted(m, 96, 576, 96), inverted(m, 96, 576, 96))


@network((1, 160, 7, 7))
def inverted_7(m: Any) -> Any:
    return m.nn.Sequential(inverted(m, 160, 960, 160), inverted(m, 160, 960, 160))


@network((1, 240, 28, 28))
def squeeze_and_excite(m: Any) -> Any:
    """A step of EfficientNet: 5×5 for each feature, then features scaled by what their means say."""
    nn = m.nn
    gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(240, 10, 1), nn.SiLU(), nn.Conv2d(10, 240, 1), nn.Sigmoid())
    return m.compose(
        lambda s, x: s.out(s.across(x) * s.gate(s.across(x))),
        across=unit(m, 240, 240, 5, "SiLU", groups=240),
        gate=gate,
        out=nn.Conv2d(240, 40, 1, bias=False),
    )


def convnext(m: Any, features: int) -> Any:
    nn = m.nn
    return m.compose(
        lambda s, x: x + m.permute(s.mix(m.permute(s.across(x), (0, 2, 3, 1))), (0, 3, 1, 2)),
        across=nn.Conv2d(features, features, 7, padding=3, groups=features),
        mix=nn.Sequential(
            nn.LayerNorm(features), nn.Linear(features, 4 * features), nn.GELU(), nn.Linear(4 * features, features)
        ),
    )


@network((1, 96, 56, 56))
def convnext_56(m: Any) -> Any:
    return convnext(m, 96)


@network((1, 384, 14, 14))
def convnext_14(m: Any) -> Any:
    return convnext(m, 384)


@network((1, 256, 56, 56))
def resnext_56(m: Any) -> Any:
    return m.nn.Sequential(unit(m, 256, 128, 1), unit(m, 128, 128, 3, groups=32), unit(m, 128, 256, 1))


@network((1, 1024, 14, 14))
def bottleneck_14(m: Any) -> Any:
    return m.nn.Sequential(unit(m, 1024, 256, 1), unit(m, 256, 256, 3), unit(m, 256, 1024, 1))


@network((8, 64, 14, 14))
def bottleneck_of_8(m: Any) -> Any:
    return m.nn.Sequential(unit(m, 64, 256, 1), unit(m, 256, 64, 1), unit(m, 64, 64, 3))


@network((1, 512, 7, 7))
def resnet_7(m: Any) -> Any:
    return m.nn.Sequential(unit(m, 512, 512, 3), unit(m, 512, 512, 3))


@network((1, 64, 56, 56))
def resnet_downsample(m: Any) -> Any:
    return m.nn.Sequential(unit(m, 64, 128, 3, stride=2), unit(m, 128, 128, 3))


@network((1, 64, 28, 28))
def densenet_28(m: Any) -> Any:
    nn = m.nn

    def layer(into: int) -> Any:
        return nn.Sequential(
            nn.BatchNorm2d(into), nn.ReLU(), unit(m, into, 128, 1), nn.Conv2d(128, 32, 3, padding=1, bias=False)
        )

    def forward(s: Any, x: Any) -> Any:
        for part in (s.first, s.second, s.third):
            x = m.concat([x, part(x)], 1)
        return x

    return m.compose(forward, first=layer(64), second=layer(96), third=layer(128))


@network((1, 116, 28, 28))
def shufflenet_28(m: Any) -> Any:
    branch = m.nn.Sequential(
        unit(m, 58, 58, 1),
        m.nn.Conv2d(58, 58, 3, padding=1, groups=58, bias=False),
        m.nn.BatchNorm2d(58),
        unit(m, 58, 58, 1),
    )

    def forward(s: Any, x: Any) -> Any:
        y = m.concat([x[:, :58], s.branch(x[:, 58:])], 1)
        return m.permute(y.reshape((1, 2, 58, 28, 28)), (0, 2, 1, 3, 4)).reshape((1, 116, 28, 28))

    return m.compose(forward, branch=branch)


@network((1, 3, 224, 224))
def mobilenet_stem(m: Any) -> Any:
    return unit(m, 3, 32, 3, stride=2)


@network((1, 3, 112, 112))
def vgg_112(m: Any) -> Any:
    return m.nn.Sequential(unit(m, 3, 64, 3), unit(m, 64, 64, 3), m.nn.MaxPool2d(2))


@network((1, 3, 224, 224))
def patch_embedding(m: Any) -> Any:
    return m.nn.Conv2d(3, 768, 16, stride=16)


@network((1, 64, 32, 32))
def unet_up(m: Any) -> Any:
    return m.compose(
        lambda s, x: s.join(m.concat([s.up(x), s.skip(s.up(x))], 1)),
        up=m.nn.ConvTranspose2d(64, 32, 2, stride=2),
        skip=m.nn.Conv2d(32, 32, 1),
        join=unit(m, 64, 32, 3),
    )


@network((1, 64, 16, 16))
def dcgan(m: Any) -> Any:
    nn = m.nn
    return nn.Sequential(
        nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.ConvTranspose2d(32, 3, 4, stride=2, padding=1),
        nn.Tanh(),
    )


@network((1, 256, 28, 28))
def deeplab_pyramid(m: Any) -> Any:
    return m.compose(
        lambda s, x: m.concat([s.one(x), s.six(x), s.twelve(x)], 1),
        one=unit(m, 256, 64, 1),
        six=unit(m, 256, 64, 3, dilation=6),
        twelve=unit(m, 256, 64, 3, dilation=12),
    )


@network((1, 64, 32, 32))
def upsample_and_convolve(m: Any) -> Any:
    return m.nn.Sequential(m.nn.Upsample(scale_factor=2, mode="nearest"), m.nn.Conv2d(64, 64, 3, padding=1))


@network((1, 64, 32, 32))
def upsample_bilinear(m: Any) -> Any:
    return m.nn.Sequential(m.nn.Upsample(scale_factor=2, mode="bilinear"), m.nn.Conv2d(64, 32, 1))


@network((1, 64, 32, 32))
def pixel_shuffle(m: Any) -> Any:
    return m.nn.Sequential(m.nn.Conv2d(64, 48, 3, padding=1), m.nn.PixelShuffle(4))


@network((1, 32, 64, 64))
def style_transfer(m: Any) -> Any:
    nn = m.nn
    return nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(32, 32, 3, bias=False), nn.InstanceNorm2d(32), nn.ReLU())


@network((1, 64, 56, 56))
def diffusion_block(m: Any) -> Any:
    return m.nn.Sequential(m.nn.GroupNorm(8, 64), m.nn.SiLU(), m.nn.Conv2d(64, 64, 3, padding=1))


@network((1, 32, 64, 64))
def average_pool(m: Any) -> Any:
    return m.nn.Sequential(m.nn.AvgPool2d(3, stride=1, padding=1), m.nn.Conv2d(32, 32, 1))


@network((1, 16, 96, 40))
def separated_7(m: Any) -> Any:
    nn = m.nn
    return nn.Sequential(
        nn.Conv2d(16, 64, (1, 7), padding=(0, 3)), nn.ReLU(), nn.Conv2d(64, 64, (7, 1), padding=(3, 0)), nn.ReLU()
    )


@network((1, 16, 16, 32, 32))
def volumes(m: Any) -> Any:
    nn = m.nn
    return nn.Sequential(nn.Conv3d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(32, 32, 3, padding=1))


@network((32, 3, 32, 32))
def cifar_of_32(m: Any) -> Any:
    nn = m.nn
    return nn.Sequential(
        unit(m, 3, 32, 3),
        nn.MaxPool2d(2),
        unit(m, 32, 64, 3),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(4096, 10),
    )


@network((64, 1, 28, 28))
def lenet_of_64(m: Any) -> Any:
    nn = m.nn
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.Tanh(),
        nn.Linear(120, 84),
        nn.Tanh(),
        nn.Linear(84, 10),
    )


@network((1, 80, 1000))
def whisper_stem(m: Any) -> Any:
    nn = m.nn
    return nn.Sequential(
        nn.Conv1d(80, 384, 3, padding=1), nn.GELU(), nn.Conv1d(384, 384, 3, stride=2, padding=1), nn.GELU()
    )


@network((1, 1, 16000))
def wav2vec_stem(m: Any) -> Any:
    nn = m.nn
    return nn.Sequential(nn.Conv1d(1, 128, 10, stride=5), nn.GELU(), nn.Conv1d(128, 128, 3, stride=2), nn.GELU())


@network((1, 64, 1000))
def wavenet(m: Any) -> Any:
    nn = m.nn

    def forward(s: Any, x: Any) -> Any:
        for far, out in ((s.far1, s.out1), (s.far2, s.out2), (s.far4, s.out4)):
            y = far(x)
            x = x + out(m.tanh(y[:, :64]) * m.sigmoid(y[:, 64:]))
        return x

    parts = {f"far{d}": nn.Conv1d(64, 128, 3, dilation=d, padding=d) for d in (1, 2, 4)}
    return m.compose(forward, **parts, **{f"out{d}": nn.Conv1d(64, 64, 1) for d in (1, 2, 4)})
