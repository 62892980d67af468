"""Reports: one document, four renderers; every number has one place, and sentences are short."""

import json
import re
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine

import cospan.report
import report_cases as cases
from cospan import compare, monitor
from cospan.base.text import number, p_sign
from cospan.evidence import Finding
from cospan.report import charts, document_of, format_of, fragment, render, terminal_lines
from cospan.report.document import Card, Document, Figures, Notes, Table, Text
from cospan.wording.findings import sentence
from cospan.wording.results import change_sentence, day_text, of_hundred

FEW = {"n_permutations": 49}
SCHEMA = Path(cospan.report.__file__).with_name("schema.json")


def digits(*which, **more):
    X, y = load_digits(return_X_y=True)
    return compare({f"digit {k}": X[y == k] for k in which}, image_shape=(8, 8), **FEW, **more)


def classes(load, n, size=None):
    data = load(as_frame=True)
    parts = {f"kind {k}": data.data[data.target == k] for k in range(n)}
    return compare({name: part.head(size) if size else part for name, part in parts.items()}, **FEW)


def alike_table(k):
    rows = np.random.default_rng(k).normal(50, 9, (90, 3))
    return pd.DataFrame(rows, columns=["height", "weight", "age"])


def alike(K):
    return compare({f"day {k}": alike_table(k) for k in range(K)}, **FEW)


def five_sets():
    rng = np.random.default_rng(1)
    sets = {}
    for k, name in enumerate("abcde"):
        table = pd.DataFrame(
            {"pay": rng.normal(80 + 12 * k, 20, 150), "age": rng.normal(40, 9, 150)}
        )
        table["job"] = np.where(rng.random(150) < 0.3 + 0.1 * k, "office", "plant")
        sets[name] = table
    return compare(sets, **FEW)


def embedding(moved=1):
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(120, 40)), rng.normal(size=(130, 40))
    B[:, :2] += moved
    return compare(A, B, **FEW)


RESULTS = {
    "two sets": lambda: cases.comparison(),
    "mixed table": cases.mixed_table,
    "wine": lambda: classes(load_wine, 2),
    "few rows": lambda: classes(load_iris, 2, 12),
    "scored beside": lambda: cases.comparison(n_z=9),
    "three sets": lambda: classes(load_iris, 3),
    "five sets": five_sets,
    "pictures": lambda: digits(4, 9),
    "three sets of pictures": lambda: digits(3, 5, 8),
    "nothing different": lambda: alike(2),
    "nothing different in three": lambda: alike(3),
    "nameless columns": embedding,
    "nameless columns alike": lambda: embedding(0),
}


@cache
def result(name):
    return RESULTS[name]()


@cache
def document(name):
    return document_of(watched() if name == "monitoring" else result(name))


@cache
def shown(name, format):
    if format == "terminal":
        return "\n".join(text for _, text in terminal_lines(result(name)))
    return render(document(name), format)


def words_of(html):
    """What a reader sees of a page, without the values that show on hover."""
    html = re.sub(
        r"<style>.*?</style>|<script>.*?</script>|<title>.*?</title>", "", html, flags=re.S
    )
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def plain(markdown):
    return re.sub(r"\\(.)", r"\1", markdown.replace("&lt;", "<").replace("&gt;", ">"))


@cache
def watched():
    """Twelve weeks of a machine after twenty: one without data, an alarm from the seventh on."""
    rng = np.random.default_rng(4)

    def weeks(first, n, moved=99, lacking=99):
        tables = []
        for k in (k for k in range(n) if k != lacking):
            table = pd.DataFrame(rng.normal(size=(40, 2)), columns=["speed", "heat"])
            table["speed"] += 3.0 * (k >= moved)
            days = pd.to_timedelta(7 * k + np.arange(40) % 7, "D")
            tables.append(table.assign(day=pd.Timestamp(first) + days))
        return pd.concat(tables, ignore_index=True)

    return monitor(weeks("2023-08-07", 20), weeks("2024-01-01", 12, 6, 2), time="day", every="week")


# ---- one number, one place ---------------------------------------------------------------------


