"""The report without a browser: its content, its size, its words, and names that mean harm."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from cospan import compare, compare_many, report, sensitivity
from cospan.base.notes import Note
from cospan.errors import CospanError, InputError, MissingDependencyError
from cospan.evidence import Held, Size
from cospan.report import content_of, html
from cospan.report._columns import held_text
from cospan.report._pictures import PictureShape, png
from cospan.report._words import spoken
from cospan.report.pieces import Chart
from report_cases import (
    HOSTILE,
    calm_comparison,
    comparison,
    digits_comparison,
    hostile_comparison,
    mixed_table,
)

LIMIT = 2_000_000  # bytes of a page


@pytest.fixture(scope="module")
def table():
    return comparison(n_z=40)


@pytest.fixture(scope="module")
def mixed():
    return mixed_table()


@pytest.fixture(scope="module")
def digits():
    return digits_comparison()


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    sets = {name: rng.normal(k, 1, (60, 4)) for k, name in enumerate(["low", "middle", "high"])}
    return compare_many(sets, rng.normal(1, 1, (20, 4)), name_z="more")


def payload_of(page):
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', page, re.S)
    return json.loads(found[1])


class Tags(HTMLParser):
    """The tags of a page with their attributes, in order, and its text."""

    def __init__(self):
        super().__init__()
        self.found, self.text, self.quiet = [], [], False

    def handle_starttag(self, tag, attrs):
        self.quiet = tag in ("script", "style")
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        self.quiet = False

    def handle_data(self, data):
        if not self.quiet:
            self.text.append(data)


def parsed(page):
    parser = Tags()
    parser.feed(page)
    return parser


def tags_of(page):
    return [(tag, tuple(attrs)) for tag, attrs in parsed(page).found]


# --- content: columns


def test_a_chart_is_one_entry_in_the_content(table):
    content = content_of(table)
    more = Chart("quality", "angle_chart", "Once more", "The same angles & no more.")
    page = html.page(replace(content, charts=(*content.charts, more)))
    before, after = page.split('<section id="quality">')
    assert before.count("Histogram of the angles") == 1
    section = after.split("</section>")[0]
    assert "<h3>Once more</h3>" in section
    assert "The same angles &amp; no more." in section
    assert section.count("Histogram of the angles") == 1


def test_content_is_frozen_and_ready_for_json(table):
    content = content_of(table)
    with pytest.raises(AttributeError):
        content.title = "other"
    assert json.loads(report.to_json(table))["title"] == "left and right"


def test_features_are_those_of_the_comparison(mixed):
    content = content_of(mixed)
    assert [one.name for one in content.features] == [one.name for one in mixed.features]
    assert content.n_changed == len(mixed.features.changed)
    for shown, one in zip(content.features, mixed.features, strict=True):
        assert (shown.kind, shown.change, shown.changed) == (one.kind, one.change, one.changed)
        assert shown.numbers["p_adjusted"] == pytest.approx(one.p_adjusted, rel=1e-3)
        assert bool(shown.sentence) == one.changed
    assert sum(one.numbers["share"] for one in content.features) == pytest.approx(1, abs=1e-3)


def test_histograms_count_the_values_of_both_sets(mixed):
    features = {one.name: one for one in content_of(mixed).features}
    tenure = features["tenure"].histogram
    place = mixed.feature_names.index("tenure")
    for counts, group in ((tenure.a, mixed.group_a), (tenure.b, mixed.group_b)):
        assert sum(counts) == len(group.rows)
        edges = np.linspace(tenure.low, tenure.high, len(counts) + 1)
        values = np.clip(group.rows[:, place], tenure.low, tenure.high)
        expected, _ = np.histogram(values, bins=edges)
        assert np.abs(np.array(counts) - expected).sum() <= 2  # the ends are rounded
    gaps = features["income"].histogram
    assert sum(gaps.a) == 400
    assert sum(gaps.b) == round(400 * (1 - mixed.features["income"].b.missing))


def test_levels_have_a_bar_each(mixed):
    plan = next(one for one in content_of(mixed).features if one.name == "plan").histogram
    shares = mixed.features["plan"]
    for name, a, b in zip(plan.labels, plan.a, plan.b, strict=True):
        assert a / 1000 == pytest.approx(shares.a.levels.get(name, 0), abs=1e-3)
        assert b / 1000 == pytest.approx(shares.b.levels.get(name, 0), abs=1e-3)
    assert "trial" in plan.labels


def test_relations_are_drawn_without_the_values_that_are_missing(mixed):
    content = content_of(mixed)
    assert content.n_relations == len(mixed.feature_pairs.changed) >= 1
    first = content.relations[0]
    assert {first.first, first.second} == {"age", "income"}
    assert len(first.points_a) == 150
    # Filled gaps would be a line of points at one height.
    heights = np.bincount([y for _, y in first.points_b])
    assert heights.max() < 25


# --- content: rows


def rows_by_tab(content):
    return {tab.key: [content.rows[i] for i in tab.rows] for tab in content.tabs}


def test_listed_rows_are_the_flagged_ones_in_order(table):
    content = content_of(table)
    tabs = rows_by_tab(content)
    flagged = np.asarray(table.audit.flagged)
    n = len(table.group_a.ids)
    assert {row.id for row in tabs["b-in-a"]} == {str(i) for i in np.flatnonzero(flagged[:n])}
    assert {row.id for row in tabs["a-in-b"]} == {str(i) for i in np.flatnonzero(flagged[n:])}
    angles = [row.theta for row in tabs["b-in-a"]]
    assert angles == sorted(angles, reverse=True)
    assert {"0", "1"} <= {row.id for row in tabs["a-in-b"]}  # the two that were put astray


def test_every_listed_row_has_its_values_and_its_neighbour():
    """Also of sets that are too large for all values to be kept."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(9_000, 3)), rng.normal([2.0, 0, 0], size=(8_000, 3))
    content = content_of(compare(A, B, n_permutations=19))
    assert len(content.rows) > 150
    assert all(len(row.values) == 3 and row.nearest for row in content.rows)
    for row in rows_by_tab(content)["b-in-a"]:
        value = float(next(v.text for v in row.values if v.column == 0).replace(",", ""))
        assert value == pytest.approx(A[int(row.id), 0], rel=1e-3, abs=1e-3)


