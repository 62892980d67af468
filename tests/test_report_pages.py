"""Pages in a browser: nothing is loaded, nothing complained about, on any screen and on paper."""

import base64
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from test_report import shown

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="needs Debian's chromium and chromium-driver packages, which are not installed",
)
# axe-core checks accessibility: npm pack axe-core, and name its axe.min.js here.
AXE = Path(os.environ.get("COSPAN_AXE", "/usr/share/javascript/axe-core/axe.min.js"))
NAMES = (
    "mixed table", "five sets", "pictures", "nothing different", "nameless columns", "monitoring",
)  # fmt: skip
PAIRS = ("mixed table", "nothing different", "pictures", "nameless columns")


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
    browser.set_script_timeout(60)
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in NAMES}
    for name, path in found.items():
        path.write_text(shown(name, "html"), encoding="utf-8")
    return {name: path.as_uri() for name, path in found.items()}


def open_page(driver, address, width=1440, scheme="light", scripts=True):
    """Open a page and wait until it is loaded."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
    driver.get(address)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_loaded_and_nothing_complained_about(driver, pages, name):
    for log in ("browser", "performance"):
        driver.get_log(log)
    open_page(driver, pages[name])
    assert driver.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [one["params"] for one in events if one["method"] == "Network.requestWillBeSent"]
    asked = {one["request"]["url"] for one in sent if one["documentURL"] == pages[name]}
    assert {url for url in asked if not url.startswith("data:")} == {pages[name]}


@pytest.mark.parametrize("name", NAMES)
def test_no_screen_scrolls_sideways(driver, pages, name):
    for width, scheme in ((390, "light"), (390, "dark"), (1024, "light"), (1440, "dark")):
        open_page(driver, pages[name], width, scheme)
        for unfolded in (False, True):
            wide = driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, (width, scheme, unfolded)
            driver.execute_script(
                "document.querySelectorAll('details').forEach(x => x.open = true)"
            )
        sizes = driver.execute_script(
            "return [...new Set([...document.querySelectorAll('body *')]"
            ".filter(e => e.textContent.trim()).map(e => getComputedStyle(e).fontSize))]"
        )
        assert len(sizes) <= 5, sizes


def test_everything_can_be_read_without_scripts(driver, pages):
    open_page(driver, pages["mixed table"], scripts=False)
    assert "income is missing" in driver.find_element("tag name", "main").text


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_prints_on_four_pages(driver, pages, name):
    open_page(driver, pages[name])
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    made = driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert len(re.findall(rb"/Type /Page\b[^s]", base64.b64decode(made["data"]))) <= 4
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen"})


def test_a_table_is_sorted_by_its_heads(driver, pages):
    open_page(driver, pages["mixed table"])
    driver.execute_script("document.querySelector('th[data-sort]:last-child button').click()")
    values = driver.execute_script(
        "return [...document.querySelectorAll('#columns tbody tr')].map(r => +r.cells[4].dataset.v)"
    )
    assert values == sorted(values, reverse=True)


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core; COSPAN_AXE names its axe.min.js")
@pytest.mark.parametrize("name", NAMES)
def test_everyone_can_read_it(driver, pages, name):
    for scheme in ("light", "dark"):
        open_page(driver, pages[name], scheme=scheme)
        driver.execute_script("document.querySelectorAll('details').forEach(x => x.open = true)")
        driver.execute_script(AXE.read_text(encoding="utf-8"))
        found = driver.execute_async_script("axe.run().then(arguments[0])")
        assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
