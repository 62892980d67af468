"""The report in a real browser: Chromium without a window, driven by Selenium."""

import json
import shutil
import time
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest

from cospan import report
from cospan.report import content_of
from report_cases import HOSTILE, comparison, digits_comparison, hostile_comparison

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="needs Debian's chromium and chromium-driver packages, which are not installed",
)


class Page:
    """A report open in the browser, and what a reader does with it."""

    def __init__(self, driver, path):
        self.driver = driver
        self.address = path.as_uri()

    def open(self):
        self.driver.get(self.address)
        self.wait("return document.documentElement.dataset.ready === 'yes'")
        return self

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, seconds=20):
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"never came true: {script}"
            time.sleep(0.05)

    def text(self, element_id):
        return self.run("return document.getElementById(arguments[0]).textContent", element_id)

    def move(self, slider, value):
        self.run(
            "const slider = document.getElementById(arguments[0]); slider.value = arguments[1];"
            "slider.dispatchEvent(new Event('input', {bubbles: true}))",
            slider,
            value,
        )

    def click_chart(self, chart, x, y):
        """A true mouse click at a place of the plotting area, x and y between 0 and 1."""
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.by import By

        canvas = self.driver.find_element(By.CSS_SELECTOR, f"#{chart} canvas")
        self.run("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", canvas)
        width, height = self.run(
            "return [arguments[0].clientWidth, arguments[0].clientHeight]", canvas
        )
        # Selenium measures from the middle of the element.
        ActionChains(self.driver).move_to_element_with_offset(
            canvas, round((x - 0.5) * width), round((y - 0.5) * height)
        ).click().perform()

    def console(self):
        return [entry for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def requests(self):
        """Addresses asked for since the last call, the page's own aside."""
        messages = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [
            params["request"]["url"]
            for params in sent
            if params["documentURL"] == self.address and params["request"]["url"] != self.address
        ]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-background-networking",
        "disable-component-update", "disable-sync", "no-first-run", "disable-dev-shm-usage",
        f"user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(DRIVER))
    browser.get("data:text/html,")
    yield browser
    browser.quit()


def window(driver, width=1200, height=900, scheme="light"):
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )


