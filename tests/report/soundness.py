"""Whether a page of the program is sound: well formed, fetches nothing, holds its data as JSON that nothing inside can end, and builds no markup from data."""
import html.parser
import json
import re

VOID = {"meta", "link", "br", "hr", "img", "input", "col", "source", "wbr"}
# Names of SVG and XHTML, which nobody fetches.
NAMESPACES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml", "http://www.w3.org/1999/xlink",
              "http://www.w3.org/XML/1998/namespace", "http://www.w3.org/2000/xmlns/"}
# What makes markup out of text, or code out of it.
SINKS = ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", ".html("]


class Page(html.parser.HTMLParser):
    """Elements of a page: faults of nesting, the scripts, what would be fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.faults, self.scripts, self.styles = [], [], [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag == "script":
            self.scripts.append([values.get("id", ""), values.get("type", ""), ""])
        if tag == "style":
            self.styles.append("")
        for name, value in attributes:
            if name in ("src", "href", "srcset", "action", "data") and not (value or "").startswith("#"):
                self.faults.append(f"<{tag} {name}={value!r}> would be fetched")
            if name.startswith("on"):
                self.faults.append(f"<{tag} {name}> is a script in an attribute")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.scripts[-1][2] += data
        if self.open[-1:] == ["style"]:
            self.styles[-1] += data


def own_script(page):
    return "\n".join(script[2] for script in page.scripts if script[0] == "page")


def opened(text):
    """The data of a page (None where there are none), its elements, and the faults of it that any page could have."""
    page = Page()
    page.feed(text)
    page.close()
    faults = list(page.faults)
    if page.open:
        faults.append(f"not closed: {page.open}")
    data = [script for script in page.scripts if script[0] == "data"]
    if len(data) != 1 or data[0][1] != "application/json":
        return None, page, faults + ["there is no one script of data"]
    held = json.loads(data[0][2])
    if "<" in data[0][2]:
        faults.append("the data hold a '<'")
    code = "\n".join(script[2] for script in page.scripts if script[0] != "data")
    ours = own_script(page)
    if not ours:
        faults.append("the page has no script of its own")
    faults += [f"the script uses {sink}" for sink in SINKS if sink in ours]
    for url in sorted(set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}[^\s\"'`)]*", code + "".join(page.styles)))):
        if url not in NAMESPACES and f'"{url}' in code:
            faults.append(f"the script names {url}")
    if re.search(r"url\(|@import", "".join(page.styles)):
        faults.append("the style fetches something")
    if formatter := re.search(r"d3\.(format|precision)\w*|~[a-z]\b", ours):
        faults.append(f"the script writes numbers with {formatter.group()}")
    head = text[:text.index("<script")]
    if "Content-Security-Policy" not in head or "default-src 'none'" not in head:
        faults.append("no policy forbids the page to fetch")
    return held, page, faults
