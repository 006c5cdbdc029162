# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The browser that looks at pages, without a window."""

import subprocess
from pathlib import Path

from selenium import webdriver

SYSTEM_PACKAGES = Path(__file__).resolve().parent.parent / "tools" / "system-packages"
OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")


def start(size: str, *more: str) -> webdriver.Chrome:
    """``size`` is that of the window, such as "1400,900"; ``more`` are options of the browser.

    Raises RuntimeError, which says what to install, if there is none.
    """
    found = subprocess.run([SYSTEM_PACKAGES, "--browser"], capture_output=True, text=True)
    if found.returncode != 0:
        raise RuntimeError(f"pages need a browser:\n{found.stderr}")
    options = webdriver.ChromeOptions()
    options.binary_location, driver = found.stdout.split()
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    for option in (*OPTIONS, f"--window-size={size}", *more):
        options.add_argument(option)
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
