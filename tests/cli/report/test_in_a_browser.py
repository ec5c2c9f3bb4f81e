"""The report in Chromium: charts that answer the mouse, no network, no complaint, downloads, and names that stay names.

Needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver); `.ci/run` installs them where it
can. Without them these tests are skipped, and the last lines of the run say so. Set FOLDLESS_SCREENSHOTS to a folder to keep pictures.
"""

import json
import os
import shutil
import time
import warnings
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

from foldless.cli import run_experiment, write_report
from foldless.cli.demo_data import HOLDOUT_FRACTION, friedman, numeric_table
from foldless.cli.report.chart import shortened
from oracles.hostile import LABELS, NAMES, hostile_experiment

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
MISSING = (
    "NOT TESTED: the report in a browser. Install chromium, chromedriver and selenium: "
    "apt-get install chromium chromium-driver; pip install selenium"
)
pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason=MISSING),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of the driver, closed when it ends
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason=MISSING)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    folder = str(tmp_path_factory.mktemp("downloads"))
    options.add_experimental_option("prefs", {"download.default_directory": folder})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_page_load_timeout(60)
    driver.download_folder = Path(folder)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder})
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Three reports: of two classes, of numbers (the demonstration), and one with hostile names."""
    folder = tmp_path_factory.mktemp("reports")
    for name, table in (("classes", breast_cancer()), ("numbers", friedman().table)):
        found = run_experiment(table, holdout=HOLDOUT_FRACTION, source="demo", command="foldless demo")
        write_report(found, folder / f"{name}.html")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the search may run into its budget
        write_report(hostile_experiment(folder), folder / "hostile.html")
    return folder


def breast_cancer():
    """scikit-learn's breast cancer set as a table: 569 rows, 30 columns, two classes."""
    data = load_breast_cancer()
    return numeric_table(data.data, data.target_names[data.target], data.feature_names, "diagnosis")


