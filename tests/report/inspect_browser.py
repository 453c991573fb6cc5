#!/usr/bin/env python3
"""Looks at pages of `onnxkit inspect` in a headless browser.

    inspect_browser.py --program build/release/bin/onnxkit [--chromium PATH] [--screenshots FOLDER]

Needs the Python package playwright and a Chromium (`playwright install chromium`, or Debian's `chromium`); says so and skips without them. At desktop
and phone width, light and dark, a model without a graph, a small one and one of 5,000 nodes: no error on the console, no request, nothing wider than the window, text of enough
contrast (WCAG AA), nothing of a hostile name run. `fit` shows the whole graph, zooming out never loses it, a click opens a folded scope, the details
show a weight's figures as the JSON has them, search opens what is folded, the button for dark and light changes the page.
"""
import pathlib
import subprocess
import sys
import tempfile

import browser
import inspect_page

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from suite import Suite  # noqa: E402

# Bounds of what is drawn, on the screen.
DRAWN = """() => ({left: view.x, top: view.y, right: view.x + shown.width * view.scale, bottom: view.y + shown.height * view.scale,
  width: canvas.clientWidth, height: canvas.clientHeight, scale: view.scale, boxes: shown.boxes.length})"""
# Points of the canvas that differ from its background.
INK = """() => { paint(); const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true}); copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(0, 0, canvas.width, canvas.height); let n = 0; for (let i = 3; i < data.length; i += 4) n += data[i] > 0; return n; }"""


def hostile(folder):
    path = folder / "hostile.onnxtxt"
    path.write_text(inspect_page.HEAD + """net (float[2, 3] x) => (float[2, 3] y)
<float[40] w = {""" + ", ".join(str(i % 7 - 3) for i in range(40)) + """}> {
  ["</script><script>window.hit = 1</script>/<img src=x onerror='window.hit=1'>"] a = Relu <wrong = 3> (x)
  ["</script><script>window.hit = 1</script>/b"] y = Flatten <axis = 9> (a)
  v = Mul (w, w)
}""")
    report = folder / "hostile.json"
    return path, report


def pages(program, folder):
    """Pages by name: a model without a graph, a small one with findings, and 5,000 nodes in blocks."""
    path, report = hostile(folder)
    report.write_bytes(subprocess.run([program, "check", path, "--format", "json"], capture_output=True).stdout)
    large = folder / "large.onnxtxt"
    large.write_text(inspect_page.chain(1250, lambda i: f"/net/stage.{i // 50}/block.{i % 50}"))
    empty = folder / "empty.onnx"
    empty.write_bytes(b"\x08\x0a")  # an IR version and nothing else
    made = {}
    for name, arguments in {"empty": [empty], "small": [path, "--with-report", report], "large": [large]}.items():
        made[name] = folder / f"{name}.html"
        subprocess.run([program, "inspect", *arguments, "-o", made[name]], check=True, stderr=subprocess.DEVNULL)
    return made


def faults_of_fit(page):
    page.click("#fit")
    drawn = page.evaluate(DRAWN)
    if drawn["left"] < 0 or drawn["top"] < 0 or drawn["right"] > drawn["width"] or drawn["bottom"] > drawn["height"]:
        yield f"fit does not show the whole graph: {drawn}"
    for _ in range(40):
        page.evaluate("() => zoom(1 / 1.5)")
    if page.evaluate(INK) < 20:
        yield "zooming out loses the graph"
    page.click("#fit")


def faults_of_empty(page, held):
    for button in ("fit", "closer", "farther", "facts-toggle"):
        page.evaluate("id => $(id).click()", button)
    page.fill("#search", "Add")
    if page.inner_text("#hits") != "none":
        yield "something is found in nothing"


