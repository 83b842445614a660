"""What jobs report, as a list."""

from regard.progress import SilentListener


class NoteListener(SilentListener):
    """Collects notes, and shows no stage."""

    def __init__(self, notes: list[str]):
        self._notes = notes

    def show_note(self, text: str) -> None:
        self._notes.append(text)
