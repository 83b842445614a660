"""Predicted labels -> Score: classes by a confusion matrix, spans of tagged words, paired tests and calibration."""

from regard.metrics.labels.calibration import (
    ReliabilityBin,
    expected_calibration_error,
    fit_temperature,
    fit_thresholds,
    reliability_curve,
    scale_logits,
)
from regard.metrics.labels.classes import (
    CLASS_MEASURES,
    Confusion,
    count_confusion,
    flat_measure,
    score_classes,
)
from regard.metrics.labels.entities import SPAN_MEASURES, count_spans, score_spans
from regard.metrics.labels.paired import LabelTest, compare_with_baseline
from regard.metrics.labels.parts import PartScores, score_parts

__all__ = [
    "CLASS_MEASURES",
    "SPAN_MEASURES",
    "Confusion",
    "LabelTest",
    "PartScores",
    "ReliabilityBin",
    "compare_with_baseline",
    "count_confusion",
    "count_spans",
    "expected_calibration_error",
    "fit_temperature",
    "fit_thresholds",
    "flat_measure",
    "reliability_curve",
    "scale_logits",
    "score_classes",
    "score_parts",
    "score_spans",
]
