"""``recdemo ui``: the terminal UI."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from recdemo.cli.data import reads_items
from recdemo.cli.options import DatasetOption, TextOption
from recdemo.cli.stores import opens_store_later

if TYPE_CHECKING:
    from recdemo.dataset.options import ReadOptions


@opens_store_later
@reads_items
def ui(
    dataset: DatasetOption = "ml-1m",
    text: TextOption = None,
    store: str | None = None,
    visitor: Annotated[
        bool, typer.Option("--visitor", hidden=True, help="Free models only, nothing kept.")
    ] = False,
    *,
    read: "ReadOptions",
) -> None:
    """Look items up in the terminal, and see side by side what two models would recommend."""
    from recdemo.ui.app import RecdemoApp
    from recdemo.workbench.services import open_services, stop_all
    from recdemo.workbench.wanted import Wanted

    app = RecdemoApp(open_services(Wanted(dataset, text, store, read, visitor)))
    app.run()
    stop_all()
    sys.stdout.flush()
    # Threads may be waiting for a service or building a collection, and Python would wait for
    # them. A build that ends here leaves only its temporary folder, which the next one removes.
    os._exit(app.return_code or 0)
