#!/usr/bin/env python3
"""Looks at the pages of report_samples in a headless browser: by hand, not part of scripts/test.

    browser.py --program build/release/bin/report_samples [--chromium PATH] [--screenshots FOLDER]

Needs the Python package playwright and a Chromium (`playwright install chromium`, or Debian's `chromium`); says so and skips without
them. At desktop and phone width, light and dark, with every panel open: no error on the console, no request, no horizontal overflow, nothing
of a hostile name run, text of enough contrast (WCAG AA), plots of a width that can be read, sets of inputs to be chosen, the cursor of the
layers movable by keys; figures over a sweep of exponents as the JSON has them; and every page prints.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import figures

WIDTHS = {"desktop": (1440, 900), "phone": (390, 844)}

# Elements with text of their own whose contrast with what is behind them is below 4.5.
FAINT = """() => {
  const parse = text => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * x + .7152 * y + .0722 * z;
  };
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const element of document.querySelectorAll("main *")) {
    if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
    if (!element.getClientRects().length || element.closest("g, title")) continue;
    const style = getComputedStyle(element), ink = parse(element instanceof SVGElement ? style.fill : style.color);
    const [high, low] = [light(ink), light(behind(element))].sort((a, b) => b - a);
    if ((high + .05) / (low + .05) < 4.5) faint.push(`${element.tagName} "${element.textContent.slice(0, 30)}"`);
  }
  return [...new Set(faint)];
}"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Plots, pictures and boxes that stick out of the window, unless they lie in a box that scrolls.
OUTSIDE = """() => [...document.querySelectorAll("main *")].filter(element => !element.closest(".scroll, pre, clipPath") &&
  element.getClientRects().length && element.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(element => element.tagName + "." + element.getAttribute("class")).slice(0, 3)"""


def open_all(page):
    page.evaluate("() => document.querySelectorAll('details').forEach(panel => { panel.open = true; })")
    page.wait_for_timeout(300)


def faults_of(browser, path, width, scheme, screenshots):
    size = WIDTHS[width]
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    faults = []
    page.on("console", lambda message: faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("request", lambda request: request.url == path.as_uri() or faults.append(f"requests {request.url}"))
    page.goto(path.as_uri())
    page.wait_for_timeout(200)
    if screenshots:
        page.screenshot(path=screenshots / f"{path.stem}-{width}-{scheme}.png", full_page=True)
    open_all(page)
    if page.evaluate("() => document.querySelector('h1')?.textContent") in (None, ""):
        faults.append("there is no title")
    if page.evaluate("() => 'hit' in window"):
        faults.append("a hostile name ran")
    numbers = figures.sweep()
    faults += list(figures.faults_of_figures(numbers, page.evaluate(figures.ANSWERS, numbers)))[:3]
    if (over := page.evaluate(OVERFLOW)) > 0:
        faults.append(f"{over} pixels too wide")
    faults += [f"sticks out: {element}" for element in page.evaluate(OUTSIDE)]
    faults += [f"too faint: {element}" for element in page.evaluate(FAINT)]
    if page.evaluate("() => [...document.querySelectorAll('.plot')].some(plot => !plot.querySelector('svg[aria-label]') || plot.clientWidth < 200)"):
        faults.append("a plot is empty, narrow or has no text in its place")
    chooser = page.query_selector("select")
    if chooser:
        before = page.inner_text(".one > div")
        chooser.select_option(index=1 if chooser.input_value() == page.eval_on_selector("option", "option => option.value") else 0)
        if page.inner_text(".one > div") == before:
            faults.append("another set of inputs shows nothing else")
    layers = page.query_selector(".readout")
    if layers:
        before = layers.inner_text()
        page.focus("svg[tabindex]")
        page.keyboard.press("ArrowRight")
        if layers.inner_text() == before:
            faults.append("the arrow keys do not move the cursor of the layers")
        page.hover("svg .hit", position={"x": 20, "y": 60})
        if "node 0" in before or layers.inner_text() == before:
            faults.append("the pointer does not move the cursor of the layers")
    if width == "desktop" and scheme == "dark" and len(page.pdf(print_background=True)) < 1000:
        faults.append("it does not print")
    page.close()
    return faults


def read_options(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("chromium-browser"))
    parser.add_argument("--screenshots", type=pathlib.Path, help="also keep pictures of the pages in this folder")
    return parser.parse_args()


def main():
    options = read_options(__doc__)
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError as error:
        print(f"skipped: {error}")
        return 0
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    good = bad = 0
    with tempfile.TemporaryDirectory(prefix="onnxkit-pages-") as name, sync_playwright() as playwright:
        subprocess.run([options.program.resolve(), name], check=True)
        try:
            browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
        except Error as error:
            print(f"skipped: no browser: {str(error).splitlines()[0]}")
            return 0
        for path in sorted(pathlib.Path(name).glob("*.html")):
            for width in WIDTHS:
                for scheme in ("light", "dark"):
                    faults = faults_of(browser, path, width, scheme, options.screenshots)
                    good, bad = (good, bad + 1) if faults else (good + 1, bad)
                    for fault in faults[:6]:
                        print(f"{path.stem}, {width}, {scheme}: {fault}")
        browser.close()
    print(f"{good} passed, {bad} failed")
    return 1 if bad or not good else 0


if __name__ == "__main__":
    sys.exit(main())
