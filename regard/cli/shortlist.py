"""regard shortlist"""

from pathlib import Path

from regard.cli.options import RUN, argument

COUNTED = argument(
    "[FILES]", "Pairs to count tokens in: two aligned files, or one .tsv; the run's own text if unset.", default=[]
)


def shortlist(run: Path = RUN, files: list[str] = COUNTED) -> None:
    """Make translating faster: find the target tokens that can translate each source token, and try them on dev.

    The lists are stored in the run. `regard translate` uses them by default where at least 99% of the translations stay
    and BLEU moves by at most 0.1; `--shortlist on` and `off` decide otherwise.

    Examples:
      regard shortlist runs/mine
      regard shortlist runs/opus train.en train.fr

    Read more: docs/howto/faster.md
    """
    from regard.api.translation import make_shortlist
    from regard.display.console import terminal_width
    from regard.display.views.machine import format_shortlist

    record = make_shortlist(run, *files, progress=True)
    print("\n".join(format_shortlist(record, run, terminal_width())))
