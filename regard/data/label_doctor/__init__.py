"""The doctor for labeled text: checks texts with labels, and sentences of tagged words, before training."""

from regard.data.label_doctor.doctor import LabelDoctor, LabelStream
from regard.data.label_doctor.kinds import LABEL_KINDS
from regard.data.label_doctor.views import view_labeled_text, view_tagged_sentence

__all__ = ["LABEL_KINDS", "LabelDoctor", "LabelStream", "view_labeled_text", "view_tagged_sentence"]
