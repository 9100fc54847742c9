"""Numbers as they are written in a report."""

import math

__all__ = ["written"]


def written(value: float, digits: int = 4) -> str:
    """Return a number with so many significant digits, and all digits before the decimal point.

    An exponent is written only below 0.0001 and from a billion on.

    Examples
    --------
    >>> [written(x) for x in (0.00123456, 12.0, 1234.56, -4519432.1, 3e12)]
    ['0.001235', '12', '1235', '-4,519,432', '3e+12']
    """
    if not 1e-4 <= abs(value) < 1e9:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{decimals}f}" if abs(value) >= 1e4 else f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
