"""The functions behind the layers, without parameters of their own: torch's names, arguments, defaults and semantics.

What differs: there is no `inplace`, as arrays are values; what draws random numbers takes a `key`; and what stands in
torch behind its deprecated `size_average` and `reduce`, which are not here, is given by name.

>>> import intaglio as ig
>>> from intaglio.nn import functional as F
>>> F.relu(F.linear(ig.ones((1, 2)), ig.asarray([[1.0, 2.0], [-1.0, 0.0]])))
Tensor([[3., 0.]], dtype=float32)
"""

from . import _activations, _images, _losses, _norms, _windows
from ._activations import *  # noqa: F403
from ._images import *  # noqa: F403
from ._losses import *  # noqa: F403
from ._norms import *  # noqa: F403
from ._windows import *  # noqa: F403

__all__: list[str] = []
__all__ += _activations.__all__
__all__ += _images.__all__
__all__ += _losses.__all__
__all__ += _norms.__all__
__all__ += _windows.__all__
