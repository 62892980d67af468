"""A report open in Chromium without a window, and what a reader does with it."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None,
    reason="needs Debian's chromium and chromium-driver packages, which are not installed",
)
# axe-core checks accessibility: npm pack axe-core, and name its axe.min.js here.
AXE = Path(os.environ.get("COSPAN_AXE", "/usr/share/javascript/axe-core/axe.min.js"))


def start(profile, downloads):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-background-networking",
        "disable-component-update", "disable-sync", "no-first-run", "disable-dev-shm-usage",
        f"user-data-dir={profile}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(DRIVER))
    browser.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)}
    )
    browser.set_script_timeout(60)
    browser.get("data:text/html,")
    return browser


class Page:
    """One report."""

    def __init__(self, driver, path):
        self.driver, self.address = driver, path.as_uri()
        self.console()
        self.requests()

    def open(self, width=1440, height=900, scheme="light", scripts=True):
        cdp = self.driver.execute_cdp_cmd
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        cdp("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        cdp("Emulation.setEmulatedMedia", {"features": features})
        cdp("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        self.driver.get(self.address)
        if scripts:
            self.wait("return document.readyState === 'complete'")
        return self

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, seconds=20):
        end = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < end, f"never came true: {script}"
            time.sleep(0.02)

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).click()", selector)

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Addresses asked for since the last call, besides the page's own and its pictures."""
        messages = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        asked = [p["request"]["url"] for p in sent if p["documentURL"] == self.address]
        return [url for url in asked if url != self.address and not url.startswith("data:")]

    def quiet(self):
        return self.console() == [] and self.requests() == []

    def violations(self):
        """What axe-core finds wrong."""
        self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text()})
        return self.driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run().then(found => done(found.violations.map(v => [v.id, v.nodes[0].html])))"
        )
