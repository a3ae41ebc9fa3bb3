#!/usr/bin/env python3
# Writes what follows mechanically from the op table and the public namespace: docs/ops/ (a page a family, an
# index, the table of rules) and the type stubs python/intaglio/_intaglio.pyi and __init__.pyi. Needs the
# package installed.
#   .venv/bin/python scripts/generate_docs.py [--check]
from __future__ import annotations

import argparse
import difflib
import inspect
import operator
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import compatibility

import intaglio as ig
from intaglio import _functions, _intaglio

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs/ops"
STUBS = "python/intaglio"
WRITTEN = "Written by scripts/generate_docs.py out of the op table"

# Where each family of the table begins: its first op, its page, its title, its file.
FAMILIES = [
    ("exponential", "functions", "Elementary functions", "unary_float.cpp"),
    ("negate", "unary", "Functions of one number", "unary.cpp"),
    ("add", "binary", "Arithmetic of two numbers", "binary.cpp"),
    ("equal", "compare", "Comparisons", "compare.cpp"),
    ("and", "logic", "Bits and logic", "compare.cpp"),
    ("convert", "convert", "Conversions and choices", "convert.cpp"),
    ("constant", "create", "Constants", "create.cpp"),
    ("reduce_sum", "folds", "Folds: the primitives", "reduce.cpp"),
    ("sum", "reductions", "Reductions", "reduce_composites.cpp"),
    ("cumulative_sum", "cumulative", "Running folds", "cumulative.cpp"),
    ("broadcast_in_dim", "structural", "Moving elements", "structural.cpp, structural_join.cpp"),
    ("gather", "indexing", "Gather and scatter", "indexing.cpp, scatter.cpp"),
    (
        "dot_general",
        "contraction",
        "Products and convolution",
        "contraction.cpp, convolution.cpp, products.cpp",
    ),
    ("reduce_window_sum", "window", "Windows", "window.cpp"),
    ("sort", "order", "Order", "order.cpp, order_composites.cpp"),
    ("random_key", "random", "Random numbers", "random.cpp, random_composites.cpp"),
    ("cond", "control", "Control flow", "control.cpp"),
    ("pure_callback", "callbacks", "Calls of the host", "host_call.cpp"),
    ("relu", "nn", "Neural networks", "nn_composites.cpp, nn_layers.cpp, attention.cpp"),
    (
        "broadcast_to",
        "shapes",
        "Shapes and indexing as in NumPy",
        "numpy_composites.cpp, numpy_indexing.cpp, numpy_shapes.cpp",
    ),
    ("isclose", "numbers", "Functions of numbers as in NumPy", "numpy_numbers.cpp"),
    ("nansum", "statistics", "Statistics, samples and bins as in NumPy", "numpy_statistics.cpp, numpy_samples.cpp"),
    ("gamma", "special", "Special functions", "special.cpp, special_composites.cpp"),
    ("cholesky", "linalg", "Linear algebra", "linalg*.cpp"),
    ("fft", "fft", "Fourier transforms", "fft*.cpp"),
    ("fusion", "compiler", "The compiler's own", "compiler.cpp"),
]


def by_family() -> Iterator[tuple[str, str, str, list[dict[str, Any]]]]:
    table = [decl for decl in ig.op_table() if not decl["name"].startswith("user.")]
    names = [decl["name"] for decl in table]
    starts = [names.index(first) for first, *_ in FAMILIES]
    assert starts[0] == 0, "FAMILIES begins with another op"
    assert starts == sorted(starts), "FAMILIES does not follow the table"
    for (_, page, title, file), begin, end in zip(FAMILIES, starts, [*starts[1:], len(names)], strict=True):
        yield page, title, file, table[begin:end]


# --- pages --------------------------------------------------------------------------------------------------


def dtypes_of(decl: dict[str, Any]) -> str:
    names = [dtype.name for dtype in decl["dtypes"]]
    return "every dtype" if len(names) == 16 else ", ".join(names)


SHAPES = {
    "elementwise": "The arrays are promoted to one dtype and broadcast against one another.",
    "reduction": "`axis` is one axis or several, None all; each goes away, or becomes 1 with `keepdims`.",
}


