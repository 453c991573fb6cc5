"""Reads testdata/bad: every invalid model with what must be found in it, and its corrected twin."""
import dataclasses
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2] / "testdata/bad"
EXPECT = re.compile(r"(?P<severity>error|warning)\[(?P<code>[a-z0-9-]+)\] (?P<place>.+)")


@dataclasses.dataclass(frozen=True)
class Case:
    bad: pathlib.Path
    severity: str
    code: str
    place: str
    why: str

    @property
    def name(self):
        return f"{self.topic}/{self.bad.stem.removeprefix('bad-')}"

    @property
    def topic(self):
        return self.bad.parent.name

    @property
    def twin(self):
        return self.bad.with_name("ok-" + self.bad.name.removeprefix("bad-"))


def text_case(path):
    comments = []
    for line in path.read_text().splitlines():
        if not line.startswith("# "):
            break
        comments.append(line[2:])
    if not comments or not comments[0].startswith("expect: "):
        raise ValueError(f"{path}: the first line must be '# expect: error[CODE] PLACE'")
    return make_case(path, comments[0].removeprefix("expect: "), " ".join(comments[1:]))


def make_case(path, expect, why):
    found = EXPECT.fullmatch(expect)
    if not found:
        raise ValueError(f"{path}: cannot read the expectation {expect!r}")
    case = Case(path, found["severity"], found["code"], found["place"], why)
    if not case.twin.is_file():
        raise ValueError(f"{path}: no corrected twin {case.twin.name}")
    return case


def make_links(listing):
    for name, target in yaml.safe_load(listing.read_text()).items():
        link = listing.parent / name
        if not link.is_symlink():
            link.symlink_to(target)


def load(root=ROOT):
    for listing in root.glob("*/links.yaml"):
        make_links(listing)
    cases = [text_case(path) for path in root.glob("*/bad-*.onnxtxt")]
    for listing in root.glob("*/cases.yaml"):
        cases += [make_case(listing.parent / entry["file"], entry["expect"], entry["why"]) for entry in yaml.safe_load(listing.read_text())]
    missing = set(root.glob("*/bad-*")) - {case.bad for case in cases}
    if missing:
        raise ValueError(f"no expectation for {sorted(map(str, missing))}")
    return sorted(cases, key=lambda case: case.name)
