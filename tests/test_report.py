"""The report without a browser: its content, its size, its words, and names that mean harm."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from cospan import angle_histogram, bin_posterior, report
from cospan.comparison import compare
from cospan.errors import CospanError, InputError, MissingDependencyError
from cospan.report import _samples, content_of, html
from cospan.report._encode import PictureShape
from report_cases import (
    HOSTILE,
    comparison,
    digits_comparison,
    estimate,
    flag_first_rows,
    hostile_comparison,
)

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def table():
    return comparison(n_z=150)


@pytest.fixture(scope="module")
def pictures():
    return comparison(d=64, image_shape=(8, 8), n_z=50)


def payload_of(page):
    found = re.search(r'<script type="application/json" id="payload">(.*?)</script>', page, re.S)
    return json.loads(found[1])


class Tags(HTMLParser):
    """The tags of a page with their attributes' names, in order."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, tuple(name for name, _ in attrs)))


def tags_of(page):
    parser = Tags()
    parser.feed(page)
    return parser.found


# --- content


def test_content_is_frozen_and_ready_for_json(table):
    content = content_of(table)
    with pytest.raises(AttributeError):
        content.title = "other"
    assert json.loads(json.dumps(content.to_dict()))["title"] == "left and right"


def test_groups_carry_the_counts_of_all_rows(table):
    for found, group in zip(content_of(table).groups, table.groups, strict=True):
        assert sum(found.counts) == group.n == found.scored
        np.testing.assert_array_equal(found.counts, group.counts)
        assert found.median == pytest.approx(np.degrees(np.median(group.alignment.theta)), abs=0.2)