@pytest.mark.parametrize("name", RESULTS)
def test_every_surface_says_the_same(name):
    found = result(name)
    page, short = words_of(shown(name, "html")), " ".join(shown(name, "terminal").split())
    text, data = " ".join(plain(shown(name, "md")).split()), json.loads(shown(name, "json"))
    surfaces = (page, text, short)
    card = document(name).card
    for surface in surfaces:
        assert card.title in surface
    times = of_hundred(found.size)
    assert data["size"]["value"] == pytest.approx(float(found.size))
    assert data["p"] == (None if np.isnan(found.p) else found.p)
    facts = {fact.label: fact.value for fact in card.facts}
    assert data["rows"]["count"] == len(found.rows)
    where = "Pictures to check" if found.image_shape else "Rows to check"
    assert facts[where] == f"{len(found.rows):,}"
    for value in facts.values():
        for surface in surfaces:
            assert value in surface
    if len(found.names) == 2:
        assert all(f"{times} times in 100" in surface for surface in surfaces)
        assert data["pairs"][0]["changes"]["verdict"]["pvalue"] == data["p"]
    else:
        sure = f"p {p_sign(found.p, found.verdict.n_permutations)}"
        assert facts["How sure"] == sure
        assert page.count(f"{100 * found.size:.0f}") >= 1
        assert len(data["pairs"]) == len(found.by_size)
        assert data["farthest"] == list(found.farthest)
    for point in card.points[:3]:
        assert all(point.title.removesuffix(".") in surface for surface in surfaces)
    findings = data["pairs"][0]["changes"]["verdict"]["findings"]
    if card.points:
        for k, one in enumerate(found.findings[: 3 if len(found.names) == 2 else 1]):
            said = sentence(one, found.verdict.sets)
            pixels = found.image_shape is not None
            assert pixels or all(said.removesuffix(".") in surface for surface in surfaces)
            assert one.to_dict() == findings[k]


def test_a_monitoring_has_the_same_design():
    card = document("monitoring").card
    page, text = words_of(shown("monitoring", "html")), plain(shown("monitoring", "md"))
    facts = {fact.label: fact.value for fact in card.facts}
    assert facts["Weeks with an alarm"] == "6 of 11"
    assert "1 week had no data: " in card.lead
    assert facts["First alarm"] == "12 February 2024"
    assert facts["Now"] == "1 episode"
    for value in (card.title, *facts.values()):
        assert value in page
        assert value in text
    inner = next(block for section in document("monitoring").sections for block in section.blocks
                 if isinstance(block, Card))  # fmt: skip
    (episode,) = watched().episodes
    blank = replace(episode, alarm=replace(episode.alarm, findings=()))
    assert change_sentence(blank, watched()).startswith("speed rose from")  # a worse week says it
    assert inner.title == "The reference and 12 February 2024 differ by a large amount."
    fold = next(one for one in document("monitoring").sections if one.id == "window").blocks[1]
    worst = max(watched().windows, key=lambda one: one.size or 0)
    assert fold.title == f"Worst week, {day_text(worst.start)}"
    size = episode.alarm.comparison.size
    assert inner.big.value == f"{of_hundred(size)} times in 100"
    assert "no data" in shown("monitoring", "html")


# ---- sentences and sizes -----------------------------------------------------------------------

#: What names a place in the data: thresholds, levels and dates are no numbers to remember.
NAMES = re.compile(r"'[^']*'|\d{4}-\d\d-\d\d|up to [-\d.,]+|exactly [-\d.,]+|\d+ \w+ 20\d\d|"
                   r"x\d+|digit \d|kind \d|day \d|= \S+|of \d+ columns?|"
                   r"interval: [\d.]+ to [\d.]+|in 100")  # fmt: skip


@pytest.mark.parametrize("name", [*RESULTS, "monitoring"])
def test_sentences_of_the_first_screen_are_short(name):
    card = document(name).card
    parts = [card.title, card.lead, *(point.title for point in card.points),
             *(point.text for point in card.points)]  # fmt: skip
    if card.big is not None:
        parts += [f"{card.big.label} {card.big.value}.", card.big.text]
    for sentence_ in re.split(r"(?<=[.!?]) ", " ".join(filter(None, parts))):
        assert len(sentence_.split()) <= 25, sentence_
        numbers = re.findall(r"\d[\d.,]*", NAMES.sub("", sentence_))
        assert len(numbers) <= 2, sentence_