def test_values_percentiles_and_pulls_are_those_of_the_row(mixed):
    content = content_of(mixed)
    names = [name for name, _ in content.columns]
    row = next(row for row in content.rows if row.group == "A")
    place = int(np.flatnonzero(mixed.group_a.ids == row.id)[0])
    values = mixed.group_a.rows[place]
    pulls = mixed.group_a.attribution[place]
    told = {names[value.column]: value for value in row.values}
    tenure = mixed.feature_names.index("tenure")
    assert float(told["tenure"].text) == pytest.approx(values[tenure], rel=1e-3)
    below = np.mean(mixed.group_b.rows[:, tenure] < values[tenure])
    assert told["tenure"].b == pytest.approx(100 * below, abs=1)
    plans = [j for j, name in enumerate(mixed.feature_names) if name.startswith("plan =")]
    assert told["plan"].text == mixed.feature_names[plans[int(values[plans].argmax())]][7:]
    assert told["plan"].pull == pytest.approx(pulls[plans].sum(), rel=1e-2)
    assert sum(value.pull for value in row.values) == pytest.approx(pulls.sum(), rel=1e-2)
    assert [abs(v.pull) for v in row.values] == sorted(abs(v.pull) for v in row.values)[::-1]


def test_the_nearest_row_is_the_nearest(table):
    content = content_of(table)
    row = rows_by_tab(content)["b-in-a"][0]
    unit = np.asarray(table.frame.geometry.unit)
    own = table.group_a.rows[int(row.id)]
    away = ((table.group_b.rows - own) / unit) ** 2
    assert row.nearest.id == str(away.sum(axis=1).argmin())


def test_scored_rows_are_summed_up(digits):
    content = content_of(digits)
    assert digits.group_z.neither.all()  # sevens are neither fours nor nines
    assert content.verdict[0] == "The 179 rows of Z look like neither."
    assert content.verdict[0] in digits.summary(200)


def test_labels_of_scored_rows_are_checked():
    case = comparison(n_z=40)
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(80, 3)), rng.normal(2.5, 1, size=(80, 3))
    Z = np.vstack([A[:20], B[:20]]) + 0.01
    labels = np.repeat(["left", "right"], 20)
    labels[:3] = "right"
    found = compare(A, B, Z, labels=labels, name_a="left", name_b="right", n_permutations=19)
    tabs = rows_by_tab(content_of(found))
    assert {row.id for row in tabs["labels"]} >= {"0", "1", "2"}
    assert tabs["labels"][0].label == "right"
    for written, is_there in ((found, True), (case, False)):
        assert ("Labels in doubt" in report.to_html(written)) is is_there
        assert ("Labels in doubt" in report.to_markdown(written)) is is_there


