"""No test depends on what the user's own cache of compiled kernels holds; those about it have folders of their own."""

import os

os.environ["INTAGLIO_CACHE"] = "0"
