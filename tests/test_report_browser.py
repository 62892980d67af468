"""The report in a real browser: every control is used, and nothing else happens."""

import json
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine

from browsing import AXE, Page, needs_browser, start
from cospan import compare, compare_many, report
from cospan.report import content_of
from report_cases import (
    HOSTILE,
    comparison,
    digits_comparison,
    hostile_comparison,
    mixed_table,
)

pytestmark = needs_browser


def three_sets():
    X, y = load_digits(return_X_y=True)
    sets = {f"digit {k}": X[y == k] for k in (3, 8, 9)}
    return compare_many(sets, X[y == 5], name_z="digit 5", image_shape=(8, 8))


def three_tables():
    data = load_wine(as_frame=True)
    sets = {f"cultivar {k}": data.data[data.target == k] for k in range(3)}
    sets["cultivar 1"] = pd.concat([sets["cultivar 1"], sets["cultivar 0"].iloc[:3]])
    return compare_many(sets)


def over_time():
    rng = np.random.default_rng(0)
    tables = []
    for drift, begin in ((0, "2024-01-01"), (4, "2024-07-01")):
        days = np.sort(rng.integers(0, 180, 300))
        table = pd.DataFrame(rng.normal(size=(300, 3)), columns=["speed", "load", "heat"])
        table["speed"] += drift * days / 180
        tables.append(table.assign(when=pd.Timestamp(begin) + pd.to_timedelta(days, "D")))
    return compare(*tables, n_permutations=49)


