"""Fits the polynomials of the vector maths and writes src/loop/math_coefficients.h.

Each polynomial interpolates its function at Chebyshev nodes, computed with 60 digits, which is within a small factor
of the best polynomial of that degree. Needs mpmath: `python scripts/fit_math.py > src/loop/math_coefficients.h`.
"""

import itertools
import math
import struct

import mpmath as mp

mp.mp.dps = 60


def fit(f, a, b, degree):
    """Coefficients, lowest first, of the polynomial through f at degree + 1 Chebyshev nodes of [a, b]."""
    n = degree + 1
    a, b = mp.mpf(a), mp.mpf(b)
    nodes = [(a + b) / 2 + (b - a) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    matrix = mp.matrix(n, n)
    for i, x in enumerate(nodes):
        for j in range(n):
            matrix[i, j] = x**j
    return list(mp.lu_solve(matrix, mp.matrix([f(x) for x in nodes])))


def series(f, z, terms=40):
    """f(z) near zero by its Taylor series, where the formula cancels; f is given as a list of coefficients."""
    return mp.fsum(c * z**k for k, c in enumerate(f[:terms]))


def single_of(value):
    return struct.unpack("f", struct.pack("f", float(value)))[0]


def single_bits(value):
    return struct.unpack("I", struct.pack("f", float(value)))[0]


def single_from_bits(word):
    return struct.unpack("f", struct.pack("I", word))[0]


def text(coefficient, single):
    if not single:
        return mp.nstr(mp.mpf(float(coefficient)), 17)
    return mp.nstr(mp.mpf(single_of(coefficient)), 9) + "f"


def write_coefficients(name, what, single, coefficients):
    print(f"// {what}")
    kind = "float" if single else "double"
    print(f"inline constexpr {kind} k{name}[] = {{")
    for c in coefficients:
        print(f"    {text(c, single)},")
    print("};\n")


def write(name, what, single, f, a, b, degree):
    write_coefficients(name, what, single, fit(f, a, b, degree))


def write_pieces(what, columns, **numbers):
    """Tables of what each piece has a column of, after the numbers that tell the pieces apart."""
    for name, value in numbers.items():
        print(f"inline constexpr double k{what}{name} = {mp.nstr(value, 17)};")
    print(f"inline constexpr std::array<float, 16> k{what}Pieces[] = {{")
    for row in zip(*columns, strict=True):
        print(f"    {{{', '.join(text(c, single=True) for c in row)}}},")
    print("};\n")


def write_erf_pieces():
    """erf(a) - min(a, kink) in the distance d from the nearest multiple of a step: one table for each power of d."""
    step, kink, limit, degree = mp.mpf(269) / 512, mp.mpf(807) / 1024, mp.mpf("3.93"), 7
    columns = []
    for i in range(8):
        middle = i * step
        end = min(middle + step / 2, limit) - middle
        if i == 0:  # relative to d, so that erf keeps its digits towards zero
            columns.append([mp.mpf(0), *fit(lambda d: mp.erf(d) / d - 1, "1e-20", end, degree - 1)])
        else:
            columns.append(fit(lambda d, m=middle: mp.erf(m + d) - min(m + d, kink), -step / 2, end, degree))
    print(
        "// erf(a) - min(a, kink) in the distance from the nearest multiple of the step, up to the limit, from where on it"
    )
    print("// is 1 to the last place: a table for each power of the distance, of one entry for each multiple, and both")
    print("// halves of a table are the same")
    write_pieces("Erf", columns + columns, Step=step, Kink=kink, Limit=limit)


def write_atan(tail):
    """The last coefficient is the least that makes of atan(1), whose digits lie halfway between two floats, the one
    that is nearer to pi/4."""
    c = [single_of(v) for v in fit(tail, "1e-20", 1, 9)]

    def at_one():
        total = c[-1]
        for v in reversed(c[:-1]):
            total = single_of(mp.mpf(total) + v)
        return single_of(1 + mp.mpf(total))

    while at_one() != single_of(mp.pi / 4):
        c[-1] = single_from_bits(single_bits(c[-1]) + 1)
    write_coefficients("AtanF32", "(atan(t) - t) / t^3 in t^2, for |t| <= 1", True, c)


def write_table(what, entries):
    print(f"inline constexpr std::array<float, 16> k{what} = {{")
    for entry in entries:
        print(f"    {entry},")
    print("};\n")


def write_exp_roots():
    roots = [mp.mpf(2) ** (mp.mpf(j) / 8) for j in range(8)]
    print("// 2^(j/8), twice")
    write_table("Roots", [text(root, single=True) for root in roots * 2])
    print(
        "// What gives the bits of 2^(j/8) when these are added: an exponent less one from the 23rd bit on, and j below it,"
    )
    print("// from the 20th; and what 2^(j/8) is more than these bits, as a part of it")
    words = [single_bits(root) - single_bits(1) - (j << 20) + (1 << 23) for j, root in enumerate(roots)]
    write_table("RootBits", [f"std::bit_cast<float>({word:#010x}u)" for word in words * 2])
    write_table("RootRests", [text(root / single_of(root) - 1, single=True) for root in roots * 2])


def nearly_float(f, x, reach=400):
    """Of the floats near x the one where f lies nearest to a float."""
    start = single_bits(x)
    near = [mp.mpf(single_from_bits(start + k)) for k in range(-reach, reach + 1)]
    return min(near, key=lambda point: abs(f(point) - single_of(f(point))))


def write_log_pieces(name, scale):
    """The logarithm in the base of which 1 / log(base) is the scale, in eight pieces of an octave that begins where one
    of them has 1 near its middle, which is that one's point. Of the floats near another piece's middle the point is the
    one whose logarithm lies nearest to a multiple of 2^-16, so that its sum with a multiple of a short log(2) is exact,
    and whose slope there lies nearest to a float."""

    def error(point):  # how far from exact both are, in what of either one may take
        multiple, slope = math.log(point) * scale * 2**16, scale / point
        return max(abs(multiple - round(multiple)) * 2**14, abs(single_of(slope) / slope - 1) * 2**25 * 5)

    start = mp.mpf(23) / 32
    edges = [single_from_bits(single_bits(start) + (k << 20)) for k in range(9)]
    columns, reach = [], []
    for begin, end in itertools.pairwise(edges):
        first, last = (single_bits(begin + (end - begin) * share) for share in (0.38, 0.62))
        point = 1.0 if begin < 1 < end else min(map(single_from_bits, range(first, last)), key=error)
        columns.append([point, scale / point, round(math.log(point) * scale * 2**16) / 2**16])
        reach += [(begin - point) / point * scale, (end - point) / point * scale]
    print(
        "// What this logarithm of F32 looks up, for eight pieces of an octave that begins at kLogBegin: the entry is"
    )
    print(
        "// named by the three bits behind the exponent, counted from there. A point of each piece, the slope there, and"
    )
    print("// the logarithm, a multiple of 2^-16. Both halves of a table are the same")
    write_pieces(name, columns + columns, **({"Begin": start} if name == "Log" else {}))
    write(
        f"{name}F32",
        "(log(1 + r / scale) scale - r) / r^2, scale = 1 / log(base), of the pieces of an octave",
        True,
        lambda r: (mp.log1p(r / scale) * scale - r) / r**2 if abs(r) > 1e-12 else r / (3 * scale**2) - 1 / (2 * scale),
        min(reach),
        max(reach),
        3,
    )


def write_log_pair_pieces():
    """The pieces of write_log_pieces(), with what their slopes and logarithms lack as floats."""
    start = mp.mpf(23) / 32
    edges = [single_from_bits(single_bits(start) + (k << 20)) for k in range(9)]
    columns, reach = [], []
    for begin, end in itertools.pairwise(edges):
        point = mp.mpf(1 if begin < 1 < end else single_of((begin + end) / 2))
        slope, multiple = mp.mpf(single_of(1 / point)), mp.nint(mp.log(point) * 2**16) / 2**16
        columns.append([point, slope, 1 / point - slope, multiple, mp.log(point) - multiple])
        reach += [begin / point - 1, end / point - 1]
    print(
        "// For a logarithm of F32 with more digits, in the pieces of kLogPieces: a point of each, the slope there, what"
    )
    print("// that lacks, the logarithm as a multiple of 2^-16, what that lacks. Both halves of a table are the same")
    write_pieces("LogPair", columns + columns)
    write(
        "LogPairF32",
        "(log(1 + r) - r + r^2/2) / r^3, of the pieces of an octave",
        True,
        lambda r: (mp.log1p(r) - r + r**2 / 2) / r**3 if abs(r) > 1e-12 else mp.mpf(1) / 3 - r / 4,
        min(reach),
        max(reach),
        4,
    )


def write_tanh_pieces():
    """tanh(a) in the distance from a point of each of 8 pieces, two to an octave of 1.5 + scale a: one table for each
    power. Of the floats near a piece's middle the point is the one whose tanh lies nearest to a float."""
    limit, scale, degree = mp.mpf("9.1"), mp.mpf("2.47"), 7
    edges = [mp.mpf(y) for y in ("1.5", "2", "3", "4", "6", "8", "12", "16", "24")]
    columns = [None] * 8
    for y, above in itertools.pairwise(edges):
        begin, end = (y - edges[0]) / scale, (above - edges[0]) / scale
        if begin == 0:  # relative to a, so that tanh keeps its digits towards zero
            column = [0, 0, 1, *fit(lambda d: (mp.tanh(d) / d - 1) / d, "1e-20", end, degree - 2)]
        else:
            point = nearly_float(mp.tanh, (begin + end) / 2)
            slope = fit(
                lambda d, p=point: (mp.tanh(p + d) - mp.tanh(p)) / d if d else mp.sech(p) ** 2,
                begin - point,
                end - point,
                degree - 1,
            )
            column = [point, mp.tanh(point), *slope]
        columns[(single_bits(y) >> 22) & 7] = column
    print("// tanh(a) up to the limit, from where on it is 1: the entry is named by the low three bits of the bits of")
    print(
        "// 1.5 + scale a, shifted right by 22. The first table holds points; the others, of each power of a's distance"
    )
    print("// from its point, the coefficient. Both halves of a table are the same")
    write_pieces("Tanh", columns + columns, Limit=limit, Scale=scale)


def write_erfcx_pieces():
    """exp(a^2) erfc(a) in the distance from a point of each of 8 pieces, two to an octave of 1 + scale a."""
    limit, scale, degree = mp.mpf("10.1"), mp.mpf("1.482"), 8

    def f(a):
        return mp.exp(a * a) * mp.erfc(a)

    columns = [None] * 8
    for k in range(8):
        begin, end = (((1 + mp.mpf(j % 2) / 2) * 2 ** (j // 2) - 1) / scale for j in (k, k + 1))
        point = nearly_float(f, (begin + end) / 2)
        slope = fit(lambda d, p=point: (f(p + d) - f(p)) / d, begin - point + mp.mpf("1e-20"), end - point, degree - 1)
        columns[(single_bits(1 + scale * begin * (1 + mp.mpf("1e-5"))) >> 22) & 7] = [point, f(point), *slope]
    print(
        "// exp(a^2) erfc(a) up to the limit, from where on erfc is 0: the entry is named by the low three bits of the"
    )
    print("// bits of 1 + scale a, shifted right by 22. The first table holds points; the others, of each power of a's")
    print("// distance from its point, the coefficient. Both halves of a table are the same")
    write_pieces("Erfcx", columns + columns, Limit=limit, Scale=scale)


def write_erf_inv_pieces():
    """erf_inv(x) / x in the distance of v = sqrt(-log(1 - x^2)) from a point of each of 8 pieces: the quotient grows
    nearly as v does, and is smooth in it. The points are where the quotient lies nearest to a float."""
    step, degree = mp.mpf(257) / 512, 6

    def f(v):
        x = mp.sqrt(-mp.expm1(-v * v))
        return mp.erfinv(x) / x if x else mp.sqrt(mp.pi) / 2

    columns = []
    for i in range(8):
        begin, end = i * step, (i + 1) * step
        point = nearly_float(f, (begin + end) / 2, 60)
        slope = fit(lambda d, p=point: (f(p + d) - f(p)) / d, begin - point + mp.mpf("1e-20"), end - point, degree - 1)
        columns.append([point, f(point), *slope])
    print("// erf_inv(x) / x in v = sqrt(-log(1 - x^2)), in pieces of v that are a step long. The first table holds")
    print(
        "// points; the others, of each power of v's distance from its point, the coefficient. Both halves of a table"
    )
    print("// are the same")
    write_pieces("ErfInv", columns + columns, Step=step)


def write_ndtri_far():
    """Where 4 p (1 - p) leaves the pieces of erf_inv, and 1 - p is 1 to the last place."""
    begin = mp.exp(-((4 * mp.mpf(257) / 512 * 2) ** 2)) / 4
    far = mp.mpf(single_of(begin * mp.mpf("1.02")))

    def quotient(u):
        tail = mp.exp(-1 / u**2) / 4  # -v^2 = log(4 p), v = 1 / u
        z = mp.sqrt(2) / u
        for _ in range(60):  # Newton's steps on log(erfc(z / sqrt 2) / 2) = log(tail)
            upper = mp.erfc(z / mp.sqrt(2)) / 2
            step = (mp.log(upper) - mp.log(tail)) * upper * mp.sqrt(2 * mp.pi) * mp.exp(z * z / 2)
            z += step
            if abs(step) < mp.mpf("1e-50"):
                break
        return z * u

    point = mp.mpf("0.171875")
    print(f"inline constexpr double kNdtriFar = {mp.nstr(far, 17)}, kNdtriFarPoint = {mp.nstr(point, 17)};")
    least, most = mp.mpf("0.0984"), 1 / mp.sqrt(-mp.log(4 * far)) * mp.mpf("1.0001")
    what = "-ndtri(p) / v - 1 in 1 / v - kNdtriFarPoint, for p < kNdtriFar and v = sqrt(-log(4 p))"
    write("NdtriFarF32", what, True, lambda d: quotient(d + point) - 1, least - point, most - point, 7)


def main():
    print(
        "// Written by scripts/fit_math.py: the polynomials of the vector maths, lowest coefficient first. Not for editing."
    )
    print("#pragma once\n\n#include <array>\n#include <bit>\n\nnamespace ig::loop::math::coefficients {\n")
    half_ln2 = mp.log(2) / 2 + mp.mpf("0.002")
    exp_tail = [1 / mp.factorial(k + 2) for k in range(40)]
    write("ExpF32", "(exp(r) - 1 - r) / r^2", True, lambda r: series(exp_tail, r), -half_ln2, half_ln2, 4)
    write_exp_roots()
    # The error of the shorter one counts times r^2 and shows, so its nodes lie farther out than Chebyshev's.
    for name, degree, reach in (("Eighth", 1, 1.287), ("EighthFine", 2, 1)):
        width = mp.log(2) / 16 * reach
        what = "(exp(r) - 1 - r) / r^2, for |r| <= ln(2)/16"
        write(f"Exp{name}F32", what, True, lambda r: series(exp_tail, r), -width, width, degree)
    write("Exp", "(exp(r) - 1 - r) / r^2", False, lambda r: series(exp_tail, r), -half_ln2, half_ln2, 10)

    write_log_pieces("Log", 1.0)
    write_log_pieces("Log2", 1 / math.log(2))
    write_log_pieces("Log10", 1 / math.log(10))
    write_log_pair_pieces()
    atanh_tail = [mp.mpf(2) / (2 * k + 3) for k in range(60)]
    write("Log", "(2 atanh(s) - 2s) / s^3 in s^2", False, lambda z: series(atanh_tail, z, 60), 0, "0.0296", 7)
    write(
        "LogTail",
        "(2 atanh(s) - 2s - 2/3 s^3) / s^5 in s^2",
        False,
        lambda z: series(atanh_tail[1:], z, 59),
        0,
        "0.0296",
        7,
    )

    quarter = (mp.pi / 4 + mp.mpf("0.01")) ** 2
    sin_tail = [(-1) ** (k + 1) / mp.factorial(2 * k + 3) for k in range(30)]
    cos_tail = [(-1) ** k / mp.factorial(2 * k + 4) for k in range(30)]
    write("SinF32", "(sin(r) - r) / r^3 in r^2", True, lambda z: series(sin_tail, z), 0, quarter, 3)
    write("CosF32", "(cos(r) - 1 + r^2/2) / r^4 in r^2", True, lambda z: series(cos_tail, z), 0, quarter, 3)
    write("Sin", "(sin(r) - r) / r^3 in r^2", False, lambda z: series(sin_tail, z), 0, quarter, 6)
    write("Cos", "(cos(r) - 1 + r^2/2) / r^4 in r^2", False, lambda z: series(cos_tail, z), 0, quarter, 6)

    def odd_tail(f):
        def g(z):
            x = mp.sqrt(z)
            return (f(x) - x) / x**3

        return g

    sinh_tail = [1 / mp.factorial(2 * k + 3) for k in range(30)]
    write("SinhF32", "(sinh(x) - x) / x^3 in x^2, for |x| < 1", True, lambda z: series(sinh_tail, z), 0, "1.01", 3)
    write("TanF32", "(tan(r) - r) / r^3 in r^2", True, odd_tail(mp.tan), "1e-20", quarter, 6)
    write_atan(odd_tail(mp.atan))
    write("AsinF32", "(asin(x) - x) / x^3 in x^2, for |x| <= 1/2", True, odd_tail(mp.asin), "1e-20", "0.2501", 5)
    write("Atan", "(atan(t) - t) / t^3 in t^2, for |t| <= tan(pi/8)", False, odd_tail(mp.atan), "1e-20", "0.1717", 11)
    write("Asin", "(asin(x) - x) / x^3 in x^2, for |x| <= 1/2", False, odd_tail(mp.asin), "1e-20", "0.2501", 12)

    def erf_ratio(z):
        x = mp.sqrt(z)
        return mp.erf(x) / x

    write_tanh_pieces()
    write_erf_pieces()
    write_erfcx_pieces()
    write_erf_inv_pieces()
    write_ndtri_far()
    write("Erf", "erf(x) / x in x^2, for |x| < 1", False, erf_ratio, "1e-20", "1.0", 13)

    def erfcx(t):
        x = mp.mpf("3.75") * (1 + t) / (1 - t)
        return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)

    write(
        "Erfcx",
        "exp(x^2) erfc(x) (1 + 2x) in t = (x - 3.75) / (x + 3.75), for 0.5 <= x <= 28",
        False,
        erfcx,
        "-0.766",
        "0.766",
        22,
    )

    def erf_inv_of_w(w):
        x = mp.sqrt(1 - mp.exp(-w))
        return mp.erfinv(x) / x

    write(
        "ErfInvSmall",
        "erf_inv(x) / x in x^2, for |x| < 1/2",
        False,
        lambda z: mp.erfinv(mp.sqrt(z)) / mp.sqrt(z),
        "1e-20",
        "0.25",
        14,
    )
    write(
        "ErfInvCentral",
        "erf_inv(x) / x in w - 3.125, 0.28 < w = -log(1 - x^2) < 6.25",
        False,
        lambda u: erf_inv_of_w(u + mp.mpf("3.125")),
        "-2.85",
        "3.126",
        23,
    )
    write(
        "ErfInvMiddle",
        "erf_inv(x) / x in sqrt(w) - 3.25, for 6.25 <= w < 16",
        False,
        lambda u: erf_inv_of_w((u + mp.mpf("3.25")) ** 2),
        "-0.751",
        "0.751",
        20,
    )
    write(
        "ErfInvTail",
        "erf_inv(x) / x in sqrt(w) - 5, for w >= 16",
        False,
        lambda u: erf_inv_of_w((u + 5) ** 2),
        "-1.001",
        "1.08",
        18,
    )

    def lgamma_ratio(u):  # at its two zeros by the slopes, which are digamma's
        if abs(u + 1) < mp.mpf("1e-30"):
            return -mp.digamma(1)
        return mp.digamma(2) if abs(u) < mp.mpf("1e-30") else mp.loggamma(u + 2) / (u * (u + 1))

    write("Lgamma", "lgamma(w) / ((w - 1) (w - 2)) in w - 2, for 1 <= w <= 3", False, lgamma_ratio, -1, 1, 27)
    write("Cbrt", "the cube root of 1 to 8, in m - 4.5", False, lambda u: mp.cbrt(u + mp.mpf("4.5")), "-3.5", "3.5", 7)

    print("// The binary digits of 2/pi, 64 at a time, behind 64 zeros.")
    with mp.workdps(500):
        bits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (64 * 19)))
    print("inline constexpr unsigned long long kTwoOverPi[] = {\n    0,")
    for k in range(19):
        print(f"    0x{(bits >> (64 * (18 - k))) & (2**64 - 1):016x}ull,")
    print("};\n")
    print("}  // namespace ig::loop::math::coefficients")


if __name__ == "__main__":
    main()
