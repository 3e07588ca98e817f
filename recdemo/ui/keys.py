"""The line at the bottom that says which keys do what; as many as fit, and none cut."""

from textual import events
from textual.binding import ActiveBinding
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

_ALWAYS = ("help", "quit")  # actions that have a place however narrow it is
_LAST = ("command_palette", *_ALWAYS)  # at the end, where they are looked for


class Keys(Static):
    """What the keys of the screen do; a click does it as well."""

    def __init__(self) -> None:
        super().__init__(id="keys")

    def on_mount(self) -> None:
        """Listen for other keys."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self._draw())

    def on_resize(self, event: events.Resize) -> None:
        """Choose anew which keys fit."""
        self._draw()

    def _draw(self) -> None:
        width = self.content_size.width
        known = {
            active.binding.action: active
            for active in self.screen.active_bindings.values()
            if active.enabled
            and (active.binding.show or active.binding.action == "command_palette")
        }
        last = [action for action in _LAST if action in known]
        first = [action for action in known if action not in _LAST]
        parts = {action: self._part(known[action]) for action in (*first, *last)}
        order = [each for each in last if each in _ALWAYS] + first + last
        fitting: set[str] = set()
        for action in dict.fromkeys(order):
            if sum(parts[each].cell_length + 1 for each in {*fitting, action}) > width + 1:
                break
            fitting.add(action)
        shown = [part for action, part in parts.items() if action in fitting]
        roomy = sum(part.cell_length + 2 for part in shown) <= width + 2
        self.update(Content("  " if roomy else " ").join(shown))

    def _part(self, active: ActiveBinding) -> Content:
        binding = active.binding
        key = self.app.get_key_display(binding)
        key = key.upper() if key[1:].isdecimal() else key
        owner = "app" if active.node is self.app else "screen"
        part = Content.assemble((key, "bold $footer-key-foreground"), " ", binding.description)
        return part.stylize(Style.from_meta({"@click": f"{owner}.{binding.action}"}))
