"""Training as a whole: it learns, it resumes bit for bit, it leaves a folder that translates."""

import re
from pathlib import Path

import pytest
import torch

import regard
from regard.atomic import TEMPORARY_SUFFIX
from regard.config import Config
from regard.decode import BeamSearch, GreedySearch
from regard.errors import ConfigError, DataError, ModelError, RegardError, RunError
from regard.jobs.load import load
from regard.jobs.train import fit as job
from regard.jobs.train import session
from regard.jobs.train.events import (
    Note,
    TrainingFinished,
    TrainingInterrupted,
    TrainingPlan,
    TrainingProgress,
    ValidationFinished,
)
from regard.jobs.translate.engine import open_engine
from regard.model import weights
from regard.run import Run
from regard.training import log


def never() -> bool:
    return False


def train(folder: Path, config: Config) -> list[object]:
    return list(job.train_run(folder, config, False, never))


def final_weights(folder: Path) -> dict[str, torch.Tensor]:
    run = Run(folder)
    step = run.read_latest().step
    tensors = {f"last/{k}": v for k, v in weights.read(run.weights(step)).items()}
    tensors |= {f"resume/{k}": v for k, v in weights.read(run.resume_tensors(step)).items()}
    return tensors | {f"best/{k}": v for k, v in weights.read(run.best_weights()).items()}


def assert_same(one: Path, two: Path) -> None:
    mine, theirs = final_weights(one), final_weights(two)
    assert mine.keys() == theirs.keys()
    assert [name for name in mine if not torch.equal(mine[name], theirs[name])] == []
    assert Run(one).read_best() == Run(two).read_best()
    for path in (Run.calibration.fget, lambda run: run.scores("test")):
        contents = [path(Run(folder)).read_text() if path(Run(folder)).exists() else "" for folder in (one, two)]
        assert contents[0] == contents[1]


KINDS = {
    "muon": ("train.optimizer=muon",),
    "ema": ("train.ema=0.9",),
    "sampling": ("data.subword_regularization=0.1", "train.accumulate_batches=2"),
    "post": ("model.norm=post", "model.positions.kind=learned", "train.schedule=constant"),
}


SELDOM = ("ema", "sampling")


@pytest.mark.parametrize("kind", [pytest.param(k, marks=pytest.mark.slow) if k in SELDOM else k for k in KINDS])
def test_five_and_five_steps_are_ten_bit_for_bit(tmp_path, tiny, kind):
    # A cosine ends with the run, so that five steps of ten are other steps than five of five.
    regular = (
        "train.schedule=inverse-sqrt",
        "train.validate_every=4",
        "train.save_every=3",
        "train.average_checkpoints=2",
    )
    changes = (*regular, *KINDS[kind])
    train(tmp_path / "whole", tiny(*changes, "train.steps=10"))
    train(tmp_path / "parted", tiny(*changes, "train.steps=5"))
    list(job.resume_run(tmp_path / "parted", {"train.steps": 10}, never))
    assert_same(tmp_path / "whole", tmp_path / "parted")


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_the_log_has_the_learning_rate_and_not_a_factor(tmp_path, tiny, optimizer):
    rates = ("train.learning_rate=0.01", "train.muon_learning_rate=0.3", "train.warmup=5", "train.schedule=constant")
    events = train(tmp_path / "run", tiny("train.steps=3", f"train.optimizer={optimizer}", *rates))
    steps = log.read_steps(Run(tmp_path / "run").log)
    assert [step.learning_rate for step in steps] == pytest.approx([0.002, 0.004, 0.006])
    if optimizer == "muon":
        assert [step.muon_learning_rate for step in steps] == pytest.approx([0.06, 0.12, 0.18])
    else:
        assert [step.muon_learning_rate for step in steps] == [None] * 3
    plan = next(event for event in events if isinstance(event, TrainingPlan))
    assert plan.compute.precision == "float32" and plan.compute.padding_free


WSD = ("train.schedule=wsd", "train.decay=0.5", "train.warmup=2", "train.validate_every=2", "train.save_every=3")


