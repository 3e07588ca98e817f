"""One table in any format: for people from its columns, for programs from its records."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recdemo.cli.options import RunFormat
from recdemo.cli.output import show, show_rich, terminal_width

if TYPE_CHECKING:
    from recdemo.report.columns import Column


def show_table(
    columns: "Sequence[Column]",
    records: Sequence[Mapping[str, Any]],
    format: RunFormat,
    output: Path | None = None,
    below: Sequence[str] = (),
) -> None:
    """Show a table; lines *below* it are for people only."""
    from rich.console import Group
    from rich.text import Text

    from recdemo.report.columns import fitting, pipes, rich_table

    if format is RunFormat.TABLE:
        table = rich_table(fitting(list(columns), terminal_width()))
        show_rich(Group(table, *map(Text, below)), output)
    elif format is RunFormat.MARKDOWN:
        show("\n\n".join([pipes(columns), *filter(None, below)]) + "\n", output)
    elif format is RunFormat.CSV:
        show(_csv(records), output)
    else:
        show(json.dumps(list(records), indent=1) + "\n", output)


def _csv(records: Sequence[Mapping[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow(
            {k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in record.items()}
        )
    return out.getvalue()
