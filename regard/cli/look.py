"""regard look, regard heads"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.output import as_npz, write
from regard.cli.positions import Files, show_places
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
    against: str | None = typer.Option(None, help="Compare with: a step that the run keeps, `start`, or another run."),
    selftest: bool = typer.Option(False, "--selftest", help="Prove every measure on this machine, and stop."),
    device: str = typer.Option("cpu", help="cpu, cuda …"),
) -> None:
    """Look into a model: where each head looks, what it is for, and why; as a page, a summary, figures and files."""
    if selftest:
        _selftest()
        return
    if run is None or not (texts or positions):
        raise ConfigError('say what to look at: regard look RUN "a sentence", or regard look RUN test.en test.fr')
    one = {"--head": head, "--svg": svg, "--png": png, "--csv": csv, "--npz": npz, "--no-measure": not measure}
    one["--against"] = against is not None
    corpus = not positions and _are_files(texts)
    if corpus:
        _refuse(
            one, 'is for one sentence, and files were given: say it in quotes, as in regard look RUN "I love dogs."'
        )
    if positions:
        text = {"--out": out, "--no-measure": not measure, "--against": against is not None}
        _refuse(text, "is for text, and --positions has none: leave it out")
    from regard.jobs.load import configure_cpu
    from regard.jobs.look.inspected_run import open_inspected_run

    configure_cpu(0)
    subject = open_inspected_run(run, device)
    if positions:
        _positions(subject, texts, places, head, (svg, png, csv, npz))
        return
    if corpus:
        _corpus(subject, texts, sentences, out)
        return
    _expect_a_sentence(subject, texts)
    place = subject.find_head(head) if head else None
    wanted = {"--svg": svg, "--png": png, "--csv": csv}
    if place is None and (missing := [name for name, path in wanted.items() if path]):
        raise ConfigError(f"{missing[0]} shows one head: say which with --head, as in --head encoder.0.self.0")
    data, table = _data(subject, texts, sentences if measure else 0, against)
    for line in _summary(data, table):
        print(line)
    if out is not None:
        _write_page(data, out)
    if place is not None:
        _write_head(data, place, svg, png, csv)
    if npz is not None:
        from regard.jobs.look.page import flatten_arrays

        write(npz, as_npz(flatten_arrays(data)))


def heads(
    run: Path = typer.Argument(..., help="Run folder."),
    files: list[str] = typer.Argument(None, help="Pairs to measure on; unset: the run's own dev set."),
    sentences: int = typer.Option(200, min=1, help="How many of them."),
    grammar: bool = typer.Option(False, "--grammar", help="Add sentences of the built-in corpus, which know grammar."),
    ablate: str = typer.Option("zero", help="How a head is taken away for its cost: zero, mean or resample."),
    alone: bool = typer.Option(False, "--alone", help="Add what it costs if its attention has no other head left."),
    gold: Path | None = typer.Option(None, help="Gold links of the pairs, a line each: 0-0 1-2, 3p1 if only possible."),
    csv: Path | None = typer.Option(None, help="Write the whole table, more columns than are printed."),
    pharaoh: Path | None = typer.Option(None, help="Write the best aligner's links, a line a sentence: 0-0 1-2."),
    device: str = typer.Option("cpu", help="cpu, cuda …"),
) -> None:
    """The table of heads: role, lift over chance, runner-up, entropy, importance, cost of removal."""
    from regard.jobs.load import configure_cpu
    from regard.jobs.look.heads import measure_heads
    from regard.jobs.look.inspected_run import (
        load_aligned_examples,
        load_default_examples,
        load_file_examples,
        make_grammar_examples,
        open_inspected_run,
    )
    from regard.report import as_csv

    configure_cpu(0)
    subject = open_inspected_run(run, device)
    if not subject.translates:
        wishes = {"--pharaoh": pharaoh, "--gold": gold, "--alone": alone, "--ablate": ablate != "zero"}
        _refuse(wishes, f"is for models that write, and {run} holds an encoder alone; leave it out")
    if gold is not None and not files:
        raise ConfigError(
            "--gold: say which pairs the links belong to, as in regard heads RUN test.en test.fr --gold …"
        )
    if gold is not None:
        examples, what = load_aligned_examples(subject, files, gold, sentences)
    else:
        examples, what = (
            load_file_examples(subject, files, sentences) if files else load_default_examples(subject, sentences)
        )
    if grammar:
        more = make_grammar_examples(subject)
        if gold is not None:  # aligners are judged by one gold alone
            more = [replace(example, alignment=None) for example in more]
        examples, what = examples + more, f"{what} and the built-in corpus"
    table = measure_heads(subject, examples, what, ablation=ablate, keep_only=alone)
    _tell(table)
    if csv is not None:
        write(csv, as_csv(table.as_table()).encode())
    if pharaoh is not None:
        write(pharaoh, _links(table).encode())


def _links(table: "HeadTable") -> str:
    """A line a pair, as spaces cut its words; an empty one for a pair that could not be measured on."""
    from regard.inspection.example import whitespace_word_ids
    from regard.inspection.heads.alignment import format_pharaoh

    assert table.aligners is not None  # an encoder was refused before anything was measured
    written: dict[int, str] = {}
    for example, links in zip(table.examples, table.aligners.best[1].links, strict=True):
        if example.line is not None and example.target is not None:
            source, target = whitespace_word_ids(example.source), whitespace_word_ids(example.target)
            written[example.line] = format_pharaoh({(source[s], target[t]) for s, t in links})
    return "".join(f"{written.get(line, '')}\n" for line in range(max(written, default=-1) + 1))


def _expect_a_sentence(subject: "InspectedRun", texts: list[str]) -> None:
    if len(texts) > 2:
        raise ConfigError(f"{len(texts)} texts: expected a sentence, or a sentence and its translation, in quotes")
    if len(texts) == 2 and not subject.translates:
        folder = subject.run.folder
        raise ConfigError(f"{folder}: an encoder alone reads one text, and two were given; leave the second out")


def _refuse(wishes: Mapping[str, object], why: str) -> None:
    """Say why a wish cannot be granted, rather than forget it."""
    if asked := [name for name, wish in wishes.items() if wish]:
        raise ConfigError(f"{asked[0]} {why}")


def _are_files(texts: list[str]) -> bool:
    """Whether texts are files rather than sentences; a name that is mistyped beside a file is no sentence."""
    missing = [text for text in texts if not _is_file(text)]
    if missing and len(missing) < len(texts):
        there = next(text for text in texts if _is_file(text))
        raise ConfigError(f"{missing[0]}: no such file, and {there} is one; expected files, or sentences in quotes")
    return not missing


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # too long for a file's name: it is a sentence
        return False


def _selftest() -> None:
    from regard.jobs.load import configure_cpu
    from regard.jobs.look.selftest import run_selftests

    configure_cpu(1)  # its models are so small that threads would only wait for each other
    failed = 0
    for proof in run_selftests():
        failed += not proof.passed
        print(f"{'holds' if proof.passed else 'FAILS'}  {proof.claim}: {proof.measurement}")
    if failed:
        print(f"{failed} proofs failed: do not trust what `regard look` shows on this machine")
        raise typer.Exit(1)


def _positions(subject: "InspectedRun", texts: list[str] | None, places: int, head: str | None, files: Files) -> None:
    """A figure of places shows one layer: the first, or that of a head."""
    if texts:
        raise ConfigError("--positions looks at places alone, whatever the words are: leave the text out")
    layer = int(subject.find_head(head)[0].split(".")[1]) if head else 0
    show_places(subject, places, layer, files)


def _corpus(subject: "InspectedRun", texts: list[str], sentences: int, out: Path | None) -> None:
    from regard.jobs.look.heads import measure_heads
    from regard.jobs.look.inspected_run import load_file_examples
    from regard.jobs.look.page import build_look_data, compute_common_means

    examples, what = load_file_examples(subject, texts, sentences)
    table = measure_heads(subject, examples, what)
    _tell(table)
    for facts in table.facts:
        if facts.role is not None and (found := table.find_evidence(facts)):
            told = "; ".join(
                f"{one.rank} {one.lift:.2f}: {table.examples[one.example_index].source.text}" for one in found
            )
            print(f"{facts.head} as {facts.role.name}: {told}")
    if out is not None:  # a page shows one sentence; what is said of its heads comes from all of them
        _write_page(build_look_data(subject, examples[0], table, compute_common_means(subject, examples)), out)


def _tell(table: "HeadTable") -> None:
    from regard.inspection.heads.patterns import RELATIONS
    from regard.report import head_rows

    print(head_rows(table.as_table()))
    roles = {facts.role.name for facts in table.facts if facts.role}
    asked = {role.name for facts in table.facts for role in facts.roles}
    print(f"\nmeasured on {table.describe_sentences()}; lift 1 is perfect, 0 is chance;")
    print("(in brackets): no sure role, only the nearest; worth: gradient of a gate; cost: nats per piece without it")
    if table.keep_only_costs:
        print("alone: nats per piece if it is the only head that its attention has left")
    if asked & set(RELATIONS) and not roles & set(RELATIONS):
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


def _data(
    subject: "InspectedRun", texts: list[str], sentences: int, against: str | None
) -> "tuple[dict[str, Any], HeadTable | None]":
    """Everything about a sentence; heads are measured on so many others, if on any."""
    from regard.inspection.heads.statistics import MIN_SENTENCES
    from regard.jobs.look.compare_attention import load_reference as compared
    from regard.jobs.look.heads import measure_heads
    from regard.jobs.look.inspected_run import load_default_examples
    from regard.jobs.look.page import build_look_data, compute_common_means

    example = subject.make_example(texts[0], texts[1] if len(texts) > 1 else None)
    other = None if against is None else compared(subject, example, against)
    if not sentences:
        return build_look_data(subject, example, reference=other), None
    examples, what = load_default_examples(subject, sentences)
    table = measure_heads(subject, examples, what, ablation_sentences=max(MIN_SENTENCES, sentences // 3))
    return build_look_data(subject, example, table, compute_common_means(subject, examples), other), table


def _summary(data: dict[str, Any], table: "HeadTable | None") -> list[str]:
    from regard.report import alignment, head_rows

    lines = [data["sides"]["source"]["text"]]
    if "target" in data["sides"]:
        lines += [data["sides"]["target"]["text"], ""]
    best = data["alignment"]
    if best["best"]:
        source, target = data["sides"]["source"], data["sides"]["target"]
        links = [(s, t) for s, t in best["links"]]
        lines += [f"{best['best']} aligns them {best['pharaoh']}"]
        lines += [alignment(source["words"], target["words"], pairs=links), ""]
    if table is not None:
        lines += [head_rows(table.as_table()), ""]
        lines += [f"heads measured on {table.describe_sentences()}"]
    lines += [
        f"scores of {kind} attention{told}" for kind, own in data["kinds"].items() for told in _shares(own["terms"])
    ]
    if "source_share" in data["flow"]:
        share = data["flow"]["source_share"]
        lines.append(
            f"what is written comes from the source by {share.mean():.0%} ({share.min():.0%} to {share.max():.0%})"
        )
    return [*lines, *_contrast(**data["flow"]["contrast"]), *_agreement(**data["flow"]["disagreement"]), *_moved(data)]


def _contrast(**kinds: list[float]) -> list[str]:
    """How much of a rollout is more than depth alone would show."""
    return [
        f"rollout of {kind} attention: two rows differ by {own:.2f}, and by {chance:.2f} were weights dealt at random"
        for kind, (own, chance) in kinds.items()
    ]


def _moved(data: dict[str, Any]) -> list[str]:
    """Which heads look most differently from another model's."""
    if data["against"] is None:
        return []
    moved: dict[str, float] = data["against"]["moved"]
    most = sorted(moved, key=lambda head: -moved[head])[:3]
    told = ", ".join(f"{head} ({moved[head]:.2f})" for head in most) or "it has none of these heads"
    return [f"against {data['against']['name']} most changed: {told}; 0 looks the same, 1 shares nothing"]


