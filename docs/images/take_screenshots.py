"""Take the screenshots of the documentation: python docs/images/take_screenshots.py"""

import base64
import io
import tempfile
import time
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from sklearn.datasets import load_digits

from cospan import compare
from cospan.cli.commands import patients

HERE = Path(__file__).parent


def table(folder):
    """The table of `cospan demo`."""
    return compare(patients()).save(folder / "table.html")


def digits(folder):
    X, y = load_digits(return_X_y=True)
    found = compare(
        X[y == 4], X[y == 9], X[y == 7],
        name_a="digit 4", name_b="digit 9", image_shape=(8, 8),
    )  # fmt: skip
    return found.save(folder / "digits.html")


def many(folder):
    X, y = load_digits(return_X_y=True)
    sets = {f"digit {k}": X[y == k] for k in (3, 8, 9)}
    return compare(sets, Z=X[y == 5]).save(folder / "many.html")


def browser(folder):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars", "no-first-run"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={folder / 'profile'}")
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def shoot(driver, page, name, *, width=1160, last):
    """One picture: the page from its top to the end of an element (a CSS selector)."""
    command = driver.execute_cdp_cmd
    features = [{"name": "prefers-color-scheme", "value": "light"}]
    command("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    command("Emulation.setDeviceMetricsOverride", metrics)
    driver.get(page.as_uri())
    time.sleep(1)
    edge = "const e = document.querySelector(arguments[0]).getBoundingClientRect(); return e."
    bottom = driver.execute_script(f"{edge}bottom + scrollY", last)
    clip = {"x": 0, "y": 0, "width": width, "height": bottom, "scale": 1}
    shot = command("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    image = image.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    path = HERE / f"{name}.png"
    image.save(path, optimize=True)
    print(f"{path.name}: {image.width} x {image.height}, {path.stat().st_size / 1000:.0f} kB")


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        driver = browser(folder)
        try:
            shoot(driver, table(folder), "report-table", last="#columns tbody tr:nth-child(4)")
            shoot(driver, digits(folder), "report-digits", last="#strip")
            shoot(driver, many(folder), "report-many", last="#pairs")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
