"""The report of more than two sets: content, formats, hostile names, and in a browser."""

import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_digits

from cospan import compare_many, report
from cospan.report import many_content_of
from cospan.report.many import MOST_SAMPLES
from test_report_browser import Page, driver, window  # noqa: F401  (fixtures are used by name)
from test_report_browser import pytestmark as needs_browser

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\x07|`$x$`"


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    keep = y < 5
    return compare_many(X[keep], X[y == 9][:40], label=y[keep], n_bootstrap=40)


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(0)
    scales = ([1, 1, 3], [3, 1, 1], [1, 3, 1])
    names = (HOSTILE, "b" * 500, "c")
    sets = {name: rng.normal(size=(50, 3)) * s for name, s in zip(names, scales, strict=True)}
    return compare_many(sets, n_bootstrap=40)


def test_the_content_holds_what_the_comparison_found(digits):
    content = many_content_of(digits)
    assert [group.name for group in content.groups] == [*"01234", "Z"]
    assert sorted(content.order) == list(range(5))
    np.testing.assert_allclose(content.distance, digits.fisher_rao, atol=1e-4)
    counts = np.array(content.counts)
    assert counts.shape == (5, 5, 30)
    assert (counts[2, 3].sum(), counts[2, 2].sum()) == (digits.rows[2], 0)
    assert content.kinds.common + content.kinds.partial + content.kinds.isolated == 64
    assert len(content.samples) == MOST_SAMPLES
    assert {sample.group for sample in content.samples} == set(range(6))
    for sample in content.samples[:20]:
        assert sum(sample.weights) == pytest.approx(1, abs=1e-3)
        assert sample.weights[sample.nearest] == max(sample.weights)
    assert not content.corners


def test_three_sets_come_with_a_triangle(hostile):
    content = many_content_of(hostile)
    assert len(content.corners) == 150
    second, third, group = content.corners[0]
    np.testing.assert_allclose([second, third], hostile.weights[0, 1:], atol=1e-4)
    assert group == 0
    assert 'id="chart-ternary"' in report.to_html(hostile)


def test_every_format_is_written_from_the_same_content(digits, tmp_path):
    for ending in ("html", "md", "json"):
        report.write(digits, tmp_path / f"report.{ending}")
    data = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert data["format"] == "cospan report of many sets"
    near = data["distance"][0][1]
    assert f"{near:.3f}" in (tmp_path / "report.md").read_text(encoding="utf-8")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    payload = re.search(r'id="payload">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(payload)["content"] == json.loads(json.dumps(data))
    assert digits.save_html(tmp_path / "x.html").read_text(encoding="utf-8") == page


def test_hostile_names_are_text_everywhere(hostile):
    page = report.to_html(hostile)
    assert "<img src=x" not in page
    assert page.count("</script>") == 4
    markdown = report.to_markdown(hostile)
    assert "<img" not in markdown
    assert all("\u202e" not in text and "\x07" not in text for text in (page, markdown))
    fragment = hostile._repr_html_()
    assert "<img" not in fragment
    assert "<script" not in fragment


def test_the_page_loads_nothing(digits):
    page = report.to_html(digits)
    assert "default-src &#39;none&#39;" in page
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""(src|href)=["'](?!#)""", markup)


# ---- in a browser ------------------------------------------------------------------------------


@pytest.fixture
def open_page(driver, tmp_path):  # noqa: F811  (the fixture above)
    def opened(comparison, **how):
        window(driver, **how)
        page = Page(driver, comparison.save_html(tmp_path / "many.html"))
        page.console()
        page.requests()
        return page.open()

    return opened


@needs_browser
def test_a_click_on_a_cell_shows_the_pairs_histograms(open_page, digits):
    page = open_page(digits)
    cell = '.matrix button[data-first="1"][data-second="4"]'
    page.run("document.querySelector(arguments[0]).click()", cell)
    page.wait("return document.getElementById('pair-title').textContent === '1 and 4'")
    page.wait("return window.cospanViews['chart-pair'].data('pair')?.length === 62")
    values = page.run("return window.cospanViews['chart-pair'].data('pair')")
    first = [v["share"] for v in values if v["group"] == "A"][:30]
    second = [v["share"] for v in values if v["group"] == "B"][:30]
    counts = digits.pair_counts.reshape(5, 5, 30, 3).sum(axis=-1)
    np.testing.assert_allclose(first, counts[1, 4] / digits.rows[1])
    np.testing.assert_allclose(second, counts[4, 1][::-1] / digits.rows[4])
    assert f"{digits.fisher_rao[1, 4]:.3f}" in page.text("pair-note")
    assert page.console() == []
    assert page.requests() == []


@needs_browser
def test_rows_are_sorted_and_filtered(open_page, digits):
    page = open_page(digits)
    page.run("document.querySelector('#weights button[data-sort=theta]').click()")
    rows = "return [...document.querySelectorAll('#weights tbody tr')]"
    column = rows + ".map(row => row.cells[%d].textContent)"
    angles = [float(text.rstrip("°")) for text in page.run(column % 4)]
    assert angles == sorted(angles, reverse=True)
    page.run(
        "const only = document.getElementById('only'); only.value = '5';"
        "only.dispatchEvent(new Event('change'))"
    )
    assert set(page.run(column % 1)) == {"Z"}
    page.run("document.querySelector('#weights tbody tr').click()")
    assert page.text("row-note").count("%") == 5


@needs_browser
def test_hostile_names_run_nothing_and_themes_switch(open_page, hostile):
    page = open_page(hostile, width=360)
    assert page.run("return document.documentElement.scrollWidth") <= 360
    page.run("document.getElementById('theme').click()")
    page.wait("return document.getElementById('theme').textContent !== ''")
    page.wait("return window.cospanViews['chart-ternary'] !== undefined")
    assert page.run("return document.querySelectorAll('img').length") == 0
    assert page.console() == []


@needs_browser
def test_names_stay_readable_on_a_phone(open_page, digits):
    page = open_page(digits, width=320)
    assert page.run("return document.documentElement.scrollWidth") <= 320
    widths = "return [...document.querySelectorAll('.matrix tbody th')].map(th => th.offsetWidth)"
    assert min(page.run(widths)) >= 80
