# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A real browser without a window, which looks at pages that commands have written."""

import dataclasses
import json
from pathlib import Path

import pytest
from browser import start
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement


@dataclasses.dataclass(frozen=True)
class Browser:
    driver: webdriver.Chrome

    def open(self, page: Path) -> None:
        self.driver.get_log("performance"), self.driver.get_log("browser")  # of the page before
        self.driver.get(page.as_uri())

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def node(self, name: str) -> WebElement:
        """The drawn node or cluster whose label begins like this."""
        return self.one(f'#graph g[aria-label^="{name}"]')

    def hover(self, element: WebElement) -> str:
        """The text of the tip."""
        ActionChains(self.driver, duration=0).move_to_element(element).perform()
        tip = self.one("#tip")
        return tip.text if tip.is_displayed() else ""

    def scheme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def busy(self, script: str) -> float:
        """Milliseconds of CPU time that the page takes for a script and what follows from it until it is laid out."""
        self.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        before = self._busy()
        self.run(f"{script}; document.body.getBoundingClientRect()")
        return 1000 * (self._busy() - before)

    def _busy(self) -> float:
        metrics = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def requests(self) -> list[str]:
        """The addresses that the page has asked for, itself included."""
        messages = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="session")
def browser():
    """Fails, and says what to install, where there is none."""
    try:
        chrome = start("1400,900")
    except RuntimeError as error:
        pytest.fail(str(error), pytrace=False)
    yield Browser(chrome)
    chrome.quit()