CASES = {
    "table": lambda: comparison(n_z=150),
    "pictures": lambda: comparison(d=64, image_shape=(8, 8), blocks=(4, 54, 6)),
    "digits": digits_comparison,
    "hostile": hostile_comparison,
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Cases and the files of their reports."""
    folder = tmp_path_factory.mktemp("reports")
    cases = {name: make() for name, make in CASES.items()}
    return {n: (case, report.write(case, folder / f"{n}.html")) for n, case in cases.items()}


@pytest.fixture
def opened(driver, written):
    def open_case(name, **how):
        window(driver, **how)
        case, path = written[name]
        page = Page(driver, path)
        page.console()
        page.requests()
        return case, page.open()

    return open_case


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_loads_without_errors_and_without_requests(opened, name, scheme):
    _, page = opened(name, scheme=scheme)
    page.move("threshold", 300)
    page.move("walk", 2)
    page.run("document.getElementById('theme').click()")
    page.run(
        "document.querySelectorAll('#conflict-table tbody tr, th button').forEach(e => e.click())"
    )
    page.wait("return document.querySelectorAll('.chart canvas').length === 3")
    assert page.console() == []
    assert page.requests() == []


def one_decimal(number):
    """As JavaScript's toFixed(1) rounds: exact halves up."""
    return str(Decimal(number).quantize(Decimal("0.1"), ROUND_HALF_UP))


def measures(case, step):
    """What the table of the threshold should say, from the counts of all rows."""
    a, b = case.group_a.counts, case.group_b.counts
    a_as_a, b_as_a = a[:step].sum(), b[:step].sum()
    a_as_b, b_as_b = a[step:].sum(), b[step:].sum()

    def percent(part, whole):
        return f"{one_decimal(100 * (int(part) / int(whole)))} %" if whole else "none"

    return {
        "threshold-value": f"{step / 10:.1f}°",
        "a-as-a": f"{a_as_a:,}",
        "a-as-b": f"{a_as_b:,}",
        "b-as-a": f"{b_as_a:,}",
        "b-as-b": f"{b_as_b:,}",
        "recall-a": percent(a_as_a, a.sum()),
        "recall-b": percent(b_as_b, b.sum()),
        "precision-a": percent(a_as_a, a_as_a + b_as_a),
        "precision-b": percent(b_as_b, a_as_b + b_as_b),
        "accuracy": percent(a_as_a + b_as_b, a.sum() + b.sum()),
    }


def test_slider_shows_the_right_numbers(opened):
    case, page = opened("table")
    z = case.group_z.counts
    for step in (450, 0, 1, 333, 451, 612, 899, 900):
        page.move("threshold", step)
        shown = measures(case, step)
        assert {key: page.text(key) for key in shown} == shown
        assert page.text("z-as-a") == f"{z[:step].sum():,}"
        assert page.text("z-as-b") == f"{z[step:].sum():,}"


def test_numbers_at_45_degrees_are_those_of_predict(opened):
    case, page = opened("table")
    assert page.text("a-as-b") == str(case.group_a.alignment.predict().sum())
    assert page.text("b-as-b") == str(case.group_b.alignment.predict().sum())


def test_threshold_goes_back(opened):
    case, page = opened("table")
    page.move("threshold", 100)
    page.run("document.querySelector('[data-threshold=\"450\"]').click()")
    assert page.text("accuracy") == measures(case, 450)["accuracy"]


def test_best_cut_has_the_best_mean_recall(opened):
    case, page = opened("table")
    page.run("document.querySelectorAll('[data-threshold]')[1].click()")
    step = round(10 * float(page.text("threshold-value")[:-1]))
    a, b = case.group_a.counts, case.group_b.counts
    recalls = [a[:k].sum() / a.sum() + b[k:].sum() / b.sum() for k in range(901)]
    assert recalls[step] == pytest.approx(max(recalls))
    assert page.text("accuracy") == measures(case, step)["accuracy"]


def cards(page):
    return page.run(
        "return [...document.querySelectorAll('#bin-samples .card')].map(card => [card"
        ".querySelector('.key').textContent, card.querySelector('.name').textContent,"
        " card.querySelector('.theta-value').textContent])"
    )


def plot_area(page, chart):
    """Left and width of the plotting area as parts of the canvas, from the chart itself."""
    return page.run(
        "const view = window.cospanViews[arguments[0]];"
        "const width = document.querySelector(`#${arguments[0]} canvas`).clientWidth;"
        "return [(view.origin()[0] + view.padding().left) / width, view.width() / width]",
        chart,
    )


@pytest.mark.parametrize("name", ["table", "pictures"])
def test_click_on_a_bin_shows_exactly_its_samples(opened, name):
    case, page = opened(name)
    content = content_of(case)
    left, width = plot_area(page, "chart-angles")
    for index in (3, 12, 14, 17, 25):
        page.click_chart("chart-angles", left + width * (index + 0.5) / 30, 0.5)
        title = f"Rows from {3 * index}° to {3 * index + 3}°"
        page.wait(f"return document.getElementById('bin-title').textContent === '{title}'")
        page.run("document.getElementById('bin-more').click()")
        shown = cards(page)
        expected = [
            [sample.group, sample.id, f"{one_decimal(sample.theta)}°"]
            for sample in content.samples
            if sample.bin == index
        ]
        assert sorted(shown) == sorted(expected)
        for group in content.groups:  # all of the bin's rows, or the most there is room for
            inside = sum(group.counts[30 * index : 30 * index + 30])
            found = sum(card[0] == group.key for card in shown)
            assert found == inside or found >= 30
            assert f"{inside:,} of {group.key}" in page.text("bin-note")


def test_stepping_through_bins(opened):
    _, page = opened("table")
    before = page.text("bin-title")
    page.run("document.getElementById('bin-after').click()")
    assert page.text("bin-title") != before
    page.run("document.getElementById('bin-before').click()")
    assert page.text("bin-title") == before


def canvas_pixels(page, selector):
    return np.array(
        page.run(
            "const canvas = document.querySelector(arguments[0]);"
            "const drawing = canvas.getContext('2d');"
            "return [...drawing.getImageData(0, 0, canvas.width, canvas.height).data]",
            selector,
        )
    ).reshape(-1, 4)


def test_walk_goes_from_a_only_over_shared_to_b_only(opened):
    case, page = opened("pictures")
    notes, seen = [], []
    for place in (0, 30, 63):
        page.move("walk", place)
        notes.append(page.text("direction-note"))
        seen.append(canvas_pixels(page, "#direction-picture canvas"))
    assert notes[0] == "0.0° · only A varies this way"
    assert "shared" in notes[1]
    assert notes[2] == "90.0° · only B varies this way"
    # the strongest pixel of a direction is the one farthest from the middle colour
    for place, pixels in zip((0, 30, 63), seen, strict=True):
        away = np.abs(pixels[:, :3] - np.array([0xF4, 0xF3, 0xF0])).sum(axis=1)
        h = case.frame.H[place]
        strongest = np.abs(h) > 0.995 * np.abs(h).max()
        same_sign = np.sign(h) == np.sign(h[np.abs(h).argmax()])
        assert strongest[np.where(same_sign, away, 0).argmax()]


def test_pull_to_a_is_blue_and_pull_to_b_orange(opened):
    case, page = opened("pictures")
    key, row, _ = cards(page)[0]
    group = {"A": case.group_a, "B": case.group_b}[key]
    pulls = group.attribution[np.flatnonzero(group.row_index == int(row))[0]]
    pixels = canvas_pixels(page, "#bin-samples .card figure + figure canvas")
    red, _, blue, _ = pixels[pulls.argmin()]
    assert blue > red
    red, _, blue, _ = pixels[pulls.argmax()]
    assert red > blue


@pytest.mark.parametrize("index", [0, 40, 63])
def test_click_on_a_direction_goes_there(opened, index):
    _, page = opened("pictures")
    left, width = plot_area(page, "chart-spectrum")
    page.click_chart("chart-spectrum", left + width * (index + 0.5) / 64, 0.4)
    page.wait(
        f"return document.getElementById('direction-title').textContent.includes(' {index + 1} of')"
    )


def test_direction_bars_name_the_strongest_features(opened):
    case, page = opened("table")
    page.move("walk", 4)
    names = page.run(
        "return [...document.querySelectorAll('#direction-features .name')].map(e => e.textContent)"
    )
    weights = case.frame.H / np.linalg.norm(case.frame.H, axis=0)
    order = np.argsort(-np.abs(weights[4]))[:10]
    assert names == [f"x{i}" for i in order]


def column(page, index):
    return page.run(
        "return [...document.querySelectorAll('#conflict-table tbody tr')]"
        ".map(row => row.children[arguments[0]].textContent)",
        index,
    )


def test_conflict_table_sorts_and_opens_a_row(opened):
    case, page = opened("table")
    suspicion = [float(text) for text in column(page, 4)]
    assert len(suspicion) == case.audit.flagged.sum()
    assert suspicion == sorted(suspicion, reverse=True)
    page.run("document.querySelector('[data-sort=theta]').click()")
    theta = [float(text[:-1]) for text in column(page, 3)]
    assert theta == sorted(theta, reverse=True)
    page.run("document.querySelector('[data-sort=theta]').click()")
    assert [float(text[:-1]) for text in column(page, 3)] == sorted(theta)
    page.run("document.querySelector('[data-sort=id]').click()")
    ids = column(page, 0)
    assert ids == sorted(ids, key=int)
    page.run("document.querySelector('#conflict-table tbody tr').click()")
    opened_id = page.run("return document.querySelector('#conflict-sample .name').textContent")
    assert opened_id == ids[0]


def background(page):
    return page.run("return getComputedStyle(document.body).backgroundColor")


def test_dark_mode_follows_the_system_and_the_button(opened):
    _, page = opened("table", scheme="light")
    light = background(page)
    page.run("document.getElementById('theme').click()")
    dark = background(page)
    assert sum(map(int, light[4:-1].split(","))) > 600 > 200 > sum(map(int, dark[4:-1].split(",")))
    _, page = opened("table", scheme="dark")
    assert background(page) == dark
    assert page.text("theme") == "Light"


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("width", [320, 400, 768])
def test_no_sideways_scrolling(opened, driver, name, width):
    _, page = opened(name, width=width)
    page.run("document.getElementById('bin-more').click()")
    assert page.run("return document.documentElement.scrollWidth") <= width
    charts = page.run(
        "return [...document.querySelectorAll('.chart canvas')]"
        ".map(canvas => canvas.getBoundingClientRect().right)"
    )
    assert max(charts) <= width


def test_charts_follow_the_width_of_the_window(opened, driver):
    _, page = opened("table", width=1200)
    wide = page.run("return document.querySelector('#chart-angles canvas').clientWidth")
    window(driver, width=500)
    page.run("window.dispatchEvent(new Event('resize'))")
    page.wait(f"return document.querySelector('#chart-angles canvas').clientWidth < {wide - 100}")


def test_hostile_names_stay_text(opened):
    _, page = opened("hostile")
    assert page.run("return document.querySelectorAll('#conflict-table tbody tr').length") == 8
    page.run("document.querySelectorAll('#conflict-table tbody tr').forEach(row => row.click())")
    for index in range(30):
        left, width = plot_area(page, "chart-angles")
        if index % 6 == 0:
            page.click_chart("chart-angles", left + width * (index + 0.5) / 30, 0.5)
        page.run("document.getElementById('bin-after').click()")
    assert page.run("return window.hacked") is None
    assert page.run("return document.querySelectorAll('img, main b, iframe').length") == 0
    assert page.run("return document.scripts.length") == 4
    heading = page.run("return document.querySelector('h1 .name').textContent")
    assert heading == HOSTILE["script"]
    assert page.console() == []
    assert page.requests() == []


def test_text_is_readable_by_contrast(opened):
    """Ink and muted text on their grounds reach 4.5 : 1 in both themes."""
    for scheme in ("light", "dark"):
        _, page = opened("table", scheme=scheme)
        ground, *inks = page.run(
            "const style = getComputedStyle(document.documentElement);"
            "return ['paper', 'ink', 'muted', 'a', 'b'].map(n => style.getPropertyValue('--' + n))"
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