def faults_of_small(page, held):
    yield from faults_of_fit(page)
    tensor = held["graphs"][0]["tensors"][0]
    page.fill("#search", "Mul")
    page.click("#details details > summary")
    page.wait_for_timeout(100)
    text = page.inner_text("#details .tensor").split("\n")
    for key in ("minimum", "maximum", "zeros"):
        shown = text[text.index(key) + 1].replace("−", "-") if key in text else None
        if shown is None or float(shown) != tensor["statistics"][key]:
            yield f"{key} is shown as {shown}, and is {tensor['statistics'][key]}"
    if page.locator("#details .plot span").count() != len(tensor["statistics"]["histogram"]):
        yield "the histogram has other bins than the JSON"
    page.click("#marks")
    if page.locator("#summary .finding").count() != len(held["marks"]["findings"]) + len(held["marks"]["unmatched"]):
        yield "the list of findings is not that of the report"
    if page.evaluate("() => shown.boxes.reduce((sum, box) => sum + box.marks.amount, 0)") != len(held["marks"]["findings"]):
        yield "not every finding is a mark on a node"


def faults_of_large(page, held):
    start = page.evaluate(DRAWN)
    if start["boxes"] > 60:
        yield f"5,000 nodes start as {start['boxes']} boxes"
    page.click("#fit")
    spot = page.evaluate("() => { const box = shown.boxes.find(b => b.kind === 'scope'), at = canvas.getBoundingClientRect(); return [at.left + box.x * view.scale + view.x, at.top + box.y * view.scale + view.y]; }")
    page.mouse.click(*spot)
    page.wait_for_timeout(200)
    if page.evaluate(DRAWN)["boxes"] <= start["boxes"]:
        yield "a click does not open a folded scope"
    page.click("#open-all")
    if page.evaluate(DRAWN)["boxes"] != len(held["graphs"][0]["nodes"]) - len(held["folding"][0]["constants"]) + 2:
        yield "unfolding does not show all nodes but the constants"
    yield from faults_of_fit(page)
    page.click("#fold-all")
    page.fill("#search", "/net/stage.7/block.3/Add")
    if page.inner_text("#details h2") != "Add" or "/net/stage.7/block.3/Add" not in page.inner_text("#details").replace("\u200b", ""):
        yield "search does not open what is folded"


def faults_of(chromium, path, name, width, scheme, held, screenshots):
    size = browser.WIDTHS[width]
    page = chromium.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    faults = []
    page.on("console", lambda message: faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("request", lambda request: request.url == path.as_uri() or faults.append(f"requests {request.url}"))
    page.goto(path.as_uri())
    page.wait_for_timeout(200)
    if screenshots:
        page.screenshot(path=screenshots / f"inspect-{name}-{width}-{scheme}.png")
    if page.evaluate("() => document.documentElement.dataset.theme") != scheme:
        faults.append("the page is not of the colours that the browser asks for")
    faults += list({"empty": faults_of_empty, "small": faults_of_small, "large": faults_of_large}[name](page, held))
    page.evaluate("() => { if ($('summary').hidden) $('facts-toggle').click(); document.querySelectorAll('details').forEach(panel => { panel.open = true; }); }")
    page.wait_for_timeout(100)
    if page.evaluate("() => 'hit' in window"):
        faults.append("a hostile name ran")
    if (over := page.evaluate(browser.OVERFLOW)) > 0:
        faults.append(f"{over} pixels too wide")
    if wide := page.evaluate("() => ['details', 'summary'].filter(id => $(id).scrollWidth > $(id).clientWidth + 1)"):
        faults.append(f"{wide} are too narrow for what they hold")
    faults += [f"too faint: {element}" for element in page.evaluate(browser.FAINT)]
    page.click("#theme")
    if page.evaluate("() => document.documentElement.dataset.theme") == scheme:
        faults.append("the button does not change dark and light")
    page.close()
    return faults


def main():
    options = browser.read_options(__doc__)
    suite, cases = Suite(), 3 * len(browser.WIDTHS) * 2
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        suite.skip(cases, str(error))
        return suite.close()
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="onnxkit-pages-") as name, sync_playwright() as playwright:
        try:
            chromium = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
        except Error as error:
            suite.skip(cases, f"no browser: {str(error).splitlines()[0]}")
            return suite.close()
        for page, path in pages(options.program.resolve(), pathlib.Path(name)).items():
            held, _, _ = inspect_page.soundness.opened(path.read_text())
            for width in browser.WIDTHS:
                for scheme in ("light", "dark"):
                    faults = faults_of(chromium, path, page, width, scheme, held, options.screenshots)
                    suite.check(f"{page}, {width}, {scheme}", "; ".join(faults[:6]))
        chromium.close()
    return suite.close()


if __name__ == "__main__":
    sys.exit(main())
