#!/usr/bin/python3
"""The page of `tephra report` in a real browser: report_page_test.py TEPHRA

Needs Debian's chromium, chromium-driver and python3-selenium (hack/setup.sh browser); without them
it says so and exits with 77, which ctest counts as skipped. REPORT_PAGE_SHOTS=DIR keeps pictures.
"""

import base64
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

from made_run import make_run

TEPHRA = pathlib.Path(sys.argv[1]).resolve()
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
SLOW_S = 120  # for one page; a longer time is an error; a shorter time is only printed

# How many colours a canvas shows, at most 50: one or two, and nothing is drawn on it.
COLOURS = """
    return [...arguments[0].querySelectorAll('canvas')].map(canvas => {
      if (canvas.width === 0 || canvas.height === 0) return 0;
      const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let i = 0; i < data.length && seen.size < 50; i += 4) {
        seen.add((data[i] << 16 | data[i + 1] << 8 | data[i + 2]) * 256 + data[i + 3]);
      }
      return seen.size;
    });
"""
# Resolves once what was asked for is drawn.
DRAWN = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));"


def browser():
    options = Options()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.add_argument("--window-size=1360,1000")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service(DRIVER), options=options)
    driver.set_page_load_timeout(SLOW_S)
    driver.set_script_timeout(SLOW_S)
    return driver


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.browser = browser()
        cls.addClassCleanup(cls.browser.quit)

    def report(self, *runs):
        page = self.folder / "report.html"
        done = subprocess.run(
            [TEPHRA, "report", *map(str, runs), "--out", page], capture_output=True, check=False
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return page

    def open(self, page, scheme="light"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        self.browser.get(page.as_uri())
        self.drawn()

    def drawn(self):
        self.browser.execute_async_script(DRAWN)

    def script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def find(self, selector):
        return self.browser.find_element("css selector", selector)

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def check_console(self):
        self.assertEqual(self.browser.get_log("browser"), [])

    def check_drawn(self):
        plots = self.all(".plot") + self.all(".gantt")
        self.assertGreater(len(plots), 4)
        for plot in plots:
            outer_html = plot.get_attribute("outerHTML")[:300]
            self.assertGreater(max(self.script(COLOURS, plot)), 5, outer_html)

    def keep(self, name):
        folder = os.environ.get("REPORT_PAGE_SHOTS")
        if not folder:
            return
        height = self.script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": 1360, "height": height, "scale": 1}
        shot = {"captureBeyondViewport": True, "clip": clip}
        data = self.browser.execute_cdp_cmd("Page.captureScreenshot", shot)["data"]
        pathlib.Path(folder, name + ".png").write_bytes(base64.b64decode(data))

    def window(self):
        """The stretch of time of the page, of its charts and of the first chart's neighbours."""
        return self.script(
            "return [[view.from, view.to], ...charts.filter(chart => chart.settings.view)"
            ".map(chart => chart.graph.xAxisRange())]"
        )

    def test_one_run_in_light_and_dark(self):
        page = self.report(make_run(self.folder / "one"))
        background = "return getComputedStyle(document.body).backgroundColor"
        picture = "return document.querySelector('.gantt canvas').toDataURL()"
        backgrounds, pictures = [], []
        for scheme in ("light", "dark"):
            self.open(page, scheme)
            self.check_drawn()
            self.check_console()
            self.keep("one-" + scheme)
            backgrounds.append(self.script(background))
            pictures.append(self.script(picture))
        self.assertNotEqual(*backgrounds)
        self.assertNotEqual(*pictures)
        # The switch overrules the system, and what is drawn follows.
        button = self.find("#scheme")
        button.click()
        self.assertEqual(button.text, "Light")
        self.drawn()
        self.assertEqual(self.script(background), backgrounds[0])
        self.assertEqual(self.script(picture), pictures[0])
        self.check_console()

    def test_zoom_is_one_for_all_charts_over_time(self):
        self.open(self.report(make_run(self.folder / "zoom")))
        whole = self.window()
        self.assertFalse(self.find("#reset").is_displayed())
        chart = self.find("#gpus-chart .plot")
        drag = ActionChains(self.browser).move_to_element_with_offset(chart, -100, 0)
        drag.click_and_hold().move_by_offset(120, 3).move_by_offset(80, 0).release().perform()
        self.drawn()
        zoomed = self.window()
        part = (zoomed[0][1] - zoomed[0][0]) / (whole[0][1] - whole[0][0])
        self.assertTrue(0.05 < part < 0.4, part)
        for other in zoomed[1:]:
            self.assertAlmostEqual(other[0], zoomed[0][0], delta=1)
            self.assertAlmostEqual(other[1], zoomed[0][1], delta=1)
        self.find("#reset").click()
        self.drawn()
        self.assertEqual(self.window(), whole)
        self.check_console()

    def test_gpus_are_zoomed_moved_and_described(self):
        self.open(self.report(make_run(self.folder / "gpus")))
        canvas = self.find(".gantt canvas")
        whole = self.window()[0]
        picture = "return document.querySelector('.gantt canvas').toDataURL()"
        before = self.script(picture)
        self.script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        wheel = """
            const box = arguments[0].getBoundingClientRect();
            arguments[0].dispatchEvent(new WheelEvent('wheel', {
              deltaY: arguments[1], shiftKey: arguments[2], bubbles: true, cancelable: true,
              clientX: box.left + box.width / 4, clientY: box.top + box.height / 2,
            }));
        """
        for _ in range(5):
            self.script(wheel, canvas, -100, False)
        self.script(wheel, canvas, -100, True)
        self.drawn()
        near = self.window()
        self.assertLess(near[0][1] - near[0][0], (whole[1] - whole[0]) / 4)
        self.assertAlmostEqual(near[1][0], near[0][0], delta=1)
        self.assertNotEqual(self.script(picture), before)
        self.assertLess(self.script("return gantts[0].to - gantts[0].from"), 64)
        # A drag to the left shows what comes later.
        ActionChains(self.browser).drag_and_drop_by_offset(canvas, -200, 0).perform()
        self.drawn()
        self.assertGreater(self.window()[0][0], near[0][0])
        # Over the middle of a bar the tooltip tells its job.
        name, x, y = self.script(
            """
            const gantt = gantts[0], area = gantt.area, right = area.left + area.width;
            for (let i = 0; i < gantt.job.length; ++i) {
              const [x, y, width, height] = gantt.box(i, area);
              const inside = x > area.left && x + width < right && y > 0 && y + height < area.height;
              if (inside && width > 6) {
                return [gantt.jobs.name[gantt.job[i]], x + width / 2, y + height / 2];
              }
            }
            """
        )
        size = canvas.size
        ActionChains(self.browser).move_to_element_with_offset(
            canvas, round(x - size["width"] / 2), round(y - size["height"] / 2)
        ).perform()
        self.assertTrue(self.find("#tooltip").text.startswith(name))
        # A job is found by its name.
        self.find(".gantt input").send_keys("made-7", Keys.ENTER)
        self.drawn()
        bar = self.script(
            "const gantt = gantts[0]; return gantt.box(gantt.job.indexOf(gantt.marked), gantt.area)"
        )
        self.assertTrue(0 < bar[0] < size["width"] and bar[2] > 10, bar)
        canvas.send_keys("0")
        self.drawn()
        self.assertEqual(self.window()[0], whole)
        self.check_console()

    def test_two_runs_are_compared(self):
        runs = [make_run(self.folder / name, seed=seed) for seed, name in enumerate(("a", "b"))]
        self.open(self.report(*runs), "dark")
        self.check_drawn()
        self.keep("two-dark")
        self.assertEqual(len(self.all(".gantt")), 2)
        self.assertTrue(self.find("#changes").is_displayed())
        changes = [row.text for row in self.all("#changes-table tbody td:nth-child(2)")]
        self.assertEqual(len(changes), self.script("return changes.rows.length"))
        self.check_console()

    def test_tables_are_sorted_and_filtered(self):
        self.open(self.report(make_run(self.folder / "table", why="needs 17 GPU")))
        jobs = lambda: [cell.text for cell in self.all("#waited-tables tbody tr td:first-child")]
        self.assertGreater(len(jobs()), 20)
        self.find("#waited-tables th:first-child button").click()
        self.assertEqual(jobs(), sorted(jobs(), key=lambda name: int(name.split("-")[1])))
        self.find("#waited-tables input").send_keys("17 gpu")
        self.assertEqual(jobs(), ["made-299"])
        self.check_console()

    def test_names_are_never_html(self):
        run = make_run(self.folder / "hostile", name=HOSTILE, queues=(HOSTILE, "prod"), why=HOSTILE)
        self.open(self.report(run))
        self.check_drawn()
        self.assertEqual(self.find("h1").text, HOSTILE)
        self.assertEqual(self.all("img"), [])
        self.assertEqual(len(self.all("script")), 2)
        self.script("tooltip.show({clientX: 9, clientY: 9}, gantts[0].words(0))")
        self.assertIn(HOSTILE, self.find("#tooltip").text)
        self.check_console()

    def test_a_hundred_thousand_jobs(self):
        page = self.report(make_run(self.folder / "many", jobs=100_000, nodes=64))
        self.assertLess(page.stat().st_size, 20e6)
        self.open(page)
        self.check_drawn()
        self.keep("many")
        self.assertEqual(self.script("return gantts[0].job.length"), 99_999)
        loaded = self.script("return performance.getEntriesByType('navigation')[0].loadEventEnd")
        frame = "const began = performance.now(); gantts[0].draw(); return performance.now() - began;"
        whole = self.script(frame)
        self.assertFalse(self.script("return gantts[0].oneByOne"))
        self.script("gantts[0].look(100, 140); view.set(view.end / 2, view.end / 2 + 86400);" + frame)
        self.assertTrue(self.script("return gantts[0].oneByOne"))
        print(f"100,000 jobs: {page.stat().st_size / 1e6:.1f} MB, loaded in {loaded:.0f} ms, "
              f"drawn in {whole:.0f} ms, a day of 40 GPUs in {self.script(frame):.0f} ms")
        self.check_console()


if __name__ == "__main__":
    missing = [name for name, found in (("chromium", CHROMIUM), ("chromium-driver", DRIVER),
                                        ("python3-selenium", webdriver)) if not found]
    if missing:
        print("skipped: there is no " + ", ".join(missing) + "; hack/setup.sh browser installs them")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
