"""regard look, regard heads"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.output import as_npz, write
from regard.cli.positions import OutputPaths, show_positions
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.jobs.look.heads import HeadTable
    from regard.jobs.look.inspected_run import InspectedRun


def look(
    run: Path | None = typer.Argument(None, help="Run folder."),
    texts: list[str] = typer.Argument(None, help="A sentence, or a sentence and its translation, or files of pairs."),
    out: Path | None = typer.Option(None, help="Write the page: one file for any browser, no network needed."),
    head: str | None = typer.Option(None, help="One head, as in decoder.3.cross.5: for the figures and files below."),
    sentences: int = typer.Option(100, min=1, help="How many sentences of a corpus heads are measured on."),
    svg: Path | None = typer.Option(None, help="Write the head's figure as SVG."),
    png: Path | None = typer.Option(None, help="Write the head's figure as PNG."),
    csv: Path | None = typer.Option(None, help="Write the head's weights, scores and their terms, a row a cell."),
    npz: Path | None = typer.Option(None, help="Write every array of the sentence (numpy)."),
    measure: bool = typer.Option(True, help="Whether heads are measured on a corpus first; --no-measure is faster."),
    positions: bool = typer.Option(False, "--positions", help="What the scheme of positions holds and does; no text."),
    places: int = typer.Option(24, help="How many places --positions shows."),
    compare_with: str | None = typer.Option(
        None, help="Compare with: a step that the run keeps, `start`, or another run."
    ),
    selftest: bool = typer.Option(False, "--selftest", help="Prove every measure on this machine, and stop."),
    device: str = typer.Option("cpu", help="cpu, cuda …"),
) -> None:
    """Look into a model: where each head looks, what it is for, and why; as a page, a summary, figures and files."""
    if selftest:
        _run_selftest()
        return
    if run is None or not (texts or positions):
        raise ConfigError('say what to look at: regard look RUN "a sentence", or regard look RUN test.en test.fr')
    sentence_options = {
        "--head": head,
        "--svg": svg,
        "--png": png,
        "--csv": csv,
        "--npz": npz,
        "--no-measure": not measure,
    }
    sentence_options["--compare-with"] = compare_with is not None
    is_corpus = not positions and _are_files(texts)
    if is_corpus:
        _reject_options(
            sentence_options,
            'is for one sentence, and files were given: say it in quotes, as in regard look RUN "I love dogs."',
        )
    if positions:
        text_options = {"--out": out, "--no-measure": not measure, "--compare-with": compare_with is not None}
        _reject_options(text_options, "is for text, and --positions has none: leave it out")
    from regard.hardware import configure_cpu
    from regard.jobs.look.inspected_run import open_inspected_run

    configure_cpu(0)
    inspected_run = open_inspected_run(run, device)
    if positions:
        _show_positions(inspected_run, texts, places, head, (svg, png, csv, npz))
        return
    if is_corpus:
        _inspect_corpus(inspected_run, texts, sentences, out)
        return
    _require_sentence(inspected_run, texts)
    head_location = inspected_run.find_head(head) if head else None
    output_options = {"--svg": svg, "--png": png, "--csv": csv}
    if head_location is None and (missing := [name for name, path in output_options.items() if path]):
        raise ConfigError(f"{missing[0]} shows one head: say which with --head, as in --head encoder.0.self.0")
    data, table = _inspect_sentence(inspected_run, texts, sentences if measure else 0, compare_with)
    for line in _summary_lines(data, table):
        print(line)
    if out is not None:
        _write_page(data, out)
    if head_location is not None:
        _write_head(data, head_location, svg, png, csv)
    if npz is not None:
        from regard.jobs.look.page import flatten_arrays

        write(npz, as_npz(flatten_arrays(data)))


def heads(
    run: Path = typer.Argument(..., help="Run folder."),
    files: list[str] = typer.Argument(None, help="Pairs to measure on; unset: the run's own dev set."),
    sentences: int = typer.Option(200, min=1, help="How many of them."),
    grammar: bool = typer.Option(False, "--grammar", help="Add sentences of the built-in corpus, which know grammar."),
    ablate: str = typer.Option("zero", help="How a head is taken away for its cost: zero, mean or resample."),
    keep_only: bool = typer.Option(
        False, "--keep-only", help="Add what it costs if its attention has no other head left."
    ),
    gold: Path | None = typer.Option(None, help="Gold links of the pairs, a line each: 0-0 1-2, 3p1 if only possible."),
    csv: Path | None = typer.Option(None, help="Write the whole table, more columns than are printed."),
    pharaoh: Path | None = typer.Option(None, help="Write the best aligner's links, a line a sentence: 0-0 1-2."),
    device: str = typer.Option("cpu", help="cpu, cuda …"),
) -> None:
    """The table of heads: role, lift over chance, runner-up, entropy, importance, cost of removal."""
    from regard.hardware import configure_cpu
    from regard.jobs.look.heads import measure_heads
    from regard.jobs.look.inspected_run import (
        load_aligned_examples,
        load_default_examples,
        load_file_examples,
        make_grammar_examples,
        open_inspected_run,
    )
    from regard.report import to_csv

    configure_cpu(0)
    inspected_run = open_inspected_run(run, device)
    if not inspected_run.translates:
        translation_options = {
            "--pharaoh": pharaoh,
            "--gold": gold,
            "--keep-only": keep_only,
            "--ablate": ablate != "zero",
        }
        _reject_options(
            translation_options, f"is for models that write, and {run} holds an encoder alone; leave it out"
        )
    if gold is not None and not files:
        raise ConfigError(
            "--gold: say which pairs the links belong to, as in regard heads RUN test.en test.fr --gold …"
        )
    if gold is not None:
        examples, corpus_name = load_aligned_examples(inspected_run, files, gold, sentences)
    else:
        examples, corpus_name = (
            load_file_examples(inspected_run, files, sentences)
            if files
            else load_default_examples(inspected_run, sentences)
        )
    if grammar:
        extra_examples = make_grammar_examples(inspected_run)
        if gold is not None:  # aligners are judged by one gold alone
            extra_examples = [replace(example, alignment=None) for example in extra_examples]
        examples, corpus_name = examples + extra_examples, f"{corpus_name} and the built-in corpus"
    table = measure_heads(inspected_run, examples, corpus_name, ablation=ablate, keep_only=keep_only)
    _print_head_table(table)
    if csv is not None:
        write(csv, to_csv(table.as_table()).encode())
    if pharaoh is not None:
        write(pharaoh, _pharaoh_lines(table).encode())


def _pharaoh_lines(table: "HeadTable") -> str:
    """A line a pair, as spaces cut its words; an empty one for a pair that could not be measured on."""
    from regard.inspection.example import whitespace_word_ids
    from regard.inspection.heads.alignment import format_pharaoh

    assert table.aligners is not None  # an encoder was refused before anything was measured
    links_by_line: dict[int, str] = {}
    for example, links in zip(table.examples, table.aligners.best[1].links, strict=True):
        if example.line is not None and example.target is not None:
            source, target = whitespace_word_ids(example.source), whitespace_word_ids(example.target)
            links_by_line[example.line] = format_pharaoh({(source[s], target[t]) for s, t in links})
    return "".join(f"{links_by_line.get(line, '')}\n" for line in range(max(links_by_line, default=-1) + 1))


def _require_sentence(inspected_run: "InspectedRun", texts: list[str]) -> None:
    if len(texts) > 2:
        raise ConfigError(f"{len(texts)} texts: expected a sentence, or a sentence and its translation, in quotes")
    if len(texts) == 2 and not inspected_run.translates:
        folder = inspected_run.run.folder
        raise ConfigError(f"{folder}: an encoder alone reads one text, and two were given; leave the second out")


def _reject_options(options: Mapping[str, object], reason: str) -> None:
    """Say why a wish cannot be granted, rather than forget it."""
    if rejected := [name for name, value in options.items() if value]:
        raise ConfigError(f"{rejected[0]} {reason}")


def _are_files(texts: list[str]) -> bool:
    """Whether texts are files rather than sentences; a name that is mistyped beside a file is no sentence."""
    missing = [text for text in texts if not _is_file(text)]
    if missing and len(missing) < len(texts):
        existing = next(text for text in texts if _is_file(text))
        raise ConfigError(f"{missing[0]}: no such file, and {existing} is one; expected files, or sentences in quotes")
    return not missing


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for a file's name: it is a sentence
        return False


def _run_selftest() -> None:
    from regard.hardware import configure_cpu
    from regard.jobs.look.selftest import run_selftests

    configure_cpu(1)  # its models are so small that threads would only wait for each other
    failed = 0
    for proof in run_selftests():
        failed += not proof.passed
        print(f"{'holds' if proof.passed else 'FAILS'}  {proof.claim}: {proof.measurement}")
    if failed:
        print(f"{failed} proofs failed: do not trust what `regard look` shows on this machine")
        raise typer.Exit(1)


def _show_positions(
    inspected_run: "InspectedRun", texts: list[str] | None, num_positions: int, head: str | None, outputs: OutputPaths
) -> None:
    """A figure of places shows one layer: the first, or that of a head."""
    if texts:
        raise ConfigError("--positions looks at places alone, whatever the words are: leave the text out")
    layer = int(inspected_run.find_head(head)[0].split(".")[1]) if head else 0
    show_positions(inspected_run, num_positions, layer, outputs)


def _inspect_corpus(inspected_run: "InspectedRun", texts: list[str], sentences: int, out: Path | None) -> None:
    from regard.jobs.look.heads import measure_heads
    from regard.jobs.look.inspected_run import load_file_examples
    from regard.jobs.look.page import build_look_data, compute_common_means

    examples, corpus_name = load_file_examples(inspected_run, texts, sentences)
    table = measure_heads(inspected_run, examples, corpus_name)
    _print_head_table(table)
    for facts in table.facts:
        if facts.role is not None and (evidence := table.find_evidence(facts)):
            evidence_text = "; ".join(
                f"{item.rank} {item.lift:.2f}: {table.examples[item.example_index].source.text}" for item in evidence
            )
            print(f"{facts.head} as {facts.role.name}: {evidence_text}")
    if out is not None:  # a page shows one sentence; what is said of its heads comes from all of them
        _write_page(
            build_look_data(inspected_run, examples[0], table, compute_common_means(inspected_run, examples)), out
        )


def _print_head_table(table: "HeadTable") -> None:
    from regard.inspection.heads.patterns import RELATIONS
    from regard.report import format_head_table

    print(format_head_table(table.as_table()))
    assigned_roles = {facts.role.name for facts in table.facts if facts.role}
    measured_roles = {role.name for facts in table.facts for role in facts.roles}
    print(f"\nmeasured on {table.describe_sentences()}; lift 1 is perfect, 0 is chance;")
    print("(in brackets): no sure role, only the nearest; worth: gradient of a gate; cost: nats per piece without it")
    if table.keep_only_costs:
        print("alone: nats per piece if it is the only head that its attention has left")
    if measured_roles & set(RELATIONS) and not assigned_roles & set(RELATIONS):
        print("grammar: no head has an agreement role that a fixed distance could not explain")
    for facts in table.facts:
        if facts.role and facts.role.name in RELATIONS:
            print(f"grammar: {facts.head} looks from {facts.role.name}")
    if table.aligners is not None:
        (head, best), mean = table.aligners.best, table.aligners.average
        error = "no gold, so judged by its shape"
        if table.aligners.judged_by_gold:
            error = f"AER {best.counts.aer:.3f} against gold, precision {best.counts.precision:.2f}"
            error += f", recall {best.counts.recall:.2f}" if best.counts.sure_links else ""
            error += f"; all heads averaged {mean.counts.aer:.3f}"
        print(f"best aligner: {head} ({error})")


def _inspect_sentence(
    inspected_run: "InspectedRun", texts: list[str], sentences: int, compare_with: str | None
) -> "tuple[dict[str, Any], HeadTable | None]":
    """Everything about a sentence; heads are measured on so many others, if on any."""
    from regard.inspection.heads.statistics import MIN_SENTENCES
    from regard.jobs.look.compare_attention import load_reference as compared
    from regard.jobs.look.heads import measure_heads
    from regard.jobs.look.inspected_run import load_default_examples
    from regard.jobs.look.page import build_look_data, compute_common_means

    example = inspected_run.make_example(texts[0], texts[1] if len(texts) > 1 else None)
    reference = None if compare_with is None else compared(inspected_run, example, compare_with)
    if not sentences:
        return build_look_data(inspected_run, example, reference=reference), None
    examples, corpus_name = load_default_examples(inspected_run, sentences)
    table = measure_heads(inspected_run, examples, corpus_name, ablation_sentences=max(MIN_SENTENCES, sentences // 3))
    return build_look_data(
        inspected_run, example, table, compute_common_means(inspected_run, examples), reference
    ), table


def _summary_lines(data: dict[str, Any], table: "HeadTable | None") -> list[str]:
    from regard.report import format_alignment, format_head_table

    lines = [data["sides"]["source"]["text"]]
    if "target" in data["sides"]:
        lines += [data["sides"]["target"]["text"], ""]
    best_aligner = data["alignment"]
    if best_aligner["best"]:
        source, target = data["sides"]["source"], data["sides"]["target"]
        links = [(s, t) for s, t in best_aligner["links"]]
        lines += [f"{best_aligner['best']} aligns them {best_aligner['pharaoh']}"]
        lines += [format_alignment(source["words"], target["words"], pairs=links), ""]
    if table is not None:
        lines += [format_head_table(table.as_table()), ""]
        lines += [f"heads measured on {table.describe_sentences()}"]
    lines += [
        f"scores of {kind} attention{shares}"
        for kind, attention in data["kinds"].items()
        for shares in _term_share_lines(attention["terms"])
    ]
    if "source_share" in data["flow"]:
        share = data["flow"]["source_share"]
        lines.append(
            f"what is written comes from the source by {share.mean():.0%} ({share.min():.0%} to {share.max():.0%})"
        )
    return [
        *lines,
        *_contrast_lines(**data["flow"]["contrast"]),
        *_agreement_lines(**data["flow"]["disagreement"]),
        *_comparison_lines(data),
    ]


def _contrast_lines(**kinds: list[float]) -> list[str]:
    """How much of a rollout is more than depth alone would show."""
    return [
        f"rollout of {kind} attention: two rows differ by {observed:.2f}, and by {chance:.2f} were weights dealt at random"
        for kind, (observed, chance) in kinds.items()
    ]


def _comparison_lines(data: dict[str, Any]) -> list[str]:
    """Which heads look most differently from another model's."""
    if data["against"] is None:
        return []
    divergences: dict[str, float] = data["against"]["moved"]
    most_changed = sorted(divergences, key=lambda head: -divergences[head])[:3]
    changed_heads = (
        ", ".join(f"{head} ({divergences[head]:.2f})" for head in most_changed) or "it has none of these heads"
    )
    return [f"against {data['against']['name']} most changed: {changed_heads}; 0 looks the same, 1 shares nothing"]