def visit(driver, path, width=1280, height=1000, dark=False):
    """Open a page as a reader with that window and preference would."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for kind in ("browser", "performance"):
        driver.get_log(kind)  # forget the last page
    driver.get(path.as_uri())
    wait(driver, "return document.documentElement.dataset.ready === 'yes'")
    _keep_picture(driver, f"{path.stem}_{width}_{'dark' if dark else 'light'}.png", size)


def wait(driver, script, seconds=20):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, seconds).until(lambda d: d.execute_script(script))


def _keep_picture(driver, name, size):
    folder = os.environ.get("FOLDLESS_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        height = driver.execute_script("return document.documentElement.scrollHeight")
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": height})
        driver.save_screenshot(str(Path(folder) / name))
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def requests(driver):
    """Addresses the page asked for, in order."""
    messages = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


@pytest.mark.parametrize("name", ["classes", "numbers", "hostile"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_every_plot_is_drawn_and_nothing_is_fetched_or_complained_about(driver, pages, name, width, dark):
    visit(driver, pages / f"{name}.html", width=width, dark=dark)
    empty = driver.execute_script(
        "return [...document.querySelectorAll('figure')].filter(f => !f.querySelector('.chart .fill, .chart .line')).map(f => f.id)"
    )
    assert driver.execute_script("return document.querySelectorAll('figure .chart').length") >= 8
    assert empty == []
    assert [url for url in requests(driver) if not url.startswith(("file:", "data:", "blob:"))] == []
    assert [entry for entry in driver.get_log("browser") if entry["level"] != "DEBUG"] == []
    assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize(
    ("plot", "mark", "words"),
    [
        ("surface", "circle", ("choice", "width", "C")),
        ("trace", "circle", ("evaluation", "criterion", "ms")),
        ("margins", "rect[data-tip]", ("margin", "rows")),
        ("calibration", "circle", ("probability", "observed", "cases")),
        ("confusion", "rect[data-tip]", ("true ", "predicted ", "rows")),
        ("importance", "rect[data-tip]", ("log loss", "rises")),
    ],
)
def test_hovering_shows_the_values(driver, pages, plot, mark, words):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    visit(driver, pages / "classes.html")
    marks = driver.find_elements(By.CSS_SELECTOR, f"#{plot} .chart {mark}")
    # The tallest bar; of dots, which are all alike, the last one, on top of the others.
    tallest = max(reversed(marks), key=lambda shown: shown.size["height"])
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", tallest)
    # The page may still scroll when the mouse arrives, which hides the values: it moves until they are there.
    text, deadline = None, time.monotonic() + 20
    while not text and time.monotonic() < deadline:
        ActionChains(driver).move_to_element(tallest).move_by_offset(1, 0).pause(0.1).perform()
        text = driver.execute_script("return document.querySelector('#tip:not([hidden])')?.textContent")
    for word in words:
        assert word in text


def test_the_only_buttons_are_downloads_and_nothing_is_requested_when_they_are_pressed(driver, pages):
    """No chart can leave the page: every button is listed, pressed, and watched for a request."""
    from selenium.webdriver.common.by import By

    visit(driver, pages / "classes.html")
    buttons = driver.find_elements(
        By.CSS_SELECTOR, "button, a[href], [role=button], [onclick], form, [data-title]"
    )
    names = ["predictions.csv", "parameters.json", "refit.py", "model_card.md"]
    assert [button.get_dom_attribute("data-file") for button in buttons] == names
    for button in buttons:
        button.click()
    files = [driver.download_folder / name for name in names]
    wait_for_files(files)
    assert files[0].read_text(encoding="utf-8").startswith("row,diagnosis,predicted,probability of")
    assert json.loads(files[1].read_text(encoding="utf-8"))["target"] == "diagnosis"
    compile(files[2].read_text(encoding="utf-8"), "refit.py", "exec")
    assert files[3].read_text(encoding="utf-8").startswith("# Model card: diagnosis")
    assert [url for url in requests(driver) if not url.startswith(("file:", "data:", "blob:"))] == []


def wait_for_files(paths, seconds=20):
    ends = time.monotonic() + seconds
    while time.monotonic() < ends and not all(path.exists() for path in paths):
        time.sleep(0.1)


def test_costs_move_the_threshold(driver, pages):
    from selenium.webdriver.common.by import By

    visit(driver, pages / "classes.html")
    field, answer = driver.find_element(By.ID, "miss"), driver.find_element(By.ID, "costs-answer")
    # The field begins with the costs of the second line of the table, and counts the same rows.
    cells = [cell.text for cell in driver.find_elements(By.CSS_SELECTOR, "#costs tbody tr:nth-child(2) > *")]
    assert cells[2] == "0.17"
    assert answer.text.startswith(f"Threshold 0.17: {cells[3]} missed, {cells[4]} false alarms;")
    field.clear()
    field.send_keys("1")
    assert answer.text.startswith("Threshold 0.50: ")
    field.clear()
    field.send_keys("-1")
    assert answer.text == "Give two costs that are not negative."


@pytest.mark.parametrize("name", ["classes", "numbers"])
def test_a_printed_page_has_every_table_and_figure_and_nothing_to_press(driver, pages, name):
    visit(driver, pages / f"{name}.html", width=794)  # A4 at 96 dots per inch
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        seen = "e => e.getClientRects().length > 0 && getComputedStyle(e).visibility === 'visible'"
        hidden = driver.execute_script(
            f"return [...document.querySelectorAll('table, figure, .card')].filter(e => !({seen})(e)).map(e => e.className || e.id)"
        )
        assert hidden == []
        pressed = driver.execute_script(
            f"return [...document.querySelectorAll('button, input')].filter({seen}).length"
        )
        assert pressed == 0
        wide = driver.execute_script("return document.querySelector('main').clientWidth / window.innerWidth")
        assert wide > 0.98
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_hostile_names_are_shown_letter_by_letter(driver, pages):
    visit(driver, pages / "hostile.html")
    table = driver.execute_script(
        "return [...document.querySelectorAll('.features tbody th')].map(e => e.textContent)"
    )
    assert table == list(NAMES)
    for plot, names in (("importance", NAMES), ("confusion", LABELS)):
        ticks = driver.execute_script(
            f"return [...document.querySelectorAll('#{plot} .tick[text-anchor=end]')].map(e => e.textContent)"
        )
        assert sorted(ticks) == sorted(shortened(name) for name in names)


def test_hostile_names_do_nothing(driver, pages):
    from selenium.common.exceptions import NoAlertPresentException

    visit(driver, pages / "hostile.html")
    with pytest.raises(NoAlertPresentException):
        driver.switch_to.alert.text
    assert (
        driver.execute_script(
            "return document.querySelectorAll('main img, main a[href], svg a, iframe').length"
        )
        == 0
    )
    assert driver.execute_script("return document.scripts.length") == 2


def test_the_policy_stops_what_slips_through(driver, pages):
    """Even a script put into the page by hand does not run, and no request leaves it."""
    visit(driver, pages / "classes.html")
    driver.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.slipped = 1'; document.body.append(s);"
        "const i = document.createElement('img'); i.src = 'https://example.com/x.png'; document.body.append(i);"
    )
    assert driver.execute_script("return window.slipped === undefined")
    complaints = [entry["message"] for entry in driver.get_log("browser")]
    assert sum("Content Security Policy" in message for message in complaints) >= 2


def test_on_paper_charts_use_the_width_and_text_is_black(driver, pages):
    visit(driver, pages / "classes.html", width=760, dark=True)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    ink, width, boxes = driver.execute_script(
        "return [getComputedStyle(document.querySelector('.chart text')).fill, "
        "document.querySelector('main').getBoundingClientRect().width / document.documentElement.clientWidth, "
        "[...document.querySelectorAll('figure')].map(f => [f.getBoundingClientRect().bottom, "
        "f.querySelector('.chart').getBoundingClientRect().bottom])]"
    )
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert ink == "rgb(0, 0, 0)"
    assert width > 0.97
    for frame, chart in boxes:
        assert chart <= frame + 1


def test_dark_and_light_differ_and_text_follows(driver, pages):
    inks = []
    for dark in (False, True):
        visit(driver, pages / "classes.html", dark=dark)
        ground = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        inks.append(
            (
                ground,
                driver.execute_script("return getComputedStyle(document.querySelector('.chart text')).fill"),
            )
        )
    assert inks[0][0] != inks[1][0]
    assert inks[0][1] != inks[1][1]


def test_a_page_is_small(pages):
    for name in ("classes", "numbers", "hostile"):
        assert (pages / f"{name}.html").stat().st_size < 2_000_000
