"""Programs that a type checker must refuse: each line below with a comment is one error."""

import intaglio as ig

x = ig.asarray([1.0])
ig.exp(x, 3)  # too many arguments
ig.gelu(x, approximate="maybe")  # not one of the words
x.no_such_method()  # no such method
ig.max(x, axis="rows")  # an axis is a number
word: str = ig.exp(x)  # the result is a Tensor
