"""No test depends on what the user's own cache of compiled kernels holds; those about it have folders of their own. And
graphs are compiled at their first call: it is compiled code that the tests are about, but for `test_first_calls.py`."""

import os

os.environ["INTAGLIO_CACHE"] = "0"
os.environ["INTAGLIO_OP_BY_OP"] = "0"
