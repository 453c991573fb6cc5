"""A sweep of numbers through the functions with which the page of `onnxkit diff` writes them (tools/report/assets/numbers.js)."""
import decimal
import re

# What a script with those functions answers for numbers: each as the page shows it, with 3 and with 9 digits, as a count and as a duration.
ANSWERS = "numbers => numbers.map(x => [short(x), short(x, 9), Number.isSafeInteger(x) ? count(x) : null, seconds(Math.abs(x)), power(Math.round(Math.log10(Math.abs(x))))])"
MANTISSAS = ("1", "1.23", "2.34", "-9.996", "5.00000004", "-1.02030405")
UNITS = {"s": 0, "ms": -3, "µs": -6}
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def sweep():
    return [float(f"{mantissa}e{exponent}") for exponent in range(-307, 308) for mantissa in MANTISSAS]


def parsed(text):
    """The number that a text of the page says; commas stand between thousands only."""
    if not re.fullmatch(r"−?(\d{1,3}(,\d{3})*|\d+)(\.\d*[1-9])?(e−?\d+)?", text):
        return None
    return decimal.Decimal(text.replace("−", "-").replace(",", ""))


def is_rounded(text, x, digits):
    """Whether a text says a number to so many digits."""
    number = parsed(text)
    exact = decimal.Decimal(x)
    return number is not None and abs(number - exact) <= decimal.Decimal("0.5000001") * decimal.Decimal(10) ** (exact.adjusted() - digits + 1)


def faults_of_figures(numbers, answers):
    if len(answers) != len(numbers):
        yield f"{len(numbers)} numbers have {len(answers)} answers"
    for x, (three, nine, count, seconds, power) in zip(numbers, answers):
        for text, digits in ((three, 3), (nine, 9)):
            if not is_rounded(text, x, digits):
                yield f"{x!r} to {digits} digits is shown as {text!r}"
        if count is not None and parsed(count) != decimal.Decimal(x):
            yield f"the count {x!r} is shown as {count!r}"
        amount, _, unit = seconds.partition(" ")
        if unit not in UNITS or not is_rounded(amount, abs(x) * 10.0 ** -UNITS[unit], 3):
            yield f"{abs(x)!r} seconds are shown as {seconds!r}"
        exponent = round(decimal.Decimal(abs(x)).log10())
        shown = decimal.Decimal(10) ** int(power[2:].translate(SUPERSCRIPTS)) if re.fullmatch("10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", power) else parsed(power)
        if shown != decimal.Decimal(10) ** exponent:
            yield f"10 to the power of {exponent} is shown as {power!r}"
