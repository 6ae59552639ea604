"""Headless Chromium for pages: open, resize, switch to dark, ask what went wrong."""

import base64
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

# One process without a desktop, that talks to nobody.
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


class Browser:
    """A browser to look at one page at a time."""

    def __init__(self, profile: Path) -> None:
        selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        driver = shutil.which("chromedriver")
        if chromium is None or driver is None:
            pytest.skip("chromium or chromedriver is not installed")
        options = selenium.ChromeOptions()
        options.binary_location = chromium
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        # Named, so that selenium does not go and look for one on the network.
        self.driver = selenium.Chrome(options, selenium.ChromeService(driver))

    def open(self, page: Path, width: int = 1000, *, dark: bool = False, medium: str = "") -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._ask("Emulation.setEmulatedMedia", media=medium, features=[scheme])
        # A window has a least width, a device has not.
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self.driver.get(page.resolve().as_uri())

    def run(self, script: str):
        """The value of a JavaScript expression."""
        return self.driver.execute_script(f"return {script}")

    def wait_for(self, script: str):
        """The value of a JavaScript expression, once it has one; on a busy machine that is late."""
        from selenium.webdriver.support.wait import WebDriverWait

        return WebDriverWait(self.driver, 120).until(lambda _: self.run(script))

    def texts(self, selector: str) -> list[str]:
        return self.run(f"[...document.querySelectorAll({selector!r})].map(e => e.textContent)")

    def complaints(self) -> list[str]:
        """What the page wrote to the console since it was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def loaded(self) -> list[str]:
        """Addresses that the page fetched besides itself."""
        return self.run("performance.getEntriesByType('resource').map(e => e.name)")

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return self.run("document.documentElement.scrollWidth - window.innerWidth")

    def background(self) -> str:
        return self.run("getComputedStyle(document.body).backgroundColor")

    def capture(self, path: Path) -> None:
        """The whole page, from top to bottom."""
        content = self._ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(content))

    def quit(self) -> None:
        self.driver.quit()

    def _ask(self, command: str, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)


def contrast(one, other):
    """Contrast ratio of two CSS colours, 1 to 21, as accessibility guidelines define it."""
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(colour):
    parts = np.array([int(n) for n in re.findall(r"\d+", colour)[:3]]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
