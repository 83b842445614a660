"""regard fill"""

import json
from dataclasses import asdict
from pathlib import Path

from regard.cli.lines import prompt_for_lines, read_input
from regard.cli.options import DEVICE, MAX_TOP_K, OUTPUT, RUN, argument, flag, option


def fill(
    run: Path = RUN,
    text: str | None = argument("TEXT", "A text with [MASK] in it; lines of standard input if unset.", None),
    top: int = option(OUTPUT, "NUMBER", "Candidates for each mask.", default=5, min=1, max=MAX_TOP_K),
    as_json: bool = flag(OUTPUT, "Print a JSON object for each text, with the candidates of each mask.", "--json"),
    device: str = DEVICE,
) -> None:
    """Fill the masks of texts with a masked language model: the most probable tokens, with their probabilities.

    The run is one of `regard train --task masked-lm`. Several masks of a text are filled independently.

    Examples:
      regard fill runs/reviews "The film was [MASK]."
      regard fill runs/reviews "The [MASK] was a [MASK] film." --top 3
      regard fill runs/reviews --json < masked.txt

    Read more: `regard train --help`.
    """
    from regard.api.tasks.language import fill_stream
    from regard.display.console import terminal_width
    from regard.display.views.tasks.filling import format_filling

    if text is None:
        prompt_for_lines("text with [MASK]")
    texts = (line for line in read_input(None) if line.strip()) if text is None else iter([text])
    for number, masks in enumerate(fill_stream(run, texts, top=top, device=device)):
        if as_json:
            candidates = [[asdict(candidate) for candidate in mask] for mask in masks]
            print(json.dumps({"masks": candidates}, ensure_ascii=False), flush=True)
            continue
        lines = format_filling(masks, terminal_width())
        print("\n".join(["", *lines] if number else lines), flush=True)
