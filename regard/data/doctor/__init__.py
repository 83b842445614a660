"""Reads a corpus before anyone trains, and says what is wrong with it, where, and what to do.

    diagnosis = Doctor(DoctorSettings(source="en", target="fr")).examine(PairStream.from_files(["train.en", "train.fr"]))
    for line in diagnosis.format_lines(): …
    diagnosis.require_trainable()
    pairs = diagnosis.clean(read_pairs(["train.en", "train.fr"]))

Damage that would shift pairs is refused where files are read. What remains is refused, dropped or noted, as the table
in `kinds` says; a dropped pair goes as a whole, so that the others keep their partners.
"""

from regard.data.doctor.diagnosis import Diagnosis, Finding, FindingExample, SplitSummary
from regard.data.doctor.doctor import Doctor
from regard.data.doctor.examination import PairStream
from regard.data.doctor.kinds import FINDING_KINDS, Action, FindingKind
from regard.data.doctor.settings import DoctorSettings

__all__ = [
    "FINDING_KINDS",
    "Action",
    "Diagnosis",
    "Doctor",
    "DoctorSettings",
    "Finding",
    "FindingExample",
    "FindingKind",
    "PairStream",
    "SplitSummary",
]
