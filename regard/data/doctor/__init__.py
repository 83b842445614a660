"""The corpus doctor: checks a corpus before training, and reports what is wrong with it, where, and what to do.

    stream = PairStream.from_files(["train.en", "train.fr"])
    diagnosis = Doctor(DoctorSettings(source="en", target="fr")).examine(stream)
    for finding in diagnosis.findings: …
    diagnosis.require_trainable()
    pairs = diagnosis.clean(read_pairs(["train.en", "train.fr"]))

Damage that would shift pairs is refused when files are read. All other findings are refused, dropped or noted, as the
table in `kinds` defines. A pair is dropped as a whole, so that the others stay aligned.
"""

from regard.data.doctor.diagnosis import DataFinding, Diagnosis, FindingExample, SplitSummary
from regard.data.doctor.doctor import Doctor
from regard.data.doctor.examination import PairStream
from regard.data.doctor.kinds import FINDING_KINDS, Action, FindingKind
from regard.data.doctor.settings import DoctorSettings

__all__ = [
    "FINDING_KINDS",
    "Action",
    "DataFinding",
    "Diagnosis",
    "Doctor",
    "DoctorSettings",
    "FindingExample",
    "FindingKind",
    "PairStream",
    "SplitSummary",
]
