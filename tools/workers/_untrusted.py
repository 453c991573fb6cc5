"""Loads a file of torch.export as data: whatever would run code of the file is refused."""
import ast
import contextlib
import importlib
import re
import sys

from _protocol import WorkerError

# Functions of sympy that shapes are made of, beside those of torch.utils._sympy.functions.
FUNCTIONS = {"Abs", "Add", "And", "Eq", "Equality", "ExprCondPair", "Ge", "GreaterThan", "Gt", "Integer", "Le", "LessThan", "Lt", "Max",
             "Min", "Mod", "Mul", "Ne", "Not", "Or", "Piecewise", "Pow", "Rational", "StrictGreaterThan", "StrictLessThan", "Unequality",
             "ceiling", "floor", "log", "sqrt"}
NAMING = {"Symbol", "Float"}  # and those that take a text
NODES = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Name, ast.Load, ast.Tuple, ast.keyword,
         ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
# Modules whose types may stand in the arguments of a program.
MODULES = {"builtins", "collections", "enum"}


class Guard:
    """What was refused, which the runtime's own handlers must not hide."""

    def __init__(self):
        self.active, self.refused = False, None

    def refuse(self, what):
        self.refused = self.refused or what
        raise WorkerError("unsupported", f"the file {what}, which can run any code: --trust loads it all the same")

    def audit(self, event, arguments):
        if self.active and event == "pickle.find_class":
            self.refuse("contains a pickled " + ".".join(map(str, arguments)))


GUARD = Guard()


def is_arithmetic(text, functions):
    """Whether a text, which sympy would evaluate as Python, is a formula of names and numbers."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    named = set()  # texts where they may stand
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            sound = type(node.value) in (int, float, bool) or id(node) in named
        elif isinstance(node, ast.Call):
            sound = isinstance(node.func, ast.Name) and node.func.id in functions | NAMING
            if sound and node.func.id in NAMING:
                named.update(id(word) for word in node.args if isinstance(word, ast.Constant) and re.fullmatch(r"[\w.+-]+", str(word.value)))
        else:
            sound = isinstance(node, NODES)
        if not sound:
            return False
    return True


def functions_of(torch):
    sympy = importlib.import_module("sympy")
    own = vars(importlib.import_module("torch.utils._sympy.functions"))
    return FUNCTIONS | {name for name, value in own.items() if isinstance(value, type) and issubclass(value, sympy.Function)}


class Importer:
    """Stands for importlib where types are looked up by the names of a file."""

    def __init__(self, guard):
        self.guard = guard

    def __getattr__(self, name):
        return getattr(importlib, name)

    def import_module(self, name, package=None):
        return importlib.import_module(name, package) if name in MODULES else self.guard.refuse(f"imports {name}")


@contextlib.contextmanager
def replaced(owner, name, value):
    """For a while; an error where the runtime has no such part, since then nothing is known of how it loads."""
    before = getattr(owner, name, None)
    if before is None:
        raise WorkerError("unsupported", "this version of PyTorch loads files in an unknown way: --trust loads them all the same")
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def package_loader():
    """The part that loads compiled code; None before PyTorch 2.8, whose archives have none."""
    try:
        return importlib.import_module("torch.export.pt2_archive._package")
    except ModuleNotFoundError:
        return None


@contextlib.contextmanager
def data_only(torch):
    guard, sympy, load = GUARD, importlib.import_module("sympy"), torch.load
    package, pytree = package_loader(), importlib.import_module("torch.utils._pytree")
    functions, sympify = functions_of(torch), sympy.sympify

    def plain_load(*arguments, **options):
        if options.get("weights_only", True):
            return load(*arguments, **options)
        try:
            return load(*arguments, **options | {"weights_only": True})
        except Exception:
            guard.refuse("contains a pickled object")

    def formula(text, *arguments, **options):
        if isinstance(text, str) and not is_arithmetic(text, functions):
            guard.refuse("contains code in place of an expression")
        return sympify(text, *arguments, **options)

    if not guard.active and not hasattr(guard, "hooked"):
        sys.addaudithook(guard.audit)
        guard.hooked = True
    guard.active, guard.refused = True, None
    try:
        with replaced(torch, "load", plain_load), replaced(sympy, "sympify", formula), \
                replaced(pytree, "importlib", Importer(guard)), \
                replaced(package, "_load_aoti", lambda *_, **__: guard.refuse("contains compiled code")) if package else contextlib.nullcontext():
            yield
    except WorkerError:
        raise
    except Exception:
        if guard.refused:
            guard.refuse(guard.refused)
        raise
    finally:
        guard.active = False
    if guard.refused:
        guard.refuse(guard.refused)