def test_planted_mistakes_are_listed(digits):
    tabs = rows_by_tab(content_of(digits))
    assert {row.id for row in tabs["b-in-a"]} >= {"178", "179", "180"}
    assert {row.id for row in tabs["a-in-b"]} >= {"177", "178", "179"}


def test_points_of_the_map_are_the_rows_costs(table):
    content = content_of(table)
    groups = dict(zip("ABZ", table.groups, strict=True))
    for point in content.points[::17]:
        alignment = groups[point.group].alignment
        i = int(point.id)
        assert 10**point.x == pytest.approx(float(alignment.cost_a[i]), rel=1e-3)
        assert 10**point.y == pytest.approx(float(alignment.cost_b[i]), rel=1e-3)
        if point.row >= 0:
            assert content.rows[point.row].id == point.id


def test_angles_count_all_rows(table):
    for key, group in zip("ABZ", table.groups, strict=True):
        np.testing.assert_array_equal(content_of(table).angles.counts[key], group.counts)


# --- content: pictures and patterns


def pixels_of(text):
    from io import BytesIO

    from PIL import Image

    return np.asarray(Image.open(BytesIO(base64.b64decode(text))))


def test_pictures_can_be_read_back():
    rng = np.random.default_rng(0)
    for shape in ((5, 7), (4, 3, 3)):
        pixels = rng.integers(0, 256, shape, dtype=np.uint8)
        np.testing.assert_array_equal(pixels_of(png(pixels)), pixels)


def test_rows_come_with_their_pictures(digits):
    content = content_of(digits)
    row = rows_by_tab(content)["b-in-a"][0]
    own = digits.group_a.rows[int(row.id)].reshape(8, 8)
    shown = pixels_of(row.picture).astype(float)
    assert np.corrcoef(shown.ravel(), own.ravel())[0, 1] > 0.99
    pull = digits.group_a.attribution[int(row.id)].reshape(8, 8)
    red, _, blue = np.moveaxis(pixels_of(row.pull).astype(int), 2, 0)
    strongest = np.unravel_index(np.abs(pull).argmax(), (8, 8))
    assert (red > blue)[strongest] == (pull[strongest] > 0)  # orange to B, blue to A
    titles = [one.title for one in content.pictures]
    assert titles[:2] == ["mean of digit 4", "mean of digit 9"]
    mean = pixels_of(content.pictures[0].png).ravel()
    assert np.corrcoef(mean, digits.group_a.rows.mean(axis=0))[0, 1] > 0.99


def test_large_pictures_are_averaged_down():
    shape = PictureShape.of((100, 70))
    assert (shape.height, shape.width, shape.block) == (34, 24, 3)
    rows = np.ones((2, 7000))
    rows[1] = np.arange(7000)
    small = shape.shrink(rows)
    assert small.shape == (2, 34, 24)
    np.testing.assert_allclose(small[0], 1)
    np.testing.assert_allclose(small[1, 0, 0], rows[1].reshape(100, 70)[:3, :3].mean())
    np.testing.assert_allclose(small[1, -1, -1], rows[1].reshape(100, 70)[99:, 69:].mean())


def test_patterns_are_the_directions_that_differ_most(table):
    found = content_of(table).patterns
    parts = np.asarray(table.frame.differences)
    assert found.directions[0].number == parts.argmax() + 1
    assert found.directions[0].part == pytest.approx(parts.max(), rel=1e-3)
    assert len(found.dots) == found.size == len(parts)


# --- words


def test_the_verdict_is_that_of_the_comparison(mixed):
    content = content_of(mixed)
    told = content.verdict + content.findings
    assert told == mixed.verdict.sentences[: len(told)]
    assert content.badge == f"{mixed.verdict.size} difference"
    assert content.tiles[1].value == f"{len(mixed.features.changed)} of 6"


def test_no_difference_is_called_no_evidence():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    content = content_of(compare(X[:60], X[60:], n_permutations=99))
    assert content.badge == "no evidence of a difference"
    assert content.verdict[0].startswith("There is no evidence")
    assert content.parts == ()
    assert content.tiles[3].value == "0"


