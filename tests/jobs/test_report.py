"""The report of a run: its charts say what they show, on the scale of their measure."""

import torch

from regard.config import Head
from regard.data.batch import DataPosition
from regard.jobs.look.cross_attention import CrossAttentionMatrix
from regard.jobs.report import draw_curves, draw_mean_attention
from regard.training.loop import Step

MATRIX = CrossAttentionMatrix(["a"], ["b"], torch.ones(1, 1), ["a"], ["b"], torch.ones(1, 1))


def test_the_mean_of_all_heads_is_called_so_and_names_the_head_that_was_trained_to_align():
    chart = draw_mean_attention(MATRIX, [Head("decoder", 1, "cross", 0)])
    assert chart.title == "Cross-attention, mean of all layers and heads"
    assert "decoder.1.cross.0 was trained to align (guided alignment)" in " ".join(chart.spec["title"]["subtitle"])
    both = draw_mean_attention(MATRIX, [Head("decoder", layer, "cross", 0) for layer in (1, 2)])
    assert "decoder.1.cross.0, decoder.2.cross.0 were trained to align" in " ".join(both.spec["title"]["subtitle"])
    assert "trained" not in str(draw_mean_attention(MATRIX, ()).spec)


def test_accuracy_is_in_percent_as_in_tables_and_studies():
    steps = [Step(n, DataPosition(0, n), 5.0, 0.25 * n, 7, 1.0, 1.0, 1.0) for n in (1, 2)]
    charts = {chart.name: chart for chart in draw_curves(steps)}
    values = [row["y"] for rows in charts["accuracy"].spec["datasets"].values() for row in rows]
    assert values == [25.0, 50.0] and "% of target tokens" in str(charts["accuracy"].spec)
