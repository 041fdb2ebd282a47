"""attention.html in a real browser, from a file: what it shows is what the record holds, and it asks for nothing."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from support.scripts import call_script

from unrolled.inference.attended_pairs import AttendedPair
from unrolled.inspection import record
from unrolled.inspection.page import PAGE, Shown, write_page

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
]
FLAGS += [
    "--disable-background-networking",
    "--disable-dev-shm-usage",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
]
HOSTILE = '</script><img/src=x/onerror="document.title=1"> <!-- <script>document.title=2</script> &amp; --> \u2028 <b>'


class Page:
    """A page of attention, as somebody in front of it has it."""

    def __init__(self, driver) -> None:
        self.driver = driver

    def open(self, path: Path) -> "Page":
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(path.resolve().as_uri())
        return self

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str):
        (found,) = self.all(selector)
        return found

    def texts(self, selector: str) -> list[str]:
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def choose(self, value: str) -> None:
        self.one(f"input[type=radio][value={value}]").click()

    def sentence(self, line: int) -> None:
        self.all("#sentences li")[line].click()

    def press(self, selector: str, *keys: str) -> None:
        self.one(selector).send_keys(*keys)

    def point(self, element) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver, duration=0).move_to_element(element).perform()

    def wait_until(self, holds) -> None:
        """Waits for what the browser tells the page in a frame of its own choice, such as another colour scheme."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, timeout=20, poll_frequency=0.02).until(lambda driver: holds())

    def leave(self) -> None:
        self.point(self.one("h1"))

    def cell(self, i: int, j: int, panel: int = 0):
        path = f"tbody tr:nth-child({j + 1}) td:nth-of-type({i + 1})"
        return self.all(".panel")[panel].find_element("css selector", path)

    def shades(self, panel: int = 0) -> np.ndarray:
        """How dark each cell is, ``(T, S)``."""
        script = """
            const panel = document.querySelectorAll(".panel")[arguments[0]];
            return [...panel.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")].map(
                (cell) => 765 - getComputedStyle(cell).backgroundColor.match(/[0-9]+/g).slice(0, 3)
                    .reduce((sum, part) => sum + Number(part), 0)))"""
        return np.array(self.run(script, panel))

    def said(self) -> list[str]:
        return self.texts(".readout")

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("chrome://")]  # of that page, which no other can ask for


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One browser for all tests of this file."""
    if not CHROMIUM.is_file() or not DRIVER.is_file():
        pytest.skip(f"{CHROMIUM} and {DRIVER} are not both there: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is in the dev extra")
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))
    driver.set_page_load_timeout(60)
    driver.get("about:blank")  # the browser's own first page makes requests of its own
    yield Page(driver)
    driver.quit()


@pytest.fixture(scope="module")
def snapshots(trained):
    return record.read(trained)


@pytest.fixture
def shown(browser, trained):
    """The page of a run, opened anew, which no test may make complain or ask for anything."""
    yield browser.open(trained / PAGE)
    assert browser.complaints() == []
    assert browser.requests() == [(trained / PAGE).resolve().as_uri()]


def target(snapshot: dict, line: int = 0, name: str = "reference") -> dict:
    return snapshot["sentences"][line]["targets"][name]


def matrix(snapshot: dict, line: int = 0, name: str = "reference", what: str = "weights") -> np.ndarray:
    """What the record holds, ``(T, S)``."""
    found = target(snapshot, line, name)
    return record.values(
        (found | found["gates"])[what], (len(found["pieces"]), len(snapshot["sentences"][line]["source"]))
    )


def write_made_up(
    path: Path,
    *names: str,
    sources: list[list[str]],
    targets: list[list[str]],
    steps=(1,),
    weight=1.0,
    metrics: dict | None = None,
):
    """A page of runs whose weights are ``weight`` on the diagonal, and whose first links are known."""
    sentences = []
    for line, (source, pieces) in enumerate(zip(sources, targets), start=1):
        pair = AttendedPair(source, pieces, weight * torch.eye(len(pieces), len(source)), [], [])
        made = record.target(pair, " ".join(pieces), ({(0, 0)}, {(0, 0), (1, 0)}))
        both = {"reference": made, "translation": made}
        sentences.append({"line": line, "text": " ".join(source), "source": source, "targets": both})
    shot = {"split": "val", "epoch": None, "metrics": metrics or {}, "sentences": sentences}
    shots = [shot | {"step": step} for step in steps]
    write_page(path, [Shown(name, shots) for name in names])


def test_the_last_validation_is_shown_first(shown, snapshots):
    last = snapshots[2]
    assert shown.texts("h3") == ["cgru-gru_att-reorder-seed0"]
    assert shown.driver.title == "Attention: cgru-gru_att-reorder-seed0"
    assert shown.one("#step-shown").text == f"step {last['step']} (3 of 3)"
    assert f"BLEU {last['metrics']['bleu']:.1f}" in shown.one(".facts").text
    sentence = last["sentences"][0]
    assert shown.texts("thead th") == sentence["source"]
    assert shown.texts("tbody th") == target(last)["pieces"]
    assert shown.texts("dd") == [sentence["text"], target(last)["text"], target(last, 0, "translation")["text"]]
    assert shown.texts("#sentences li span:last-child") == [each["text"] for each in last["sentences"]]


def test_the_darker_a_cell_the_greater_its_weight(shown, snapshots):
    weights, shades = matrix(snapshots[2]), shown.shades()
    assert shades.shape == weights.shape
    order = np.argsort(weights, axis=None)
    assert (np.diff(shades.flatten()[order]) >= 0).all()
    assert shades.max() > shades.min()


def test_another_sentence_is_another_matrix(shown, snapshots):
    shown.sentence(3)
    assert shown.texts("thead th") == snapshots[2]["sentences"][3]["source"]
    assert shown.shades().shape == matrix(snapshots[2], 3).shape
    assert shown.run("return [...document.querySelectorAll('[aria-selected=true]')].map((e) => e.id)") == ["sentence-3"]
    shown.press("#sentences", "\ue015", "\ue015")  # down
    assert shown.texts("thead th") == snapshots[2]["sentences"][5]["source"]
    shown.press("#sentences", "\ue013", "\ue011", "\ue013")  # up, home, up
    assert shown.texts("thead th") == snapshots[2]["sentences"][0]["source"]
    shown.press("#sentences", "\ue010", "\ue015")  # end, down
    assert shown.texts("thead th") == snapshots[2]["sentences"][7]["source"]


def test_pointing_at_a_cell_says_its_pieces_weight_and_norm(shown, snapshots):
    weights, norms = matrix(snapshots[2]), matrix(snapshots[2], what="memory")
    source, pieces = snapshots[2]["sentences"][0]["source"], target(snapshots[2])["pieces"]
    known = {(i, j) for i, j, _ in target(snapshots[2])["links"]}
    for i, j in [(0, 0), (len(source) - 1, 0), (2, 1), (0, len(pieces) - 1), min(known)]:
        shown.point(shown.cell(i, j))
        expected = f"{source[i]} → {pieces[j]} · weight {weights[j, i]:.2f} · memory norm {norms[j, i]:.2f}"
        assert shown.said() == [expected + " · known link" * ((i, j) in known)]
        assert shown.texts("th.on") == [source[i], pieces[j]]
    band = shown.one(".column.band").rect
    assert abs(band["x"] - shown.cell(i, j).rect["x"]) <= 1
    shown.leave()
    assert shown.texts("th.on") == []
    assert shown.said()[0].startswith("Point at a cell")


def test_arrow_keys_walk_from_cell_to_cell(shown, snapshots):
    source, pieces = snapshots[2]["sentences"][0]["source"], target(snapshots[2])["pieces"]
    shown.cell(0, 0).click()
    for keys, (i, j) in {"\ue014\ue014": (2, 0), "\ue015": (2, 1), "\ue012": (1, 1), "\ue013\ue013": (1, 0)}.items():
        for key in keys:
            shown.driver.switch_to.active_element.send_keys(key)
        assert shown.said()[0].startswith(f"{source[i]} → {pieces[j]} · weight {matrix(snapshots[2])[j, i]:.2f}")
        assert shown.driver.switch_to.active_element.get_attribute("aria-label") == shown.said()[0]
    assert len(shown.all("td[tabindex='0']")) == 1


def test_the_slider_goes_through_the_validations(shown, snapshots):
    for place, key in [(1, "\ue012"), (0, "\ue012"), (0, "\ue012"), (1, "\ue014")]:
        shown.press("#step", key)
        assert shown.one("#step-shown").text == f"step {snapshots[place]['step']} ({place + 1} of 3)"
        assert f"step {snapshots[place]['step']}, epoch {place + 1}" in shown.one(".facts").text
        order = np.argsort(matrix(snapshots[place]), axis=None)
        assert (np.diff(shown.shades().flatten()[order]) >= 0).all()
        assert shown.texts("dd")[2] == target(snapshots[place], 0, "translation")["text"]


def test_the_validations_are_played_from_the_first_to_the_last(shown):
    from selenium.webdriver.support.ui import WebDriverWait

    seen = [shown.one("#step-shown").text[-8:]]
    shown.one("#play").click()
    assert shown.one("#play").get_attribute("aria-label") == "Pause"

    def ended(_):
        seen.append(shown.one("#step-shown").text[-8:])
        return shown.one("#play").get_attribute("aria-label") == "Play"

    WebDriverWait(shown.driver, 20, poll_frequency=0.1).until(ended)
    assert list(dict.fromkeys(seen[1:])) == ["(1 of 3)", "(2 of 3)", "(3 of 3)"]


def test_known_links_are_marked_at_their_cells(shown, snapshots):
    def marked():
        script = """return [...document.querySelectorAll("tbody td")].filter(
            (cell) => !["none", "normal"].includes(getComputedStyle(cell, "::after").content)
                && getComputedStyle(cell, "::after").display !== "none"
        ).map((cell) => [cell.cellIndex - 1, cell.parentNode.sectionRowIndex])"""
        return {tuple(place) for place in shown.run(script)}

    links = {(i, j) for i, j, _ in target(snapshots[2])["links"]}
    assert links
    assert marked() == links
    shown.one("#known").click()
    assert marked() == set()
    shown.one("#known").click()
    shown.choose("translation")
    assert marked() == set()
    assert not shown.one("#known").is_displayed()


def test_the_translation_has_its_own_pieces_and_weights(shown, snapshots):
    shown.choose("translation")
    assert shown.texts("tbody th") == target(snapshots[2], 0, "translation")["pieces"]
    order = np.argsort(matrix(snapshots[2], 0, "translation"), axis=None)
    assert (np.diff(shown.shades().flatten()[order]) >= 0).all()


def test_the_test_set_has_the_best_checkpoint_alone(shown, snapshots):
    shown.choose("test")
    assert shown.texts("#sentences li span:last-child") == [each["text"] for each in snapshots[3]["sentences"]]
    assert shown.one("#step-shown").text == "the best checkpoint"
    assert not shown.one("#step").is_enabled()


def test_norms_of_the_memory_are_shaded_from_least_to_greatest(shown, snapshots):
    weights = shown.shades()
    shown.choose("memory")
    norms = matrix(snapshots[2], what="memory")
    assert (np.diff(shown.shades().flatten()[np.argsort(norms, axis=None)]) >= 0).all()
    assert (shown.shades() != weights).any()
    assert shown.shades().min() == 0
    assert shown.one(".scale").text.split() == ["memory", "norm", f"{norms.min():.2f}", f"{norms.max():.2f}"]


def test_gates_are_shaded_from_least_to_greatest(shown, snapshots):
    assert shown.texts("#shade label") == ["Weights", "Memory norm", "Reset gate", "Update gate"]
    seen = []
    for name in ("reset", "update"):
        shown.choose(f"gate-{name}")
        gate = matrix(snapshots[2], what=name)
        assert (np.diff(shown.shades().flatten()[np.argsort(gate, axis=None)]) >= 0).all()
        assert shown.one(".scale").text.split() == [name, "gate", f"{gate.min():.2f}", f"{gate.max():.2f}"]
        seen.append(shown.shades())
        shown.point(shown.cell(1, 2))
        assert shown.said()[0].split(" · ")[3:] == [f"{name} gate {gate[2, 1]:.2f}"]
        shown.leave()
    assert (seen[0] != seen[1]).any()


def test_a_record_of_an_earlier_version_has_no_gates(browser, tmp_path, snapshots):
    older = json.loads(json.dumps(snapshots[2:3]))
    for sentence in older[0]["sentences"]:
        for each in sentence["targets"].values():
            del each["gates"]
    write_page(tmp_path / "x.html", [Shown("older", older)])
    page = browser.open(tmp_path / "x.html")
    assert page.texts("#shade label") == ["Weights", "Memory norm"]
    page.point(page.cell(0, 0))
    assert "gate" not in page.said()[0]
    assert browser.complaints() == []


PATHS = "return [...document.querySelectorAll('path.weight')].map((path) => VALUE)"


def test_there_are_as_many_links_as_weights_over_the_threshold(shown, snapshots):
    weights = matrix(snapshots[2])
    shown.choose("links")
    for least in (0.1, 0.05, 0.3, 0.0):
        script = "const [e, v] = arguments; e.value = v; e.dispatchEvent(new Event('input', {bubbles: true}))"
        shown.run(script, shown.one("#least"), least)
        levels = np.rint(weights * 255)
        expected = {(int(i), int(j)) for j, i in np.argwhere((levels / 255 >= least) & (levels > 0))}
        found = shown.run(PATHS.replace("VALUE", "[+path.dataset.source, +path.dataset.target]"))
        assert len(found) == len(expected)
        assert {tuple(place) for place in found} == expected
        assert shown.one(".count").text == f"{len(expected)} of {weights.size} links"
    assert len(shown.all("path.known")) == len(target(snapshots[2])["links"])
    assert shown.texts(".from li span:last-child") != []
    widths = shown.run(PATHS.replace("VALUE", "parseFloat(getComputedStyle(path).strokeWidth)"))
    assert (np.diff(np.array(widths)[np.argsort([weights[j, i] for i, j in found])]) >= 0).all()


def test_pointing_at_a_word_shows_its_links_alone(shown, snapshots):
    weights = matrix(snapshots[2])
    shown.choose("links")
    shown.point(shown.all(".from li")[2])
    assert shown.said() == [f"source {snapshots[2]['sentences'][0]['source'][2]}"]
    script = "return [...document.querySelectorAll('path:not(.off)')].map((p) => [p.dataset.source, p.dataset.target])"
    assert {source for source, _ in shown.run(script)} == {"2"}
    partners = {int(j) for j in np.flatnonzero(np.rint(weights[:, 2] * 255) / 255 >= 0.1)}
    shares = shown.texts(".to li .share")
    assert {j: share for j, share in enumerate(shares) if share} == {j: f"{weights[j, 2]:.2f}" for j in partners}
    shown.point(shown.all(".to li")[1])
    assert {place for _, place in shown.run(script)} == {"1"}
    shown.leave()
    assert len(shown.all("path.off")) == 0


def test_hostile_text_stays_text(browser, tmp_path):
    path = tmp_path / "a #1%.html"
    words = HOSTILE.split(" ")
    write_made_up(path, HOSTILE, sources=[words], targets=[words[::-1]])
    page = browser.open(path)
    assert page.driver.title == f"Attention: {HOSTILE}"
    assert page.texts("h3") == [HOSTILE]
    assert page.texts("thead th") == words
    assert page.texts("dd")[0] == HOSTILE
    page.point(page.cell(0, 0))
    assert page.said() == [f"{words[0]} → {words[-1]} · weight 1.00 · known link"]
    page.choose("links")
    assert page.texts(".to li span:last-child") == words[::-1]
    assert len(page.all("img, b[dir] > b, script")) == 2  # the data and the script
    assert browser.complaints() == []
    assert len(browser.requests()) == 1


def test_a_matrix_without_memory_has_no_norms(browser, tmp_path):
    write_made_up(tmp_path / "x.html", "x", sources=[["a", "b"]], targets=[["c", "d"]])
    page = browser.open(tmp_path / "x.html")
    assert not page.one("input[value=memory]").is_enabled()
    assert page.texts("#shade label") == ["Weights", "No memory"]
    assert page.run("return getComputedStyle(document.querySelector('td.possible'), '::after').borderStyle") == "dotted"
    assert page.shades().tolist() == [[pytest.approx(page.shades().max()), 0], [0, pytest.approx(page.shades().max())]]
    assert page.shades().max() > 600


def test_small_weights_are_seen_on_a_scale_to_the_greatest(browser, tmp_path):
    write_made_up(tmp_path / "x.html", "x", sources=[["a", "b"]], targets=[["c", "d"]], weight=0.04)
    page = browser.open(tmp_path / "x.html")
    pale = page.shades()
    assert page.one(".scale").text.split() == ["weight", "0.00", "1.00"]
    page.choose("greatest")
    assert page.one(".scale").text.split() == ["weight", "0.00", "0.04"]
    assert page.shades()[0, 0] > 600 > 60 > pale[0, 0]
    page.choose("links")
    assert not page.one("#scale").is_displayed()


@pytest.fixture
def emulated(browser):
    """Chromium's emulation of another screen, undone after the test."""
    yield lambda name, **settings: browser.driver.execute_cdp_cmd(f"Emulation.{name}", settings)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_by_night_the_page_is_dark_and_weights_are_bright(browser, emulated, tmp_path):
    write_made_up(tmp_path / "x.html", "x", sources=[["a", "b"]], targets=[["c", "d"]])
    page = browser.open(tmp_path / "x.html")
    emulated("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 29)"
    page.wait_until(lambda: page.shades()[0, 0] < 100)  # a cell is repainted when the browser says so, a frame later
    assert page.shades()[0, 1] > 650
    assert browser.complaints() == []


@pytest.mark.parametrize("runs", [["x"], ["x", "y"]])
def test_sixty_words_fit(runs, browser, emulated, tmp_path):
    words = [f"word{i}" for i in range(60)]
    write_made_up(tmp_path / "x.html", *runs, sources=[words], targets=[words])
    emulated("setDeviceMetricsOverride", width=1400, height=1000, deviceScaleFactor=1, mobile=False)
    page = browser.open(tmp_path / "x.html")
    assert page.run(
        "return [...document.querySelectorAll('.matrix')].every((box) => box.scrollWidth <= box.clientWidth)"
    )
    width, height = page.run("const {width, height} = arguments[0].getBoundingClientRect(); return [width, height]",
                             page.cell(3, 3))  # fmt: skip
    assert width == pytest.approx(height, abs=1)


def test_on_a_phone_the_page_does_not_scroll_sideways(browser, emulated, tmp_path):
    words = [f"word{i}" for i in range(15)]
    write_made_up(tmp_path / "x.html", "x", "y", sources=[words], targets=[words])
    emulated("setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=1, mobile=True)
    page = browser.open(tmp_path / "x.html")
    assert page.run("return document.documentElement.scrollWidth") == 390
    left, right = (panel.rect for panel in page.all(".panel"))
    assert right["y"] >= left["y"] + left["height"]
    assert page.run(
        "return [...document.querySelectorAll('.matrix')].every((box) => box.scrollWidth <= box.clientWidth)"
    )


def test_scripts_that_run_from_right_to_left_do(browser, tmp_path):
    write_made_up(tmp_path / "x.html", "x", sources=[["▁الكلب", "▁中文", "▁a"]], targets=[["▁שלום", "x"]])
    page = browser.open(tmp_path / "x.html")
    script = "return [...document.querySelectorAll(arguments[0])].map((e) => getComputedStyle(e).direction)"
    assert page.run(script, "thead th > span") == ["rtl", "ltr", "ltr"]
    assert page.run(script, "tbody th > span") == ["rtl", "ltr"]
    assert page.run(script, "dd") == ["rtl", "rtl", "rtl"]
    assert page.run(script, "#sentences li span:last-child") == ["rtl"]


def test_a_hundred_pieces_a_side_are_shown_and_no_labels_overlap(browser, tmp_path):
    pieces = [f"piece{i}" for i in range(100)]
    write_made_up(tmp_path / "x.html", "x", sources=[pieces], targets=[pieces])
    page = browser.open(tmp_path / "x.html")
    assert page.shades().shape == (100, 100)
    page.run("document.querySelector('.matrix').scrollLeft = 1e6; scrollTo(0, 1e6)")
    page.point(page.cell(99, 99))
    assert page.said() == ["piece99 → piece99 · weight 1.00"]
    script = """const boxes = [...document.querySelectorAll(arguments[0])].map((e) => e.getBoundingClientRect());
        return boxes.slice(1).map((box, i) => Math.min(box.left - boxes[i].right, 99) * (arguments[1] === "x")
            + Math.min(box.top - boxes[i].bottom, 99) * (arguments[1] === "y"))"""
    assert min(page.run(script, "thead th:not(.thin) > span", "x")) > -1
    assert min(page.run(script, "tbody th:not(.thin) > span", "y")) > -1
    body = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    assert page.run(body)  # the matrix scrolls, the page does not


@pytest.mark.slow
def test_a_pair_of_more_cells_than_a_call_takes_arguments_is_shown(browser, tmp_path):
    pieces = [f"p{i}" for i in range(360)]
    write_made_up(tmp_path / "x.html", "x", sources=[pieces], targets=[pieces])
    page = browser.open(tmp_path / "x.html")
    assert page.run("return document.querySelectorAll('tbody td').length") == 360 * 360
    assert browser.complaints() == []


def test_a_figure_that_is_null_is_not_shown(browser, tmp_path):
    write_made_up(tmp_path / "x.html", "x", sources=[["a", "b"]], targets=[["c"]], metrics={"bleu": None, "loss": None})
    page = browser.open(tmp_path / "x.html")
    assert page.texts(".facts") == ["step 1"]
    assert browser.complaints() == []


def test_two_runs_stand_side_by_side(browser, trained, snapshots, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(trained, other, ignore=shutil.ignore_patterns("wandb", "checkpoints"))
    early = [each | {"run": "other"} for each in snapshots if each["split"] == "val"][:2]
    record.write(other, early)
    assert call_script("look.py", f"runs=[{trained},{other}]", "output=two.html", cwd=tmp_path).status == 0
    page = browser.open(tmp_path / "two.html")
    assert page.texts("h3") == ["cgru-gru_att-reorder-seed0", "other"]
    left, right = (panel.rect for panel in page.all(".panel"))
    assert left["x"] + left["width"] <= right["x"]
    assert left["y"] == right["y"]
    # the slider has the steps of both, and each shows its nearest
    page.press("#step", "\ue010")  # end
    for panel, place in [(0, 2), (1, 1)]:
        assert page.texts(".facts")[panel].startswith(f"step {snapshots[place]['step']},")
        order = np.argsort(matrix(snapshots[place]), axis=None)
        assert (np.diff(page.shades(panel).flatten()[order]) >= 0).all()
    # pointing at one points at the other
    page.point(page.cell(1, 2, panel=1))
    first, second = page.said()
    assert f"weight {matrix(snapshots[2])[2, 1]:.2f}" in first
    assert f"weight {matrix(snapshots[1])[2, 1]:.2f}" in second
    assert len(page.all("th.on")) == 4
    page.sentence(1)
    assert page.texts("thead th") == 2 * snapshots[2]["sentences"][1]["source"]
    # a word of one translation need not be in the other: the source alone is linked
    page.choose("translation")
    pieces = [target(snapshots[place], 1, "translation")["pieces"] for place in (2, 1)]
    page.point(page.cell(0, 0))
    assert (pieces[0] == pieces[1]) == (page.said()[1].startswith("source ") is False)
    page.choose("test")
    assert page.texts(".panel dd")[-1] == "This run has no record of this."
    assert browser.complaints() == []
    assert len(browser.requests()) == 1


def test_runs_that_read_different_sentences_say_so_and_are_not_linked(browser, tmp_path):
    path = tmp_path / "x.html"
    pages = []
    for name, word in (("one", "a"), ("two", "b")):
        write_made_up(path, name, sources=[["x", "y"], [word, "y"]], targets=[["c", "d"], ["e", "f"]])
        pages.append(path.read_text(encoding="utf-8"))
    runs = [json.loads(text.split('id="records">')[1].split("</script>")[0])[0] for text in pages]
    write_page(path, [Shown(**run) for run in runs])
    page = browser.open(path)
    assert not page.one("#notice").is_displayed()
    page.sentence(1)
    assert "different sentences" in page.one("#notice").text
    page.point(page.cell(0, 0))
    assert page.said() == ["a → e · weight 1.00 · known link", "target e"]
    assert browser.complaints() == []
