"""Dimensions as strings: which names an expression uses, and what it comes to once they are known."""
import ast
import math
from fractions import Fraction

FUNCTIONS = {
    "floor": math.floor, "ceil": math.ceil, "ceiling": math.ceil, "abs": abs, "Abs": abs,
    "max": max, "Max": max, "min": min, "Min": min, "Mod": lambda a, b: a - b * math.floor(a / b),
}
OPERATORS = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: Fraction(a // b), ast.Mod: lambda a, b: a % b, ast.Pow: lambda a, b: a**b,
}


class Unreadable(ValueError):
    pass


def parse(text):
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError) as fault:
        raise Unreadable(text) from fault


def names(text):
    """Identifiers in `text`; a text that is no expression is one name."""
    try:
        tree = parse(text)
    except Unreadable:
        return {text}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}


def evaluate(text, values):
    """The size that `text` stands for, as a Fraction. Unreadable when a name is not in `values`."""
    def walk(node):
        match node:
            case ast.Constant(value=int() | float() as number):
                return Fraction(number)
            case ast.Name(id=name) if name in values:
                return Fraction(values[name])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return Fraction(OPERATORS[type(op)](walk(left), walk(right)))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -walk(operand)
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in FUNCTIONS:
                return Fraction(FUNCTIONS[name](*map(walk, arguments)))
            case _:
                raise Unreadable(text)
    try:
        return walk(parse(text))
    except (ZeroDivisionError, OverflowError, TypeError) as fault:
        raise Unreadable(text) from fault