def test_certainty_is_not_rounded_up(table):
    separation = replace(table.separation, auc=Size(0.9983, 0.99, 1.0))
    content = content_of(replace(table, separation=separation))
    assert content.tiles[0].value == "over 99 of 100"


def test_the_linear_span_has_a_report_too():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(60, 4)), rng.normal(size=(60, 4)) * [4, 1, 1, 1]
    found = compare(A, B, span="linear", n_permutations=99)
    content = content_of(found)
    assert content.verdict[0].startswith("A and B differ")
    assert content.features[0].name == "x0"
    assert content.tiles[1].note == "first: x0"
    assert "What changed" in report.to_html(found)


def test_one_warning_is_shown_and_all_are_listed(table):
    told = (
        Note("encoding", "3 columns became 9 features."),
        Note("few rows", "Mind the gap."),
        Note("sampled", "Mind the step.", "Take a longer one."),
        Note("few rows", "Mind the gap."),
    )
    content = content_of(replace(table, warnings=told))
    assert content.warning == "Mind the step. Take a longer one."
    assert content.remarks == tuple(map(str, told[:3]))


def test_no_greek_letter_in_the_first_screen(mixed, many):
    for case in (mixed, many):
        content = content_of(case)
        tiles = [text for tile in content.tiles for text in (tile.label, tile.value, tile.note)]
        first = " ".join([*content.verdict, *content.findings, content.badge, *tiles])
        assert not re.search("[α-ωΑ-Ω]", first)


@pytest.mark.parametrize("name", [" ", "", "x ", "age\n", "e"])
def test_names_change_nothing_in_sentences_but_themselves(name):
    """A name may be a piece of a word, or of the space between words."""
    assert spoken(["The average age is next."], [name]) == ("The average age is next.",)


def test_long_names_and_those_from_right_to_left_are_cut_and_isolated():
    long, right = "n" * 200, "\u05d0\u05d1"
    (found,) = spoken([f"{long} and {right} rose."], [long, right])
    assert "…" in found
    assert f"\u2068{right}\u2069 rose." in found


def test_what_was_sampled_is_said():
    rng = np.random.default_rng(0)
    found = compare(rng.normal(size=(150_000, 2)), rng.normal(size=(150_000, 2)), n_permutations=19)
    lines = " ".join(content_of(found).sampling)
    assert "a uniform sample of 20,000 of 150,000 rows" in lines


def test_the_command_is_shown(table, tmp_path):
    read = tmp_path / "a.csv"
    read.write_text("x,y")
    given = {"command": "cospan compare a.csv b.csv", "files": [read, tmp_path / "gone.csv"]}
    text = report.write(table, tmp_path / "r.md", **given).read_text(encoding="utf-8")
    assert "cospan compare a.csv b.csv" in text
    assert f"3 bytes, SHA-256 {hashlib.sha256(b'x,y').hexdigest()}" in text
    assert "cospan.compare(A, B, " in report.to_html(table)


def test_other_measures_and_settings_are_shown_where_they_were_asked_for(table):
    rows = [np.asarray(group.rows) for group in table.groups[:2]]
    study = sensitivity(*rows, np.vstack(rows), over={"shrinkage": [0.1, 0.9]})
    panel = table.panel(permutations=19)
    content = content_of(table, panel=panel, study=study)
    assert {one.name for one in panel.measures} <= {one.label for one in content.measures}
    assert [one.name for one in content.sensitivity] == ["shrinkage 0.1", "shrinkage 0.9"]
    assert content.sensitivity[0].mean == pytest.approx(study.rows[1].mean_degrees, abs=0.01)
    page = report.to_html(table, panel=panel, study=study)
    assert "How much the settings matter" in page
    assert panel.measures[0].name in page


# --- more than two sets


def test_many_sets_have_the_same_page(many):
    content = content_of(many)
    assert content.many
    assert [one.key for one in content.sets] == ["1", "2", "3", "Z"]
    np.testing.assert_array_equal(content.confusion, many.confusion)
    theta = [many.pair_theta(0, 1)[many.group == k] for k in (0, 1)]
    below = (theta[0][:, None] < theta[1]).mean()
    assert content.auc[0][1] == pytest.approx(below, abs=0.01)
    assert len(content.pairs[0].features) == 4
    page = report.to_html(many)
    assert "Of 100 pairs of rows" in page
    assert "Rows to check" in page


