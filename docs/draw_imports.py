"""Draw which package imports which, from the imports in the code.

    python docs/draw_imports.py docs/images/architecture.svg

Rows are layers: a package stands one row below the lowest that imports it. An arrow is an import;
those that a longer way implies are left out, so that the drawing can be read.
"""

import ast
import sys
from itertools import product
from pathlib import Path

import kmpe

ROOT = Path(kmpe.__file__).parent
# The public face of a few names, and arrays: everything imports them, they say nothing.
LEFT_OUT = {"kmpe", "arrays", "foreign"}
BOX, GAP, ROW = (132, 40), 28, 92


def package_of(module: str) -> str:
    """Return the package or top-level module of a dotted name: kmpe.rows.files is rows."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def imported() -> dict[str, set[str]]:
    """Return what each package of kmpe imports of the others, at run time."""
    found: dict[str, set[str]] = {}
    for file in sorted(ROOT.rglob("*.py")):
        path = file.relative_to(ROOT.parent).with_suffix("").parts
        importer = package_of(".".join(part for part in path if part != "__init__"))
        uses = found.setdefault(importer, set())
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kmpe."):
                uses.add(package_of(node.module or ""))
            elif isinstance(node, ast.ImportFrom) and node.module == "kmpe":
                # What a user can import stands in the estimators, but for packages by name.
                names = {alias.name for alias in node.names}
                folders = {n for n in names if (ROOT / n).is_dir() or (ROOT / f"{n}.py").exists()}
                uses |= folders or {"estimators"}
    kept = {name for name in found if name not in LEFT_OUT}
    return {name: (found[name] & kept) - {name} for name in sorted(kept)}


def layers(uses: dict[str, set[str]]) -> dict[str, int]:
    """Return the row of each package, 0 at the top: one below the lowest that imports it."""
    importers = {name: {other for other in uses if name in uses[other]} for name in uses}
    rows: dict[str, int] = {}
    while len(rows) < len(uses):
        ready = [n for n, above in importers.items() if n not in rows and above <= rows.keys()]
        if not ready:
            raise SystemExit(f"imports go round in a circle: {sorted(uses.keys() - rows.keys())}")
        rows |= {n: 1 + max((rows[b] for b in importers[n]), default=-1) for n in ready}
    return rows


def without_detours(uses: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the imports that no longer way implies (the transitive reduction)."""
    reach = {n: set(below) for n, below in uses.items()}
    for middle, name in product(uses, uses):
        if middle in reach[name]:
            reach[name] |= reach[middle]
    return {
        name: {b for b in below if not any(b in reach[other] for other in below - {b})}
        for name, below in uses.items()
    }


def drawing() -> str:
    """Return the drawing as SVG."""
    uses = imported()
    rows = layers(uses)
    width, height = BOX
    lines = [[n for n in uses if rows[n] == row] for row in range(max(rows.values()) + 1)]
    total = max(len(line) for line in lines) * (width + GAP) + GAP
    at = {}
    for row, line in enumerate(lines):
        left = (total - len(line) * (width + GAP) + GAP) / 2
        top = row * ROW + GAP
        at |= {name: (left + i * (width + GAP), top) for i, name in enumerate(line)}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total:.0f} {len(lines) * ROW:.0f}" '
        'font-family="sans-serif" font-size="15">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#888"/></marker></defs>',
        f'<rect width="{total:.0f}" height="{len(lines) * ROW:.0f}" fill="white"/>',
    ]
    for name, below in sorted(without_detours(uses).items()):
        for other in sorted(below):
            (x, y), (u, v) = at[name], at[other]
            ends = f'x1="{x + width / 2:.0f}" y1="{y + height:.0f}" '
            ends += f'x2="{u + width / 2:.0f}" y2="{v:.0f}"'
            parts.append(f'<line {ends} stroke="#888" marker-end="url(#tip)"/>')
    for name, (x, y) in sorted(at.items()):
        parts.append(
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width}" height="{height}" rx="6" '
            'fill="#eef3fa" stroke="#4a6fa5"/>'
            f'<text x="{x + width / 2:.0f}" y="{y + height / 2 + 5:.0f}" '
            f'text-anchor="middle">{name}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(drawing())