def _term_share_lines(terms: dict[str, Any]) -> list[str]:
    """What decides the scores of a kind of attention, over the layers of which it is known; nothing where of none."""
    from regard.report import format_shares

    known_shares = {layer: shares for layer, shares in enumerate(terms["shares"]) if shares is not None}
    if not known_shares:
        return []
    mean = sum(shares.sum(axis=0) for shares in known_shares.values()) / sum(map(len, known_shares.values()))
    layers_note = (
        "" if len(known_shares) == len(terms["shares"]) else f", layer {', '.join(map(str, known_shares))} alone"
    )
    summary = format_shares(terms["names"], mean.tolist())
    return [f"{layers_note}: {summary}"] if summary else []


def _agreement_lines(names: list[str], correlation: Any) -> list[str]:
    """Which two answers to where words come from agree best and worst."""
    pairs = {(a, b): float(correlation[i, j]) for i, a in enumerate(names) for j, b in enumerate(names[:i])}
    known_pairs = {pair: value for pair, value in pairs.items() if value == value}
    if not known_pairs:
        return []
    best, worst = (choose(known_pairs, key=known_pairs.__getitem__) for choose in (max, min))
    return [
        f"measures of where words come from agree best in {' and '.join(best)} ({known_pairs[best]:.2f}), "
        f"worst in {' and '.join(worst)} ({known_pairs[worst]:.2f}); rank correlation, 1 is agreement"
    ]


def _write_page(data: dict[str, Any], path: Path) -> None:
    from regard.report import render_look_page_with_notes

    page, notes = render_look_page_with_notes(data)
    for note in notes:
        print(note)
    write(path, page.encode())


def _write_head(
    data: dict[str, Any], head_location: tuple[str, int], svg: Path | None, png: Path | None, csv: Path | None
) -> None:
    from regard.jobs.look.page import tabulate_head
    from regard.report import head_heatmap, to_csv

    attention, row = head_location
    stack, layer, kind = attention.split(".")
    kind = "cross" if kind == "cross" else stack
    chart = head_heatmap(data, kind, int(layer), row)
    print(f"{chart.title}")
    if svg is not None:
        write(svg, chart.to_svg().encode())
    if png is not None:
        write(png, chart.to_png())
    if csv is not None:
        write(csv, to_csv(tabulate_head(data, kind, int(layer), row)).encode())
