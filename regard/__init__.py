"""Regard: train Transformers on your own text, on your own machine, and see what they attend to.

    import regard

    run = regard.train("train.en", "train.fr", out="runs/mine", minutes=60, progress=True)
    model = regard.load("runs/mine")
    model.translate("I love dogs.")

Every command of the command line is a function here. Nothing heavy is imported until it is used.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from regard.api.attention import SentenceAttention as SentenceAttention
    from regard.api.corpora import corpus as corpus
    from regard.api.corpora import doctor as doctor
    from regard.api.corpora import document_pairs as document_pairs
    from regard.api.inspecting import heads as heads
    from regard.api.inspecting import look as look
    from regard.api.inspecting import prune as prune
    from regard.api.inspecting import senses as senses
    from regard.api.labs.assignments import assignments as assignments
    from regard.api.labs.assignments import blank_assignment as blank_assignment
    from regard.api.labs.assignments import check_assignment as check_assignment
    from regard.api.labs.assignments import grade_assignments as grade_assignments
    from regard.api.labs.laboratory import copy_lab as copy_lab
    from regard.api.labs.laboratory import lab as lab
    from regard.api.labs.laboratory import lab_notebook as lab_notebook
    from regard.api.labs.laboratory import list_labs as list_labs
    from regard.api.labs.laboratory import new_lab as new_lab
    from regard.api.labs.laboratory import run_labs as run_labs
    from regard.api.models import EncoderModel as EncoderModel
    from regard.api.models import TranslationModel as TranslationModel
    from regard.api.models import load as load
    from regard.api.models import load_encoder as load_encoder
    from regard.api.planning import bench as bench
    from regard.api.planning import estimate as estimate
    from regard.api.planning import settings as settings
    from regard.api.retrieval.index import Index as Index
    from regard.api.retrieval.index import build_index as build_index
    from regard.api.runs import TrainedRun as TrainedRun
    from regard.api.runs import export as export
    from regard.api.runs import import_model as import_model
    from regard.api.runs import open_run as open_run
    from regard.api.scoring import compare as compare
    from regard.api.scoring import evaluate as evaluate
    from regard.api.scoring import rouge as rouge
    from regard.api.studies import StudyResult as StudyResult
    from regard.api.studies import compare_architectures as compare_architectures
    from regard.api.studies import tune as tune
    from regard.api.studies import write_report as write_report
    from regard.api.tasks.classification import ClassificationModel as ClassificationModel
    from regard.api.tasks.classification import classify_stream as classify_stream
    from regard.api.tasks.embedding import similar as similar
    from regard.api.tasks.embedding import similar_files as similar_files
    from regard.api.tasks.embedding import similar_stream as similar_stream
    from regard.api.tasks.language import fill as fill
    from regard.api.tasks.language import fill_stream as fill_stream
    from regard.api.tasks.language import generate as generate
    from regard.api.tasks.language import generate_stream as generate_stream
    from regard.api.tasks.summarization import SummaryModel as SummaryModel
    from regard.api.tasks.summarization import summarize_stream as summarize_stream
    from regard.api.tasks.tagging import tag_stream as tag_stream
    from regard.api.training import demo as demo
    from regard.api.training import train as train
    from regard.api.training import training_events as training_events
    from regard.api.training import watch as watch
    from regard.api.translation import distill as distill
    from regard.api.translation import make_shortlist as make_shortlist
    from regard.api.translation import translate_file as translate_file
    from regard.api.translation import translate_stream as translate_stream
    from regard.data.doctor import Diagnosis as Diagnosis
    from regard.decode import BeamSearch as BeamSearch
    from regard.decode import GreedySearch as GreedySearch
    from regard.decode import SamplingSearch as SamplingSearch
    from regard.decode import Search as Search
    from regard.errors import RegardError as RegardError
    from regard.errors import RegardWarning as RegardWarning
    from regard.formats.pair import Pair as Pair
    from regard.formats.registry import register_format as register_format
    from regard.jobs.bench import Benchmark as Benchmark
    from regard.jobs.demo import DemoResult as DemoResult
    from regard.jobs.evaluate import FileEvaluation as FileEvaluation
    from regard.jobs.live.server import LiveServer as LiveServer
    from regard.jobs.look.decisions import DecisionInspection as DecisionInspection
    from regard.jobs.look.heads import HeadTable as HeadTable
    from regard.jobs.look.inspections import Inspection as Inspection
    from regard.jobs.look.senses import SenseAnalysis as SenseAnalysis
    from regard.jobs.prune import PruneResult as PruneResult
    from regard.jobs.retrieval.evaluation import SearchEvaluation as SearchEvaluation
    from regard.jobs.retrieval.results import SearchHit as SearchHit
    from regard.jobs.retrieval.results import SearchResult as SearchResult
    from regard.jobs.shortlist.record import ShortlistRecord as ShortlistRecord
    from regard.jobs.tasks.comparison import TaskComparison as TaskComparison
    from regard.jobs.tasks.embedding.inputs import ComparedTexts as ComparedTexts
    from regard.jobs.tasks.file_evaluation import TaskFileEvaluation as TaskFileEvaluation
    from regard.jobs.train.estimate import FileEstimate as FileEstimate
    from regard.jobs.train.events import Alarm as Alarm
    from regard.jobs.train.events import Note as Note
    from regard.jobs.train.events import TrainingFinished as TrainingFinished
    from regard.jobs.train.events import TrainingInterrupted as TrainingInterrupted
    from regard.jobs.train.events import TrainingPlan as TrainingPlan
    from regard.jobs.train.events import TrainingProgress as TrainingProgress
    from regard.jobs.train.events import TrainingStarted as TrainingStarted
    from regard.jobs.train.events import ValidationFinished as ValidationFinished
    from regard.jobs.translate.distill import DistilledPairs as DistilledPairs
    from regard.jobs.translate.text import DocumentResult as DocumentResult
    from regard.jobs.translate.worker_pool import RuntimeOptions as RuntimeOptions
    from regard.labs.suite.session import LabRun as LabRun
    from regard.labs.suite.session import LabSession as LabSession
    from regard.labs.suite.suite import SuiteResult as SuiteResult
    from regard.metrics.score import Score as Score
    from regard.model.register import register_activation as register_activation
    from regard.model.register import register_position_scheme as register_position_scheme
    from regard.tasks.classify.classifier import Classification as Classification
    from regard.tasks.generate import Generation as Generation
    from regard.tasks.generate import GenerationOptions as GenerationOptions
    from regard.tasks.masked_lm.filler import FillCandidate as FillCandidate
    from regard.tasks.tag.tagger import Entity as Entity
    from regard.tasks.tag.tagger import TaggedText as TaggedText
    from regard.tasks.translate.translator import Translation as Translation
    from regard.tuning.architectures.comparison import ArchitectureComparison as ArchitectureComparison
    from regard.tuning.compare import Comparison as Comparison

_MODULES = {
    "regard.api.attention": ("SentenceAttention",),
    "regard.api.tasks.classification": ("ClassificationModel", "classify_stream"),
    "regard.api.corpora": ("corpus", "doctor", "document_pairs"),
    "regard.api.inspecting": ("heads", "look", "prune", "senses"),
    "regard.api.tasks.embedding": ("similar", "similar_files", "similar_stream"),
    "regard.api.tasks.language": ("fill", "fill_stream", "generate", "generate_stream"),
    "regard.api.labs.assignments": ("assignments", "blank_assignment", "check_assignment", "grade_assignments"),
    "regard.api.labs.laboratory": ("copy_lab", "lab", "lab_notebook", "list_labs", "new_lab", "run_labs"),
    "regard.api.models": ("EncoderModel", "TranslationModel", "load", "load_encoder"),
    "regard.api.planning": ("bench", "estimate", "settings"),
    "regard.api.retrieval.index": ("Index", "build_index"),
    "regard.api.runs": ("TrainedRun", "export", "import_model", "open_run"),
    "regard.api.scoring": ("compare", "evaluate", "rouge"),
    "regard.api.studies": ("StudyResult", "compare_architectures", "tune", "write_report"),
    "regard.api.tasks.summarization": ("SummaryModel", "summarize_stream"),
    "regard.api.tasks.tagging": ("tag_stream",),
    "regard.api.training": ("demo", "train", "training_events", "watch"),
    "regard.api.translation": ("distill", "make_shortlist", "translate_file", "translate_stream"),
    "regard.data.doctor": ("Diagnosis",),
    "regard.decode": ("BeamSearch", "GreedySearch", "SamplingSearch", "Search"),
    "regard.errors": ("RegardError", "RegardWarning"),
    "regard.formats.registry": ("register_format",),
    "regard.formats.pair": ("Pair",),
    "regard.jobs.bench": ("Benchmark",),
    "regard.jobs.demo": ("DemoResult",),
    "regard.jobs.evaluate": ("FileEvaluation",),
    "regard.jobs.live.server": ("LiveServer",),
    "regard.jobs.look.decisions": ("DecisionInspection",),
    "regard.jobs.look.heads": ("HeadTable",),
    "regard.jobs.look.inspections": ("Inspection",),
    "regard.jobs.look.senses": ("SenseAnalysis",),
    "regard.jobs.prune": ("PruneResult",),
    "regard.jobs.shortlist.record": ("ShortlistRecord",),
    "regard.jobs.tasks.comparison": ("TaskComparison",),
    "regard.jobs.retrieval.evaluation": ("SearchEvaluation",),
    "regard.jobs.retrieval.results": ("SearchHit", "SearchResult"),
    "regard.jobs.tasks.embedding.inputs": ("ComparedTexts",),
    "regard.jobs.tasks.file_evaluation": ("TaskFileEvaluation",),
    "regard.jobs.train.estimate": ("FileEstimate",),
    "regard.jobs.train.events": (
        "Alarm",
        "Note",
        "TrainingFinished",
        "TrainingInterrupted",
        "TrainingPlan",
        "TrainingProgress",
        "TrainingStarted",
        "ValidationFinished",
    ),
    "regard.jobs.translate.distill": ("DistilledPairs",),
    "regard.jobs.translate.text": ("DocumentResult",),
    "regard.jobs.translate.worker_pool": ("RuntimeOptions",),
    "regard.labs.suite.session": ("LabRun", "LabSession"),
    "regard.labs.suite.suite": ("SuiteResult",),
    "regard.metrics.score": ("Score",),
    "regard.model.register": ("register_activation", "register_position_scheme"),
    "regard.tasks.classify.classifier": ("Classification",),
    "regard.tasks.tag.tagger": ("Entity", "TaggedText"),
    "regard.tasks.generate": ("Generation", "GenerationOptions"),
    "regard.tasks.masked_lm.filler": ("FillCandidate",),
    "regard.tasks.translate.translator": ("Translation",),
    "regard.tuning.architectures.comparison": ("ArchitectureComparison",),
    "regard.tuning.compare": ("Comparison",),
}
_LAZY_IMPORTS = {name: module for module, names in _MODULES.items() for name in names}
__all__ = ["__version__", *_LAZY_IMPORTS]


if not TYPE_CHECKING:  # which sees the imports above, and so misspelt names

    def __getattr__(name: str) -> Any:
        if name not in _LAZY_IMPORTS:
            raise AttributeError(f"module 'regard' has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(_LAZY_IMPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