CASES = {
    "table": lambda: comparison(n_z=60),
    "mixed": mixed_table,
    "digits": digits_comparison,
    "hostile": hostile_comparison,
    "wide": lambda: comparison(80, 80, 320),
    "three": three_sets,
    "tables": three_tables,
    "time": over_time,
}


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def driver(tmp_path_factory, downloads):
    browser = start(tmp_path_factory.mktemp("profile"), downloads)
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Cases and the files of their reports, made when they are asked for."""
    folder, made = tmp_path_factory.mktemp("reports"), {}

    def get(name):
        if name not in made:
            case = CASES[name]()
            made[name] = case, report.write(case, folder / f"{name}.html")
        return made[name]

    return get


@pytest.fixture
def opened(driver, written):
    def open_case(name, **how):
        case, path = written(name)
        return case, Page(driver, path).open(**how)

    yield open_case
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ready_without_messages_and_requests(opened, name, scheme):
    _, page = opened(name, scheme=scheme)
    page.run(
        "document.querySelectorAll('details').forEach(one => { one.open = true; });"
        "const all = '.sortable th button, .rows-table tr, [role=tab], .matrix button';"
        "document.querySelectorAll(all).forEach(one => one.click())"
    )
    assert page.quiet()


@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core; name its axe.min.js in COSPAN_AXE")
@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (390, "light")])
def test_no_violation_of_accessibility(opened, name, width, scheme):
    _, page = opened(name, width=width, scheme=scheme)
    page.run(
        "document.querySelectorAll('details').forEach(one => { one.open = true; });"
        "document.querySelector('.rows-table tbody tr')?.click()"
    )
    assert page.violations() == []


# ---- the first screen --------------------------------------------------------------------------


def inside_first_screen(page, selector):
    return page.run(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight",
        selector,
    )


@pytest.mark.parametrize("name", ["table", "mixed", "digits"])
def test_five_questions_are_answered_by_the_first_screen(opened, name):
    case, page = opened(name, width=1440, height=900)
    questions = {  # do they differ, how much, in what, which column first, how many rows
        "#badge": content_of(case).badge,
        ".tile:nth-child(1)": "of 100",
        ".verdict": "which is which",
        "#findings li:first-child": None,
        ".tile:nth-child(4)": "Rows to check",
    }
    if name != "table":
        questions["#findings li:first-child"] = case.features[0].name
    for selector, text in questions.items():
        assert inside_first_screen(page, selector), selector
        if text is not None:
            found = page.run("return document.querySelector(arguments[0]).textContent", selector)
            assert text in found or text in page.text("verdict")
    assert inside_first_screen(page, ".tile:nth-child(2)")
    assert case.features[0].name in page.text("tiles")


@pytest.mark.parametrize("name", ["mixed", "digits", "three"])
def test_without_scripts_everything_is_there(opened, name):
    case, page = opened(name, scripts=False)
    content = content_of(case)
    text = page.driver.find_element("tag name", "body").text
    for sentence in content.verdict:
        assert sentence in text
    for feature in content.features[:20]:
        assert feature.name in text
    for tab in content.tabs:
        assert tab.title in text
    for row in content.rows[:20]:
        assert row.id in text
    assert page.driver.find_elements("css selector", "svg")


# ---- tables ------------------------------------------------------------------------------------


def column(page, table, index):
    return page.run(
        "return [...document.querySelectorAll(arguments[0] + ' tbody tr')].filter(r => !r.hidden)"
        ".map(r => r.cells[arguments[1]].dataset.v ?? r.cells[arguments[1]].textContent)",
        table, index,
    )  # fmt: skip


def test_columns_are_sorted_and_found(opened):
    case, page = opened("mixed")
    page.click("#features th:nth-child(8) button")
    parts = [float(value) for value in column(page, "#features", 7)]
    assert parts == sorted(parts, reverse=True)
    order = "return document.querySelector('#features th:nth-child(8)').ariaSort"
    assert page.run(order) == "descending"
    page.click("#features th:nth-child(8) button")
    assert [float(v) for v in column(page, "#features", 7)] == sorted(parts)
    page.set("find", "INCO")
    assert page.shown("#features tbody th .name") == ["income"]
    assert page.text("found") == "1 found"
    page.set("find", "")
    page.click("#only-changed")
    changed = page.shown("#features tbody th .name")
    assert sorted(changed) == sorted(one.name for one in case.features.changed)


def test_all_columns_are_there_when_asked_for(opened):
    _, page = opened("wide")
    assert len(page.shown("#features tbody tr")) == 12
    page.set("find", "x319")
    assert page.shown("#features tbody th .name") == ["x319"]
    page.set("find", "")
    page.click("#more-features")
    assert len(page.shown("#features tbody tr")) == 320
    page.click("#features th:nth-child(1) button")
    assert page.shown("#features tbody th .name")[0] == "x319"


# ---- where the rows fall -----------------------------------------------------------------------


def test_the_cut_counts_all_rows(opened):
    case, page = opened("table")
    groups = dict(zip("ABZ", case.groups, strict=True))
    for step in (450, 0, 333, 612, 900):
        page.set("cut", step)
        assert page.text("cut-value") == f"{step / 10:.1f}°"
        for key, group in groups.items():
            below = int(group.counts[:step].sum())
            cells = page.run(
                "return [...document.querySelector(`#counts tr[data-key=${arguments[0]}]`).cells]"
                ".map(cell => cell.textContent)", key,
            )  # fmt: skip
            assert cells[1:3] == [f"{below:,}", f"{group.counts.sum() - below:,}"]
    page.click("#cut-reset")
    assert page.text("cut-value") == "45.0°"


def listed(page):
    """Angles of the rows in the open list."""
    shown = page.shown("#tabs .panel:not([hidden]) tbody tr:not([hidden]) td[data-v]")
    return [float(text[:-1]) for text in shown]


def test_brushing_the_angles_filters_rows_and_marks_the_map(opened):
    _, page = opened("table")
    page.click("#tab-spread-tab")
    before = listed(page)
    page.drag("#angle-chart", (0.06, 0.5), (0.5, 0.5))
    page.wait("return document.getElementById('selected').textContent !== ''")
    low, high = (page.run(f"return document.getElementById('{i}').value") for i in ("from", "to"))
    assert 0 <= int(low) <= 5
    assert 38 <= int(high) <= 48
    after = listed(page)
    assert 0 < len(after) < len(before)
    assert max(after) <= int(high) + 1
    dim = page.run("return document.querySelectorAll('#cost-map circle.dim').length")
    lit = page.run("return document.querySelectorAll('#cost-map circle:not(.dim)').length")
    assert min(dim, lit) > 0
    assert f"{lit:,} rows on the map, {len(after)} in the open list" in page.text("selected")
    page.click("#clear")
    assert listed(page) == before
    assert page.text("selected") == ""
    assert page.quiet()


def test_brushing_the_map_marks_the_angles_and_filters_rows(opened):
    _, page = opened("table")
    page.click("#tab-spread-tab")
    before = listed(page)
    page.drag("#cost-map", (0.12, 0.05), (0.5, 0.85))
    page.wait("return document.querySelectorAll('#angle-marks path').length > 0")
    assert len(listed(page)) < len(before)
    page.drag("#cost-map", (0.95, 0.03), (0.95, 0.03))  # a click where no row is
    page.wait("return document.querySelectorAll('#angle-marks path').length === 0")
    assert listed(page) == before


def test_angles_can_be_given_by_hand(opened):
    _, page = opened("table")
    page.click("#tab-spread-tab")
    page.set("from", 60, "change")
    assert min(listed(page)) >= 60
    page.set("to", 75, "change")
    assert max(listed(page)) <= 75


def test_a_click_on_a_dot_opens_its_row(opened):
    case, page = opened("table")
    from selenium.webdriver import ActionChains

    dot = page.driver.find_element("css selector", "#cost-map g.b circle[data-row]")
    page.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", dot)
    # Dots cover each other: the one on top answers.
    ActionChains(page.driver).move_to_element(dot).click().perform()
    page.wait("return document.querySelector('#detail h3') !== null")
    shown = page.run("return document.querySelector('#detail h3 .name').textContent")
    assert shown in {row.id for row in content_of(case).rows}


# ---- rows --------------------------------------------------------------------------------------


def test_tabs_by_mouse_and_by_keyboard(opened):
    from selenium.webdriver.common.keys import Keys

    case, page = opened("table")
    tabs = page.driver.find_elements("css selector", "[role=tab]")
    content = content_of(case)
    assert [tab.text.rsplit(" ", 1)[0] for tab in tabs] == [tab.title for tab in content.tabs]
    chosen = page.run("return document.querySelector('[role=tab][aria-selected=true]').id")
    page.driver.find_element("id", chosen).send_keys(Keys.ARROW_RIGHT)
    after = page.run("return document.activeElement.id")
    assert after != chosen
    assert len(page.driver.find_elements("css selector", ".panel:not([hidden])")) == 1
    page.click("[role=tab]")
    assert tabs[0].get_attribute("aria-selected") == "true"


def test_a_row_opens_with_its_values(opened):
    case, page = opened("mixed")
    content = content_of(case)
    place = next(tab for tab in content.tabs if tab.rows).rows[0]
    row = content.rows[place]
    page.click(f"tr[data-row='{place}'] .open")
    assert page.run("return document.querySelector('#detail h3 .name').textContent") == row.id
    values = page.run(
        "return [...document.querySelectorAll('#detail .values tbody tr')]"
        ".map(line => [...line.cells].map(cell => cell.textContent))"
    )
    names = [name for name, _ in content.columns]
    assert [line[0] for line in values] == [names[value.column] for value in row.values]
    assert [line[1] for line in values] == [value.text for value in row.values]
    assert [line[5] for line in values] == list(row.nearest.values)
    assert values[0][4] == f"strongly to {'B' if row.values[0].pull > 0 else 'A'}"
    assert row.nearest.id in page.text("detail")


def test_a_picture_opens_with_its_pull_and_its_neighbour(opened):
    _, page = opened("digits")
    page.click("#tab-b-in-a tbody tr")
    shown = page.run(
        "return [...document.querySelectorAll('#detail img')].map(i => [i.naturalWidth, i.alt])"
    )
    assert [width for width, _ in shown] == [8, 8, 8]
    assert shown[2][1].startswith("nearest of digit 9")


# ---- buttons -----------------------------------------------------------------------------------


def saved(downloads, name):
    path = downloads / name
    end = time.monotonic() + 10
    while not path.is_file() or path.stat().st_size == 0:
        assert time.monotonic() < end, f"{name} was never saved"
        time.sleep(0.05)
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return text


def test_files_can_be_saved(opened, downloads):
    import csv

    case, page = opened("mixed")
    content = content_of(case)
    page.click("#rows-csv")
    rows = list(csv.DictReader(saved(downloads, "rows.csv").splitlines()))
    assert [row["row"] for row in rows] == [row.id for row in content.rows]
    assert rows[0]["plan"] in ("basic", "plus", "trial")
    page.click("#features-csv")
    features = list(csv.DictReader(saved(downloads, "columns.csv").splitlines()))
    assert [one["column"] for one in features] == [one.name for one in content.features]
    page.click("#json")
    assert json.loads(saved(downloads, "report.json")) == json.loads(report.to_json(case))
    assert page.console() == []


def test_saved_cells_run_no_formula(opened, downloads):
    _, page = opened("mixed")
    page.run("window.print = () => { window.printed = true; }")
    page.click("#print")
    assert page.run("return window.printed")
    page.click("#rows-csv")
    assert "\n=" not in saved(downloads, "rows.csv")


def test_the_summary_can_be_copied(opened):
    case, page = opened("mixed")
    allowed = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    page.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": allowed})
    page.click("#copy")
    page.wait("return document.getElementById('said').textContent === 'Copied the summary.'")
    copied = page.driver.execute_async_script(
        "const done = arguments[0]; navigator.clipboard.readText().then(done, () => done(null))"
    )
    if copied is not None:  # a browser without a window may keep its clipboard to itself
        for sentence in content_of(case).verdict:
            assert sentence in copied


def background(page):
    return page.run("return getComputedStyle(document.body).backgroundColor")


def test_the_theme_follows_the_system_and_is_remembered(opened):
    _, page = opened("table", scheme="light")
    light = background(page)
    page.click("#theme")
    dark = background(page)
    assert sum(map(int, light[4:-1].split(","))) > 600 > 200 > sum(map(int, dark[4:-1].split(",")))
    _, page = opened("table", scheme="light")
    assert background(page) == dark
    assert page.text("theme") == "Light"
    page.run("localStorage.clear()")
    _, page = opened("table", scheme="dark")
    assert background(page) == dark


def test_on_paper_all_is_light_and_open(opened):
    _, page = opened("mixed", scheme="dark")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        assert background(page) == "rgb(255, 255, 255)"
        panels = page.run(
            "return [...document.querySelectorAll('.panel:not(#tab-spread, #tab-z)')]"
            ".every(p => getComputedStyle(p).display !== 'none')"
        )
        assert panels
        assert not page.shown(".masthead")
    finally:
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


# ---- more than two sets ------------------------------------------------------------------------


def test_a_cell_of_the_matrix_shows_its_pair(opened):
    _, page = opened("three")
    page.click(".matrix td[data-pair='0-2'] button")
    titles = page.shown(".pair h4")
    assert len(titles) == 1
    assert titles[0].split() == ["digit", "3", "and", "digit", "9"]
    pressed = page.shown(".matrix button[aria-pressed=true]")
    assert len(pressed) == 2
    page.click("#tab-z tbody tr")
    assert page.text("detail").count("%") >= 3
    assert page.quiet()


def test_a_pair_has_columns_rows_and_a_link(opened):
    _case, page = opened("tables")
    assert page.run("return location.hash") == ""
    page.click(".matrix td[data-pair='0-1'] button")
    assert (
        page.run("return document.querySelectorAll('.pair:not([hidden]) .features tr').length") > 3
    )
    page.click(".pair:not([hidden]) .row-list button")
    told = page.run("return document.querySelector('.pair:not([hidden]) .pair-detail').innerText")
    assert "proline" in told
    assert "Mean of" in told
    assert page.quiet()


def test_a_cell_leads_to_its_pair_without_scripts(opened):
    _, page = opened("tables", scripts=False)
    links = page.run(
        "return [...document.querySelectorAll('.matrix a')].map(a =>"
        "document.querySelector(a.getAttribute('href')) !== null)"
    )
    assert len(links) == 6
    assert all(links)


# ---- any screen, any name ----------------------------------------------------------------------


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_no_sideways_scrolling(opened, name, width):
    _, page = opened(name, width=width)
    page.run(
        "document.querySelectorAll('details').forEach(one => { one.open = true; });"
        "document.querySelector('.rows-table tbody tr')?.click()"
    )
    assert page.run("return document.documentElement.scrollWidth") <= width
    assert not page.run(  # numbers are never broken over two lines
        "return [...document.querySelectorAll('.tile .value a, .right')]"
        ".some(e => e.getClientRects().length > 1)"
    )


def test_hostile_names_stay_text(opened):
    _, page = opened("hostile")
    page.run(
        "document.querySelectorAll('.rows-table tbody tr, [role=tab], th button')"
        ".forEach(one => one.click())"
    )
    assert page.run("return window.hacked") is None
    assert page.run("return document.querySelectorAll('main b, iframe, img').length") == 0
    assert page.run("return document.scripts.length") == 3
    assert page.run("return document.querySelector('h1 .name').textContent") == HOSTILE["script"]
    assert page.quiet()


def test_text_is_readable_by_contrast(opened):
    """Text on its ground reaches 4.5 : 1 in both themes."""
    for scheme in ("light", "dark"):
        _, page = opened("table", scheme=scheme)
        page.run("localStorage.clear()")
        ground, *inks = page.run(
            "const style = getComputedStyle(document.documentElement);"
            "return ['paper', 'ink', 'muted', 'a', 'b', 'level-large', 'level-small', 'level-none']"
            ".map(n => style.getPropertyValue('--' + n))"
        )
        for ink in inks:
            assert contrast(ink.strip(), ground.strip()) >= 4.5


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))
