"""The architecture: who may import whom, what is public, and what stays lazy."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cospan

SOURCE = Path(cospan.__file__).parent

# From the bottom to the top. A module imports only modules that stand in an earlier line, except
# for type checkers (under `if TYPE_CHECKING`). A package counts as one module; `__main__` and the
# version belong to none.
ORDER = """
    errors
    base
    decomposition
    summary
    model
    distributed
    procrustes
    estimator
    model_file
    data
    evidence
    studies
    measures
    comparison
    monitoring
    plots
    wording
    report
    cli
"""
LAYER = {name: i for i, line in enumerate(ORDER.split("\n")) for name in line.split()}

# Methods that hand their object to a module above, such as Comparison.save: the import
# stands inside the method, so that loading the module below never loads the one above.
HANDED_UP = {
    ("summary", "distributed"),
    ("model", "distributed"),
    ("comparison", "report"),
    ("comparison", "wording"),
    ("evidence", "wording"),
    ("monitoring", "report"),
    ("monitoring", "wording"),
}

HEAVY = ("matplotlib", "pyarrow", "torch", "pandas", "polars", "altair", "dask", "typer")


def module_files():
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def module_of(path):
    """Name of the module, or of the package directly under cospan, that a file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def dotted(path):
    parts = ("cospan", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path, *, inside_functions=True, typing=False):
    """Absolute names of everything a file imports, at run time or (`typing`) at all."""
    package = dotted(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    found = []

    def visit(node):
        if not typing and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.orelse:
                visit(child)
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not inside_functions:
            return
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            found.extend(f"{stem}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


def own_imports(path, **options):
    """The modules of cospan that a file imports; "cospan" for names of the package itself."""
    modules = {module_of(file) for file in module_files()} | set(LAYER)
    names = [name.split(".") for name in imports(path, **options)]
    own = [[*parts, ""] for parts in names if parts[0] == "cospan"]
    return {parts[1] if parts[1] in modules else "cospan" for parts in own}


def files_of(module):
    return [path for path in module_files() if module_of(path) == module]


def test_every_public_module_has_its_place():
    unknown = {module_of(path) for path in module_files()} - set(LAYER)
    public = sorted(name for name in unknown if not name.startswith("_"))
    assert not public, f"give {public} a line in ORDER"


def upward(path):
    """The imports of a file that do not point down."""
    here = module_of(path)
    at_once = own_imports(path, inside_functions=False)
    for other in own_imports(path) - {here, "cospan"}:
        handed = (here, other) in HANDED_UP and other not in at_once
        if not handed and here in LAYER and not LAYER.get(other, -1) < LAYER[here]:
            yield f"{here} must not import {other}"


def test_imports_point_down():
    assert [said for path in module_files() for said in upward(path)] == []


def test_the_direction_test_sees_imports_that_point_up(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    (tmp_path / "summary.py").write_text("def f():\n    from cospan.model import JointFrame\n")
    assert list(upward(tmp_path / "summary.py")) == ["summary must not import model"]


def test_there_is_no_cycle_between_packages():
    """Counting lazy imports and those for type checkers; a cycle is drawn as it runs."""
    below = {}
    for path in module_files():
        here = module_of(path)
        found = {other for other in own_imports(path, typing=True) if other not in (here, "cospan")}
        below.setdefault(here, set()).update(o for o in found if (here, o) not in HANDED_UP)
    assert cycle_in(below) is None


def cycle_in(below):
    """A way from a package over its imports back to it, as text; None where there is none."""
    done = set()

    def walk(module, way):
        if module in way:
            return " -> ".join([*way[way.index(module) :], module])
        if module in done:
            return None
        ways = (walk(other, [*way, module]) for other in sorted(below.get(module, ())))
        found = next((way for way in ways if way), None)
        done.add(module)
        return found

    return next((found for module in sorted(below) if (found := walk(module, []))), None)


def test_a_cycle_is_seen_and_drawn():
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": set()}) is None
    assert cycle_in({"a": {"b"}, "b": {"c", "d"}, "d": {"b"}}) == "b -> d -> b"


def test_nobody_imports_public_names_through_the_package():
    """It would be an import upwards, and a cycle."""
    found = [path for path in module_files() if "cospan" in own_imports(path, typing=True)]
    assert found == []


def numerics_used(path):
    """Linear algebra that a file imports or reaches through an attribute (np.linalg)."""
    used = {name for name in imports(path) if name.split(".")[0] in ("scipy", "sklearn")}
    used |= {name for name in imports(path) if name.startswith("numpy.linalg")}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return used | {ast.unparse(node) for node in attributes if node.attr == "linalg"}


@pytest.mark.parametrize("name", ["report", "plots"])
def test_pictures_and_reports_do_no_numerics(name):
    assert {dotted(path): used for path in files_of(name) if (used := numerics_used(path))} == {}


def test_a_module_tells_one_story():
    """At most 500 lines; no function is called like its module, which an import would hide."""
    for path in module_files():
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 500, f"look for the second story in {path}"
        body = ast.parse(text).body
        named = [n.name for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        assert path.stem not in named


def test_packages_only_explain_and_re_export():
    for path in sorted(SOURCE.rglob("*/__init__.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        assert isinstance(body[0], ast.Expr), f"{path} does not say what it is for"
        for node in body[1:]:
            listing = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            assert listing or isinstance(node, ast.Import | ast.ImportFrom), (path, node.lineno)


def test_nothing_private_is_imported_across_packages():
    for path in module_files():
        here = module_of(path)
        for name in imports(path, typing=True):
            first, package, *inner = [*name.split("."), ""]
            if first == "cospan" and package != here:
                private = any(part.startswith("_") for part in inner)
                assert not private, f"{here} imports {name}"


def test_names_a_module_lists_exist():
    for path in module_files():
        module = importlib.import_module(dotted(path))
        listed = list(getattr(module, "__all__", ()))
        assert len(listed) == len(set(listed))
        assert [name for name in listed if not hasattr(module, name)] == []


def test_public_names_are_what_exists():
    assert len(cospan.__all__) == len(set(cospan.__all__))
    for name in cospan.__all__:
        assert getattr(cospan, name) is not None
    assert set(cospan.__all__) <= set(dir(cospan))
    loose = {
        name
        for name, value in vars(cospan).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("cospan.")
    }
    assert loose <= set(cospan.__all__)


def test_no_public_name_is_that_of_a_module():
    """Importing `cospan.x` binds the module to ``cospan.x``: a function there would be hidden."""
    assert {module_of(path) for path in module_files()} & set(cospan.__all__) == set()


def test_type_checkers_see_the_public_names():
    """The imports for type checkers and the table of lazy names say the same."""
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    guarded = [node for node in tree.body if isinstance(node, ast.If)]
    seen = [alias for node in ast.walk(guarded[0]) for alias in getattr(node, "names", ())]
    assert {alias.name for alias in seen} == set(cospan.__all__)
    assert all(alias.asname == alias.name for alias in seen)  # or strict checkers hide the name


def test_import_stays_light():
    code = f"import sys, cospan; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_type_checkers_find_a_misspelt_name(tmp_path):
    checker = pytest.importorskip("mypy.api")
    assert (SOURCE / "py.typed").exists()
    user = tmp_path / "user.py"
    user.write_text("import cospan\nx = cospan.compare([], [])\nx.verdict, x.size.low\nx.verdikt\n")
    config = str(SOURCE.parents[1] / "pyproject.toml")
    said, _, _ = checker.run(["--config-file", config, str(user)])
    assert re.findall(r"user.py:(\d+): error.*verdikt", said) == ["4"]
    assert "Found 1 error" in said
