"""Calls of nn.functional, which are torch's: recorded by tests/data/record_torch_functional.py, and compared with what
our functions give by tests/python/test_nn_functional.py. Arrays are NumPy's, drawn by the call's name."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Call = tuple[tuple[Any, ...], dict[str, Any]]


class Draw:
    def __init__(self, name: str) -> None:
        self.state = np.random.RandomState(zlib.crc32(name.encode()))

    def __call__(self, *shape: int) -> np.ndarray:
        return self.state.standard_normal(shape).astype(np.float32)

    def share(self, *shape: int) -> np.ndarray:
        return self.state.uniform(0.05, 0.95, shape).astype(np.float32)

    def whole(self, high: int, *shape: int) -> np.ndarray:
        return self.state.randint(0, high, shape).astype(np.int64)

    def sign(self, *shape: int) -> np.ndarray:
        return (self.whole(2, *shape) * 2 - 1).astype(np.float32)

    def shares(self, *shape: int) -> np.ndarray:
        x = self.share(*shape)
        return x / x.sum(1, keepdims=True)


def on(*shape: int, **options: Any) -> Callable[[Draw], Call]:
    """Of one array, with options."""
    return lambda r: ((r(*shape) * np.float32(2),), options)


def of(*args: Any, **options: Any) -> Call:
    return args, options


MASK = np.array([[True, False, True, False], [True, True, False, True], [False, True, True, True]])
LABELS = np.array([2, 0, -100, 1, 2], np.int64)

# name of the call: the function, its arguments
CASES: dict[str, tuple[str, Callable[[Draw], Call]]] = {
    **{
        name: (name, on(3, 5))
        for name in (
            "relu",
            "relu6",
            "elu",
            "selu",
            "celu",
            "leaky_relu",
            "rrelu",
            "gelu",
            "silu",
            "mish",
            "hardtanh",
            "hardswish",
            "hardsigmoid",
            "hardshrink",
            "softshrink",
            "tanhshrink",
            "softplus",
            "softsign",
            "logsigmoid",
            "sigmoid",
            "tanh",
        )
    },
    "elu_alpha": ("elu", on(9, alpha=0.4)),
    "celu_alpha": ("celu", on(9, alpha=0.4)),
    "leaky_slope": ("leaky_relu", on(9, negative_slope=0.3)),
    "rrelu_bounds": ("rrelu", on(9, lower=0.2, upper=0.6)),
    "gelu_tanh": ("gelu", on(9, approximate="tanh")),
    "hardtanh_bounds": ("hardtanh", on(9, min_val=-0.5, max_val=2.0)),
    "hardshrink_wide": ("hardshrink", on(9, lambd=1.0)),
    "softshrink_wide": ("softshrink", on(9, lambd=1.0)),
    "softplus_steep": ("softplus", on(9, beta=3.0, threshold=2.0)),
    "threshold": ("threshold", on(9, threshold=0.1, value=-2.0)),
    "glu": ("glu", on(4, 3, dim=0)),
    "prelu": ("prelu", lambda r: of(r(2, 3, 4), r(3))),
    "prelu_one": ("prelu", lambda r: of(r(5), r(1))),
    "softmax": ("softmax", on(2, 3, 4, dim=1)),
    "softmax_none": ("softmax", on(2, 3, 2)),
    "log_softmax": ("log_softmax", on(2, 3, dim=-1)),
    "log_softmax_none": ("log_softmax", on(2, 3)),
    "softmin": ("softmin", on(2, 3, dim=0)),
    # --- linear maps and convolutions
    "linear": ("linear", lambda r: of(r(2, 3, 4), r(5, 4), r(5))),
    "linear_row": ("linear", lambda r: of(r(2, 4), r(4))),
    "bilinear": ("bilinear", lambda r: of(r(2, 3), r(2, 4), r(5, 3, 4), r(5))),
    "conv1d": ("conv1d", lambda r: of(r(2, 4, 7), r(6, 2, 3), r(6), stride=2, padding=1, groups=2)),
    "conv1d_same": ("conv1d", lambda r: of(r(1, 2, 6), r(3, 2, 4), padding="same", dilation=3)),
    "conv2d": ("conv2d", lambda r: of(r(2, 3, 5, 6), r(4, 3, 3, 2), r(4), (2, 1), (1, 0), (1, 2))),
    "conv2d_alone": ("conv2d", lambda r: of(r(3, 5, 6), r(2, 3, 3, 3), padding="valid")),
    "conv3d": ("conv3d", lambda r: of(r(1, 2, 3, 4, 5), r(2, 2, 2, 2, 3), padding="same")),
    "conv_transpose1d": ("conv_transpose1d", lambda r: of(r(2, 3, 4), r(3, 2, 3), r(2), 2, 1, 1)),
    "conv_transpose2d": ("conv_transpose2d", lambda r: of(r(4, 3, 4), r(4, 1, 2, 3), None, (2, 1), 0, 0, 2, (1, 2))),
    "conv_transpose3d": ("conv_transpose3d", lambda r: of(r(1, 2, 2, 3, 2), r(2, 1, 2, 2, 2))),
    # --- pooling
    "max_pool1d": ("max_pool1d", on(2, 3, 9, kernel_size=3, stride=2, padding=1)),
    "max_pool2d": ("max_pool2d", on(2, 2, 8, 7, kernel_size=(3, 2), stride=2, dilation=(1, 2), ceil_mode=True)),
    "max_pool2d_at": ("max_pool2d", on(3, 6, 6, kernel_size=2, return_indices=True)),
    "max_pool3d": ("max_pool3d", on(1, 2, 4, 4, 4, kernel_size=2)),
    "avg_pool1d": ("avg_pool1d", on(3, 9, kernel_size=3, padding=1)),
    "avg_pool2d": ("avg_pool2d", on(1, 2, 6, 7, kernel_size=3, stride=2, padding=1, count_include_pad=False)),
    "avg_pool2d_sum": ("avg_pool2d", on(1, 2, 6, 7, kernel_size=2, ceil_mode=True, divisor_override=1)),
    "avg_pool3d": ("avg_pool3d", on(1, 1, 4, 4, 5, kernel_size=(2, 2, 3))),
    "lp_pool1d": ("lp_pool1d", on(2, 3, 6, norm_type=2, kernel_size=2)),
    "lp_pool2d": ("lp_pool2d", on(2, 6, 6, norm_type=4.0, kernel_size=(2, 3), stride=1)),
    "lp_pool3d": ("lp_pool3d", on(1, 2, 4, 4, 4, norm_type=2.0, kernel_size=2)),
    "lp_pool_inf": ("lp_pool2d", on(1, 2, 4, 4, norm_type=float("inf"), kernel_size=2)),
    "adaptive_avg_pool1d": ("adaptive_avg_pool1d", on(2, 3, 7, output_size=3)),
    "adaptive_avg_pool2d": ("adaptive_avg_pool2d", on(2, 7, 5, output_size=(3, None))),
    "adaptive_avg_pool3d": ("adaptive_avg_pool3d", on(1, 2, 5, 4, 3, output_size=2)),
    "adaptive_max_pool1d": ("adaptive_max_pool1d", on(2, 3, 7, output_size=3)),
    "adaptive_max_pool2d": ("adaptive_max_pool2d", on(1, 2, 7, 5, output_size=(3, 2), return_indices=True)),
    "adaptive_max_pool2d_none": ("adaptive_max_pool2d", on(1, 2, 7, 5, output_size=(None, 2), return_indices=True)),
    "adaptive_max_pool3d": ("adaptive_max_pool3d", on(1, 2, 5, 4, 3, output_size=2, return_indices=True)),
    "max_unpool1d": ("max_unpool1d", lambda r: of(r(1, 2), np.array([[1, 3]]), kernel_size=2)),
    "max_unpool2d": (
        "max_unpool2d",
        lambda r: of(r(1, 2, 2), np.array([[[0, 7], [11, 14]]]), 2, 2, 0, (5, 4)),
    ),
    "max_unpool3d": ("max_unpool3d", lambda r: of(r(1, 1, 1, 2), np.array([[[[5, 2]]]]), 2)),
    # --- images
    "pad": ("pad", on(2, 3, 4, pad=(1, 2, -1, 3), value=1.5)),
    "pad_reflect": ("pad", on(2, 3, 4, 5, pad=(2, 1, 0, 3), mode="reflect")),
    "pad_replicate": ("pad", on(2, 3, 4, pad=(2, 5), mode="replicate")),
    "pad_circular": ("pad", on(1, 2, 3, 4, pad=(2, 1, 3, 0), mode="circular")),
    "pad_circular_cut": ("pad", on(1, 2, 3, 4, pad=(2, -1, -1, 1), mode="circular")),
    "pad_reflect_cut": ("pad", on(1, 2, 3, 4, pad=(2, -1, -1, 1), mode="reflect")),
    "nearest": ("interpolate", on(1, 2, 5, 3, size=(7, 4))),
    "nearest_factor": ("interpolate", on(1, 2, 5, scale_factor=1.7)),
    "nearest_exact": ("interpolate", on(1, 2, 5, 3, size=(3, 8), mode="nearest-exact")),
    "area": ("interpolate", on(1, 2, 5, 7, size=(3, 2), mode="area")),
    "linear_up": ("interpolate", on(1, 2, 5, size=8, mode="linear")),
    "linear_of_its_size": ("interpolate", on(1, 2, 5, 4, scale_factor=(1.1, 1.7), mode="bilinear")),
    "nearest_between": ("interpolate", on(1, 1, 31, scale_factor=1.3)),
    "nearest_exact_between": ("interpolate", on(1, 1, 31, scale_factor=1.3, mode="nearest-exact")),
    "bilinear_factor": ("interpolate", on(1, 2, 5, 4, scale_factor=(1.7, 0.6), mode="bilinear")),
    "bilinear_anew": (
        "interpolate",
        on(1, 1, 5, 4, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
    ),
    "bilinear_aligned": ("interpolate", on(1, 2, 5, 4, size=(3, 9), mode="bilinear", align_corners=True)),
    "trilinear": ("interpolate", on(1, 1, 3, 2, 4, scale_factor=2, mode="trilinear")),
    "bicubic": ("interpolate", on(1, 2, 5, 4, size=(7, 3), mode="bicubic")),
    "bicubic_aligned": ("interpolate", on(1, 1, 5, 4, size=(7, 9), mode="bicubic", align_corners=True)),
    "bilinear_smooth": ("interpolate", on(1, 2, 9, 8, size=(4, 11), mode="bilinear", antialias=True)),
    "bicubic_smooth": ("interpolate", on(1, 1, 9, 11, size=(4, 3), mode="bicubic", antialias=True)),
    "unfold": ("unfold", on(2, 2, 4, 5, kernel_size=(2, 3), padding=1, stride=2)),
    "fold": ("fold", on(2, 12, 4, output_size=(4, 5), kernel_size=(2, 3), stride=(2, 2), padding=(0, 0))),
    "pixel_shuffle": ("pixel_shuffle", on(2, 8, 2, 3, upscale_factor=2)),
    "pixel_shuffle_alone": ("pixel_shuffle", on(9, 2, 1, upscale_factor=3)),
    "pixel_unshuffle": ("pixel_unshuffle", on(2, 1, 2, 4, 6, downscale_factor=2)),
    "channel_shuffle": ("channel_shuffle", on(1, 6, 2, groups=3)),
    "affine_grid": ("affine_grid", on(2, 2, 3, size=(2, 1, 3, 4), align_corners=False)),
    "affine_grid_aligned": ("affine_grid", on(2, 2, 3, size=(2, 1, 3, 1), align_corners=True)),
    "affine_grid_3": ("affine_grid", on(1, 3, 4, size=(1, 1, 2, 3, 2), align_corners=False)),
    **{
        f"grid_{mode}_{pad}_{aligned}": (
            "grid_sample",
            lambda r, m=mode, p=pad, a=aligned: of(r(2, 2, 4, 5), r(2, 3, 4, 2), m, p, bool(a)),
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for pad in ("zeros", "border", "reflection")
        for aligned in (0, 1)
    },
    "grid_volumes": ("grid_sample", lambda r: of(r(1, 2, 3, 4, 2), r(1, 2, 2, 3, 3), align_corners=False)),
    # --- norms, tables, distances
    "normalize": ("normalize", on(3, 4)),
    "normalize_1": ("normalize", on(3, 4, p=1.0, dim=0)),
    "normalize_3": ("normalize", on(2, 3, 4, p=3.0, dim=-1)),
    "layer_norm": ("layer_norm", lambda r: of(r(2, 3, 4), (3, 4), r(3, 4), r(3, 4), 1e-3)),
    "layer_norm_plain": ("layer_norm", on(2, 4, normalized_shape=(4,))),
    "rms_norm": ("rms_norm", lambda r: of(r(2, 3, 4), (4,), r(4))),
    "rms_norm_eps": ("rms_norm", on(2, 3, 4, normalized_shape=(3, 4), eps=0.1)),
    "group_norm": ("group_norm", lambda r: of(r(2, 4, 3), 2, r(4), r(4))),
    "batch_norm": ("batch_norm", lambda r: of(r(3, 4, 2), r(4), r.share(4), r(4), r(4))),
    "batch_norm_own": ("batch_norm", lambda r: of(r(3, 4, 2), None, None, r(4), r(4), True, 0.3, 1e-3)),
    "instance_norm": ("instance_norm", lambda r: of(r(3, 4, 5), weight=r(4), bias=r(4))),
    "instance_norm_known": ("instance_norm", lambda r: of(r(2, 3, 5), r(3), r.share(3), use_input_stats=False)),
    "local_response_norm": ("local_response_norm", on(2, 5, 3, size=3, alpha=0.5)),
    "embedding": ("embedding", lambda r: of(r.whole(5, 2, 3), r(5, 4))),
    "embedding_padded": ("embedding", lambda r: of(r.whole(5, 2, 3), r(5, 4), padding_idx=-1)),
    "embedding_bag": ("embedding_bag", lambda r: of(r.whole(5, 2, 3), r(5, 4))),
    "embedding_bag_row": (
        "embedding_bag",
        lambda r: of(r.whole(5, 6), r(5, 4), np.array([0, 2, 2]), mode="sum", per_sample_weights=r(6)),
    ),
    "embedding_bag_max": ("embedding_bag", lambda r: of(r.whole(5, 2, 3), r(5, 4), mode="max", padding_idx=1)),
    "one_hot": ("one_hot", lambda r: of(r.whole(4, 2, 3))),
    "one_hot_wide": ("one_hot", lambda r: of(r.whole(4, 3), 6)),
    "cosine_similarity": ("cosine_similarity", lambda r: of(r(2, 3, 4), r(2, 3, 4))),
    "pairwise_distance": ("pairwise_distance", lambda r: of(r(3, 4), r(3, 4), p=3.0, keepdim=True)),
    "pairwise_distance_inf": ("pairwise_distance", lambda r: of(r(3, 4), r(3, 4), p=float("inf"))),
    "pdist": ("pdist", on(4, 3)),
    # --- attention
    "attention": ("scaled_dot_product_attention", lambda r: of(r(2, 2, 3, 5), r(2, 2, 4, 5), r(2, 2, 4, 6))),
    "attention_mask": ("scaled_dot_product_attention", lambda r: of(r(2, 3, 5), r(2, 4, 5), r(2, 4, 6), MASK)),
    "attention_added": (
        "scaled_dot_product_attention",
        lambda r: of(r(2, 3, 5), r(2, 4, 5), r(2, 4, 6), r(3, 4), scale=0.3),
    ),
    "attention_causal": (
        "scaled_dot_product_attention",
        lambda r: of(r(2, 3, 5), r(2, 4, 5), r(2, 4, 6), is_causal=True),
    ),
    "attention_groups": (
        "scaled_dot_product_attention",
        lambda r: of(r(1, 4, 3, 5), r(1, 2, 3, 5), r(1, 2, 3, 5), enable_gqa=True),
    ),
    "heads": (
        "multi_head_attention_forward",
        lambda r: of(
            *(r(3, 2, 4), r(5, 2, 4), r(5, 2, 4), 4, 2, r(12, 4), r(12), r(1, 1, 4), r(1, 1, 4), True),
            *(0.1, r(4, 4), r(4), False, np.array([[False] * 5, [False] * 3 + [True] * 2]), True, r(3, 5)),
        ),
    ),
    "heads_apart": (
        "multi_head_attention_forward",
        lambda r: of(
            *(
                r(3, 4),
                r(5, 3),
                r(5, 2),
                4,
                2,
                None,
                r(12),
                None,
                None,
                False,
                0.0,
                r(4, 4),
                None,
                True,
                None,
                True,
                None,
            ),
            *(True, r(4, 4), r(4, 3), r(4, 2)),
            average_attn_weights=False,
        ),
    ),
    # --- losses
    "cross_entropy": ("cross_entropy", lambda r: of(r(5, 3), LABELS)),
    "cross_entropy_one": ("cross_entropy", lambda r: of(r(3), np.array(1))),
    "cross_entropy_weighed": ("cross_entropy", lambda r: of(r(5, 3), LABELS, r.share(3))),
    "cross_entropy_smooth": (
        "cross_entropy",
        lambda r: of(r(5, 3), LABELS, r.share(3), label_smoothing=0.2),
    ),
    "cross_entropy_images": (
        "cross_entropy",
        lambda r: of(r(2, 3, 2, 4), r.whole(3, 2, 2, 4), reduction="none", ignore_index=1, label_smoothing=0.1),
    ),
    "cross_entropy_shares": ("cross_entropy", lambda r: of(r(5, 3), r.shares(5, 3))),
    "cross_entropy_shares_smooth": (
        "cross_entropy",
        lambda r: of(r(2, 3, 4), r.shares(2, 3, 4), r.share(3), label_smoothing=0.3),
    ),
    "nll": ("nll_loss", lambda r: of(r(5, 3), LABELS)),
    "nll_weighed": ("nll_loss", lambda r: of(r(5, 3), LABELS, r.share(3))),
    "nll_images": (
        "nll_loss",
        lambda r: of(r(2, 3, 4), r.whole(3, 2, 4), r.share(3), ignore_index=0, reduction="sum"),
    ),
    "mse": ("mse_loss", lambda r: of(r(3, 4), r(3, 4))),
    "mse_weighed": ("mse_loss", lambda r: of(r(3, 4), r(3, 4), weight=r.share(3, 4))),
    "l1": ("l1_loss", lambda r: of(r(3, 4), r(3, 4), reduction="sum")),
    "l1_weighed": ("l1_loss", lambda r: of(r(3, 4), r(3, 4), weight=r.share(3, 4))),
    "smooth_l1": ("smooth_l1_loss", lambda r: of(r(3, 4), r(3, 4), beta=0.7)),
    "smooth_l1_0": ("smooth_l1_loss", lambda r: of(r(3, 4), r(3, 4), beta=0.0, reduction="none")),
    "huber": ("huber_loss", lambda r: of(r(3, 4), r(3, 4), "mean", 0.7, r.share(3, 4))),
    "bce": ("binary_cross_entropy", lambda r: of(r.share(3, 4), r.share(3, 4), r.share(4))),
    "bce_logits": (
        "binary_cross_entropy_with_logits",
        lambda r: of(r(3, 4), r.share(3, 4), r.share(3, 1), pos_weight=r.share(4)),
    ),
    "kl": ("kl_div", lambda r: of(r(3, 4), r.shares(3, 4), reduction="batchmean")),
    "kl_logs": ("kl_div", lambda r: of(r(3, 4), r(3, 4), reduction="none", log_target=True)),
    "poisson": ("poisson_nll_loss", lambda r: of(r(6), r.whole(4, 6).astype(np.float32), full=True)),
    "poisson_rates": ("poisson_nll_loss", lambda r: of(r.share(6), r.share(6), False)),
    "gaussian": ("gaussian_nll_loss", lambda r: of(r(3, 2), r(3, 2), r.share(3, 1), True)),
    "cosine_embedding": ("cosine_embedding_loss", lambda r: of(r(4, 3), r(4, 3), r.sign(4), 0.1)),
    "ranking": ("margin_ranking_loss", lambda r: of(r(6), r(6), r.sign(6), 0.3)),
    "hinge": ("hinge_embedding_loss", lambda r: of(r(6), r.sign(6))),
    "soft_margin": ("soft_margin_loss", lambda r: of(r(6), r.sign(6))),
    "triplet": ("triplet_margin_loss", lambda r: of(r(4, 3), r(4, 3), r(4, 3), 0.8, 3.0, swap=True)),
    "triplet_distance": (
        "triplet_margin_with_distance_loss",
        lambda r: of(r(4, 3), r(4, 3), r(4, 3), margin=0.5, reduction="none"),
    ),
    "multi_margin": ("multi_margin_loss", lambda r: of(r(4, 3), r.whole(3, 4), 2, 0.7, r.share(3))),
    "multilabel_margin": (
        "multilabel_margin_loss",
        lambda r: of(r(2, 4), np.array([[3, 0, -1, 1], [1, -1, 0, 0]]), reduction="sum"),
    ),
    "multilabel_soft": (
        "multilabel_soft_margin_loss",
        lambda r: of(r(3, 4), r.whole(2, 3, 4).astype(np.float32), r.share(4)),
    ),
    "ctc": (
        "ctc_loss",
        lambda r: of(np.log(r.shares(6, 5)).reshape(6, 1, 5).astype(np.float32), np.array([[1, 2]]), (6,), (2,)),
    ),
}

# Those whose gradient by the first array is compared too.
GRADIENTS = (
    "gelu",
    "celu",
    "glu",
    "prelu",
    "softplus_steep",
    "conv2d",
    "conv_transpose2d",
    "max_pool2d",
    "avg_pool2d",
    "lp_pool2d",
    "adaptive_max_pool2d",
    "adaptive_avg_pool2d",
    "pad_reflect",
    "bilinear_factor",
    "bicubic",
    "bicubic_smooth",
    "grid_bilinear_border_0",
    "grid_bicubic_zeros_1",
    "normalize_3",
    "layer_norm",
    "batch_norm_own",
    "instance_norm",
    "attention_mask",
    "cross_entropy_smooth",
    "cross_entropy_shares_smooth",
    "nll_weighed",
    "mse_weighed",
    "bce",
    "bce_logits",
    "triplet",
    "pdist",
)


def call_of(name: str) -> tuple[str, Call]:
    function, make = CASES[name]
    return function, make(Draw(name))
