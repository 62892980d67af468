"""Take the screenshots of the documentation: python docs/images/take_screenshots.py"""

import base64
import io
import tempfile
import time
from pathlib import Path

from PIL import Image
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from sklearn.datasets import load_breast_cancer, load_digits

from cospan import compare, compare_many

HERE = Path(__file__).parent


def digits(folder):
    X, y = load_digits(return_X_y=True)
    found = compare(
        X[y == 4], X[y == 9], X[y == 7],
        name_a="digit 4", name_b="digit 9", name_z="digit 7", image_shape=(8, 8),
    )  # fmt: skip
    return found.save_html(folder / "digits.html")


def table(folder):
    data = load_breast_cancer(as_frame=True)
    malignant, benign = data.data[data.target == 0], data.data[data.target == 1]
    found = compare(malignant, benign, name_a="malignant", name_b="benign")
    return found.save_html(folder / "table.html")


def many(folder):
    X, y = load_digits(return_X_y=True)
    found = compare_many(
        {f"digit {k}": X[y == k] for k in (3, 8, 9)}, X[y == 5], name_z="digit 5",
        image_shape=(8, 8),
    )  # fmt: skip
    return found.save_html(folder / "many.html")


def browser(folder):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars", "no-first-run"):
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={folder / 'profile'}")
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def shoot(driver, page, name, *, width=1160, scheme="light", first=0, last=None, before=None):
    """One picture: the page from one section (a CSS selector) to the end of another."""
    command = driver.execute_cdp_cmd
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    command("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    command("Emulation.setDeviceMetricsOverride", metrics)
    driver.get(page.as_uri())
    while driver.execute_script("return document.documentElement.dataset.ready") != "yes":
        time.sleep(0.05)
    if before:
        driver.execute_script(before)
    driver.execute_script("document.querySelector('.masthead').style.position = 'static'")
    time.sleep(0.5)
    edge = "const e = document.querySelector(arguments[0]).getBoundingClientRect(); return e."
    top = driver.execute_script(f"{edge}top + scrollY", first) if first else 0
    bottom = driver.execute_script(f"{edge}bottom + scrollY", last)
    clip = {"x": 0, "y": top, "width": width, "height": bottom - top, "scale": 1}
    shot = command("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    image = Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")
    image = image.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    path = HERE / f"{name}.png"
    image.save(path, optimize=True)
    print(f"{path.name}: {image.width} x {image.height}, {path.stat().st_size / 1000:.0f} kB")


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        pages = digits(folder), table(folder), many(folder)
        driver = browser(folder)
        try:
            shoot(driver, pages[2], "report-many", last="#where")
            shoot(driver, pages[0], "report-digits", last="#pictures")
            shoot(
                driver, pages[0], "report-digits-dark", scheme="dark", first="#where",
                last="#rows", before="document.querySelector('.rows-table tbody tr').click()",
            )  # fmt: skip
            shoot(driver, pages[1], "report-table", last="#features")
            shoot(
                driver, pages[1], "report-table-labels", first="#rows", last="#rows",
                before="document.querySelector('.rows-table tbody tr').click()",
            )  # fmt: skip
            shoot(driver, pages[1], "report-phone", width=400, last=".parts")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