def shapes_of(decl: dict[str, Any]) -> str:
    if decl["front"] in SHAPES:
        return SHAPES[decl["front"]]
    if "elementwise" in decl["traits"]:
        return "The arrays have one shape, which is the result's."
    lines = []
    for sample in decl["samples"][:3]:
        call = f"({sample['operands']}) {sample['attrs']}".replace(" {}", "")
        lines.append(f"`{re.sub(r' ?{[^}]*}(?=[,)])', '', call)}` → `{result_types(decl, sample)}`")
    return "For example " + "; ".join(lines) + "." if lines else ""


def result_types(decl: dict[str, Any], sample: dict[str, Any]) -> str:
    chosen = next((d.name for d in decl["dtypes"] if d.name == "float32"), decl["dtypes"][0].name)
    short = {"float32": "f32", "bool": "bool", "key": "key", "int32": "i32", "float16": "f16", "int8": "i8"}[chosen]
    operands = re.sub(r"\s*{[^}]*}", "", sample["operands"]).replace("T[", f"{short}[").replace("R[", f"{short}[")
    parts = re.findall(r"\w+\[[^\]]*\]", operands)
    out = ", ".join(_intaglio._infer(decl["name"], parts, sample["attrs"]))
    return out.replace(f"{short}[", "T[") if "T[" in sample["operands"] else out


def run_example(expression: str) -> str:
    return repr(eval(expression, {"ig": ig}))


def rule_text(value: Any) -> str:
    return "yes" if value is True else f"none: {value}"


def signature(decl: dict[str, Any]) -> str:
    function = ig.Tensor.trace if decl["python"] == "trace" else operator.attrgetter(decl["python"])(ig)
    return f"ig.{decl['python']}{inspect.signature(function)}"


def name_of(decl: dict[str, Any]) -> str:
    return str(decl["python"] or decl["name"])


def anchor(decl: dict[str, Any]) -> str:
    return name_of(decl).replace(".", "")


def op_section(decl: dict[str, Any]) -> str:
    name = decl["python"] or decl["name"]
    out = [f"## {name}", ""]
    if decl["python"]:
        out += [f"    {signature(decl)}", ""]
    out += [decl["doc"].replace("\n\n", "\n").replace("\n", "\n\n"), ""]
    facts = [f"- **in graphs**: `{decl['name']}`" + (f" ({', '.join(decl['traits'])})" if decl["traits"] else "")]
    for spec in decl["operands"]:
        kind = "arrays" if spec["variadic"] else "array, or None" if spec["optional"] else "array"
        facts.append(f"- `{spec['name']}` ({kind}): {spec['doc']}")
    for spec in decl["attrs"]:
        key = "axis" if decl["front"] == "reduction" and spec["name"] == "axes" else spec["name"]
        default = "" if spec["required"] else f", default `{spec['default']!r}`"
        choices = f", one of {spec['choices'].replace('|', ', ')}" if spec["choices"] else ""
        facts.append(f"- `{key}` ({spec['kind']}{default}{choices}): {spec['doc']}")
    typed = any("T[" in sample["operands"] for sample in decl["samples"])
    if typed:
        facts.append(f"- **dtypes**: {dtypes_of(decl)}")
    if shapes_of(decl):
        facts.append(f"- **shapes**: {shapes_of(decl)}")
    if decl["ulp"]:
        facts.append(f"- **accuracy**: within {decl['ulp']:g} units in the last place in float32")
    if decl["complex_ulp"]:
        facts.append(f"- **accuracy of complex numbers**: within {decl['complex_ulp']:g} units of the magnitude")
    for bad in decl["bad_samples"]:
        facts.append(
            f"- **raises** `{bad['error']}` for `({bad['operands']})"
            + (f" {bad['attrs']}`" if bad["attrs"] not in ("", "{}") else "`")
        )
    rules = decl["rules"]
    facts.append(
        f"- **derivative**: {rule_text(rules['jvp'])}; **transpose**: {rule_text(rules['transpose'])}; "
        f"**batching**: {rule_text(rules['batch'])}"
    )
    how = rules["lower"]["kind"] + (f" ({rules['lower']['reason']})" if rules["lower"]["reason"] else "")
    facts.append(f"- **compiled as**: {how}")
    out += [*facts, ""]
    if decl["example"]:
        shown = run_example(decl["example"]).split("\n")
        out += ["```python", f">>> {decl['example']}", *shown, "```", ""]
    return "\n".join(out)