@pytest.mark.parametrize("name", RESULTS)
def test_the_terminal_has_fifteen_lines_and_markdown_sixty(name):
    assert len(shown(name, "terminal").splitlines()) <= 15
    assert len(shown(name, "md").splitlines()) <= 60
    text, left = shown(name, "md"), re.findall("Not shown here: (.*)[.]", shown(name, "md"))
    assert not re.search(r"\n### [^\n]*\n\n(###|\*cospan)", text)  # a heading has something below
    for one in document(name).sections[:-1]:
        assert one.title in plain(text) or one.name in left[0].split(", ")
    full = [text for _, text in terminal_lines(result(name), full=True)]
    assert len(full) > len(shown(name, "terminal").splitlines())


@pytest.mark.parametrize("name", [*RESULTS, "monitoring"])
def test_pages_are_small_and_have_five_sizes_of_type(name):
    page = shown(name, "html")
    assert len(page.encode()) < 800_000
    assert " style=" not in page
    style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
    sizes = set(re.findall(r"font-size:([^;}]+)", style)) - {"inherit"}
    assert sizes <= {"12px", "14px", "10.5px", *(f"var(--s{n})" for n in (12, 14, 16, 22, 34))}
    assert len(re.search(r"<script>(.*?)</script>", page, re.S).group(1).splitlines()) <= 12
    for drawing in re.findall(r"<svg .*?</svg>", page, re.S):
        assert re.match(r"<svg [^>]*role=\"(img|group)\"[^>]*><title>\S", drawing)


def test_renderers_compute_nothing():
    """A document made by hand is shown as it is."""
    made = Document(document("two sets").card, (), {"a": 1}, "foot")
    assert json.loads(render(made, "json")) == {"a": 1}
    assert "foot" in render(made, "html")
    assert plain(render(made, "md")).startswith("## left and right differ")


# ---- what is on a page -------------------------------------------------------------------------


def block_of(name, section, kind):
    found = next(one for one in document(name).sections if one.id == section)
    return next(block for block in found.blocks if isinstance(block, kind))


def test_columns_are_all_listed_the_changed_ones_first():
    table = block_of("mixed table", "columns", Table)
    assert [row[0].text for row in table.rows] == [
        one.name for one in result("mixed table").features
    ]
    assert all(row[1].chart is not None for row in table.rows)


def renamed(n=600):
    """A level renamed, a number that moved with it, and thirty columns that did not change."""
    rng, tables = np.random.default_rng(3), []
    for name in ("California", "CA"):
        table = pd.DataFrame(rng.normal(50, 9, (n, 30)), columns=[f"q{j}" for j in range(30)])
        west = rng.random(n) < 0.4
        table["rent"] = 700 + 300 * west + rng.normal(0, 100, n)
        table["state"] = np.where(west, name, "Texas")
        tables.append(table)
    return compare(*tables, name_a="old.csv", name_b="new.csv", curve=None)


def test_few_columns_that_did_not_change_are_listed_and_a_level_that_is_gone_has_no_relation():
    found = renamed()
    assert not found.feature_pairs.changed  # a level that is gone has no relation to compare
    document = document_of(found)
    columns = next(one for one in document.sections if one.id == "columns")
    (table,) = columns.blocks
    assert (table.rows[0][0].text, len(table.rows)) == ("state", 21)
    assert "all 32 are in the JSON" in columns.lead
    assert "relations" not in {one.id for one in document.sections}
    assert "Relations changed" not in {one.label for one in document.card.facts}


def test_findings_on_the_terminal_are_whole():
    found = renamed()
    said = " ".join(line for _, line in terminal_lines(found, 40))
    assert " ".join(f"- {document_of(found).card.points[0].title}".split()) in " ".join(
        said.split()
    )
    assert "…" not in said


def test_several_sets_with_other_columns_keep_their_map():
    tables = {k: alike_table(k) for k in range(3)}
    tables[1]["height"] += 9
    tables[2]["extra"] = 1.0
    page = render(document_of(compare({f"day {k}": t for k, t in tables.items()}, **FEW)), "html")
    assert "The sets on a map." in page
    assert "extra" in words_of(page.split("<section")[0])


def test_no_difference_says_what_would_have_been_seen():
    table = block_of("nothing different", "columns", Table)
    assert table.heads[3] == "Would be seen from"
    assert all(re.match(r"[\d.]+", row[3].text) for row in table.rows)
    assert "relations" not in {one.id for one in document("nothing different").sections}


