"""Refresh the exact versions in ``pyproject.toml``: ``uv run python -m tests.pins``.

There is no lock file in the repository, since it records where packages were downloaded from.
All versions, also of what dependencies depend on, stand under ``[tool.uv]`` instead.
"""

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(constraint-dependencies = \[\n).*?(^\]\n)", re.DOTALL | re.MULTILINE)


def pins(lock: Path) -> list[str]:
    """Return ``name==version`` for every package of a lock file but our own."""
    found = []
    for package in tomllib.loads(lock.read_text(encoding="utf-8"))["package"]:
        if "registry" not in package["source"]:
            continue
        markers = package.get("resolution-markers", [])
        where = " ; " + " or ".join(f"({marker})" for marker in markers) if markers else ""
        found.append(f"{package['name']}=={package['version']}{where}")
    return sorted(found)


def main() -> None:
    """Resolve anew without constraints and write what was found."""
    project = ROOT / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    project.write_text(BLOCK.sub(r"\1\2", text), encoding="utf-8")
    subprocess.run(["uv", "lock", "--upgrade"], cwd=ROOT, check=True)
    lines = "".join(f'    "{pin}",\n' for pin in pins(ROOT / "uv.lock"))
    project.write_text(BLOCK.sub(lambda m: m[1] + lines + m[2], text), encoding="utf-8")


if __name__ == "__main__":
    main()
