"""What the sources of mappings read of attributes: names, and the values that they tell apart."""
import functools
import pathlib
import re

FORMATS = pathlib.Path("converters/formats")
#: By mapping folder: where the functions lie that its mappings share.
SHARED = {"pt2/read": ["aten/*.cpp"], "saved_model/read": ["saved_model/lower.cpp"], "tflite/read": ["tflite/lower.cpp"], "aten/write": ["aten/*.cpp"],
          "saved_model/write": ["../foreign/tensorflow_family/**/*.cpp", "saved_model/*.cpp"],
          "tflite/write": ["../foreign/tensorflow_family/**/*.cpp", "tflite/*.cpp"]}
#: By mapping folder: where more of its mappings lie, which it has in common with another one.
COMMON = {"saved_model/write": ["../foreign/tensorflow_family/write"], "tflite/write": ["../foreign/tensorflow_family/write"]}
FUNCTION = re.compile(r"^(?!namespace|using|struct|class|constexpr)[\w:<>,&* ]*?\b(\w+)\(((?:[^;{}]|\{\})*?)\) (?:const )?\{(.*?)(?:^\}|\}$)", re.M | re.S)
ROW = re.compile(r'(?:mappings|writers)\s*\.add(?:_all|_as)?\(')
READ = re.compile(r'call\.(flag|text|integer|integers|real|reals|has|has_attribute|axis|axes|elem|sizes|size|number)\(\s*'
                  r'(?:fmt::format\()?(?:"([\w{}]+)"|(\w+))\)?(?:,\s*([^()]*?(?:\([^()]*\))?[^()]*?))?\)', re.S)
WORD = r'(?:"[\w]*"|-?\d+\b)'
GIVEN, OMITTED = "given", "omitted"


def arguments(text, at):
    """The arguments of a call, from behind its parenthesis."""
    depth, start, found = 0, at, []
    for i in range(at, len(text)):
        if text[i] in "({[":
            depth += 1
        elif text[i] in ")}]":
            depth -= 1
        if depth < 0 or (depth == 0 and text[i] == ","):
            found.append(text[start:i].strip())
            start = i + 1
        if depth < 0:
            return found
    return found


def functions_of(text):
    """By name: (parameters, body)."""
    return {name: (parameters, body) for name, parameters, body in FUNCTION.findall(text) if re.search(r"\bcall\b", parameters)}


def compared(body, read):
    """The literals that what is read is compared with, at once or under its name."""
    before, rest = body[:read.start()], body[read.end():]
    if rest.startswith('.starts_with("NC")'):
        return {"NC*"}
    found = re.findall(rf"^\s*(?:==|!=) ({WORD})", rest)
    if before.endswith("switch ("):
        found += re.findall(r"case (\d+):", rest[:rest.index("default:")])
    name = re.search(r"(\w+)(?: = |\()(?:std::string\()?$", before)
    if name and name[1] not in ("if", "switch", "return"):
        found += re.findall(rf"\b{name[1]} (?:==|!=) ({WORD})", rest)
    return {word.strip('"') for word in found}


def values_read(body, read):
    """The values of one attribute that are told apart."""
    kind, default = read[1], default_of(read)
    if kind == "flag":
        return {"true", "false"}
    if kind in ("has", "has_attribute"):
        return {GIVEN, OMITTED}
    if kind not in ("text", "integer"):
        return {GIVEN}
    words = compared(body, read)
    if len(words) == 1:
        return words | ({f"not {word}" for word in words} if default in (None, *words) or kind == "integer" or "NC*" in words else {default})
    if words:
        return words | ({default} if kind == "text" and default else set())
    return {f"not {default}"} if default is not None else {GIVEN}


def default_of(read):
    """None where it is computed or there is none."""
    word = re.fullmatch(r'"(\w*)"|(-?\w+)', (read[4] or "").strip())
    return word and (word[1] if word[1] is not None else word[2] if re.fullmatch(r"-?\d+|true|false", word[2]) else None)


def reads_of(name, functions, seen=()):
    """(attribute, value, default) of a function and those that it calls. A function that is given the name of an attribute reads that one."""
    body, found = functions[name][1], set()
    for read in READ.finditer(body):
        if read[2]:
            found |= {(read[2].replace("{}", "*"), value, default_of(read)) for value in values_read(body, read)}
    for called in re.finditer(r"\b(\w+)(?:<[^;()]*?>)?\((?=call\b)", body):
        helper = called[1]
        if helper not in functions or helper in (name, *seen):
            continue
        found |= reads_of(helper, functions, (*seen, name))
        parameters = [re.split(r"\W", parameter)[-1] for parameter in functions[helper][0].split(", ")]
        named = dict(zip(parameters, arguments(body, called.end())))
        for read in READ.finditer(functions[helper][1]):
            if read[3] and (word := re.fullmatch(r'"(\w+)"', named.get(read[3], ""))):
                found |= {(word[1], value, default_of(read)) for value in values_read(functions[helper][1], read)}
    return found


@functools.cache
def shared(folder):
    found = {}
    for pattern in SHARED[folder]:
        for path in sorted(FORMATS.glob(pattern)):
            found |= functions_of(path.read_text())
    return found


def rows_of(text):
    """(operators, words that name functions, the mapping's first) of the rows that a file registers."""
    registered = text[text.rindex("void register_"):]
    for row in ROW.finditer(registered):
        words = arguments(registered, row.end())
        if words[0].startswith('"CUSTOM '):
            continue  # whose options have a form of their own
        operators = re.findall(r'"([\w.:]+)"', words[0])
        if not operators:  # a loop over a table or a list
            loop = re.findall(r" :\s+(\w+|\{.*?\})\)", registered[:row.start()], re.S)[-1]
            table = re.search(rf"\b{re.escape(loop)}\[\] = {{(.*?)}};", text, re.S)
            operators = re.findall(r'\{"([\w.:]+)"', table[1]) if table else re.findall(r'"([\w.:]+)"', loop)
        named = [word[1] for word in (re.match(r"(\w+)(?:<|$)", word) for word in words[1:]) if word]
        yield operators, named


def read_values(folder):
    """{(operator, attribute, value, default)} that the mappings of a folder read."""
    found = set()
    for path in (path for one in [folder, *COMMON.get(folder, [])] for path in sorted((FORMATS / one).glob("*.cpp"))):
        text = path.read_text()
        functions = {**shared(folder), **functions_of(text)}
        for operators, named in rows_of(text) if path.stem != "refused" else ():
            for name in named[:1]:
                found |= {(operator, *read) for read in reads_of(name, functions) for operator in operators}
    return found
