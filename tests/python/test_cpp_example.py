"""The C++ example builds against the public header and the shared objects, and runs without Python."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

EXPECTED = """\
risky: 2 4
risky: -2 -3
risky: 2 4
risky: -2 -3
traces of risky: 2
layer: 2 rows, first 2.5
layer: 3 rows, first 2.5
layer: 5 rows, first 2.5
layer: 8 rows, first 2.5
traces of layer: 2
graph @shifted(%x: f32[n]) where n {
  %0 = relu(%x) : f32[n]
  %1 = constant() {value = f32[] {0x1p+0}} : f32[]
  %2 = broadcast_in_dim(%1) {shape = <n>, broadcast_dimensions = []} : f32[n]
  %3 = add(%0, %2) : f32[n]
  return %3
}
compiled: 1 4
"""

TRANSFORMS = """\
fitted: 2.000 x + 1.000, 1 trace
roots: 1.000 2.000 3.000
hessian: [8 2; 2 14]
clipped: 0.5
"""

CONTROL = """\
root of 2: 1.414214, its slope: 0.353553
roots: 1.000 2.000 3.000
sums: 1 2.5 4.25, the last: 4.25
slope by the decay: 3
branches: 4 2
powers: 1 3 9
5! = 120, lengths: 5 10
"""


def test_the_cpp_example(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("intaglio")
    assert spec is not None
    assert spec.submodule_search_locations
    package = next(iter(spec.submodule_search_locations))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cmake = shutil.which("cmake", path=path)
    assert cmake
    environment = {**os.environ, "PATH": path}

    def run(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    options = [f"-DINTAGLIO_SOURCE={ROOT}", f"-DINTAGLIO_LIBRARIES={package}"]
    run(cmake, "-S", str(ROOT / "examples" / "cpp"), "-B", str(tmp_path), *options)
    run(cmake, "--build", str(tmp_path))
    for name, expected in (
        ("jit_example", EXPECTED),
        ("transforms_example", TRANSFORMS),
        ("control_example", CONTROL),
    ):
        example = tmp_path / name
        assert run(str(example)) == expected
        assert "libpython" not in run("ldd", str(example))