def rules_page() -> str:
    out = [
        "# The rules of each op",
        "",
        f'{WRITTEN}. What it says "none" of, the op\'s page gives the reason for.',
        "",
    ]
    total = 0
    counts = {"jvp": 0, "transpose": 0, "batch": 0, "simplify": 0}
    rows = []
    for page, _, _, ops in by_family():
        for decl in ops:
            rules = decl["rules"]
            composite = rules["body"] is True
            cells = []
            for rule in counts:
                own = rules[rule] is True
                counts[rule] += own or composite
                cells.append("yes" if own else "by its body" if composite else "–")
            total += 1
            row = [f"[{decl['name']}]({page}.md#{anchor(decl)})", *cells, rules["lower"]["kind"]]
            rows.append(f"| {' | '.join(row)} |")
    have = ", ".join(f"{rule} {count}" for rule, count in counts.items())
    out += [
        f"{total} ops; with a rule of their own or by their body: {have}.",
        "",
        "An op is added in one file: [how](../how-to-add-an-op.md).",
        "",
        "| op | jvp | transpose | batch | simplify | lowered as |",
        "|---|---|---|---|---|---|",
        *rows,
        "",
    ]
    return "\n".join(out)


def pages() -> dict[str, str]:
    out = {}
    index = [
        "# Ops",
        "",
        f"{WRITTEN}: `python scripts/generate_docs.py` after each change of a declaration.",
        "[The rules of each op](rules.md); [how to add an op](../how-to-add-an-op.md).",
        "",
        "| family | ops |",
        "|---|---|",
    ]
    for page, title, file, ops in by_family():
        links = ", ".join(f"[{name_of(decl)}]({page}.md#{anchor(decl)})" for decl in ops)
        index.append(f"| [{title}]({page}.md) | {links} |")
        head = f"# {title}\n\nDeclared in `src/ops/families/`: {file}. {WRITTEN}.\n\n"
        out[f"{DOCS}/{page}.md"] = head + "\n".join(op_section(decl) for decl in ops)
    out[f"{DOCS}/README.md"] = "\n".join(index) + "\n"
    out[f"{DOCS}/rules.md"] = rules_page()
    return out


# --- stubs --------------------------------------------------------------------------------------------------

ATTR_TYPES = {
    "bool": "builtins.bool",
    "int": "int",
    "float": "float",
    "text": "str",
    "dtype": "DTypeLike",
    "ints": "int | Sequence[int]",
    "dims": "int | Dim | Sequence[int | Dim]",
    "literal": "ArrayLike",
}


def attr_type(spec: dict[str, Any]) -> str:
    if spec["choices"]:
        return "Literal[" + ", ".join(f'"{word}"' for word in spec["choices"].split("|")) + "]"
    return ATTR_TYPES[spec["kind"]]


def default_of(spec: dict[str, Any]) -> str:
    value = spec["default"]
    return repr(value) if isinstance(value, (bool, int, float, str)) else "..."


def parameters(decl: dict[str, Any], method: bool) -> str:
    out = []
    optional = False
    for spec in decl["operands"]:
        kind = "ArrayLike | Sequence[ArrayLike]" if spec["variadic"] else "ArrayLike"
        optional |= spec["optional"]
        out.append(f"{spec['name']}: {kind}" + (" | None = None" if spec["optional"] else ""))
    if method:
        out[0] = "self"
    if decl["operands"] and decl["operands"][-1]["variadic"]:
        out[-1] = f"*{decl['operands'][-1]['name']}: ArrayLike | Sequence[ArrayLike]"
    fold = decl["front"] == "reduction"
    attrs = sorted(decl["attrs"], key=lambda spec: not spec["required"] and not (fold and spec["name"] == "axes"))
    for spec in attrs:
        if fold and spec["name"] == "axes":
            out.append("axis: int | Sequence[int] | None = None")
        elif spec["required"] and not optional:
            out.append(f"{spec['name']}: {attr_type(spec)}")
        elif spec["required"]:
            out.append(f"{spec['name']}: {attr_type(spec)} = ...")
        else:
            out.append(f"{spec['name']}: {attr_type(spec)} | None = {default_of(spec)}")
    if len(attrs) == 1 and attrs[0]["kind"] in ("ints", "dims") and not fold and not any("*" in p for p in out):
        out.append("*more: int | Dim")
    return ", ".join(out)


