"""Another language of the report: with a catalogue that has every text, no English is left.

The catalogue here is made from the list that a translator gets (`benchmarks/texts.py`), each text
in full-width letters; names of the data are Greek and Cyrillic. So a word in plain Latin letters is
one that no catalogue reaches.
"""

import json
import re
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from functools import cache
from html import unescape
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from browsing import Page, needs_browser, start
from cospan import compare, compare_many, monitor
from cospan._language import speaking
from cospan.report import content_of, html
from cospan.report.html import SCRIPTS
from cospan.report.markdown import escaped, markdown_of
from cospan.report.monitoring import monitoring_page
from cospan.report.pieces import Setting

ROOT = Path(__file__).resolve().parent.parent
#: What programs read: codes, keys, names of drawings; pictures; names of options and versions.
FOR_PROGRAMS = {
    "kind", "change", "looks", "level", "section", "drawing", "target", "key", "group", "code",
    "png", "picture", "pull", "walk", "version", "made", "settings", "command", "columns", "parts",
}  # fmt: skip
READ_ALOUD = ("aria-label", "title", "alt", "placeholder", "lang")
#: Columns of the files that the page saves: the same in every language.
OF_SAVED_FILES = {"looks like", "why listed", "nearest row", "in words", "weight of "}
WORD = re.compile(r"[A-Za-z]{2,}")


