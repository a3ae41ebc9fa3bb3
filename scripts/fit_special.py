"""Fits the polynomials of the special functions and writes src/loop/special_coefficients.h.

As scripts/fit_math.py: each polynomial interpolates its function at Chebyshev nodes, computed with 60 digits. Needs
mpmath: `python scripts/fit_special.py > src/loop/special_coefficients.h`.
"""

import mpmath as mp
from fit_math import fit

mp.mp.dps = 60
TEMME_TERMS, TEMME_DEGREE = 9, 19


def write(name, what, values):
    print(f"// {what}")
    print(f"inline constexpr double k{name}[] = {{")
    for c in values:
        print(f"    {mp.nstr(mp.mpf(float(c)), 17)},")
    print("};\n")


def erfcx(t):
    if t == 1:
        return 2 / mp.sqrt(mp.pi)
    x = mp.mpf("3.75") * (1 + t) / (1 - t)
    if x > 40:  # the product of a huge and a tiny number; the asymptotic series is exact to 60 digits there
        terms = [mp.mpf(1)]
        for k in range(1, 200):
            term = -terms[-1] * (2 * k - 1) / (2 * x * x)
            if abs(term) > abs(terms[-1]) or abs(term) < mp.mpf(10) ** -55:
                break
            terms.append(term)
        return mp.fsum(terms) / (x * mp.sqrt(mp.pi)) * (1 + 2 * x)
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


