"""Tables of a study's page hold the numbers of its trials, each in its column."""

from dataclasses import replace

import pytest
from lxml import html

from regard import config as settings
from regard.tuning.analysis.evidence import analyze_study
from regard.tuning.pages.parameter_charts import format_cell
from regard.tuning.pages.study import StudyPage, _pruned_reason
from tests.tuning.pages.test_study import result
from tests.tuning.synthetic import FOUR, make, study_of


def tables(text: str) -> dict[str, list[list[tuple[str, str]]]]:
    """The rows of each table, by its caption."""
    found = {}
    for table in html.fromstring(text).iter("table"):
        caption = (
            " ".join("".join(table.find("caption").itertext()).split()) if table.find("caption") is not None else ""
        )
        names = ["".join(cell.itertext()).strip() for cell in table.iter("th")]
        rows = [["".join(cell.itertext()).strip() for cell in row.iter("td")] for row in table.iter("tr")]
        found[caption] = [list(zip(names, row, strict=False)) for row in rows if row]
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    worker = make(study_of(sets=FOUR, metric="bleu"), tmp_path_factory.mktemp("s") / "study", collapsed=(1,))
    analysis, curves = analyze_study(worker.study, worker.results())
    yield StudyPage(worker, analysis, curves, all_tests=False, pads_counted=True)
    worker.close()


def column(rows: list[list[tuple[str, str]]], name: str) -> list[str]:
    return [dict(row)[name] for row in rows]


def test_ranked_trials_have_their_rank_settings_and_scores(page: StudyPage):
    found = tables(page.html())
    caption = next(text for text in found if text.startswith("Sorted by BLEU on dev. Test scores are shown for"))
    rows, ranking = found[caption], page.ranking
    assert "± is half the width" in caption and "first seed" not in caption
    assert column(rows, "rank") == ["1", "2", "3"] and column(rows, "trial") == [one.label for one in ranking]
    assert column(rows, "layers") == [str(one.params["model.layers"]) for one in ranking]
    assert column(rows, "dim") == [str(one.params["model.dim"]) for one in ranking]
    scores = [one.seed_summaries[0].scores["bleu"]["value"] for one in ranking]
    assert column(rows, "BLEU") == [f"{score:.2f} ± 0.90" for score in scores] and scores == sorted(scores)[::-1]
    losses = [float(text) for text in column(rows, "dev loss")]
    assert losses == pytest.approx([one.seed_summaries[0].loss for one in ranking], abs=0.01)
    accuracies = [float(text) for text in column(rows, "accuracy %")]
    assert accuracies == pytest.approx([one.seed_summaries[0].value("accuracy") for one in ranking], abs=0.1)


def test_costs_stand_in_their_columns(page: StudyPage):
    rows = tables(page.html())["Cost."]
    summaries = [one.seed_summaries[0] for one in page.ranking]
    assert column(rows, "parameters") == [f"{one.parameters:,}" for one in summaries]
    assert column(rows, "steps") == ["300"] * 3 and {float(text) for text in column(rows, "epochs")} == {25.0}
    assert [float(text) for text in column(rows, "minutes")] == pytest.approx(
        [one.minutes for one in summaries], abs=0.06
    )
    assert [float(text) for text in column(rows, "ms per sentence")] == pytest.approx(
        [1000 * one.decoding_seconds for one in summaries]
    )
    assert [float(text.replace(",", "")) for text in column(rows, "tokens/s")] == pytest.approx(
        [one.tokens_per_second for one in summaries], abs=0.6
    )
    rows = tables(page.html())["Other scores on dev."]
    for name, key in (("chrF2", "chrf"), ("TER", "ter")):
        assert column(rows, name) == [f"{one.scores[key]['value']:.2f} ± 0.90" for one in summaries]


def test_what_is_not_ranked_has_its_reason(page: StudyPage):
    (row,) = tables(page.html())["Not ranked."]
    found = dict(row)
    assert found["trial"] == "set 1" and found["state"] == "collapsed" and "ignores its source" in found["reason"]
    assert found["settings"] == "layers=2 heads=8 dim=128 dropout=0.1"


def test_padding_flatters_in_columns_of_its_own(page: StudyPage):
    rows = tables(page.html())["On dev; positions per sentence."]
    values = [[text for _, text in row] for row in rows]
    for row, one in zip(values, page.analysis.results, strict=True):
        summary = one.seed_summaries[0]
        assert row[:2] == [one.label, "collapsed" if one.number == 1 else "yes"]
        numbers = [float(text) for text in row[2:]]
        expected = [summary.value("accuracy"), 80 + summary.value("accuracy") - 50, summary.loss, 1.2, 59, 61.8]
        assert numbers == pytest.approx(expected, abs=0.06)
    assert len(rows) == 4


def test_the_best_trial_and_the_facts_of_each_are_named(page: StudyPage):
    text = " ".join("".join(html.fromstring(page.html()).itertext()).split())
    best = page.ranking[0]
    assert f"Use it with: regard translate {best.folders[0]}" in text and "There is no test set." in text
    assert "4 trials by sets, 25 epochs each, selected by BLEU on dev" in text
    facts = text.split("Each trial")[-1]
    assert "set 1 (collapsed)" in facts and "set 2 (" not in facts


def test_cells_and_reasons_are_words():
    assert [format_cell(value) for value in (True, False, (1, 2), "x", 3, 0.5, None)] == [
        "yes", "no", "1, 2", "x", 3, 0.5, None,
    ]  # fmt: skip
    pruned = replace(result(1, 3.0), state="pruned", intermediate_values={2: 9.0, 7: 4.25})
    assert (
        _pruned_reason(pruned, study_of(sets=FOUR))
        == "loss 4.250 after 35% of its budget was worse than that of other trials"
    )
    assert (
        _pruned_reason(pruned, study_of(sets=FOUR, metric="chrf")).startswith("BLEU 4.250")
        and _pruned_reason(result(1, 3.0), study_of(sets=FOUR)) == ""
    )


def test_of_two_seeds_the_mean_and_both_are_shown(tmp_path):
    sets = {name: FOUR[name] for name in ("set 3", "set 4")}
    worker = make(study_of(sets=sets, metric="bleu", seeds=2), tmp_path / "study")
    analysis, curves = analyze_study(worker.study, worker.results())
    page = StudyPage(worker, analysis, curves, all_tests=False, pads_counted=False)
    text = page.html()
    worker.close()
    assert {"parallel", "slices"} < {chart.name for chart in page.charts()}  # two trials are enough
    caption, rows = next((name, rows) for name, rows in tables(text).items() if name.startswith("Sorted by BLEU"))
    assert caption.endswith("those of the first seed.") and "Accuracy and loss with padding" not in text
    for row, one in zip(rows, page.ranking, strict=True):
        assert dict(row)["seeds"] == " ".join(f"{value:.2f}" for value in one.values)
        assert float(dict(row)["mean BLEU"]) == pytest.approx(sum(one.values) / 2, abs=0.01)


def test_settings_of_all_trials_are_those_that_were_set(page: StudyPage):
    shown = page._shared_settings()
    config = page.study.trial_base_config()
    values = settings.flatten(config.model_dump(mode="json"))
    assert shown == {name: format_cell(values[name]) for name in settings.explicit_settings(config)}
    assert len(shown) < len(values) / 2