@pytest.mark.parametrize("first_end", [8, pytest.param(6, marks=pytest.mark.slow)])
def test_a_decayed_run_that_is_extended_equals_one_that_was_planned_so_long(tmp_path, tiny, first_end: int):
    """It resumes from where its decay began, not from weights that have settled."""
    changes = (*WSD, "train.average_checkpoints=2", "train.ema=0.9")
    train(tmp_path / "whole", tiny("train.steps=12", *changes))
    train(tmp_path / "parted", tiny(f"train.steps={first_end}", *changes))
    run = Run(tmp_path / "parted")
    assert run.read_latest().step == first_end and run.resume_state(first_end // 2).exists()
    decayed = [step.learning_rate for step in log.read_steps(run.log)]
    assert decayed[first_end // 2] == decayed[first_end // 2 - 1] > decayed[-1] > 0
    events = list(job.resume_run(tmp_path / "parted", {"train.steps": 12}, never))
    assert [note.text for note in events if isinstance(note, Note) and "has decayed since" in note.text]
    assert_same(tmp_path / "whole", tmp_path / "parted")
    whole, parted = (log.read_steps(Run(tmp_path / name).log) for name in ("whole", "parted"))
    assert [(s.number, s.learning_rate, s.loss) for s in whole] == [(s.number, s.learning_rate, s.loss) for s in parted]
    assert {path.stem for path in (run.folder / "resume").glob("*.json")} == {"00000006", "00000012"}


def test_a_run_that_is_stopped_early_decays_where_it_is_shortened_to(tmp_path, tiny):
    config = tiny("train.steps=100", *WSD)
    stops = iter([False] * 3 + [True] * 9)
    assert isinstance(
        list(job.train_run(tmp_path / "run", config, False, lambda: next(stops)))[-1], TrainingInterrupted
    )
    list(job.resume_run(tmp_path / "run", {"train.steps": 8}, never))
    train(tmp_path / "planned", tiny("train.steps=8", *WSD))
    assert_same(tmp_path / "planned", tmp_path / "run")
    stops = iter([False] * 5 + [True] * 9)  # in the decay
    list(job.train_run(tmp_path / "twice", tiny("train.steps=8", *WSD), False, lambda: next(stops)))
    list(job.resume_run(tmp_path / "twice", {}, never))
    assert_same(tmp_path / "planned", tmp_path / "twice")


def test_settings_that_change_over_training_resume_bit_for_bit(tmp_path, tiny):
    config = tiny(
        "train.steps=8", "train.label_smoothing=0:0.2,1:0", "train.rdrop=0.6:0,0.6:3", "train.save_every=100",
        "train.guided_alignment=0:0.5,0.5:0", "train.guided_heads=decoder.0.cross.1,decoder.0.cross.0",
    )  # fmt: skip
    train(tmp_path / "whole", config)
    stops = iter([False] * 4 + [True] * 9)
    list(job.train_run(tmp_path / "parted", config, False, lambda: next(stops)))
    list(job.resume_run(tmp_path / "parted", {}, never))
    assert_same(tmp_path / "whole", tmp_path / "parted")
    assert Run(tmp_path / "parted").load_config() == Run(tmp_path / "whole").load_config()
    assert 'rdrop = "0.6:0,0.6:3"' in Run(tmp_path / "whole").config.read_text()


def test_stopped_at_every_step_is_the_same_too(tmp_path, tiny):
    config = tiny("train.steps=7", "train.validate_every=2", "train.save_every=3", "train.average_checkpoints=2")
    train(tmp_path / "whole", config)
    events = list(job.train_run(tmp_path / "parted", config, False, lambda: True))
    assert isinstance(events[-1], TrainingInterrupted) and events[-1].step == 1
    for step in range(2, 7):
        events = list(job.resume_run(tmp_path / "parted", {}, lambda: True))
        assert isinstance(events[-1], TrainingInterrupted) and events[-1].step == step
    assert isinstance(list(job.resume_run(tmp_path / "parted", {}, lambda: True))[-1], TrainingFinished)
    assert_same(tmp_path / "whole", tmp_path / "parted")
    assert [step.number for step in log.read_steps(Run(tmp_path / "parted").log)] == list(range(1, 8))


def test_same_seed_same_result_and_another_seed_another(tmp_path, tiny):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(tmp_path / name, tiny("train.steps=4", f"train.seed={seed}"))
    assert_same(tmp_path / "a", tmp_path / "b")
    mine, other = final_weights(tmp_path / "a"), final_weights(tmp_path / "c")
    assert not torch.equal(mine["best/encoder.norm.weight"], other["best/encoder.norm.weight"])


def test_sixty_four_sentences_are_learnt_by_heart(tmp_path, files, tiny):
    for language in ("en", "fr"):
        lines = (files / f"train.{language}").read_text(encoding="utf-8").split("\n")[:64]
        (tmp_path / f"few.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    few = f'["{tmp_path / "few.en"}", "{tmp_path / "few.fr"}"]'
    config = tiny(
        f"data.train={few}", f"data.dev={few}", f"data.test={few}", "model.dim=64", "model.ffn=128", "model.layers=2",
        "train.steps=300", "train.learning_rate=3e-3", "train.schedule=cosine", "train.batch_tokens=1024",
        "train.warmup=20", "train.validate_every=100", "train.save_every=100", "train.label_smoothing=0",
        "model.dropout=0", "train.average_checkpoints=1", 'data.keep=["overlap"]',
    )  # fmt: skip
    events = train(tmp_path / "run", config)
    assert [e for e in events if isinstance(e, ValidationFinished)][-1].result.loss < 0.05
    sources, targets = (
        (tmp_path / f"few.{language}").read_text(encoding="utf-8").strip().split("\n") for language in ("en", "fr")
    )
    assert load(tmp_path / "run").translate(sources, GreedySearch()) == targets
    eight_bits = load(tmp_path / "run", quantize="int8").translate(sources, GreedySearch())
    assert sum(map(str.__eq__, eight_bits, targets)) >= 60
    pytest.importorskip("ctranslate2", reason="CTranslate2 is not installed (the extra `ctranslate2`)")
    for quantize, right in (("none", 64), ("int8", 45)):
        candidates = open_engine(tmp_path / "run", quantize, 1).candidates(sources, GreedySearch())
        assert sum(one[0].text == target for one, target in zip(candidates, targets, strict=True)) >= right
    beams = open_engine(tmp_path / "run", "none", 2).candidates(["", *sources], BeamSearch(3, nbest=2))
    assert [len(one) for one in beams] == [1] + [2] * 64
    ours = load(tmp_path / "run").candidates(sources, BeamSearch(3, nbest=2))
    for one, other in zip(beams[1:], ours, strict=True):
        assert one[0].text == other[0].text
        assert one[0].score == pytest.approx(other[0].score, abs=1e-3)


def test_a_finished_run_is_a_whole_translator(tmp_path, tiny):
    events = train(tmp_path / "run", tiny("train.steps=6", "train.validate_every=3", "train.save_every=2"))
    finished = events[-1]
    assert (
        isinstance(finished, TrainingFinished)
        and finished.set_name == "test"
        and len(finished.evaluation.sentences) == 29
    )
    run = Run(tmp_path / "run")
    for path in (run.config, run.log, run.versions, run.checksums, run.best, run.report, run.scores("test")):
        assert path.exists(), path
    assert {p.suffix for p in run.charts.iterdir()} == {".png", ".svg"}
    assert {p.stem for p in run.charts.iterdir()} == {
        "loss", "accuracy", "bleu", "sentences", "attention", "learning-rate",
    }  # fmt: skip
    rows = run.sentence_scores("test").read_text(encoding="utf-8").split("\n")
    assert rows[0].split("\t") == ["source", "reference", "translation", "bleu", "chrf"] and len(rows) == 31
    moved = tmp_path / "elsewhere"
    run.folder.rename(moved)
    out = regard.load(moved).translate(["The girl eats.", "", "  ", "The boys sleep."])
    assert out[1:3] == ["", "  "] and all(isinstance(text, str) for text in out)


def test_a_long_run_keeps_few_checkpoints(tmp_path, tiny):
    train(
        tmp_path / "run",
        tiny("train.steps=12", "train.save_every=1", "train.average_checkpoints=3", "train.validate_every=4"),
    )
    run = Run(tmp_path / "run")
    assert len(run.saved_steps()) <= 5
    assert len(list((run.folder / "resume").iterdir())) == 2
    assert not list(run.folder.rglob(f"*{TEMPORARY_SUFFIX}"))


def test_training_stops_when_dev_gets_no_better(tmp_path, tiny):
    config = tiny("train.steps=500", "train.validate_every=2", "train.patience=2", "train.learning_rate=1e-9")
    events = train(tmp_path / "run", config)
    assert [e for e in events if isinstance(e, TrainingProgress)][-1].step.number < 500


def test_the_average_is_used_where_it_is_better(tmp_path, tiny):
    config = tiny("train.steps=30", "train.save_every=5", "train.validate_every=5", "train.learning_rate=0.05")
    train(tmp_path / "run", config)
    run = Run(tmp_path / "run")
    files = [run.weights(step) for step in (10, 15, 20, 25, 30)]
    mean = weights.average_weights(files)
    kept = weights.read(run.average_weights)
    assert all(torch.equal(mean[name], kept[name]) for name in mean)


@pytest.mark.parametrize(
    ("metric", "rate", "is_average"), [("loss", 0.3, True), ("loss", 0.002, False), ("bleu", 0.002, False)]
)
def test_the_note_on_the_average_ends_with_the_value_of_what_is_kept(tmp_path, tiny, metric, rate, is_average):
    changes = (f"train.metric={metric}", f"train.learning_rate={rate}", "train.average_checkpoints=3")
    events = train(tmp_path / "run", tiny("train.steps=6", "train.save_every=2", "train.validate_every=2", *changes))
    note = next(e.text for e in events if isinstance(e, Note) and "average of the last 3" in e.text)
    best = Run(tmp_path / "run").read_best()
    value = f"loss {best.cost:.3f}" if metric == "loss" else f"BLEU {-best.cost:.3f}"
    assert (best.weights == "average.safetensors") == is_average
    assert note.endswith(
        f"and is kept: dev {value}" if is_average else f"of step {best.step}, which is kept: dev {value}"
    )


def test_without_dev_and_test_some_pairs_are_held_out(tmp_path, tiny):
    config = tiny("train.steps=2", "data.dev=[]", "data.test=[]")
    plan = next(e for e in train(tmp_path / "run", config) if isinstance(e, TrainingPlan))
    assert plan.data.pairs == {"train": 576, "dev": 12, "test": 12} and plan.data.held_out == ("dev", "test")


def test_two_vocabularies_and_no_ties_work(tmp_path, tiny):
    config = tiny("train.steps=3", "data.joint_vocab=false", "model.tie_embeddings=false", "data.tokenizer=unigram")
    assert isinstance(train(tmp_path / "run", config)[-1], TrainingFinished)
    assert Run(tmp_path / "run").tokenizer("source").exists()


def test_blank_sides_are_left_out_and_nothing_shifts(tmp_path, tiny):
    (tmp_path / "a.en").write_text("one\n\nthree\n \nfive\n" * 20, encoding="utf-8")
    (tmp_path / "a.fr").write_text("un\ndeux\ntrois\nquatre\n\n" * 20, encoding="utf-8")
    config = tiny(f'data.train=["{tmp_path / "a.en"}", "{tmp_path / "a.fr"}"]', "train.steps=2")
    diagnosis = next(e for e in train(tmp_path / "run", config) if isinstance(e, TrainingPlan)).data.diagnosis
    assert diagnosis is not None and (diagnosis.pairs_read, diagnosis.pairs_kept) == (100, 40)
    blank = next(finding for finding in diagnosis.findings if finding.kind.name == "blank")
    assert blank.count == 60 and blank.examples[0].note == f"{tmp_path / 'a.en'}:2"
    from regard.data.store import Texts

    source, target = (list(Texts(tmp_path / "run" / "store", f"train.{s}")) for s in ("source", "target"))
    assert set(zip(source, target, strict=True)) == {("one", "un"), ("three", "trois")}


def test_a_vocabulary_that_is_too_large_is_lowered_with_a_word(tmp_path, tiny):
    notes = [
        e.text
        for e in train(tmp_path / "run", tiny("train.steps=1", "data.vocab_size=30000"))[:9]
        if isinstance(e, Note)
    ]
    assert any("instead of data.vocab_size=30,000: the training text has no more" in note for note in notes)


def test_a_run_that_goes_on_may_change_its_end_only(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=2"))
    before = Run(tmp_path / "run").config.read_text()
    with pytest.raises(
        ConfigError, match=r"only train.steps, minutes, epochs, tokens, threads, track and track_histograms may change"
    ):
        list(job.resume_run(tmp_path / "run", {"model.dropout": 0.3}, never))
    assert Run(tmp_path / "run").config.read_text() == before


def test_the_number_of_threads_is_recorded_and_may_change(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=1"))
    assert Run(tmp_path / "run").load_config().train.threads == 1  # OMP_NUM_THREADS of the tests
    list(job.resume_run(tmp_path / "run", {"train.threads": 2, "train.steps": 2}, never))
    assert Run(tmp_path / "run").load_config().train.threads == 2


def test_the_end_of_training_is_reserved_from_the_minutes(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr("regard.jobs.train.rehearsal.MARKS", (0.0,))
    events = train(tmp_path / "run", tiny("train.minutes=0.02", "train.steps=3"))
    assert any(isinstance(e, Note) and "pairs at the end takes about" in e.text for e in events)


def test_a_finished_run_says_so(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=2"))
    events = list(job.resume_run(tmp_path / "run", {}, never))
    assert not [e for e in events if isinstance(e, TrainingProgress)]
    assert "already finished" in str(events[-1])


def test_resuming_a_finished_run_removes_what_another_command_has_left(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=2"))
    left = tmp_path / "run" / "scores" / f".test.json.0123456789abcdef{TEMPORARY_SUFFIX}"
    left.touch()
    list(job.resume_run(tmp_path / "run", {}, never))
    assert not left.exists() and left.parent.exists()


def test_nothing_to_train_on_is_refused(tmp_path, tiny):
    with pytest.raises(ConfigError, match="nothing to train on"):
        train(tmp_path / "run", tiny("data.train=[]"))


def test_a_loss_that_is_no_number_stops_training_and_keeps_the_checkpoint(tmp_path, tiny):
    config = tiny(
        "train.steps=60", "train.learning_rate=1e30", "train.clip_grad_norm=0", "train.save_every=1", "train.warmup=0"
    )
    with pytest.raises(RegardError, match=r"no longer a finite number at step \d+.*lower train.learning_rate"):
        train(tmp_path / "run", config)


def test_weights_that_overflow_after_the_last_step_are_noticed(tmp_path, tiny):
    config = tiny("train.steps=1", "train.learning_rate=1e30", "train.warmup=0")
    with pytest.raises(RegardError, match=r"no longer a finite number at step 1.*lower train.learning_rate"):
        train(tmp_path / "run", config)
    assert not Run(tmp_path / "run").best.exists()


def test_a_config_that_does_not_fit_its_weights_is_refused_before_anything_is_allocated(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=1"))
    run = Run(tmp_path / "run")
    text = run.config.read_text()
    for change in ("dim = 65536", "layers = 1000", "ffn = 1000000"):  # up to a trillion numbers
        name = change.partition(" ")[0]
        run.config.write_text(re.sub(rf"(?m)^{name} = \d+$", change, text))
        with pytest.raises(RunError, match=r"config.toml: asks for [\d,]+ parameters, but .*safetensors has [\d,]+;"):
            load(run.folder)
    run.config.write_text(re.sub(r"(?m)^dim = \d+$", "dim = 10000000", text))
    with pytest.raises(ConfigError, match=r"model.dim=10000000: .*less than or equal to 65536"):
        load(run.folder)


def test_weights_that_overflow_translate_nothing(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=1"))
    run = Run(tmp_path / "run")
    tensors = weights.read(run.best_weights())
    name = next(name for name in tensors if "embed" in name)
    weights.write(tensors | {name: torch.full_like(tensors[name], 3e38)}, run.best_weights())
    run.record_checksums(run.best_weights())
    for search in (BeamSearch(1), BeamSearch(3)):
        with pytest.raises(ModelError, match="its weights overflow"):
            load(run.folder).translate(["The dog runs."], search)


def test_damage_is_named_file_by_file(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=2", "train.average_checkpoints=1"))
    run = Run(tmp_path / "run")
    for path in (run.best_weights(), run.tokenizer()):
        whole = path.read_bytes()
        path.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
        with pytest.raises(RunError, match=rf"{path.name}: damaged: its checksum"):
            load(run.folder)
        path.write_bytes(whole)
    load(run.folder)
    run.best.unlink()
    with pytest.raises(RunError, match=r"has no validated weights yet.*--resume"):
        load(run.folder)


def test_a_file_with_no_usable_pair_is_refused(tmp_path, tiny):
    (tmp_path / "a.tsv").write_text("\tx\ny\t\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"no pairs remain to train on:\ntrain: blank: 2 pairs"):
        train(tmp_path / "run", tiny(f'data.train=["{tmp_path / "a.tsv"}"]'))


def test_forced_counts_add_up_to_the_loss_of_training(tmp_path, tiny):
    from regard.data.batch import batches_by_length
    from regard.jobs.tasks.translation.data import open_training_data
    from regard.tasks.translate.loss import TranslationLoss

    config = tiny("train.steps=3")
    train(tmp_path / "run", config)
    translator = load(tmp_path / "run")
    dev = open_training_data(Run(tmp_path / "run"), config).dev
    results = translator.teacher_force(dev.pairs())
    loss_module = TranslationLoss(translator.model, 0.0).eval()
    totals = [loss_module(batch) for _, batch in batches_by_length(dev, 256)]
    assert sum(one.loss for one in results) == pytest.approx(sum(float(s.loss) for s in totals), rel=1e-4)
    assert sum(one.correct for one in results) == sum(int(s.correct) for s in totals)


def test_pads_counted_is_the_mean_over_a_padded_matrix(tmp_path, tiny):
    from regard.data.batch import collate
    from regard.data.tokenizers.tokenizer import PAD
    from regard.evaluation import evaluate
    from regard.jobs.tasks.translation.data import open_training_data

    config = tiny("train.steps=3")
    train(tmp_path / "run", config)
    translator = load(tmp_path / "run")
    pairs = open_training_data(Run(tmp_path / "run"), config).dev.pairs()[:13]
    evaluation = evaluate(lambda texts: texts, pairs, translator.teacher_force)
    encode = translator.tokenizers.source.encode
    batch = collate(encode([p.source for p in pairs]), encode([p.target for p in pairs]))
    logp = translator.model.output(translator.model(batch.source, batch.target_in)).log_softmax(dim=-1).detach()
    right, loss, pads = 0, 0.0, 0
    for guesses, labels in zip(logp, batch.target_out.tolist(), strict=True):
        for guess, token in zip(guesses, labels, strict=True):
            pads += token == PAD
            right += token in (PAD, int(guess.argmax()))
            loss += 0.0 if token == PAD else -float(guess[token])
    positions = batch.target_out.numel()
    assert evaluation.pads_counted.positions == batch.target_out.shape[1] and 0 < pads < positions
    assert evaluation.pads_counted.accuracy == pytest.approx(100 * right / positions)
    assert evaluation.pads_counted.loss == pytest.approx(loss / positions, rel=1e-4)
    assert evaluation.pads_counted.pad_percent == pytest.approx(100 * pads / positions)
    assert (
        evaluation.pads_counted.loss < evaluation.loss
        and evaluation.pads_counted.accuracy > evaluation.scores["accuracy"].value
    )


def test_what_best_names_is_kept_while_a_finished_run_is_extended(tmp_path, tiny):
    train(
        tmp_path / "run",
        tiny("train.steps=2", "train.validate_every=50", "train.save_every=3", "train.average_checkpoints=1"),
    )
    events = job.resume_run(tmp_path / "run", {"train.steps": 90}, lambda: True)
    assert isinstance(list(events)[-1], TrainingInterrupted)
    for _ in range(8):
        list(job.resume_run(tmp_path / "run", {}, lambda: True))
    assert load(tmp_path / "run").translate(["The girl eats."])


def test_a_step_is_saved_once(tmp_path, tiny, monkeypatch):
    saved = []
    monkeypatch.setattr(
        session.CheckpointManager,
        "save",
        lambda self, state, save=session.CheckpointManager.save: (saved.append(state.step), save(self, state)),
    )
    train(tmp_path / "run", tiny("train.steps=6", "train.save_every=3", "train.validate_every=3"))
    assert saved == [3, 6]


def test_a_run_that_lost_its_place_says_so(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=2"))
    Run(tmp_path / "run").latest.unlink()
    with pytest.raises(RunError, match=r"latest.json: missing"):
        list(job.resume_run(tmp_path / "run", {"train.steps": 4}, never))


def test_stopping_early_is_said_and_training_on_begins_with_new_patience(tmp_path, tiny):
    config = tiny("train.steps=500", "train.validate_every=2", "train.patience=2", "train.learning_rate=1e-9")
    notes = [e.text for e in train(tmp_path / "run", config) if isinstance(e, Note)]
    assert any(note.startswith("stopped early: no improvement on dev in 2 validations") for note in notes)
    more = list(job.resume_run(tmp_path / "run", {"train.steps": 600}, never))
    assert [e for e in more if isinstance(e, TrainingProgress)]


def test_a_log_cut_in_the_middle_costs_no_run(tmp_path, tiny):
    train(tmp_path / "run", tiny("train.steps=4", "train.save_every=2"))
    path = Run(tmp_path / "run").log
    path.write_bytes(path.read_bytes()[:-200])
    assert isinstance(list(job.resume_run(tmp_path / "run", {"train.steps": 6}, never))[-1], TrainingFinished)


def test_a_repeated_corpus_is_not_held_out_as_a_whole(tmp_path, tiny):
    rows = [f"a sentence number {i}\tune phrase numéro {i}\n" for i in range(30)] * 40
    (tmp_path / "a.tsv").write_text("".join(rows), encoding="utf-8")
    config = tiny(f'data.train=["{tmp_path / "a.tsv"}"]', "data.dev=[]", "data.test=[]", "train.steps=1")
    plan = next(e for e in train(tmp_path / "run", config) if isinstance(e, TrainingPlan))
    assert 400 <= plan.data.pairs["train"] < 1200
    (tmp_path / "a.tsv").write_text("one\tun\n" * 50, encoding="utf-8")
    with pytest.raises(DataError, match="1 different sources are too few to split dev and test off"):
        train(tmp_path / "other", config)
    assert not (tmp_path / "other").exists()


def test_epochs_and_tokens_end_training_where_the_corpus_says(tiny, tmp_path: Path):
    def trained(name: str, *changes: str) -> tuple[int, int]:
        train(tmp_path / name, tiny(*changes, "train.validation_sentences=0"))
        steps = log.read_steps(Run(tmp_path / name).log)
        return len(steps), sum(step.tokens for step in steps)

    steps, tokens = trained("one", "train.epochs=1")
    half, fewer = trained("half", f"train.tokens={tokens / 2}")
    assert abs(half - steps / 2) <= 1 and abs(fewer / tokens - 0.5) < 0.1
    assert trained("least", "train.epochs=1", "train.steps=3")[0] == 3


def test_the_report_has_epochs_with_a_fraction(tiny, tmp_path: Path):
    train(tmp_path / "run", tiny("train.epochs=1.25", "train.validation_sentences=0", "data.test=[]"))
    page = Run(tmp_path / "run").report.read_text(encoding="utf-8")
    epochs = re.search(r"<dt>epochs</dt><dd[^>]*>([^<]*)</dd>", page)
    assert epochs and float(epochs[1]) == pytest.approx(1.25, abs=0.05)


def test_a_model_that_no_machine_holds_is_refused_before_it_is_built(tmp_path, tiny):
    huge = tiny("model.dim=65536", "model.ffn=1000000", "train.steps=1")
    with pytest.raises(ConfigError, match=r"would take about [\d,.]+ GB, and [\d,.]+ GB are free"):
        list(job.train_run(tmp_path / "run", huge, False, never))
    assert not (tmp_path / "run").exists()


def test_products_of_sixteen_bits_train_too(tmp_path, tiny):
    events = train(tmp_path / "run", tiny("train.steps=3", "train.precision=bfloat16"))
    compute = next(event for event in events if isinstance(event, TrainingPlan)).compute
    assert (compute.device, compute.threads, compute.thread_reason) == ("cpu", 1, "as set")
    assert (compute.precision, compute.padding_free) == ("bfloat16", False)
    assert {tensor.dtype for tensor in final_weights(tmp_path / "run").values()} == {torch.float32}


def test_minutes_that_are_over_before_training_begins_leave_a_translator_and_a_word(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr("regard.training.planning.budget.MIN_SECONDS", 0.001)
    events = train(tmp_path / "run", tiny("train.minutes=0.00001"))
    assert "preparing the data took all of the time" in " ".join(
        event.text for event in events if isinstance(event, Note)
    )
    assert Run(tmp_path / "run").read_latest().step == 1
    assert len(load(tmp_path / "run").translate(["The cat sleeps."])) == 1


@pytest.mark.parametrize(
    "error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3 GiB")]
)
def test_too_little_memory_is_a_sentence_that_says_what_to_lower(error: Exception, tmp_path, tiny, monkeypatch):
    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr(session.TrainingSession, "train", full)
    with pytest.raises(
        ConfigError, match=r"cpu has too little memory for this model; lower train\.batch_tokens \(now "
    ):
        train(tmp_path / "run", tiny())
