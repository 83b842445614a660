"""Look inside a model: what its heads attend to, which of them matter, what its embeddings hold."""

import os
from pathlib import Path

from regard.api.arguments import AnyPath, Files, list_files, optional_path
from regard.api.terminal import showing
from regard.atomic import open_output
from regard.errors import DataError, FormatError
from regard.formats import read_pairs
from regard.hardware import configure_cpu
from regard.jobs import prune as pruning
from regard.jobs.look.decisions import DecisionInspection
from regard.jobs.look.heads import HeadOptions, HeadTable, inspect_heads
from regard.jobs.look.inspected_run import DEFAULT_EXAMPLES, open_inspected_run
from regard.jobs.look.inspections import Inspection, LookOptions, inspect_run
from regard.jobs.look.senses import SenseAnalysis, analyze_senses, read_sentences
from regard.jobs.senses.open_reader import open_word_reader
from regard.run import open_run


def look(
    run: AnyPath,
    *texts: AnyPath,
    out: AnyPath | None = None,
    svg: AnyPath | None = None,
    png: AnyPath | None = None,
    csv: AnyPath | None = None,
    npz: AnyPath | None = None,
    head: str | None = None,
    sentences: int = DEFAULT_EXAMPLES,
    measure: bool = True,
    positions: bool = False,
    num_positions: int = 24,
    compare_with: AnyPath | None = None,
    data: Files | None = None,
    words: AnyPath | None = None,
    label: str | None = None,
    device: str = "cpu",
    progress: bool = False,
) -> Inspection | DecisionInspection:
    """Inspect a model: what each head attends to, its role, and why; of a classifier, what its decisions rest on.

        regard.look("runs/mine", "I love dogs.", out="look.html")

    `texts` are a sentence, or a sentence and its translation, or files of pairs; none with `positions`, which inspects
    the position encoding. `out` is the page (HTML); `svg`, `png` and `csv` show one `head`, `npz` has all arrays. Heads
    are measured on `sentences` of the dev set first; `measure=False` is faster. `compare_with` is a saved step of the
    run, "start", or another run. The result is an `Inspection`.

    Of a classifier, `texts` is one text whose decision is explained, for the predicted `label` or another one. Without
    a text, `sentences` of the files of `data`, or of the run's dev set, are measured; `words` is a file of words, one
    per line, and whether the classifier relies on them. The result is a `DecisionInspection`.
    """
    options = {"--out": out, "--svg": svg, "--png": png, "--csv": csv, "--npz": npz}
    paths = {option: Path(path) for option, path in options.items() if path is not None}
    for text in texts:
        if isinstance(text, os.PathLike) and not Path(text).exists():
            raise FormatError(f"{os.fspath(text)}: no such file")
    request = LookOptions(
        run=Path(run),
        texts=list_files(texts),
        sentences=sentences,
        measure=measure,
        head=head,
        compare_with=None if compare_with is None else os.fspath(compare_with),
        positions=positions,
        num_positions=num_positions,
        data=list_files(data),
        words=optional_path(words),
        label=label,
        outputs=tuple(paths),
    )
    with showing(progress):
        inspection: Inspection | DecisionInspection = inspect_run(request, device)
        return inspection.write(paths)


def heads(
    run: AnyPath,
    *files: Files,
    sentences: int = DEFAULT_EXAMPLES,
    grammar: bool = False,
    ablate: str = "zero",
    keep_only: bool = False,
    gold: AnyPath | None = None,
    pharaoh: AnyPath | None = None,
    device: str = "cpu",
    progress: bool = False,
) -> HeadTable:
    """The table of heads: role, lift over chance, runner-up, entropy, importance, cost of removal.

    >>> table = regard.heads("runs/mine", sentences=5)
    >>> table.as_table()["head"][0]
    'encoder.0.self.0'

    `files` are the pairs to measure on; the run's dev set if there are none. `grammar` adds sentences of the built-in
    corpus, whose grammar is known. `gold` is a file of gold links that alignment heads are judged by; `pharaoh` is a
    file that the links of the best of them are written to.
    """
    links = optional_path(pharaoh)
    options = HeadOptions(
        list_files(files), sentences, grammar, ablate, keep_only, optional_path(gold), links=links is not None
    )
    with showing(progress):
        configure_cpu(0)
        table = inspect_heads(open_inspected_run(Path(run), device), options)
    if links is not None:
        with open_output(links) as file:
            file.write(table.format_links().encode())
    return table


def prune(
    run: AnyPath,
    out: AnyPath,
    *,
    keep: str | int = "50%",
    dev: Files | None = None,
    method: str = "importance",
    finetune_steps: int = pruning.FINETUNE_STEPS,
    overwrite: bool = False,
    device: str = "auto",
    progress: bool = False,
) -> pruning.PruneResult:
    """Prune the least important heads, fine-tune the rest, and measure the effect on BLEU, parameters and time.

        result = regard.prune("runs/mine", "runs/half", keep="50%", dev=("dev.en", "dev.fr"))

    The pruned model is written to `out`. `keep` is a percentage or a number of heads; `method` is importance (by
    gradients) or gates (learned). `dev` chooses the heads, so its scores are optimistic: compare on other pairs. The
    run's own dev pairs if unset.
    """
    config = open_run(Path(run)).load_config()
    pruning.require_translator(config, Path(run))
    configure_cpu(0)
    files = list_files(dev)
    pairs = read_pairs(files, config.data.source, config.data.target) if files else pruning.read_dev_pairs(Path(run))
    options = pruning.PruneOptions(str(keep), method, finetune_steps, overwrite, device)
    events = pruning.prune_run(Path(run), Path(out), list(pairs), options)
    if progress:
        from regard.display.training import show_progress

        last = show_progress(events)
    else:
        *_, last = events
    assert isinstance(last, pruning.PruneResult)
    return last


def senses(run: AnyPath, word: str, file: AnyPath, *, device: str = "cpu", progress: bool = False) -> SenseAnalysis:
    """One word in many sentences, layer by layer: how contextual its embedding is, and whether senses separate.

        regard.senses("runs/minilm", "bank", "bank.tsv")

    `file` has one sentence per line, or sense, tab, sentence.
    """
    configure_cpu(0)
    with showing(progress):
        reader = open_word_reader(Path(run), device)
        texts, sense_labels = read_sentences(Path(file), word)
        if not texts:
            raise DataError(f"{os.fspath(file)}: the word '{word}' occurs in no sentence")
        return analyze_senses(reader, word, texts, sense_labels)
