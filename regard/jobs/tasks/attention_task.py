"""What the tasks share whose runs are inspected by their attention: all but those whose decisions are explained."""

from itertools import takewhile
from typing import Any

from regard.config import Config
from regard.formats import Pair
from regard.jobs.live.previews import MAX_TOKENS, MIN_TOKENS, AttentionExample
from regard.run import Run

MAX_CANDIDATES = 1_000
"""Of the dev examples, those among which one of readable length is looked for."""


class AttentionTask:
    """`regard look` shows the attention of its runs."""

    @property
    def inspector(self) -> str:
        return "regard.jobs.look.inspections"

    def inspected_pair(self, pair: Pair) -> Pair:
        return pair

    def find_attention_example(self, data: Any) -> AttentionExample | None:
        """The first dev text of readable length, or the beginning of a longer one, which a single stack reads."""
        rows = data.dev.source_ids if len(data.dev.source_ids.values) else data.dev.target_ids
        starts = (rows[n][: MAX_TOKENS + 1].tolist() for n in range(min(len(data.dev), MAX_CANDIDATES)))
        size = data.tokenizer.vocab_size  # an id beyond it divides the texts of a stored row
        texts = [list(takewhile(lambda token: token < size, row)) for row in starts]
        readable = [row for row in texts if len(row) <= MAX_TOKENS]
        ids = next((row[:MAX_TOKENS] for row in (*readable, *texts) if len(row) >= MIN_TOKENS), None)
        if ids is None:
            return None
        tokens = data.tokenizer.convert_ids_to_tokens(ids)
        return AttentionExample(ids, None, tokens, tokens)

    def restore_evaluation(self, run: Run, set_name: str) -> Any:
        """None: what is stored of a set is not all that a report shows, unless a subclass stores it."""
        return None

    def closing_seconds(self, config: Config, data: Any) -> float:
        return 0.0

    def close(self, run: Run, config: Config, data: Any) -> list[str]:
        """Nothing more is made of most runs."""
        return []