def test_repeated_rows_are_on_the_card_where_nothing_differs_too():
    rows = np.random.default_rng(0).normal(size=(80, 5)).round(6)
    for sets in (rows, pd.DataFrame(rows).add_prefix("size ")):
        found = compare(sets, sets, n_permutations=99)
        assert not found.verdict.differs
        (point,) = document_of(found).card.points
        assert point.title == "80 rows of B are also in A."
        assert f"- {point.title}" in [text for _, text in terminal_lines(found)]


def test_rows_that_repeat_and_columns_of_one_set_are_in_the_verdict():
    A, B = (alike_table(k) for k in (5, 6))
    twice = compare(A, pd.concat([B, B[:40]]), n_permutations=99)
    made = document_of(twice)
    assert made.card.title == "40 rows of B repeat an earlier row; otherwise no difference."
    assert not ({"parts", "relations"} & {one.id for one in made.sections})
    assert "Most of the change" not in str(twice)
    made = document_of(compare(A.assign(one=1), B.assign(one=1).drop(columns="age"), **FEW))
    assert made.card.lead.startswith("age is in A only.")
    facts = {fact.label: fact.value for fact in made.card.facts}
    assert facts["Columns changed"] == "0 of 2"  # a constant column is kept out
    (quality,) = (one for one in made.sections if one.id == "quality")
    assert [name for name, _ in quality.blocks[0].notes] == ["Other columns", "Constant columns"]


def test_a_finding_of_a_subgroup_has_the_chart_of_its_rows():
    rng, tables = np.random.default_rng(2), []
    for moved in (0, 3):
        inside = rng.random(900) < 0.3
        x = rng.normal(50 + 100 * inside, 2) + moved * inside
        tables.append(pd.DataFrame({"x": x, "where": np.where(inside, "in", "out")}))
    point = document_of(compare(*tables, n_permutations=99)).card.points[0]
    assert point.title.startswith("x rose from 150.0 to 153.2")
    assert point.text == "Only rows where where = in."
    assert min(map(float, re.findall(r"<text[^>]*>([\d.]+)</text>", point.chart.svg))) > 140


def test_the_pair_that_differs_is_named_and_open_and_its_p_is_told():
    rng = np.random.default_rng(21)
    sets = {f"{k}. set": rng.normal(50, 9, (120, 3)) for k in range(1, 6)}
    sets["1. set"][:, 2] -= 2
    sets["3. set"][:, 2] += 2
    found = compare({k: pd.DataFrame(X).add_prefix("size ") for k, X in sets.items()}, **FEW)
    assert (found.differing, found.by_size[0]) == (((0, 2),), (1, 3))
    made = document_of(found)
    assert made.card.title == "Of 10 pairs only 1. set and 3. set differ."
    assert found.farthest == ("1. set", "3. set")
    assert made.data["farthest"] == list(found.farthest)
    assert made.data["p"] == found.p == found.pair(0, 2).p
    assert made.card.facts[0].value == f"p {p_sign(found.p, 999)}"
    assert [one.id for one in made.sections if one.name == "Most different"] == ["pair-1-3"]
    assert "- 1\\. set and 3. set are told apart" in render(made, "md")  # and is no list


def test_pixels_and_columns_without_names_are_not_listed_in_the_open():
    for name in ("pictures", "nameless columns", "nameless columns alike"):
        assert document(name).card.points == ()
        head = shown(name, "html").split("<details")[0] + str(result(name))
        assert not re.search(r"pixel \d,\d|\bx\d\d?\b", words_of(head))


def test_embeddings_are_examples():
    (examples,) = document("nameless columns").card.side
    assert len(examples.rows) == 9
    assert document("nameless columns alike").card.side == ()
    assert str(result("nameless columns")).endswith(" of 40 columns changed.")
    assert "pixel " not in str(result("pictures"))


def test_sets_that_no_plane_can_hold_are_not_mapped():
    rng = np.random.default_rng(0)
    sets = {f"set {k}": pd.DataFrame(rng.normal(size=(80, 5)) + 6 * np.eye(5)[k]) for k in range(5)}
    far = document_of(compare(sets, **FEW)).card
    assert [figure.title for figure in far.side] == ["How often one row of each is told apart,"]
    assert len(document("five sets").card.side) == 2