def stirling_numbers(count):
    """gamma(a) = sqrt(2 pi / a) (a / e)^a sum g_k a^-k."""
    # log of the series is sum B_2k / (2k (2k - 1)) a^(1 - 2k)
    logs = [mp.mpf(0)] * (count + 1)
    for k in range(1, count // 2 + 2):
        if 2 * k - 1 <= count:
            logs[2 * k - 1] = mp.bernoulli(2 * k) / (2 * k * (2 * k - 1))
    out = [mp.mpf(1)]
    for n in range(1, count + 1):
        out.append(mp.fsum(k * logs[k] * out[n - k] for k in range(1, n + 1)) / n)
    return out


def temme():
    """The coefficients of eta^n in C_k(eta), by the recurrence eta C_k = (d C_{k-1} / d eta) + g_k eta / mu.

    C_0 = 1 / mu - 1 / eta, where eta^2 / 2 = mu - log(1 + mu): N. Temme, "The asymptotic expansion of the incomplete
    gamma functions", SIAM J. Math. Anal. 10 (1979).
    """
    size = TEMME_DEGREE + 2 * TEMME_TERMS + 4
    # mu(eta) = sum a_n eta^n, from mu' mu = eta (1 + mu)
    a = [mp.mpf(0), mp.mpf(1)]
    for n in range(2, size + 2):
        # the coefficient of eta^n in mu mu': (n + 1) a_n + sum over the others = a_(n-1)
        rest = mp.fsum(j * a[j] * a[n + 1 - j] for j in range(2, n))
        a.append((a[n - 1] - rest) / (n + 1))
    # eta / mu = 1 / (a_1 + a_2 eta + ...)
    shifted, inverse = a[1:], [mp.mpf(1)]
    for n in range(1, size):
        inverse.append(-mp.fsum(shifted[j] * inverse[n - j] for j in range(1, n + 1)))
    g = stirling_numbers(TEMME_TERMS + 1)
    rows = [[inverse[n + 1] for n in range(size - 1)]]  # 1 / mu - 1 / eta
    for k in range(1, TEMME_TERMS):
        last = rows[-1]
        sign = (-1) ** k
        # eta C_k = C_{k-1}' + (-1)^k g_k eta / mu, whose constant terms cancel
        slope = [(n + 1) * last[n + 1] for n in range(len(last) - 1)]
        total = [s + sign * g[k] * i for s, i in zip(slope, inverse, strict=False)]
        assert abs(total[0]) < mp.mpf(10) ** -40, (k, total[0])
        rows.append(total[1:])
    return rows


def exp1_far(t):
    """x e^x E1(x), by the asymptotic series where that is exact to 50 digits."""
    if t == 1:
        return mp.mpf(1)
    x = 2 * (1 + t) / (1 - t)
    return asymptotic(-x) if x > 150 else x * mp.exp(x) * mp.e1(x)


def expi_far(x):
    return asymptotic(x) if x > 150 else x * mp.exp(-x) * mp.ei(x)


def asymptotic(x):
    """The sum of k! / x^k, to its smallest term."""
    total = term = mp.mpf(1)
    for k in range(1, 200):
        following = term * k / x
        if abs(following) > abs(term) or abs(following) < mp.mpf(10) ** -55:
            break
        term = following
        total += term
    return total


def exponential_integrals():
    write(
        "Exp1Near",
        "E1(x) + log(x) in x, for 0 <= x <= 1",
        fit(lambda x: mp.log(x) + mp.e1(x), 0, 1, 13),
    )
    write("Exp1Far", "x e^x E1(x) in (x - 2) / (x + 2), for x >= 1", fit(exp1_far, mp.mpf(-1) / 3, 1, 27))
    zero = mp.findroot(mp.ei, 0.3725)
    high = mp.mpf(float(zero))
    print("// The zero of Ei.")
    for name, part in (("", high), ("Rest", mp.mpf(float(zero - high)))):
        print(f"inline constexpr double kExpiZero{name} = {mp.nstr(part, 17)};")
    print()

    def slope(t):
        x = 3 * (1 + t)
        return (mp.ei(x) - mp.log(x / zero)) / (x - zero)

    write("ExpiNear", "(Ei(x) - log(x / zero)) / (x - zero) in x / 3 - 1, for 0 <= x <= 6", fit(slope, -1, 1, 23))
    write(
        "ExpiMiddle", "x e^-x Ei(x) in 24 / x - 3, for 6 <= x <= 12", fit(lambda t: expi_far(24 / (t + 3)), -1, 1, 21)
    )
    write("ExpiFar", "x e^-x Ei(x) in 36 / x - 2, for 12 <= x <= 36", fit(lambda t: expi_far(36 / (t + 2)), -1, 1, 22))
    write("ExpiLast", "x e^-x Ei(x) in 72 / x - 1, for x >= 36", fit(lambda t: expi_far(72 / (t + 1)), -1, 1, 15))


def bessel_j():
    for order in (0, 1):
        zeros = [mp.besseljzero(order, k) for k in (1, 2)]
        print(f"// The first zeros of J{order}, and what is left of them.")
        high = [mp.mpf(float(z)) for z in zeros]
        for name, parts in (("", high), ("Rest", [z - h for z, h in zip(zeros, high, strict=True)])):
            values = ", ".join(mp.nstr(mp.mpf(float(v)), 17) for v in parts)
            print(f"inline constexpr double kBesselJ{order}Zeros{name}[] = {{{values}}};")
        print()

        def near(t, order=order, zeros=zeros):
            square = 32 * (1 + t)
            x = mp.sqrt(square)
            return mp.besselj(order, x) / x**order / mp.fprod(square - z * z for z in zeros)

        what = f"J{order}(x) / (x^{order} (x^2 - z1^2) (x^2 - z2^2)) in x^2 / 32 - 1, for 0 <= x <= 8"
        write(f"BesselJ{order}Near", what, fit(near, -1, 1, 16))

        def far(t, which, order=order):
            x = 8 / mp.sqrt((1 + t) / 2)
            angle = x - (2 * order + 1) * mp.pi / 4
            j, y = (f(order, x) * mp.sqrt(mp.pi * x / 2) for f in (mp.besselj, mp.bessely))
            if which == "P":
                return j * mp.cos(angle) + y * mp.sin(angle)
            return x * (y * mp.cos(angle) - j * mp.sin(angle))

        for which, degree in (("P", 13), ("Q", 15)):
            what = (
                f"{which} of J{order}(x) = sqrt(2 / (pi x)) (P cos c - Q / x sin c), c = x - {2 * order + 1} pi / 4, "
            )
            fitted = fit(lambda t, which=which: far(t, which), "-0.99999", 1, degree)
            write(f"BesselJ{order}{which}", what + "in 128 / x^2 - 1, for x >= 8", fitted)


def main():
    print(
        "// Written by scripts/fit_special.py: the polynomials of the special functions, lowest coefficient first. Not for\n"
        "// editing."
    )
    print("#pragma once\n\nnamespace ig::loop::special::coefficients {\n")
    write(
        "Erfcx",
        "exp(x^2) erfc(x) (1 + 2x) in t = (x - 3.75) / (x + 3.75), for x >= 0.5",
        fit(erfcx, "-0.766", 1, 25),
    )
    write("Gamma", "gamma(2 + r) in r, for 0 <= r <= 1", [1, *fit(lambda r: (mp.gamma(2 + r) - 1) / r, 0, 1, 19)])
    write(
        "LogGamma1p",
        "log(gamma(1 + r)) / r in r, for 0 <= r <= 1",
        fit(lambda r: mp.loggamma(1 + r) / r, 0, 1, 23),
    )
    write(
        "ErfcInvFar",
        "erfc_inv(y) / sqrt(w) in t = (sqrt(w) - 16.5) / 11.5, where w = -log(y (2 - y)), for 5 <= sqrt(w) <= 28: a start",
        fit(erfc_inv_of, -1, 1, 10),
    )
    for order in (0, 1):

        def near(t, order=order):
            x = 4 * (t + 1)
            return mp.exp(-x) * mp.besseli(order, x) / (x**order if order else 1)

        def far(t, order=order):
            x = 16 / (t + 1)
            return mp.exp(-x) * mp.besseli(order, x) * mp.sqrt(x)

        for name, digits, near_degree, far_degree in (("", "", 27, 24), ("Single", ", to float32", 18, 7)):
            what = f"exp(-x) I{order}(x) / x^{order} in x / 4 - 1, for 0 <= x <= 8"
            write(f"BesselI{order}Near{name}", what + digits, fit(near, -1, 1, near_degree))
            what = f"exp(-x) I{order}(x) sqrt(x) in 16 / x - 1, for x >= 8"
            write(f"BesselI{order}Far{name}", what + digits, fit(far, "-0.99999", 1, far_degree))
    exponential_integrals()
    bessel_j()
    rows = temme()
    print("// The coefficients of the powers of eta in Temme's C_k(eta).")
    print(f"inline constexpr double kTemme[{TEMME_TERMS}][{TEMME_DEGREE + 1}] = {{")
    for row in rows:
        print("    {" + ", ".join(mp.nstr(mp.mpf(float(c)), 17) for c in row[: TEMME_DEGREE + 1]) + "},")
    print("};\n")
    print("}  // namespace ig::loop::special::coefficients")


def erfc_inv_of(t):
    root = mp.mpf("16.5") + mp.mpf("11.5") * t
    w = root * root
    log_y = -w - mp.log(2)  # y (2 - y) = exp(-w), y far below 1
    z = root
    for _ in range(60):
        scaled = mp.erfc(z) * mp.exp(z * z)
        step = (mp.log(scaled) - z * z - log_y) * mp.sqrt(mp.pi) * scaled / 2
        z += step
        if abs(step) < mp.mpf(10) ** -50:
            break
    return z / root


if __name__ == "__main__":
    main()
