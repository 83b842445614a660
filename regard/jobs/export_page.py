"""A run as one HTML file: a translator that needs nothing but a browser."""

from datetime import UTC, datetime
from pathlib import Path

from regard.config import Config
from regard.data.tokenizers.remapped_sentencepiece import RemappedSentencePiece
from regard.errors import ConfigError, ModelError
from regard.files import resolve
from regard.interchange.page import Aligner, pack_model
from regard.jobs.evaluate import read_set_scores, scored_sets
from regard.jobs.load import load
from regard.jobs.look.heads import find_trained_aligners
from regard.jobs.run_kind import describe, find_task, refuse
from regard.jobs.text_statistics import load_statistics
from regard.jobs.train.assemble import read_diagnosis
from regard.metrics import Score
from regard.model.modules import count_parameters
from regard.progress import stage
from regard.report import write_page
from regard.report.pages.translator import BYTES_PER_MB, TranslatorPage, render_translator_page
from regard.report.table import Value
from regard.run import Run, open_run
from regard.tasks.translate.translator import Translator

MAX_MB = 30.0
"""The largest page by default: larger ones open slowly, and no mail takes them."""


def export_page(
    folder: Path, out: Path, title: str = "", note: str = "", max_mb: float = MAX_MB, quantize: str = "int8"
) -> None:
    """Write the translator of a run as one HTML file, or refuse it with the reason."""
    run = open_run(folder)
    config = run.load_config()
    if find_task(config) != "translate":
        raise refuse(run, config, "be exported as a page")
    if max_mb <= 0:
        raise ConfigError(f"--max-mb {max_mb:g}: must be above 0")
    if resolve(out).is_dir():
        raise ConfigError(f"{out}: is a folder; choose the name of a file with --out")
    translator = load(folder, "cpu")
    _require_own_tokenizers(run, translator)
    page = _describe_run(run, config, translator, title, note, quantize)
    with stage(f"writing {out.name}"):
        html = render_translator_page(page)
        _require_size(run, len(html.encode()), count_parameters(translator.model), max_mb)
        write_page(out, html)


def _require_own_tokenizers(run: Run, translator: Translator) -> None:
    sides = (translator.tokenizers.source, translator.tokenizers.target)
    if any(isinstance(tokenizer, RemappedSentencePiece) for tokenizer in sides):
        count = count_parameters(translator.model)
        raise ModelError(
            f"{run.folder}: an imported Marian model (OPUS-MT) cannot be exported as a page: its ids come from a table "
            f"beside its tokenizers, which the page does not read, and its {count:,} parameters would make a page of "
            f"about {1.2 * count / BYTES_PER_MB:,.0f} MB; use --to marian or --to ctranslate2, or train a model on its "
            f"translations"
        )


def _require_size(run: Run, size: int, parameters: int, max_mb: float) -> None:
    megabytes = size / BYTES_PER_MB
    if megabytes > max_mb:
        raise ConfigError(
            f"{run.folder}: the page would have {megabytes:,.1f} MB with {parameters:,} parameters, above --max-mb "
            f"{max_mb:g}, into which about {int(parameters * max_mb / megabytes):,} parameters fit; choose a larger "
            f"--max-mb, or train a model with a smaller model.dim or data.vocab_size"
        )


def _describe_run(
    run: Run, config: Config, translator: Translator, title: str, note: str, quantize: str
) -> TranslatorPage:
    source, target = _languages(run, config)
    tokenizers = translator.tokenizers
    files = {"source": tokenizers.source.model}
    if not tokenizers.joint:
        files["target"] = tokenizers.target.model
    aligner = _find_aligner(run, config)
    container = pack_model(translator.model, config.model, files, quantize, aligner, config.data.max_length)
    facts = _facts(run, config, count_parameters(translator.model), quantize)
    languages = f"{source} → {target}" if source and target else run.folder.resolve().name
    corpus = f"Trained on {facts['trained on']}" if facts["trained on"] else ""
    summary = (corpus, str(facts["quality"] or ""), _date(run))
    return TranslatorPage(
        container,
        title,
        source,
        target,
        lowercase=_is_lowercase(run),
        note=note,
        summary=" · ".join(part for part in summary if part),
        facts={"languages": languages, **facts},
    )


def _facts(run: Run, config: Config, parameters: int, quantize: str) -> dict[str, Value]:
    c = config.model
    stacks = "a decoder" if c.architecture == "decoder" else "an encoder and a decoder"
    precision = "float32" if quantize == "none" else "8-bit integers"
    return {
        "trained on": _corpus(run),
        "quality": _quality(run),
        "date of weights": _date(run),
        "model": f"{stacks} with {parameters:,} parameters, {c.positions.kind} positions",
        "weights": precision,
        "kind": describe(config),
        "run": run.folder.resolve().name,
    }


def _corpus(run: Run) -> str | None:
    """How much the model was trained on; None for a run that another one began."""
    diagnosis = read_diagnosis(run)
    return None if diagnosis is None else f"{diagnosis.pairs_kept:,} pairs of sentences"


def _languages(run: Run, config: Config) -> tuple[str, str]:
    """The codes of both sides: those of the settings, else those that the names of files gave away."""
    diagnosis = read_diagnosis(run)
    train = next((one for one in diagnosis.splits if one.split == "train"), None) if diagnosis else None
    return (
        config.data.source or (train.source if train else ""),
        config.data.target or (train.target if train else ""),
    )


def _quality(run: Run) -> str | None:
    """BLEU on held-out sentences, of a test set if there is one."""
    sets = sorted(scored_sets(run), key=lambda name: (name == "dev", not name.startswith("test"), name))
    for name in sets:
        score: Score | None = read_set_scores(run, name).scores.get("bleu")
        if score is not None:
            return f"{score.name} {score.format_margin(1)} on the sentences of {name}"
    return None


def _is_lowercase(run: Run) -> bool:
    """Whether the sources of training had lowercase letters and no capital one."""
    letters = load_statistics(run).source_characters or ()
    return any(map(str.islower, letters)) and not any(map(str.isupper, letters))


def _date(run: Run) -> str:
    """The day of the weights."""
    return datetime.fromtimestamp(run.best_weights().stat().st_mtime, UTC).date().isoformat()


def _find_aligner(run: Run, config: Config) -> Aligner | None:
    """The first head that guided alignment has trained; None: the engine takes the mean of the last layer but one."""
    heads = find_trained_aligners(run)
    if not heads:
        return None
    head = heads[0]
    return Aligner(head.layer, config.model.kept_heads(head.attention_name).index(head.number))