def test_a_relation_to_a_level_shows_that_level_last():
    rng = np.random.default_rng(0)
    codes = [rng.choice(4, 400, p=[0.4, 0.3, 0.2, 0.1]) for _ in "ab"]
    values = [code + rng.normal(size=400) for code in codes]
    words = ("A", "B"), "By level.", str, str
    drawn = charts.by_another(codes, values, tuple("wxyz"), *words, last="x")
    assert re.findall(r">([w-z])<", drawn.svg) == ["w", "x"]


def test_columns_that_give_the_sets_away_are_named_on_every_first_screen():
    rng = np.random.default_rng(0)
    tables = [pd.DataFrame({"x": rng.normal(k, 1, 200), "month": k}) for k in (1, 7)]
    found = compare(*tables, name_a="jan.csv", name_b="jul.csv", **FEW)
    said = "month is set aside: it gives the sets away."
    made = document_of(found)
    assert said in made.card.lead
    assert said in " ".join(" ".join(text for _, text in terminal_lines(found)).split())
    assert said in str(found)
    assert said in json.loads(render(made, "json"))["sentences"]
    fact = next(one for one in made.card.facts if one.label == "Data quality")
    assert (fact.value, fact.text) == ("1 note", "set aside")


def test_ends_of_an_interval_differ_on_all_surfaces():
    rng = np.random.default_rng(0)
    A, B = (pd.DataFrame(rng.normal(9 * k, 1, (3_000, 2)), columns=["u", "v"]) for k in (0, 1))
    found = compare(A, B, **FEW)
    assert found.size.low > 0.9995
    made = document_of(found)
    said = (words_of(render(made, "html")), render(made, "md"),
            " ".join(text for _, text in terminal_lines(found)))  # fmt: skip
    assert all("95% interval: above 99.9." in surface for surface in said)


def test_names_of_sets_are_quoted_in_sentences_only():
    tables = {str(year): alike_table(year) for year in (2003, 2004)}
    made = document_of(compare(tables, **FEW))
    assert [key.name for key in made.card.keys] == ["2003", "2004"]
    assert made.card.title.startswith("'2003' and '2004'")


def test_differences_given_another_column_have_the_unit_of_the_column():
    one = Finding("given", "start", "hour", a=13.0, b=12.0, of="time of day")
    said = sentence(one, ("january", "july"))
    assert said == "For the same hour, start is 1 h earlier in july."
    inside = Finding("inside", "start", "dest", "LAX", a=13.0, b=14.5, of="time of day")
    said = sentence(inside, ("january", "july"))
    assert said == "Where dest = LAX, start moved from 13:00 to 14:30."


def test_where_no_pair_differs_none_differs_most():
    assert "differ most" not in str(result("nothing different in three"))
    assert "rose" not in str(result("nothing different in three"))
    page = shown("nothing different in three", "html")
    assert "Most different" not in page
    assert "on a map" not in page


def test_averages_over_many_sets_are_those_of_the_findings():
    one = next(one for one in result("five sets").findings if one.column == "pay")
    figures = block_of("five sets", "columns", Figures).figures
    text = next(figure.text for figure in figures if figure.title == "pay")
    assert text.startswith(f"{number(one.a)} to {number(one.b)}.")


def test_every_pair_of_more_sets_has_a_part_of_the_page():
    page = shown("five sets", "html")
    for i in range(1, 5):
        for j in range(i + 1, 6):
            assert page.count(f'id="pair-{i}-{j}"') == 1
    assert document("five sets").card.title.startswith(("All 10 pairs", "9 of 10 pairs"))


def test_rows_to_check_name_the_values_that_conflict():
    rng = np.random.default_rng(0)
    A, B = (pd.DataFrame(rng.normal(size=(300, 3)), columns=list("uvw")) for _ in range(2))
    B += [4, 2, 0]
    A.loc[7, "w"] = 60.0
    A.loc[9, ["u", "v"]] = 4.2, 2.1
    found = compare(A, B, **FEW)
    first = found.rows[0]
    assert (first.id, first.kind, first.reasons[0].column) == (7, "like no set", "w")
    other = next(row for row in found.rows if row.id == 9 and row.set == "A")
    assert (other.kind, other.like, other.reasons[0].column) == ("like another set", "B", "u")
    for row in found.rows:  # what is said to be odd is outside what is shown as usual
        for one in row.reasons:
            usual = one.usual if row.kind == "like no set" else [one.usual["AB".index(row.set)]]
            assert not any(low <= one.value <= high for low, high in usual)
    page = words_of(render(document_of(found), "html"))
    assert "w 60" in page