def _list_of_texts():
    spec = spec_from_file_location("texts", ROOT / "benchmarks" / "texts.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TEXTS = _list_of_texts()


def wide(text):
    """The letters outside braces at full width."""
    parts = re.split(r"(\{[^{}]*\})", text)
    parts[::2] = [
        re.sub("[A-Za-z]", lambda x: chr(ord(x[0]) + 0xFEE0), part) for part in parts[::2]
    ]
    return "".join(parts)


CATALOGUE = {text: wide(text) for text in TEXTS.texts()}


def tables(n=120, later=(0, 1)):
    rng = np.random.default_rng(0)
    found = []
    for k in later:
        days = pd.to_timedelta(np.sort(rng.integers(0, 200, n)), "D")
        table = pd.DataFrame(rng.normal(k, 1 + k, (n, 3)), columns=["альфа", "бета", "гамма"])
        table["эта"] = rng.choice(["π", "ρ", "σ"] if k else ["π", "ρ"], n)
        table["йота"] = rng.random(n) < 0.5 + 0.3 * k
        table.loc[rng.random(n) < 0.2 * k, "бета"] = np.nan
        found.append(table.assign(когда=pd.Timestamp("2024-01-01") + days))
    return found


def two_tables():
    first, second = tables()
    return compare(first, second, tables(40, (1,))[0], name_a="Φ", name_b="Ψ", name_z="Ω",
                   n_permutations=49)  # fmt: skip


def two_labelled():
    rng = np.random.default_rng(0)
    names = ["α", "β", "γ"]
    a, b, z = (pd.DataFrame(rng.normal(k, 1, (60, 3)), columns=names) for k in (0, 2, 1))
    labels = np.where(rng.random(60) < 0.5, "Φ", "Ψ")
    return compare(a, b, z, labels=labels, name_a="Φ", name_b="Ψ", name_z="Ω", n_permutations=49)


def two_of_pictures():
    rng = np.random.default_rng(0)
    a, b = rng.random((60, 16)), rng.random((60, 16)) + np.linspace(0, 0.6, 16)
    return compare(a, b, b[:9], image_shape=(4, 4), name_a="Φ", name_b="Ψ", n_permutations=49)


def two_alike():
    rng = np.random.default_rng(0)
    a, b = (pd.DataFrame(rng.normal(size=(60, 2)), columns=["α", "β"]) for _ in range(2))
    return compare(a, b, name_a="Φ", name_b="Ψ", n_permutations=49)


def two_spans():
    rng = np.random.default_rng(1)
    a, b = (pd.DataFrame(rng.normal(m, 1, (80, 2)), columns=["α", "β"]) for m in (1, -1))
    return compare(a, b, span="linear", name_a="Φ", name_b="Ψ", n_permutations=49)


def three_tables():
    sets = dict(zip(("Φ", "Ψ", "Χ"), tables(80, (0, 0.4, 1)), strict=True))
    return compare_many(sets, tables(20, (1,))[0], name_z="Ω", n_bootstrap=20)


def three_of_pictures():
    rng = np.random.default_rng(0)
    sets = {name: rng.random((40, 16)) + k / 4 for k, name in enumerate(("Φ", "Ψ", "Χ"))}
    return compare_many(sets, image_shape=(4, 4), n_bootstrap=20)


CASES = (
    two_tables, two_labelled, two_of_pictures, two_alike, two_spans, three_tables,
    three_of_pictures,
)  # fmt: skip


@cache
def in_english(case):
    return case()


def strings(value, path=()):
    """(names of its fields, text) of every text in the content."""
    if isinstance(value, str):
        yield {*path}, value
    elif is_dataclass(value):
        for one in fields(value):
            yield from strings(getattr(value, one.name), (*path, one.name))
    elif isinstance(value, dict):
        yield from strings(tuple(value.values()), path)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from strings(one, path)


class Shown(HTMLParser):
    """What a page shows or says aloud; commands, scripts and styles apart."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.tags, self.quiet = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.quiet = tag in ("script", "style", "code")
        self.tags.append(tag)
        self.texts += [value for name, value in attrs if name in READ_ALOUD]

    def handle_endtag(self, tag):
        self.quiet = False

    def handle_data(self, data):
        if not self.quiet:
            self.texts.append(data)


def left_in_english(texts, known=()):
    """Texts with a Latin word in them, what is known taken away."""
    order = sorted({one for one in known if WORD.search(one)}, key=len, reverse=True)
    found = set()
    for text in map(unescape, texts):
        for one in order:
            text = text.replace(one, "")
        if set(WORD.findall(text)) - {"cospan", "true", "false"}:  # values of the data
            found.add(text.strip())
    return found


def shown(content, known):
    """What the page and the Markdown say in Latin letters, beside what is known."""
    content = replace(content, made=(), inputs=(), settings=())  # commands, versions, options
    known = [*known, *(pair.command for pair in content.pairs)]
    lines = markdown_of(content).splitlines()
    as_written = [unescape(escaped(one)) for one in known]
    yield from left_in_english(Shown(html.page(content)).texts, known)
    yield from left_in_english(lines, as_written)


@pytest.mark.parametrize("case", CASES)
def test_the_writers_say_nothing_but_texts_of_the_catalogue(case):
    content = content_of(in_english(case))
    before = html.page(content)
    with speaking(CATALOGUE):
        assert (
            list(
                shown(content, [text for path, text in strings(content) if "settings" not in path])
            )
            == []
        )
    assert html.page(content) == before  # no language stays behind


@pytest.mark.parametrize("case", CASES)
def test_the_content_says_nothing_but_texts_of_the_catalogue(case):
    with speaking(CATALOGUE):
        found = case()
        content = content_of(found)
        known = found.feature_names or ()  # "pixel 3,1" is a name
        assert list(shown(content, known)) == []
    texts = [text for path, text in strings(content) if not path & FOR_PROGRAMS]
    more = [name for pairs in (content.made, content.settings) for name, _ in pairs]
    assert left_in_english([*texts, *more], [*known, *found.settings]) == set()


def test_a_page_of_monitoring_says_nothing_but_texts_of_the_catalogue():
    reference, later = tables(1_500, (0.3, 0.3))
    later["альфа"] = np.where(np.arange(1_500) > 1_000, 7.0, later["альфа"])
    with speaking(CATALOGUE):
        for every, names in (("month", {"time": "когда"}), (300, {"drop": ["когда"]})):
            found = monitor(reference, later, every=every, name="Ω", **names)
            reference_named = replace(found, profile=replace(found.profile, name="Φ"))
            assert found.alarms
            for one in (reference_named, replace(reference_named, records=found.records[:1])):
                texts = [*Shown(monitoring_page(one)).texts, one.verdict]
                assert left_in_english(texts, []) == set()


def test_other_measures_and_settings_are_said_as_well():
    content = content_of(in_english(two_alike))
    more = replace(content, sensitivity=(Setting("α", 0.1, 0.2, 0.01),), features=(), points=())
    known = [text for path, text in strings(content) if "settings" not in path]
    with speaking(CATALOGUE):
        assert list(shown(more, known)) == []


def test_a_catalogue_cannot_break_the_page():
    content = content_of(in_english(two_tables))
    with speaking({text: text + '"<i>&' for text in CATALOGUE}):
        tags = Counter(Shown(html.page(content)).tags)
    assert tags == Counter([*Shown(html.page(content)).tags, "script"])  # which has its words


# --- scripts


def script(name):
    text = (ROOT / "src" / "cospan" / "report" / "page" / f"{name}.js").read_text("utf-8")
    return re.sub(r"^\s*//.*|(?<=[;{]) // .*", "", text, flags=re.M)


def test_scripts_have_all_their_words_on_the_page():
    content = content_of(in_english(two_alike))
    said = {
        text
        for name in SCRIPTS
        for text in map(json.loads, TEXTS.ON_THE_PAGE.findall(script(name)))
    }
    assert 'id="words"' not in html.page(content)
    with speaking(CATALOGUE):
        page = html.page(content)
    words = json.loads(re.search(r'id="words">(.*?)</script>', page, re.S)[1])
    assert len(said) > 20
    assert said <= words.keys()
    assert all(words[text] == wide(text) for text in words)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_say_every_text_that_a_reader_sees(name):
    """Literals that read like words: two of them, or one that begins with a capital letter."""
    rest = TEXTS.ON_THE_PAGE.sub("said(", script(name))
    for selecting in (r"\ball\((['\"`]).*?\1", r"(?:querySelector|closest)\((['\"`]).*?\1"):
        rest = re.sub(selecting, "", rest)
    rest = re.sub(r'className: (["`]).*?\1|"use strict"', "", rest)
    literals = [one[1] for one in re.findall(r"(['\"`])((?:(?!\1).)*)\1", rest)]
    texts = {re.sub(r"\$\{[^{}]*\}", "", one) for one in literals} - OF_SAVED_FILES
    assert {
        one for one in texts if re.search(r"[A-Za-z]{2,} |\b[A-Z][a-z]+| [a-z]{2,}", one)
    } == set()


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    browser = start(folder / "profile", folder)
    yield browser
    browser.quit()


@needs_browser
@pytest.mark.parametrize("case", [two_tables, two_of_pictures, three_tables])
def test_scripts_speak_the_language_in_a_browser(driver, case, tmp_path):
    with speaking(CATALOGUE):
        found = case()
        content = replace(content_of(found), made=(), inputs=(), settings=())
        (tmp_path / "page.html").write_text(html.page(content), "utf-8")
    page = Page(driver, tmp_path / "page.html").open()
    for selector in (".rows-table tbody tr", ".row-list button", "#copy", "#theme"):
        page.run("document.querySelector(arguments[0])?.click()", selector)
    texts = page.run(
        "const own = (one) => [...one.childNodes].filter((x) => x.nodeType === 3);"
        "const read = (one) => arguments[0].map((name) => one.getAttribute(name) ?? '');"
        "return [...document.querySelectorAll('body *')]"
        ".filter((one) => !one.closest('script, code'))"
        ".flatMap((one) => [...own(one).map((x) => x.data), ...read(one)]);",
        READ_ALOUD,
    )
    assert page.quiet()
    assert wide("Kinds of rows") in texts
    known = found.feature_names or ()
    assert left_in_english(texts, known) == set()