def test_samples_lie_in_their_bins_and_belong_to_their_rows(table):
    content = content_of(table)
    groups = dict(zip("ABZ", table.groups, strict=True))
    for sample in content.samples:
        assert sample.bin == min(int(sample.theta // 3), 29)
        group = groups[sample.group]
        row = int(sample.id)
        assert sample.theta == pytest.approx(np.degrees(group.alignment.theta[row]), abs=1e-3)
        place = int(np.flatnonzero(group.row_index == row)[0])
        strongest = sample.features[0]
        feature = int(content.features[strongest.feature][1:])
        assert abs(group.attribution[place]).argmax() == feature
        assert strongest.value == pytest.approx(group.rows[place, feature], rel=1e-3)
        assert strongest.pull == pytest.approx(group.attribution[place, feature], rel=1e-2)


def test_every_filled_bin_shows_samples_and_none_shows_too_many(table):
    content = content_of(table)
    flagged = {conflict.sample for conflict in content.conflicts}
    for key, group in zip("ABZ", table.groups, strict=True):
        counts = group.counts.reshape(30, -1).sum(axis=1)
        for i, count in enumerate(counts):
            here = [j for j, s in enumerate(content.samples) if (s.group, s.bin) == (key, i)]
            unflagged = [j for j in here if j not in flagged]
            assert min(count, _samples.PER_BIN) <= len(here) <= count
            assert len(unflagged) <= _samples.PER_BIN


def test_rows_without_values_are_still_listed():
    case = comparison(n_a=3_000)
    without = SimpleNamespace(**{**vars(case.group_a), "rows": None, "attribution": None})
    content = content_of(comparison(n_a=3_000, group_a=without))
    assert any(sample.group == "A" for sample in content.samples)
    assert all(not sample.features for sample in content.samples if sample.group == "A")


def test_pictures_come_back_from_their_bytes(pictures):
    content = content_of(pictures)
    drawn = np.frombuffer(base64.b64decode(content.pictures.data), np.uint8)
    drawn = drawn.reshape(content.pictures.count, 64) / 255
    low, high = content.pictures.low, content.pictures.high
    groups = dict(zip("ABZ", pictures.groups, strict=True))
    for sample in content.samples[::37]:
        group = groups[sample.group]
        row = group.rows[np.flatnonzero(group.row_index == int(sample.id))[0]]
        expected = np.clip(row, low, high)
        np.testing.assert_allclose(
            low + drawn[sample.picture] * (high - low), expected, atol=(high - low) / 250
        )


def test_attribution_pictures_keep_sign_and_strongest_pixel(pictures):
    content = content_of(pictures)
    drawn = np.frombuffer(base64.b64decode(content.pictures.attribution), np.uint8)
    drawn = drawn.reshape(content.pictures.count, 64).astype(int) - 128
    group = pictures.group_a
    for sample in [s for s in content.samples if s.group == "A"][::23]:
        pulls = group.attribution[np.flatnonzero(group.row_index == int(sample.id))[0]]
        np.testing.assert_allclose(
            drawn[sample.picture] / 127, pulls / abs(pulls).max(), atol=0.005
        )


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


def test_directions_come_back_from_their_bytes(pictures):
    spectrum = content_of(pictures).spectrum
    drawn = np.frombuffer(base64.b64decode(spectrum.data), np.uint8).reshape(-1, 64)
    for direction, pixels in zip(spectrum.directions, drawn, strict=True):
        h = pictures.frame.H[direction.index]
        np.testing.assert_allclose((pixels.astype(int) - 128) / 127, h / abs(h).max(), atol=0.005)
        assert direction.angle == pytest.approx(
            np.degrees(pictures.frame.angles[direction.index]), abs=1e-3
        )


def test_many_directions_are_picked_from_end_to_end():
    spectrum = content_of(comparison(d=300, blocks=(20, 260, 20))).spectrum
    index = [direction.index for direction in spectrum.directions]
    assert len(index) <= 64
    assert index[:5] == [0, 1, 2, 3, 4]
    assert index[-5:] == [295, 296, 297, 298, 299]
    assert {d.block for d in spectrum.directions} == {"A-only", "shared", "B-only"}
    assert len(spectrum.angles) == 300


def test_conflicts_are_the_flagged_rows_most_suspicious_first(table):
    content = content_of(table)
    flagged = table.audit.flagged
    assert content.n_conflicts == flagged.sum() == len(content.conflicts) > 0
    suspicion = [conflict.suspicion for conflict in content.conflicts]
    assert suspicion == sorted(suspicion, reverse=True)
    for conflict in content.conflicts:
        sample = content.samples[conflict.sample]
        assert conflict.label == {"A": "left", "B": "right"}[sample.group] != conflict.suggested
        assert (sample.theta > 45) == (conflict.suggested == "right")


def test_conflicts_of_scored_rows_point_at_scored_rows():
    case = comparison(n_z=80)
    theta = np.degrees(case.group_z.alignment.theta)
    audit = SimpleNamespace(
        suspicion=theta / 90,
        flagged=theta > 60,
        labels=np.full(80, "left", dtype=object),
        suggested=np.full(80, "right", dtype=object),
    )
    content = content_of(comparison(n_z=80, audit=audit, audit_of="z"))
    assert content.n_conflicts == (theta > 60).sum()
    for conflict in content.conflicts:
        assert content.samples[conflict.sample].group == "Z"
        assert content.samples[conflict.sample].theta > 60


def test_effects_are_sorted_by_what_they_tell_apart(table):
    effects = content_of(table).effects
    apart = [abs(effect.in_b - effect.in_a) for effect in effects]
    assert apart == sorted(apart, reverse=True)
    best = int(abs(table.effect_b - table.effect_a).argmax())
    assert effects[0].feature == table.feature_names[best]


# --- a real comparison


@pytest.fixture(scope="module")
def digits():
    return digits_comparison()


def test_planted_label_errors_are_listed(digits):
    content = content_of(digits)
    listed = {
        (content.samples[c.sample].group, int(content.samples[c.sample].id))
        for c in content.conflicts
    }
    planted = {("A", 178), ("A", 179), ("A", 180), ("B", 177), ("B", 178), ("B", 179)}
    assert listed >= planted
    assert len(listed) == digits.audit.flagged.sum()


def test_attributions_shown_explain_the_costs_of_the_rows_shown(digits):
    for group in digits.groups:
        scored = digits.frame.align(group.rows)
        balance = -np.cos(2 * scored.raw_theta)
        np.testing.assert_allclose(group.attribution.sum(axis=1), balance, atol=1e-9)


def test_counts_and_angles_agree(digits):
    """A row's bin, as the page finds it, is the bin it was counted in."""
    for group in digits.groups:
        found = np.bincount(_samples.bin_of(group.alignment.theta, 900), minlength=900)
        np.testing.assert_array_equal(found, group.counts)


def test_posterior_is_that_of_the_histograms(digits):
    content = content_of(digits)
    P, Q = (angle_histogram(g.alignment.theta) for g in (digits.group_a, digits.group_b))
    for shown, expected in zip(content.posterior, bin_posterior(P, Q), strict=True):
        assert shown is None if np.isnan(expected) else shown == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("writer", [report.to_html, report.to_markdown, report.to_json])
def test_real_reports_are_written_in_every_format(digits, writer):
    assert "digit 4" in writer(digits)


def test_few_rows_give_a_warning():
    X = np.random.default_rng(0).normal(size=(40, 3))
    found = compare(X[:12], X[12:] + 1, n_permutations=0)
    assert any("only 12 rows" in warning for warning in content_of(found).warnings)


def test_a_comparison_shows_itself_in_notebooks(digits):
    assert digits._repr_html_() == report.fragment(digits)


# --- words


def test_verdict_counts_the_rows_on_their_own_side(table):
    first, second = content_of(table).verdict
    right = table.group_a.counts[:450].sum() + table.group_b.counts[450:].sum()
    assert f"cut at 45°, {100 * right / 700:.1f} % of them" in first
    assert "2.40 apart (95 % interval 2.35 to 2.45)" in second
    assert "none of 999" in second
    assert "p\u00a0=\u00a00.001" in second


@pytest.mark.parametrize(
    ("auc", "pvalue", "words"),
    [
        (0.999, 0.001, "almost entirely apart"),
        (0.95, 0.001, "clearly different"),
        (0.8, 0.001, "overlap a good deal"),
        (0.55, 0.001, "hard to separate"),
        (0.1, 0.001, "come out the wrong way round"),
        (0.8, 0.4, "Nothing here shows that the rows of left and right differ"),
    ],
)
def test_verdict_is_no_stronger_than_the_evidence(auc, pvalue, words):
    case = comparison()
    separation = SimpleNamespace(**{**vars(case.separation), "auc": estimate(auc)})
    shift = SimpleNamespace(statistic=1.0, pvalue=pvalue, n_permutations=999)
    content = content_of(comparison(separation=separation, shift=shift))
    assert words in content.verdict[0]
    assert any("do not assign" in warning for warning in content.warnings) == (auc == 0.1)


def test_a_poor_cut_of_raw_angles_at_45_degrees_is_said():
    case = comparison()
    moved = {
        "group_a": replace(case.group_a, counts=np.roll(case.group_a.counts, -150)),
        "group_b": replace(case.group_b, counts=np.roll(case.group_b.counts, -150)),
    }
    content = content_of(comparison(**moved))
    assert re.search(r"; cut at [23]\d\.\d°, 9\d\.\d % do", content.verdict[0])
    assert any("meet at" in warning for warning in content.warnings)
    calibrated = SimpleNamespace(**{**vars(case.separation), "bins": None})
    content = content_of(comparison(**moved, separation=calibrated))
    assert content.best_cut == 450
    assert content.warnings == ()


def test_no_best_cut_where_rows_cannot_be_separated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    content = content_of(compare(X[:40], X[40:], n_permutations=49))
    assert content.best_cut == 450
    assert "; cut at" not in content.verdict[0]
    assert not any("meet at" in warning for warning in content.warnings)


def test_nothing_is_said_twice():
    said = "7% of the rows look more like the other set."
    assert content_of(comparison(warnings=(said, "mind the gap", said))).warnings == (
        said,
        "mind the gap",
    )


def test_rows_without_labels_are_not_called_labelled():
    """Two files are two sets: nobody labelled their rows."""
    sets = comparison(n_z=80)
    audit = SimpleNamespace(**{key: value[:80] for key, value in vars(sets.audit).items()})
    labelled = comparison(n_z=80, audit=audit, audit_of="z")
    for write in (report.to_html, report.to_markdown):
        assert "Rows that look like the other set" in write(sets)
        assert "label that" not in write(sets)
        assert "Labelled rows that look like the other set" in write(labelled)


def test_certainty_is_not_rounded_up():
    case = comparison()
    separation = SimpleNamespace(**{**vars(case.separation), "auc": estimate(0.99999)})
    numbers = {n.label: n for n in content_of(comparison(separation=separation)).numbers}
    assert numbers["AUC"].text == "0.999+"


def test_no_test_means_no_p_value():
    content = content_of(comparison(shift=None))
    assert "p\u00a0=" not in " ".join(content.verdict)
    assert all(number.label != "p-value" for number in content.numbers)


def test_what_the_comparison_warns_of_is_given():
    assert content_of(comparison(warnings=("mind the gap",))).warnings == ("mind the gap",)


def test_calm_data_gives_no_warning():
    assert content_of(comparison(audit=None)).warnings == ()


def test_what_was_sampled_is_said():
    lines = " ".join(content_of(comparison(n_a=2_500, scale=4_000)).sampling)
    assert "all 10,000,000 rows are counted" in lines
    assert re.search(r"[\d,]+ rows, spread evenly over the bins", lines)


# --- size


def wordy(n):
    """Row identifiers and feature names as long as can be, in letters of four bytes."""
    names = [f"{i}{'🧪' * 500}" for i in range(n)]
    return comparison(n, n, 40, ids=names, feature_names=names[:40], names=names[:2])


@pytest.mark.parametrize(
    ("case", "limit"),
    [
        (lambda: comparison(500, 500, 30), 3),
        (lambda: comparison(4_000, 4_000, 30, scale=1_250, n_z=4_000), 3),
        (lambda: comparison(1_500, 1_500, 2_000, n_z=1_500), 3),
        (lambda: wordy(1_500), 3),
        (lambda: comparison(500, 500, 784, image_shape=(28, 28)), 6),
        (lambda: comparison(4_000, 4_000, 784, image_shape=(28, 28), scale=1_250, n_z=4_000), 6),
        (lambda: comparison(300, 300, 48 * 48 * 3, image_shape=(48, 48, 3), n_z=300), 6),
    ],
    ids=["table 1,000", "table 15 million", "wide table", "wordy table",
         "pictures 1,000", "pictures 15 million", "large colour pictures"],
)  # fmt: skip
def test_size_does_not_grow_with_the_data(case, limit):
    page = report.to_html(case())
    assert len(page.encode()) < limit * MEGABYTE


# --- the page


def test_page_runs_only_its_own_scripts_and_loads_nothing(table):
    page = report.to_html(table)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 3
    for text in [*scripts, *re.findall(r"<style>(.*?)</style>", page, re.S)]:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    for tag, attributes in tags_of(page):
        assert "src" not in attributes
        assert "style" not in attributes
        assert tag not in ("link", "iframe", "img", "object", "embed", "form", "base")
        assert not any(name.startswith("on") for name in attributes)


def test_page_carries_exactly_its_content(pictures):
    carried = payload_of(report.to_html(pictures))["content"]
    assert carried == json.loads(json.dumps(content_of(pictures).to_dict()))


def test_json_is_the_content(table):
    assert json.loads(report.to_json(table)) == json.loads(json.dumps(content_of(table).to_dict()))


def test_numbers_that_are_not_finite_become_null():
    case = comparison(effect_a=np.full(12, np.nan))
    assert json.loads(report.to_json(case))
    assert "NaN" not in report.to_json(case)


def test_charts_hold_no_name_from_the_data():
    payload = payload_of(report.to_html(comparison(names=("zebra", "yak"), n_z=20)))
    charts = json.dumps(payload["charts"])
    assert "zebra" not in charts
    assert "http" not in charts


def test_markdown_says_what_the_page_says(table):
    text = report.to_markdown(table)
    content = content_of(table)
    assert content.verdict[0] in text
    assert "| Fisher-Rao distance | 2.400 | 95 %: 2.350 to 2.450 |" in text
    assert "## Rows that look like the other set" in text
    for conflict in content.conflicts:
        assert f"| {content.samples[conflict.sample].id} | {conflict.label} |" in text
    assert "| shrinkage | auto |" in text


def test_fragment_is_static(table):
    piece = report.fragment(table)
    assert len(piece) < 20_000
    for tag, attributes in tags_of(piece):
        assert tag not in ("script", "style", "link", "iframe", "img")
        assert not any(name.startswith("on") for name in attributes)
    assert content_of(table).verdict[0] in piece


# --- hostile names


def test_hostile_names_add_no_tag_to_the_page():
    settings = {"one": "two", "label": "three"}
    calm = comparison(60, 60, len(HOSTILE), warnings=("calm",), settings=settings)
    calm = flag_first_rows(calm)
    assert tags_of(report.to_html(hostile_comparison())) == tags_of(report.to_html(calm))
    assert tags_of(report.fragment(hostile_comparison())) == tags_of(report.fragment(calm))


def test_hostile_names_cannot_end_the_data_block():
    page = report.to_html(hostile_comparison())
    block = re.search(r'id="payload">(.*?)</script>', page, re.S)[1]
    assert not re.search("[<>&\u2028\u2029]", block)
    assert payload_of(page)["content"]["groups"][0]["name"] == HOSTILE["script"]


@pytest.mark.parametrize("writer", [report.to_html, report.to_markdown, report.to_json])
def test_hostile_names_can_be_written_as_utf8(writer):
    text = writer(hostile_comparison())
    text.encode("utf-8")
    assert "\u202e" not in text
    assert "\x00" not in text
    assert "\x07" not in text
    assert len(text) < 3 * MEGABYTE
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


def test_right_to_left_names_are_isolated_in_sentences():
    content = content_of(hostile_comparison())
    assert "\u2068" in content.verdict[0]
    assert content.verdict[0].count("\u2068") == content.verdict[0].count("\u2069")


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


@pytest.mark.parametrize("package", ["altair", "vl_convert", "jinja2"])
def test_a_missing_package_is_named(table, monkeypatch, package):
    html._environment.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, package, None)
    from cospan.report import charts

    charts.javascript.cache_clear()
    with pytest.raises(MissingDependencyError, match=rf"{package}.*cospan\[app\]"):
        report.to_html(table)
