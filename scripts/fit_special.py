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
        near = fit(
            lambda t, order=order: (
                mp.exp(-4 * (t + 1)) * mp.besseli(order, 4 * (t + 1)) / ((4 * (t + 1)) ** order if order else 1)
            ),
            -1,
            1,
            27,
        )
        write(f"BesselI{order}Near", f"exp(-x) I{order}(x) / x^{order} in x / 4 - 1, for 0 <= x <= 8", near)
        far = fit(
            lambda t, order=order: (
                mp.exp(-16 / (t + 1)) * mp.besseli(order, 16 / (t + 1)) * mp.sqrt(16 / (t + 1)) if t > -1 else 0
            ),
            "-0.99999",
            1,
            24,
        )
        write(f"BesselI{order}Far", f"exp(-x) I{order}(x) sqrt(x) in 16 / x - 1, for x >= 8", far)
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
