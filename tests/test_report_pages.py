"""Pages in a browser: nothing is loaded, nothing complained about, on any screen and on paper."""

import base64
import re

import pytest

from browsing import AXE, Page, needs_browser, start
from test_report import RESULTS, shown

pytestmark = needs_browser
NAMES = (
    "mixed table", "five sets", "pictures", "nothing different", "nameless columns", "monitoring",
)  # fmt: skip


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    browser = start(tmp_path_factory.mktemp("profile"), tmp_path_factory.mktemp("downloads"))
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("pages")
    for name in NAMES:
        (made / f"{name}.html").write_text(shown(name, "html"), encoding="utf-8")
    return made


@pytest.fixture(params=NAMES)
def page(driver, folder, request):
    return Page(driver, folder / f"{request.param}.html")


def test_nothing_is_loaded_and_nothing_complained_about(page):
    page.open()
    assert page.console() == []
    assert [url for url in page.requests() if not url.startswith(("file:", "data:"))] == []


@pytest.mark.parametrize("width", [390, 1024, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_screen_scrolls_sideways(page, width, scheme):
    page.open(width, scheme=scheme)
    assert page.run("return document.documentElement.scrollWidth <= window.innerWidth")
    sizes = page.run(
        "return [...new Set([...document.querySelectorAll('body *')]"
        ".filter(e => e.textContent.trim()).map(e => getComputedStyle(e).fontSize))]"
    )
    assert len(sizes) <= 5, sizes


def test_everything_can_be_read_without_scripts(page):
    page.open(scripts=False)
    assert page.run is not None
    assert "cospan" in page.driver.page_source


@pytest.mark.parametrize("name", ["mixed table", "nothing different", "pictures"])
def test_a_pair_prints_on_four_pages(driver, folder, name):
    Page(driver, folder / f"{name}.html").open()
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    made = driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert len(re.findall(rb"/Type /Page\b[^s]", base64.b64decode(made["data"]))) <= 4
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen"})


def test_a_table_is_sorted_by_its_heads(driver, folder):
    page = Page(driver, folder / "mixed table.html").open()
    page.click("th[data-sort]:last-child button")
    values = page.run(
        "return [...document.querySelectorAll('#columns tbody tr')].map(r => +r.cells[5].dataset.v)"
    )
    assert values == sorted(values, reverse=True)


@pytest.mark.skipif(not AXE.exists(), reason="needs axe-core; COSPAN_AXE names its axe.min.js")
def test_everyone_can_read_it(page):
    page.open()
    page.run(AXE.read_text(encoding="utf-8"))
    found = page.driver.execute_async_script("axe.run().then(arguments[0])")
    assert [(one["id"], len(one["nodes"])) for one in found["violations"]] == []


assert {*NAMES} <= {*RESULTS, "monitoring"}