@pytest.fixture(scope="module")
def wines():
    data = load_wine(as_frame=True)
    sets = {f"cultivar {k}": data.data[data.target == k] for k in range(3)}
    sets["cultivar 1"] = pd.concat([sets["cultivar 1"], sets["cultivar 2"].iloc[:3]])
    return sets, compare_many(sets)


def test_every_pair_has_the_columns_of_its_own_comparison(wines):
    sets, found = wines
    content = content_of(found)
    assert len(content.pairs) == 3
    for pair in content.pairs:
        a, b = (found.names[k] for k in (pair.first, pair.second))
        alone = compare(sets[a], sets[b])
        assert pair.n_changed == len(alone.features.changed)
        for one in pair.features:
            assert one.numbers["p_adjusted"] == pytest.approx(
                alone.features[one.name].p_adjusted, rel=1e-3
            )
            assert one.change == alone.features[one.name].change
        assert {r.first for r in pair.relations} <= set(alone.feature_names)


def test_every_surface_tells_the_same_of_a_pair(wines):
    _, found = wines
    content = content_of(found)
    told = json.loads(found.to_json())["pairs"]
    text = found.summary()
    assert len(told) == len(content.pairs) == 3
    for pair, row in zip(content.pairs, told, strict=True):
        names = [found.names[k] for k in (pair.first, pair.second)]
        assert row["sets"] == names
        changes = found.changes(*names)
        assert tuple(row["verdict"]["sentences"]) == changes.verdict.sentences
        assert pair.sentences == changes.verdict.sentences[: len(pair.sentences)]
        assert len(row["features"]) == pair.n_changed
        assert len(row["feature_pairs"]) == pair.n_relations
        first = changes.features.changed[0].name
        assert f"{pair.n_changed} of 13 columns changed (p at most 0.001): {first}" in text


def test_rows_of_many_sets_that_are_alike_are_in_the_middle_of_every_pair():
    X = np.random.default_rng(0).normal(size=(60, 3))
    found = compare_many({"a": X, "b": X[::-1], "c": X})
    for pair in content_of(found).pairs:
        assert pair.counts_first == pair.counts_second
        assert pair.counts_first[15] == 60  # the bin from 45° on


def test_every_pair_lists_the_rows_that_the_other_set_explains_best(wines):
    _, found = wines
    content = content_of(found)
    for pair in content.pairs:
        i, j = pair.first, pair.second
        assert [tab.total for tab in pair.rows] == [found.confusion[i, j], found.confusion[j, i]]
        for tab, own, other in zip(pair.rows, (i, j), (j, i), strict=True):
            listed = [content.rows[place] for place in tab.rows]
            assert {row.group for row in listed} <= {str(own + 1)}
            assert {int(np.argmax(row.weights)) for row in listed} <= {other}
            assert {row.looks for row in listed} <= {str(other + 1), "two sets", "no set"}
    assert sum(tab.total for pair in content.pairs for tab in pair.rows) >= 3


def test_pairs_beyond_those_told_have_a_command():
    rng = np.random.default_rng(0)
    sets = {f"s{k}": rng.normal(k / 4, 1, (25, 2)) for k in range(11)}
    content = content_of(compare_many(sets))
    assert (len(content.pairs), len(content.more_pairs)) == (45, 10)
    i, j, command = content.more_pairs[0]
    assert f"sets['s{i}'], sets['s{j}']" in command
    assert "45 of 55" in report.to_markdown(compare_many(sets))


def test_terminal_and_report_list_pairs_and_rows_of_many_sets_in_one_order(wines):
    _, found = wines
    content = content_of(found)
    told = [(content.sets[p.first].name, content.sets[p.second].name) for p in content.pairs]
    assert told == found.closest(3)
    lines = found.summary().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Rows worth a look"))
    shown = [line.split()[0] for line in lines[start + 1 : lines.index("", start)]]
    assert len(shown) >= 2
    tab = next(tab for tab in content.tabs if tab.key == "elsewhere")
    assert shown == [content.rows[place].id for place in tab.rows[: len(shown)]]
    assert "All pairs, closest first" in found.summary()


def test_a_scatter_shows_all_parts_of_a_sorted_table():
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=900))
    sets = [pd.DataFrame({"x": x, "y": sign * x + 0.3 * rng.normal(size=900)}) for sign in (1, -1)]
    (one,) = content_of(compare(*sets, n_permutations=19)).relations
    for points in (one.points_a, one.points_b):
        across = [p[0] for p in points]
        assert min(across) < 10
        assert max(across) > 90