def test_rows_to_check_name_the_level_that_conflicts():
    A, B = (pd.DataFrame({"x": np.zeros(300), "k": [most] * 300}) for most in "ab")
    A["x"], B["x"] = np.random.default_rng(1).normal(size=(2, 300))
    A.loc[9, "k"], B.loc[5, "k"] = "b", "a"
    found = compare(A, B, categorical=["k"], keep=["k"], **FEW)
    row = next(row for row in found.rows if row.id == 9 and row.set == "A")
    (reason,) = row.reasons
    assert (reason.column, reason.value) == ("k", "b")
    assert [round(low, 3) for low, _ in reason.usual] == [0.003, 0.997]


def test_names_from_the_data_are_only_names():
    found = cases.hostile_comparison()
    page = render(document_of(found), "html")
    calm = render(document_of(cases.calm_comparison()), "html")
    tags = [re.findall(r"<(\w+)", text) for text in (page, calm)]
    assert tags[0] == tags[1]
    assert "{{ 7 * 7 }}" in page.replace("&#39;", "'")
    text = render(document_of(found), "md")
    assert "<script" not in text
    assert "\n# heading" not in text


def test_missing_values_and_what_was_left_out_are_noted():
    notes = dict(block_of("mixed table", "quality", Notes).notes)
    assert "income" in notes["Missing values"]


def test_the_command_is_on_the_page():
    made = document_of(result("two sets"), command="cospan compare a b", files=["a", "b"])
    assert any(one == Text("cospan compare a b") for one in made.sections[-1].blocks)
    assert "<pre>cospan compare a b</pre>" in render(made, "html")


# ---- files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RESULTS)
def test_the_json_keeps_to_its_schema(name):
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(
        json.loads(shown(name, "json"))
    )


def test_a_notebook_shows_the_verdict_and_folds_the_columns():
    text = result("mixed table")._repr_html_()
    assert text == fragment(result("mixed table"))
    assert "<script" not in text
    assert "<details>" in text
    assert "<a href" not in text + fragment(result("five sets"))
    assert document("mixed table").card.title in text
    assert document("monitoring").card.title in watched()._repr_html_()


def test_a_number_is_drawn_by_the_levels_of_another_column():
    codes, values = [np.repeat([0.0, 1.0], 40)] * 2, [np.arange(100.0, 180), np.arange(105.0, 185)]
    chart = charts.by_another(codes, values, ("low", "high"), ("A", "B"), "By level.", str, str)
    assert "low" in chart.svg
    assert "high" in chart.svg
    tops = re.search('class="fa" d="([^"]*)"', chart.svg)[1]
    (low, zero), (high, _) = re.findall(r"M\S+ (\S+?)h\S+?V(\d+)", tops)  # bars stand on zero
    ratio = (float(zero) - float(low)) / (float(zero) - float(high))
    assert (zero, ratio) == ("72", pytest.approx(119.5 / 159.5, abs=0.01))


def test_bins_are_wide_enough_to_read_where_most_values_are_one():
    edges = charts.bin_edges(np.repeat([-999.0, 0.0, 1.0, 8.0], [8, 80, 10, 2]))
    assert np.diff(edges).min() > 0.5
    assert (edges[0], edges[-1]) == pytest.approx((-999.0, 8.0))


def test_a_result_saves_itself_by_the_ending(tmp_path):
    found = result("two sets")
    for ending in ("html", "md", "json"):
        path = found.save(tmp_path / f"r.{ending}")
        assert path.read_text(encoding="utf-8") == shown("two sets", ending)
    with pytest.raises(ValueError, match=r"ending '\.pdf' is not known"):
        format_of("r.pdf")
    assert format_of("r") == "html"


def test_print_is_the_verdict():
    found = result("wine")
    assert str(found) == "\n".join(found.verdict.sentences)
    assert str(result("five sets")).splitlines()[0] == document("five sets").card.title
