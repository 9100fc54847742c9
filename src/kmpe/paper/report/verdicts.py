"""The paper's claims in a sentence each, and the cells that miss the printed ones."""

from collections.abc import Iterator, Mapping
from typing import Any

from kmpe.paper.settings import ELM_METHODS

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


def misses(name: str, tables: Mapping[str, Any], titles: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the testing cells that are more than two standard deviations off, by row."""
    if name not in ("table7", "table8"):
        return {}
    digits = 4 if name == "table7" else 2
    found: dict[str, list[str]] = {}
    for key, row in tables[name].items():
        for method in ELM_METHODS:
            cell = row[method]["test"] if row else {}
            if abs(cell.get("z", 0)) > 2:
                text = (
                    f"{titles.get(key, key)}, {method}: {cell['mean']:.{digits}f} against "
                    f"{cell['paper']:.{digits}f} ± {cell['paper_sd']:.{digits}f} ({cell['z']:+.1f})"
                )
                found.setdefault(key, []).append(text)
    return found
