"""The paper's claims in a sentence each, and the cells that miss the printed ones."""

from collections.abc import Iterator, Mapping
from typing import Any

from kmpe.paper.settings import ELM_METHODS, printed

__all__ = ["misses", "verdict_cards"]

_WANTED = {"table7": 26, "table8": 24}


def verdict_cards(verdicts: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield for each claim what it is about, what was found, and whether it holds."""
    if "table2" in verdicts:
        found = verdicts["table2"]
        inside = "inside" if found["inside"] else "not always inside"
        order = "the same" if found["same_order"] else "another"
        yield (
            "Table 2: sinc",
            f"the paper's draw lies {inside} the range of ours; {order} order of methods",
            found["inside"] and found["same_order"],
        )
    for name, what in (("table7", "Table 7: regression"), ("table8", "Table 8: classification")):
        if name in verdicts and verdicts[name]["of"]:
            found = verdicts[name]
            share = _WANTED[name] / (28 if name == "table7" else 32)
            yield (
                what,
                f"{found['within']} of {found['of']} testing cells within two of the paper's "
                "standard deviations",
                found["within"] >= share * found["of"],
            )

    for name, what in (("fig3", "Figure 3: occlusion"), ("fig4", "Figure 4: dummy images")):
        if name in verdicts:
            lowest = verdicts[name]["lowest"]
            yield (
                what,
                f"PCA-KMPE has {'' if lowest else 'not always '}the lowest error of the paper's "
                "methods from m = 20 on",
                lowest,
            )
    for name, what in (("table9", "Table 9: digits"), ("table10", "Table 10: faces")):
        if name in verdicts and verdicts[name]["of"]:
            found = verdicts[name]
            yield (
                what,
                f"{found['within']} of {found['of']} cells within two of the paper's standard "
                "deviations",
                found["within"] == found["of"],
            )


def misses(name: str, tables: Mapping[str, Any], titles: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the cells that count and are more than two standard deviations off, by row."""
    if name not in ("table7", "table8", "table9", "table10"):
        return {}
    digits = 2 if name in ("table8", "table9") else 4
    found: dict[str, list[str]] = {}
    for key, what, cell in _counted(name, tables[name]):
        if abs(cell.get("z", 0)) > 2:
            text = (
                f"{titles.get(key, key)}, {what}: {cell['mean']:.{digits}f} against "
                f"{cell['paper']:.{digits}f} ± {cell['paper_sd']:.{digits}f} ({cell['z']:+.1f})"
            )
            found.setdefault(key, []).append(text)
    return found


def _counted(name: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield row, column and content of each cell that has a printed one and counts."""
    for key, row in table.items():
        if name in ("table7", "table8"):
            if key in printed()[name]:
                for method in ELM_METHODS:
                    yield key, method, row[method]["test"]
        elif name == "table9":
            for method, cell in row.items():
                yield f"m = {key}", method, cell
        else:
            for measure, methods in row.items():
                for method, cell in methods.items():
                    yield f"m = {key}, {measure}", method, cell
