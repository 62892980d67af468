"""Report pages of very different data, and their screenshots: what to look at before a release.

    python benchmarks/report_pages.py FOLDER [--only NAME ...] [--small] [--no-screenshots]

writes one page for each case and, where Chromium is installed, screenshots of it at 1440, 1280 and
390 pixels, light and dark, and as it prints. Each line printed has the size of the page, how long
the browser took until it was ready, and the messages and requests it made (none are expected).
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, load_wine

from cospan import compare, monitor

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=1">',
    "{{ 7 * 7 }}{% raw %}${window.hacked=1}",
    "|x|`y`[link](http://evil.example)*z*",
    "a_very_long_column_name_without_any_space_" * 12,
    "👩🏽‍🔬🧪 mélange",
    "קובץ العربية \u202etxt.exe",
    "tab\tbell\x07line\u2028end",
)


def demo():
    X, y = load_digits(return_X_y=True)
    return compare(X[y == 4], X[y == 9], name_a="digit 4", name_b="digit 9", image_shape=(8, 8))


def mixed_table(n: int = 2_000):
    """Training and production of a shop: categories, dates, gaps, a relation that broke."""

    def rows(rng, later):
        age = rng.normal(42, 11, n).clip(18, 90)
        tenure = np.abs(rng.normal(32 + 9 * later, 18, n))
        income = np.exp(10.3 + 0.012 * age * (1 - later) + 0.5 * later + rng.normal(0, 0.25, n))
        plan = rng.choice(["basic", "plus", "family"], n, p=[0.5, 0.3, 0.2])
        if later:
            plan = np.where(rng.random(n) < 0.3, "trial", plan)
        start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
        if later:
            income[rng.random(n) < 0.2] = np.nan
        return pd.DataFrame(
            {
                "customer": [f"C{later}{i:05d}" for i in range(n)],
                "age": age.round(),
                "tenure": tenure.round(1),
                "income": income.round(-1),
                "plan": plan,
                "region": rng.choice(["north", "south", "east", "west"], n),
                "paperless": rng.random(n) < 0.6 + 0.1 * later,
                "calls": rng.poisson(2.0, n),
                "first order": start,
            }
        )

    rng = np.random.default_rng(0)
    return compare(
        rows(rng, 0), rows(rng, 1), name_a="train.csv", name_b="production.csv",
        id_column="customer",
    )  # fmt: skip


def wide_table(d: int = 300):
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(600, d)), rng.normal(size=(500, d))
    B[:, 7] += 0.6
    B[:, 40] *= 1.7
    names = [f"sensor_{j:03d}_temperature_celsius" for j in range(d)]
    return compare(
        pd.DataFrame(A, columns=names), pd.DataFrame(B, columns=names), name_a="may", name_b="june"
    )


def no_difference():
    rng = np.random.default_rng(2)
    names = ["height", "weight", "age", "income", "score"]
    A, B = (pd.DataFrame(rng.normal(50, 9, (400, 5)), columns=names) for _ in range(2))
    return compare(A, B, name_a="monday", name_b="tuesday")


def ten_sets():
    X, y = load_digits(return_X_y=True)
    return compare({f"digit {k}": X[y == k] for k in range(10)}, image_shape=(8, 8))


def three_tables():
    """Three sets of a table: every pair has its columns, relations and rows."""
    data = load_wine(as_frame=True)
    return compare({f"cultivar {k + 1}": data.data[data.target == k] for k in range(3)})


def over_time():
    """Half a year of a machine against the one before: from August on one column slowly drifts."""
    rng = np.random.default_rng(7)

    def rows(start, later):
        hours = np.arange(180 * 24) // 2 * 2
        table = pd.DataFrame(
            rng.normal(size=(len(hours), 4)), columns=["speed", "load", "heat", "noise"]
        )
        table["speed"] += 6 * later * np.clip(hours / hours.max() - 0.4, 0, 1)
        table.insert(0, "measured", pd.Timestamp(start) + pd.to_timedelta(hours, "h"))
        return table

    return monitor(rows("2024-01-01", 0), rows("2024-07-01", 1), time="measured", every="week")


def hostile_names():
    rng = np.random.default_rng(4)
    A, B = rng.normal(size=(120, 8)), rng.normal(size=(120, 8)) * [1, 1, 2, 1, 1, 1, 1, 1] + 0.4
    A[:6], B[:6] = B[:6] + 1, A[:6] - 1
    tables = []
    for X in (A, B):
        table = pd.DataFrame(X, columns=list(HOSTILE))
        table["who"] = [f"{HOSTILE[i % 8]} {i}" for i in range(len(X))]
        tables.append(table)
    return compare(*tables, name_a=HOSTILE[0], name_b=HOSTILE[6], id_column="who")


def million_rows(n: int = 500_000):
    rng = np.random.default_rng(5)
    names = [f"sensor {j}" for j in range(20)]
    A, B = rng.normal(size=(n, 20)), rng.normal(size=(n, 20))
    B[:, 3] += 0.3
    return compare(
        pd.DataFrame(A, columns=names), pd.DataFrame(B, columns=names), name_a="2023", name_b="2024"
    )


CASES = {
    "demo": demo,
    "mixed": mixed_table,
    "wide": wide_table,
    "none": no_difference,
    "ten": ten_sets,
    "tables": three_tables,
    "time": over_time,
    "hostile": hostile_names,
    "million": million_rows,
}


# ---- the browser -------------------------------------------------------------------------------


def browser(folder: Path):
    """Chromium without a window, or None where it is not installed."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        return None
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars", "no-first-run",
        "disable-background-networking", "disable-component-update", "disable-sync",
        "disable-dev-shm-usage", f"user-data-dir={folder / 'profile'}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


