"""Layers, models and losses, written on the library's public functions.

Names, parameters and their order are torch's; what draws random numbers takes a `key`.

>>> import intaglio as ig
>>> from intaglio import nn
>>> keys = ig.random.split(ig.random.key(0), 2)
>>> model = nn.Sequential(nn.Linear(784, 64, key=keys[0]), nn.ReLU(), nn.Linear(64, 10, key=keys[1]))
>>> model
Sequential(
  (0): Linear(in_features=784, out_features=64, bias=True)
  (1): ReLU()
  (2): Linear(in_features=64, out_features=10, bias=True)
)
>>> model.num_parameters()
50890
"""

from . import init, losses
from ._attention import MultiheadAttention, TransformerEncoderLayer
from ._containers import ModuleDict, ModuleList, Sequential
from ._files import load_arrays, save_arrays
from ._functional import functional_call, grad, value_and_grad
from ._layers import (
    ELU,
    GELU,
    GLU,
    Activation,
    AvgPool1d,
    AvgPool2d,
    Conv1d,
    Conv2d,
    Conv3d,
    Embedding,
    Flatten,
    GlobalAvgPool,
    Hardsigmoid,
    Hardswish,
    Identity,
    LeakyReLU,
    Linear,
    LogSigmoid,
    LogSoftmax,
    MaxPool1d,
    MaxPool2d,
    Mish,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
)
from ._module import Buffer, Module, Parameter
from ._norms import BatchNorm1d, BatchNorm2d, BatchNorm3d, Dropout, GroupNorm, LayerNorm, RMSNorm
from ._recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell

__all__ = [
    "ELU",
    "GELU",
    "GLU",
    "GRU",
    "LSTM",
    "RNN",
    "Activation",
    "AvgPool1d",
    "AvgPool2d",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Buffer",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "Dropout",
    "Embedding",
    "Flatten",
    "GRUCell",
    "GlobalAvgPool",
    "GroupNorm",
    "Hardsigmoid",
    "Hardswish",
    "Identity",
    "LSTMCell",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSigmoid",
    "LogSoftmax",
    "MaxPool1d",
    "MaxPool2d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiheadAttention",
    "Parameter",
    "RMSNorm",
    "RNNCell",
    "ReLU",
    "ReLU6",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softplus",
    "Tanh",
    "TransformerEncoderLayer",
    "functional_call",
    "grad",
    "init",
    "load_arrays",
    "losses",
    "save_arrays",
    "value_and_grad",
]
