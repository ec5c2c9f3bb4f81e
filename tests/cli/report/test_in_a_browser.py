"""The report in Chromium: plots that answer the mouse, no network, no complaint, and names that stay names.

Needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver); `.ci/run` installs them where it
can. Without them these tests are skipped, and the last lines of the run say so. Set FOLDLESS_SCREENSHOTS to a folder to keep pictures.
"""

import itertools
import json
import os
import shutil
import warnings
from pathlib import Path

import pytest

from foldless.cli import run_experiment, write_report
from foldless.cli.demo_data import HOLDOUT_FRACTION, breast_cancer
from foldless.cli.report.plotly_json import NAME_MAX_CHARACTERS
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
def driver():
    webdriver = pytest.importorskip("selenium.webdriver", reason=MISSING)
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Two reports: the demonstration, and one with hostile names."""
    folder = tmp_path_factory.mktemp("reports")
    demo = run_experiment(breast_cancer(), holdout=HOLDOUT_FRACTION, source="demo", command="foldless demo")
    write_report(demo, folder / "demo.html")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the search may run into its budget
        write_report(hostile_experiment(folder), folder / "hostile.html")
    return folder


def visit(driver, path, width=1280, height=1000, dark=False):
    """Open a page as a reader with that window and preference would."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for kind in ("browser", "performance"):
        driver.get_log(kind)  # forget the last page
    driver.get(path.as_uri())
    wait(driver, "return document.documentElement.dataset.drawn === 'yes'")
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


@pytest.mark.parametrize("name", ["demo", "hostile"])
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False)])
def test_every_plot_is_drawn_and_nothing_is_fetched_or_complained_about(driver, pages, name, width, dark):
    visit(driver, pages / f"{name}.html", width=width, dark=dark)
    drawn = driver.execute_script(
        "return [...document.querySelectorAll('.plot')].map(p => [p.id, p.querySelectorAll('svg.main-svg').length, "
        "p.querySelectorAll('.trace, .contour, .hm').length])"
    )
    assert len(drawn) == 5
    for plot, pictures, traces in drawn:
        assert pictures > 0, plot
        assert traces > 0, plot
    assert [url for url in requests(driver) if not url.startswith(("file:", "data:", "blob:"))] == []
    assert [entry for entry in driver.get_log("browser") if entry["level"] != "DEBUG"] == []
    assert driver.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize(
    ("plot", "mark", "words"),
    [
        ("surface", ".scatterlayer .points path", ("width", "C", "criterion")),
        ("trace", ".scatterlayer .points path", ("evaluation", "criterion", "ms")),
        ("margins", ".barlayer .point path", ("margin", "rows")),
        ("calibration", ".scatterlayer .points path", ("probability", "observed", "cases")),
        ("confusion", ".heatmaplayer image", ("true ", "predicted ", "rows")),
    ],
)
def test_hovering_tells_the_values(driver, pages, plot, mark, words):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    visit(driver, pages / "demo.html")
    figure = driver.find_element(By.ID, plot)
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", figure)
    marks = figure.find_elements(By.CSS_SELECTOR, mark)
    x, y = driver.execute_script(
        "const b = arguments[0].getBoundingClientRect(), f = arguments[1].getBoundingClientRect();"
        "return [b.x + b.width / 4 - f.x - f.width / 2, b.y + b.height / 4 - f.y - f.height / 2]",
        marks[len(marks) // 2],
        figure,
    )
    ActionChains(driver).move_to_element_with_offset(figure, int(x), int(y)).pause(0.1).move_by_offset(
        1, 1
    ).perform()
    text = wait(driver, f"return (document.querySelector('#{plot} .hoverlayer') || {{}}).textContent")
    for word in words:
        assert word in text


def shortened(name):
    return name if len(name) <= NAME_MAX_CHARACTERS else name[: NAME_MAX_CHARACTERS - 1] + "…"


def test_hostile_names_are_shown_letter_by_letter(driver, pages):
    visit(driver, pages / "hostile.html")
    table = driver.execute_script(
        "return [...document.querySelectorAll('.features tbody th')].map(e => e.textContent)"
    )
    assert table == list(NAMES)
    ticks = driver.execute_script(
        "return [...document.querySelectorAll('#relevance .ytick text')].map(e => e.textContent)"
    )
    assert sorted(ticks) == sorted(shortened(name) for name in NAMES)
    classes = driver.execute_script(
        "return [...document.querySelectorAll('#confusion .ytick text')].map(e => e.textContent)"
    )
    assert sorted(classes) == sorted(shortened(name) for name in LABELS)


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
    assert driver.execute_script("return document.scripts.length") == 3


def test_the_policy_stops_what_slips_through(driver, pages):
    """Even a script put into the page by hand does not run, and no request leaves it."""
    visit(driver, pages / "demo.html")
    driver.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.slipped = 1'; document.body.append(s);"
        "const i = document.createElement('img'); i.src = 'https://example.com/x.png'; document.body.append(i);"
    )
    assert driver.execute_script("return window.slipped === undefined")
    complaints = [entry["message"] for entry in driver.get_log("browser")]
    assert sum("Content Security Policy" in message for message in complaints) >= 2


def test_on_paper_every_plot_has_its_room_and_black_text(driver, pages):
    visit(driver, pages / "demo.html", width=760, dark=True)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    wait(driver, "return getComputedStyle(document.querySelector('.xtick text')).fill === 'rgb(0, 0, 0)'")
    boxes = driver.execute_script(
        "return [...document.querySelectorAll('figure')].map(f => [f.getBoundingClientRect().bottom, "
        "f.querySelector('svg.main-svg').getBoundingClientRect().bottom])"
    )
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    for frame, plot in boxes:
        assert plot <= frame
    assert all(later[1] > earlier[0] for earlier, later in itertools.pairwise(boxes))


def test_dark_and_light_differ_and_text_follows(driver, pages):
    inks = []
    for dark in (False, True):
        visit(driver, pages / "demo.html", dark=dark)
        ground = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        inks.append(
            (
                ground,
                driver.execute_script("return getComputedStyle(document.querySelector('.xtick text')).fill"),
            )
        )
    assert inks[0][0] != inks[1][0]
    assert inks[0][1] != inks[1][1]