def test_the_call_that_is_shown_can_be_made_again(table):
    made = dict(content_of(table).made)
    assert made["Python"] == "cospan.compare(A, B, n_permutations=49)"


# --- size


def wordy(n):
    """Row identifiers and feature names as long as can be, in letters of four bytes."""
    names = [f"{i}{'🧪' * 500}" for i in range(n)]
    return comparison(n, n, 40, ids=names, feature_names=names[:40], names=names[:2])


@pytest.mark.parametrize(
    "case",
    [
        lambda: comparison(500, 500, 30),
        lambda: comparison(60, 60, 1_200),
        lambda: wordy(300),
        lambda: comparison(300, 300, 784, image_shape=(28, 28), n_z=300),
        lambda: comparison(80, 80, 40 * 40 * 3, image_shape=(40, 40, 3)),
    ],
    ids=["table", "wide table", "wordy table", "pictures", "colour pictures"],
)
def test_pages_are_small(case):
    assert len(report.to_html(case()).encode()) < LIMIT


# --- the page


@pytest.mark.parametrize("name", ["table", "mixed", "digits", "many"])
def test_page_runs_only_its_own_scripts_and_loads_nothing(request, name):
    page = report.to_html(request.getfixturevalue(name))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 2
    for text in [*scripts, *re.findall(r"<style>(.*?)</style>", page, re.S)]:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    for tag, attributes in parsed(page).found:
        assert tag not in ("link", "iframe", "object", "embed", "form", "base")
        assert "style" not in attributes
        assert not any(attribute.startswith("on") for attribute in attributes)
        assert attributes.get("src", "data:image/png;base64,").startswith("data:image/png;base64,")
        assert attributes.get("href", "#").startswith("#")


def test_page_without_scripts_has_verdict_features_and_rows(mixed):
    """What mail and previews show: the page as it is before any script runs."""
    page = report.to_html(mixed)
    content = content_of(mixed)
    found = parsed(page)
    text = " ".join("".join(found.text).split())
    for sentence in content.verdict + content.findings:
        assert sentence in text
    for feature in content.features:
        assert feature.name in text
        assert feature.sentence in text
    for row in content.rows:
        assert row.id in text
        assert row.words in text
    hidden = [attrs.get("id") for tag, attrs in found.found if "hidden" in attrs]
    assert set(hidden) == {
        "theme", "actions", "feature-controls", "more-features", "cut-controls",
        "brush-controls", "detail",
    }  # fmt: skip
    charts = [attrs for tag, attrs in found.found if tag == "svg"]
    assert len(charts) >= len(content.features) + 3
    assert all(chart["aria-label"] for chart in charts)


def test_page_carries_exactly_its_content(digits, many):
    for case in (digits, many):
        assert payload_of(report.to_html(case)) == json.loads(report.to_json(case))


def test_numbers_that_are_not_finite_become_null(table):
    text = report.to_json(replace(table, seconds=float("nan")))
    assert "NaN" not in text
    assert json.loads(text)


def test_markdown_says_what_the_page_says(mixed):
    text = report.to_markdown(mixed)
    content = content_of(mixed)
    for sentence in content.verdict:
        assert sentence in text
    for feature in content.features:
        assert f"| {feature.name} | {feature.change} |" in text
    for row in rows_by_tab(content)["a-in-b"]:
        assert f"| {row.id} | live |" in text
    assert "| shrinkage | auto |" in text


@pytest.mark.parametrize("name", ["mixed", "digits", "many"])
def test_fragment_is_static(request, name):
    case = request.getfixturevalue(name)
    piece = case._repr_html_()
    assert piece == report.fragment(case)
    assert len(piece) < 20_000
    for tag, attributes in parsed(piece).found:
        assert tag not in ("script", "style", "link", "iframe", "img")
        assert not any(attribute.startswith("on") for attribute in attributes)
    assert content_of(case).verdict[0] in piece


# --- hostile names


def test_hostile_names_add_no_tag_to_the_page():
    hostile, calm = hostile_comparison(), calm_comparison()
    assert tags_of(report.to_html(hostile)) == tags_of(report.to_html(calm))
    assert tags_of(report.fragment(hostile)) == tags_of(report.fragment(calm))


