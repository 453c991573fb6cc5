// Numbers as text. D3's own formats are not used: release 1.4.1 strips zeros of the exponent ("1.23e-10" becomes "1.23e-1") and shortens counts from 10^12 on.

// JSON has no numbers for NaN and the infinities: they come as words.
const number = value => value === null || value === undefined ? NaN : Number(value);
const known = value => typeof value === "number";
const superscript = exponent => [...String(exponent)].map(c => c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("");

/// Decimal notation with commas between thousands, for sizes below 10^21.
function decimal(x) {
  const [whole, fraction] = String(Math.abs(x)).split(".");
  return (x < 0 ? "−" : "") + whole.replace(/\B(?=(\d{3})+$)/g, ",") + (fraction ? "." + fraction : "");
}
const count = n => decimal(Number(n));
const power = exponent => exponent >= -2 && exponent <= 4 ? decimal(10 ** exponent) : "10" + superscript(exponent);

/// `digits` significant digits without zeros at the end.
function short(value, digits = 3) {
  const x = number(value);
  if (value === null || value === undefined) return "–";
  if (!isFinite(x)) return Number.isNaN(x) ? "NaN" : x > 0 ? "∞" : "−∞";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 1e5 && size >= 1e-3) return decimal(Number(x.toPrecision(digits)));
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e");
  return `${decimal(Number(mantissa))}e${Number(exponent)}`.replace("e-", "e−");
}

/// A rate or a ratio with three digits, as the tables in text have it.
const amount = value => known(value) && Math.abs(value) >= 1e5 && Math.abs(value) < 1e15 ? decimal(Number(value.toPrecision(3))) : short(value);

function seconds(value) {
  const x = number(value);
  if (!isFinite(x)) return "–";
  if (x === 0) return "0";
  const almost = 0.9995;  // three digits of it read as 1 of the larger unit
  return x >= almost ? short(x) + " s" : x >= almost * 1e-3 ? short(x * 1e3) + " ms" : short(x * 1e6) + " µs";
}
