# Golden text tests: graph files (.ig) whose RUN lines pipe the `intaglio` command into LLVM's FileCheck.
#   // RUN: %intaglio opt --passes=cse %s | FileCheck %s
import os
import shutil
from pathlib import Path

import lit.formats

root = Path(__file__).resolve().parents[2]
build = Path(os.environ.get("INTAGLIO_BUILD", root / "build" / "release"))

config.name = "intaglio"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ig"]
config.test_source_root = str(Path(__file__).resolve().parent)
config.test_exec_root = str(build / "golden")

filecheck = shutil.which("FileCheck-19") or "/usr/lib/llvm-19/bin/FileCheck"
config.substitutions.append(("%intaglio", str(build / "bin" / "intaglio")))
config.substitutions.append((r"\bFileCheck\b", f"{filecheck} --dump-input=fail"))
config.substitutions.append((r"\bnot\b", "/usr/lib/llvm-19/bin/not"))
# lit starts tests in a clean environment; what chooses targets, threads and planted faults goes along.
config.environment.update({name: value for name, value in os.environ.items() if name.startswith("INTAGLIO_")})
config.environment["INTAGLIO_CACHE"] = "0"