def test_hostile_names_cannot_end_the_data_block():
    page = report.to_html(hostile_comparison())
    block = re.search(r'id="payload">(.*?)</script>', page, re.S)[1]
    assert not re.search("[<>&\u2028\u2029]", block)
    assert payload_of(page)["sets"][0]["name"] == HOSTILE["script"]


@pytest.mark.parametrize("writer", [report.to_html, report.to_markdown, report.to_json])
def test_hostile_names_can_be_written_as_utf8(writer):
    text = writer(hostile_comparison())
    text.encode("utf-8")
    assert "\u202e" not in text
    assert "\x00" not in text
    assert "\x07" not in text
    assert "long" * 40 not in text


def test_hostile_names_stay_text_in_markdown():
    text = report.to_markdown(hostile_comparison())
    assert not re.search(r"<(?!!)", text)
    assert not re.search(r"(?<!\\)\[link\]", text)
    assert "http://" not in text
    assert not re.search(r"^# heading", text, re.M)
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(columns) == 1


def test_hostile_names_of_more_sets_are_text_everywhere():
    rng = np.random.default_rng(0)
    names = (HOSTILE["script"], HOSTILE["long"], HOSTILE["rtl"])
    sets = {name: rng.normal(k, 1, (40, 3)) for k, name in enumerate(names)}
    found = compare_many(sets)
    page = report.to_html(found)
    assert page.count("</script>") == 3
    assert "long" * 40 not in page
    for text in (page, report.to_markdown(found), report.fragment(found)):
        assert "\u202e" not in text
        assert "<script>window" not in text


def test_right_to_left_names_are_isolated_in_sentences():
    first = content_of(hostile_comparison()).verdict[0]
    assert "\u2068" in first
    assert first.count("\u2068") == first.count("\u2069")


def test_long_names_are_cut_in_sentences():
    content = content_of(comparison(60, 60, 3, names=("a" * 500, "b")))
    assert all(len(sentence) < 300 for sentence in content.verdict)
    assert "and b differ" in content.verdict[0]


# --- files


@pytest.mark.parametrize(
    ("name", "format", "start"),
    [
        ("r.html", None, "<!doctype html>"),
        ("r.md", None, "# left and right"),
        ("r.json", None, "{"),
        ("r.out", "json", "{"),
        ("r", None, "<!doctype html>"),
    ],
)
def test_write_by_ending_or_by_format(tmp_path, table, name, format, start):
    path = report.write(table, tmp_path / name, format)
    assert path == tmp_path / name
    assert path.read_text(encoding="utf-8").startswith(start)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_comparison_saves_its_page(tmp_path, table):
    path = table.save_html(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == report.to_html(table)


def test_an_unknown_format_is_refused(tmp_path, table):
    with pytest.raises(InputError, match="'pdf' is unknown; choose one of html, md, json"):
        report.write(table, tmp_path / "r.pdf", "pdf")


def test_a_failed_write_leaves_the_old_file(tmp_path, table, monkeypatch):
    path = tmp_path / "r.md"
    path.write_text("old")

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(CospanError, match="No space left"):
        report.write(table, path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_missing_package_is_named(table, monkeypatch):
    html._environment.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    with pytest.raises(MissingDependencyError, match=r"jinja2.*cospan\[app\]"):
        report.to_html(table)


def test_a_mean_has_the_digits_that_its_spread_makes_useful():
    shown = [held_text("number", Held(0.0, *pair)) for pair in ((44.97123, 0.031), (39.6, 10.2))]
    assert shown == ["44.971 ± 0.031", "39.6 ± 10.2"]


def test_rows_with_few_values_are_drawn_side_by_side():
    rng = np.random.default_rng(0)
    x = rng.random(400) < 0.5
    like_x = np.where(rng.random(400) < 0.85, x, ~x)
    frames = [
        pd.DataFrame({"x": x, "y": y, "z": rng.normal(size=400)})
        for y in (rng.random(400) < 0.5, like_x)
    ]
    found = content_of(compare(*frames, n_permutations=99)).relations
    one = next(pair for pair in found if (pair.first[:1], pair.second[:1]) == ("x", "y"))
    assert len(set(one.points_a)) > 50
    assert all(0 <= place <= 100 for point in (*one.points_a, *one.points_b) for place in point)
    same = [(a > 50) == (b > 50) for a, b in one.points_b]
    assert sum(same) > 0.7 * len(same)