def _shares(terms: dict[str, Any]) -> list[str]:
    """What decides the scores of a kind of attention, over the layers of which it is known; nothing where of none."""
    from regard.report import shares_lines

    known = {layer: shares for layer, shares in enumerate(terms["shares"]) if shares is not None}
    if not known:
        return []
    mean = sum(shares.sum(axis=0) for shares in known.values()) / sum(map(len, known.values()))
    where = "" if len(known) == len(terms["shares"]) else f", layer {', '.join(map(str, known))} alone"
    told = shares_lines(terms["names"], mean.tolist())
    return [f"{where}: {told}"] if told else []


def _agreement(names: list[str], correlation: Any) -> list[str]:
    """Which two answers to where words come from agree best and worst."""
    pairs = {(a, b): float(correlation[i, j]) for i, a in enumerate(names) for j, b in enumerate(names[:i])}
    known = {pair: value for pair, value in pairs.items() if value == value}
    if not known:
        return []
    best, worst = (choose(known, key=known.__getitem__) for choose in (max, min))
    return [
        f"measures of where words come from agree best in {' and '.join(best)} ({known[best]:.2f}), "
        f"worst in {' and '.join(worst)} ({known[worst]:.2f}); rank correlation, 1 is agreement"
    ]


def _write_page(data: dict[str, Any], path: Path) -> None:
    from regard.report import page_and_notes

    page, notes = page_and_notes(data)
    for note in notes:
        print(note)
    write(path, page.encode())


def _write_head(
    data: dict[str, Any], place: tuple[str, int], svg: Path | None, png: Path | None, csv: Path | None
) -> None:
    from regard.jobs.look.page import tabulate_head
    from regard.report import as_csv, head_figure

    attention, row = place
    stack, layer, kind = attention.split(".")
    kind = "cross" if kind == "cross" else stack
    chart = head_figure(data, kind, int(layer), row)
    print(f"{chart.title}")
    if svg is not None:
        write(svg, chart.svg().encode())
    if png is not None:
        write(png, chart.png())
    if csv is not None:
        write(csv, as_csv(tabulate_head(data, kind, int(layer), row)).encode())