def result_of(decl: dict[str, Any]) -> str:
    if decl["results"] == 1:
        return "Tensor"
    inner = "Tensor, ..." if decl["results"] < 0 else ", ".join(["Tensor"] * decl["results"])
    return f"tuple[{inner}]"


def first_line(doc: str) -> str:
    return doc.split("\n")[0].replace("\\", "\\\\")


def op_def(name: str, decl: dict[str, Any], method: bool) -> str:
    pad = "    " if method else ""
    doc = first_line(decl["doc"])
    return f'{pad}def {name}({parameters(decl, method)}) -> {result_of(decl)}:\n{pad}    """{doc}"""\n'


def python_def(name: str, function: Any) -> str:
    """A method that is a Python function: the same, with `self` for its first argument."""
    spec = inspect.signature(function)
    params = list(spec.parameters.values())
    params[0] = params[0].replace(
        name="self", annotation=inspect.Parameter.empty, kind=inspect.Parameter.POSITIONAL_OR_KEYWORD
    )
    if any(p.kind == p.POSITIONAL_ONLY for p in params[1:]):
        params[0] = params[0].replace(kind=inspect.Parameter.POSITIONAL_ONLY)
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(spec.replace(parameters=params))).replace("'", '"')
    text = text.replace(": bool", ": builtins.bool").replace("-> builtins.bool", "-> builtins.bool")
    doc = first_line(inspect.getdoc(function) or "")
    return f'    def {name}{text}:\n        """{doc}"""\n'


BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
COMPARE = "lt le gt ge"