def opened(driver, path: Path, width: int, height: int, scheme: str) -> float:
    """Open a page; the seconds until it was ready."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    started = time.perf_counter()
    driver.get(path.as_uri())
    while driver.execute_script("return document.readyState") != "complete":
        assert time.perf_counter() - started < 30, f"{path} is never ready"
        time.sleep(0.01)
    return time.perf_counter() - started


def noise(driver, path: Path) -> tuple[list[str], list[str]]:
    """Messages on the console, and addresses asked for besides the page's own."""
    messages = [entry["message"] for entry in driver.get_log("browser")]
    sent = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [
        one["params"]["request"]["url"]
        for one in sent
        if one["method"] == "Network.requestWillBeSent"
        and one["params"].get("documentURL") == path.as_uri()
    ]
    return messages, [url for url in asked if url != path.as_uri() and url[:5] != "data:"]


def shoot(driver, path: Path, folder: Path) -> None:
    """The first screen and the whole page at three widths, light and dark; and on paper."""
    for name, width, scheme in (
        ("1440-light", 1440, "light"), ("1440-dark", 1440, "dark"), ("1280-light", 1280, "light"),
        ("1280-dark", 1280, "dark"), ("390-light", 390, "light"), ("390-dark", 390, "dark"),
    ):  # fmt: skip
        opened(driver, path, width, 900 if width > 600 else 844, scheme)
        driver.save_screenshot(str(folder / f"{path.stem}-{name}-first.png"))
        driver.execute_script(
            "document.querySelectorAll('details').forEach(one => { one.open = true; });"
        )
        size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": width, "height": min(size["height"], 7_000), "scale": 1}
        taken = driver.execute_cdp_cmd(
            "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
        )
        (folder / f"{path.stem}-{name}.png").write_bytes(base64.b64decode(taken["data"]))
    printed = driver.execute_cdp_cmd(
        "Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True}
    )
    (folder / f"{path.stem}-print.pdf").write_bytes(base64.b64decode(printed["data"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--small", action="store_true", help="20,000 rows in place of 1,000,000")
    parser.add_argument("--no-screenshots", action="store_true")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    failed = False
    with tempfile.TemporaryDirectory() as scratch:
        driver = browser(Path(scratch))
        for name in given.only:
            small = given.small and name == "million"
            found = million_rows(10_000) if small else CASES[name]()
            path = found.save(given.folder.resolve() / f"{name}.html")
            line = f"{name:10} {path.stat().st_size / 1e6:5.2f} MB"
            bad = path.stat().st_size > 800e3
            if driver is not None:
                driver.get("data:text/html,")
                noise(driver, path)
                # The fastest of three: other programs may want the same cores.
                seconds = min(opened(driver, path, 1440, 900, "light") for _ in range(3))
                messages, requests = noise(driver, path)
                bad |= bool(messages or requests) or seconds > 0.5
                line += f"  ready in {seconds:.2f} s, {len(messages)} messages, "
                line += f"{len(requests)} requests"
                if not given.no_screenshots:
                    shoot(driver, path, given.folder)
            print(f"{line}{'  TOO MUCH' if bad else ''}", flush=True)
            failed |= bad
        if driver is not None:
            driver.quit()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
