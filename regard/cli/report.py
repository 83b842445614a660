"""regard report"""

from pathlib import Path

from regard.cli.options import ADVANCED, OUTPUT, argument, flag, option


def report(
    folder: Path = argument("FOLDER", "Study folder, or the folder of a finished run."),
    all_tests: bool = flag(OUTPUT, "Show the test scores of every trial, not only of the selected one.", "--all-tests"),
    pads_counted: bool = flag(
        OUTPUT, "Also show accuracy and loss as they would be if padding counted.", "--pads-counted"
    ),
    storage: str | None = option(ADVANCED, "URL", "Storage URL, including the password if one is needed."),
) -> None:
    """Draw the page of a study or of a finished run again: one offline HTML file that begins with the answer.

    The page of a run has the scores of every set that it was evaluated on since its training.

    Examples:
      regard report studies/layers
      regard report studies/layers --all-tests
      regard report runs/mine

    Read more: docs/howto/tune.md
    """
    from regard.api.studies import write_report

    print(write_report(folder, all_tests=all_tests, pads_counted=pads_counted, storage=storage))