def tensor_class(table: dict[str, dict[str, Any]]) -> str:
    out = ["class Tensor:", '    """An array: concrete, or a value of a graph that is being captured."""', ""]
    types_of = {
        "shape": "tuple[Any, ...]",
        "dtype": "_DType",
        "ndim": "int",
        "size": "Any",
        "nbytes": "Any",
        "device": "str",
        "is_symbolic": "builtins.bool",
        "T": "Tensor",
        "mT": "Tensor",
        "real": "Tensor",
        "imag": "Tensor",
        "requires_grad": "builtins.bool",
        "grad": "Any",
        "is_leaf": "builtins.bool",
        "retains_grad": "builtins.bool",
        "grad_fn": "GradNode | None",
        "at": "At",
    }
    for name, member in vars(ig.Tensor).items():
        if isinstance(member, (types.GetSetDescriptorType, property)) and not name.startswith("_"):
            out.append(f"    @property\n    def {name}(self) -> {types_of.get(name, 'Any')}:")
            out.append(f'        """{member.__doc__}"""\n')
            if isinstance(member, property) and member.fset:
                out.append(f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...")
            if isinstance(member, property) and member.fdel:
                out.append(f"    @{name}.deleter\n    def {name}(self) -> None: ...")
    for word in BINARY.split():
        out.append(f"    def __{word}__(self, other: ArrayLike, /) -> Tensor: ...")
        out.append(f"    def __r{word}__(self, other: ArrayLike, /) -> Tensor: ...")
        out.append(f"    def __i{word}__(self, other: ArrayLike, /) -> Self: ...")
    for word in COMPARE.split():
        out.append(f"    def __{word}__(self, other: ArrayLike, /) -> Tensor: ...")
    out.append("    def __eq__(self, other: object, /) -> Tensor: ...  # type: ignore[override]")
    out.append("    def __ne__(self, other: object, /) -> Tensor: ...  # type: ignore[override]")
    out += [f"    def __{word}__(self) -> Tensor: ..." for word in ("neg", "pos", "abs", "invert")]
    out += [
        "    def __bool__(self) -> builtins.bool: ...",
        "    def __int__(self) -> int: ...",
        "    def __float__(self) -> float: ...",
        "    def __complex__(self) -> builtins.complex: ...",
        "    def __index__(self) -> int: ...",
        "    def __len__(self) -> int: ...",
        "    def __iter__(self) -> Iterator[Tensor]: ...",
        "    def __getitem__(self, key: Any, /) -> Tensor: ...",
        "    def __setitem__(self, key: Any, value: ArrayLike, /) -> None: ...",
        "    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> Any: ...",
        "    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...",
        "    def __dlpack__(self, **options: Any) -> Any: ...",
        "    def __dlpack_device__(self) -> tuple[int, int]: ...",
        "    def item(self) -> Any: ...",
        "    def tolist(self) -> Any: ...",
        "    def numpy(self) -> Any: ...",
        "    def to_device(self, device: str, /, *, stream: Any = None) -> Tensor: ...",
    ]
    for name, member in sorted(vars(ig.Tensor).items()):
        if name.startswith("_") or name in ("item", "tolist", "numpy", "to_device"):
            continue
        if type(member).__name__ == "OpFunction":
            decl = table[member.op]
            out.append(op_def(name, decl, True))
        elif isinstance(written(member), types.FunctionType):
            out.append(python_def(name, written(member)))
    return "\n".join(out) + "\n"


HEAD = f'''# {WRITTEN} and, for what is no op, out of the extension module.
import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, Self

from ._at import At
from ._errors import Error as Error
from .autograd import RemovableHandle

class _SupportsArray(Protocol):
    def __array__(self) -> Any: ...

# Numbers, nested sequences of them, and arrays of any library. (int and float are complex to a type checker.)
ArrayLike = Tensor | builtins.complex | _SupportsArray | Sequence[Any]
DTypeLike = dtype | str | type[Any]

class dtype:
    """An element type. Equal to its name and to NumPy's dtype of that name."""

    def __init__(self, name: DTypeLike, /) -> None: ...
    def __hash__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def itemsize(self) -> int: ...

_DType = dtype

class OpFunction:
    """A function of the op table."""

    op: str
    __name__: str
    def __call__(self, *args: Any, **options: Any) -> Any: ...

'''


def core_stub() -> str:
    from nanobind.stubgen import StubGen

    generator = StubGen(_intaglio, include_private=True, include_docstrings=False)
    generator.put(_intaglio)
    text = generator.get()
    text = text[re.search(r"^(def|class|[a-z_]+:)", text, re.M).start() :]  # type: ignore[union-attr]
    text = (
        text.replace("intaglio.dtype", "dtype").replace("intaglio.Tensor", "Tensor").replace("intaglio._functions.", "")
    )
    text = re.sub(
        r"(-> |: )(list|dict|tuple)\b(?!\[)",
        lambda m: m[1] + {"list": "list[Any]", "dict": "dict[str, Any]", "tuple": "tuple[Any, ...]"}[m[2]],
        text,
    )
    text = re.sub(r"(-> |: )bool\b", r"\1builtins.bool", text)
    text = re.sub(r"-> object\b", "-> Any", text).replace("object | None", "Any").replace(": object", ": Any")
    text = text.replace("**kwargs): ...", "**kwargs) -> Any: ...")  # a slot of the C API's has no signature
    text = re.sub(r"\*(args|kwargs)(?=[,)])", r"*\1: Any", text).replace(": Callable,", ": Callable[..., Any],")
    text = re.sub(r"^functions: .*$", "functions: dict[str, Any] = ...", text, flags=re.M)
    # `Graph.str` hides the class of that name inside of Graph.
    graph = re.search(r"^class Graph:\n(?:[ \n].*\n?)*", text, re.M)
    if graph:
        body = re.sub(r"(?<!def )\bstr\b", "builtins.str", graph[0])
        text = text.replace(graph[0], body)
    text = re.sub(
        r"def __(eq|ne)__\(self, arg: Any, /\) -> Any: \.\.\.",
        r"def __\1__(self, arg: object, /) -> Any: ...",
        text,
    )
    text = re.sub(
        r"def __(eq|ne)__\(self, arg: Any, /\) -> builtins.bool",
        r"def __\1__(self, arg: object, /) -> builtins.bool",
        text,
    )
    return text


def public_stub(table: dict[str, dict[str, Any]]) -> str:
    """The namespace as it is at run time: ops by their declarations, all else from where it is defined."""
    imports: dict[str, list[str]] = {}
    constants, functions, modules = [], [], []
    own = {decl["python"]: decl for decl in table.values()}
    for name in (n for n in dir(ig) if not n.startswith("_")):
        value = written(getattr(ig, name))
        module = getattr(value, "__module__", None)
        if isinstance(value, types.ModuleType):
            if value.__name__.startswith("intaglio."):
                modules.append(f"from . import {name} as {name}")
        elif type(value).__name__ == "OpFunction":
            functions.append(op_def(name, table[value.op], False))
        elif isinstance(value, float) or value is None:
            constants.append(f"{name}: {'None' if value is None else 'float'}")
        elif name == "annotations":
            continue
        elif isinstance(value, ig.dtype) or module in ("intaglio._intaglio", "intaglio") or not module:
            imports.setdefault("_intaglio", []).append(f"{actual(value, name)} as {name}")
        else:
            source = module.removeprefix("intaglio.")
            imports.setdefault(source, []).append(f"{getattr(value, '__name__', name)} as {name}")
    lines = [
        f"# {WRITTEN} and the namespace.",
        "import builtins",
        "from collections.abc import Sequence",
        "from typing import Any, Literal",
        "",
        "from ._intaglio import ArrayLike as ArrayLike, DTypeLike as DTypeLike",
    ]
    for source, names in sorted(imports.items()):
        lines.append(f"from .{source} import (\n" + "".join(f"    {n},\n" for n in names) + ")")
    assert own
    return (
        "\n".join(
            [
                *lines,
                *modules,
                "",
                *constants,
                "__version__: str",
                "__array_api_version__: str",
                "",
                *functions,
            ]
        )
        + "\n"
    )


def module_stub(module: Any, table: dict[str, dict[str, Any]]) -> str:
    """A module of ops, of functions under other names, and of functions that are written out."""
    lines = [f"# {WRITTEN} and the module.", "import builtins", "from collections.abc import Sequence", ""]
    body = []
    used = ""
    for name in module.__all__:
        value = written(getattr(module, name))
        if type(value).__name__ == "OpFunction":
            body.append(op_def(name, table[value.op], False))
        elif value.__module__ == module.__name__:
            text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(value))).replace(
                ": bool", ": builtins.bool"
            )
            body.append(f'def {name}{text}:\n    """{first_line(inspect.getdoc(value) or "")}"""\n')
        else:
            body.append(f"from .{value.__module__.removeprefix('intaglio.')} import {value.__name__} as {name}\n")
    used = "\n".join(body)
    typing = [word for word in ("Any", "Literal") if re.search(rf"\b{word}\b", used)]
    lines.append(f"from typing import {', '.join(typing)}")
    kinds = ["ArrayLike as ArrayLike", "Tensor as Tensor"] + (["DTypeLike as DTypeLike"] if "DTypeLike" in used else [])
    lines.append(f"from ._intaglio import {', '.join(kinds)}")
    return "\n".join([*lines, "", *body])


def written(value: Any) -> Any:
    """Of a function of several forms the Python function, which has the words and the types."""
    return value.__wrapped__ if type(value).__name__ == "Function" else value


def actual(value: Any, name: str) -> str:
    """The name in the extension module."""
    if name in vars(_intaglio):
        return name
    return str(getattr(value, "__name__", name))


def stubs() -> dict[str, str]:
    table = {decl["name"]: decl for decl in ig.op_table()}
    return {
        f"{STUBS}/_intaglio.pyi": HEAD + core_stub() + "\n" + tensor_class(table),
        f"{STUBS}/__init__.pyi": public_stub(table),
        f"{STUBS}/special.pyi": module_stub(ig.special, table),
    }


def generated() -> dict[str, str]:
    return {**pages(), **stubs(), **compatibility.page()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a file is out of date")
    check = parser.parse_args().check
    files = generated()
    stale = sorted({str(p.relative_to(ROOT)) for p in (ROOT / DOCS).glob("*.md")} - set(files))
    wrong = 0
    for path, text in files.items():
        file = ROOT / path
        have = file.read_text() if file.exists() else ""
        if have == text:
            continue
        wrong += 1
        if check:
            difference = difflib.unified_diff(have.splitlines(), text.splitlines(), path, "generated", n=1, lineterm="")
            print("\n".join(list(difference)[:20]))
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            print(path)
    for path in stale:
        print(f"{path}: no family has this page")
        if not check:
            (ROOT / path).unlink()
    return 1 if check and (wrong or stale) else 0


assert _functions  # the namespace is complete once this module has been imported

if __name__ == "__main__":
    sys.exit(main())
