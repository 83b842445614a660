"""An index evaluated on judged queries: dense, BM25 and fused search, and other systems, side by side."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import DataError
from regard.formats.retrieval import SearchQuery, read_judgments, read_queries, read_run
from regard.jobs.retrieval.results import METHOD_TITLES, select_rankings
from regard.jobs.retrieval.session import MAX_DEPTH, SearchSession
from regard.metrics import Score
from regard.metrics.retrieval import (
    MIN_RELEVANT,
    RETRIEVAL_MEASURES,
    Judgments,
    RankedList,
    RankingScores,
    RankingTest,
    compare_rankings,
    score_run,
)
from regard.progress import track
from regard.report import Paragraph, Table, TableView, render_fragment
from regard.retrieval.document_store import MAX_LISTED, list_ids

DECISIVE = "ndcg_10"
"""The measure that ranks systems."""


@dataclass(frozen=True, repr=False)
class SearchEvaluation:
    """Systems on the same judged queries."""

    systems: Mapping[str, RankingScores]
    """fused, dense, BM25, and the files of other systems."""
    tests: Mapping[str, Sequence[RankingTest]]
    """Measure -> a paired test of every two systems, corrected for their number (Holm)."""
    signatures: Mapping[str, str]
    """How each system ranks."""
    num_queries: int
    notes: tuple[str, ...]
    """What judgments and documents lack."""

    @property
    def scores(self) -> dict[str, dict[str, Score]]:
        """System -> measure -> score."""
        return {name: dict(system.scores) for name, system in self.systems.items()}

    @property
    def best(self) -> str:
        """The system with the highest nDCG@10."""
        return max(self.systems, key=lambda name: self.systems[name].scores[DECISIVE].value)

    def as_dict(self) -> dict[str, Any]:
        """System -> measure -> value, interval and signature; the tests of every two systems; notes."""
        systems = {
            name: {measure: score.as_dict() for measure, score in scores.items()}
            for name, scores in self.scores.items()
        }
        tests = {measure: [_test_as_dict(test) for test in tests] for measure, tests in self.tests.items()}
        return {"systems": systems, "tests": tests, "rankings": dict(self.signatures), "notes": list(self.notes)}

    def as_table(self) -> Table:
        """A row for each system and measure."""
        return Table.from_rows(
            {"system": name, "measure": s.name, "score": s.value, "95% CI low": s.low, "95% CI high": s.high}
            for name, scores in self.scores.items()
            for s in scores.values()
        )

    def __repr__(self) -> str:
        score = self.systems[self.best].scores[DECISIVE]
        return f"<SearchEvaluation on {self.num_queries:,} queries, best {self.best}: {score}>"

    def __str__(self) -> str:
        return str(self.as_table())

    def _repr_html_(self) -> str:
        notes = [Paragraph(note) for note in self.notes]
        tests = Table.from_rows(
            {
                "systems": f"{test.first} - {test.second}",
                test.difference.name: test.difference.value,
                "95% CI low": test.difference.low,
                "95% CI high": test.difference.high,
                "p (bootstrap)": test.p_bootstrap,
                "p (randomization)": test.p_randomized,
            }
            for test in self.tests[DECISIVE]
        )
        return render_fragment([TableView(self.as_table()), TableView(tests), *notes])


def evaluate_search(
    session: SearchSession, queries: Path, judgments: Path, other_runs: Sequence[Path] = (), approximate: bool = False
) -> SearchEvaluation:
    """Search for the judged queries of a file, and score what is found."""
    all_queries, grades = read_queries(queries), read_judgments(judgments)
    others = {name: read_run(path) for name, path in zip(_name_files(other_runs), other_runs, strict=True)}
    judged = [query for query in all_queries if query.id in grades]
    notes = list(_check_judgments(session, all_queries, grades, (queries, judgments)))
    runs: dict[str, dict[str, RankedList]] = {title: {} for title in METHOD_TITLES.values()}
    ranked = session.rank(judged, MAX_DEPTH, approximate=approximate)
    for query, rankings, _ in track(ranked, "searching", len(judged)):
        for method, ranking in select_rankings(rankings).items():
            runs[METHOD_TITLES[method]][query.id] = session.name_documents(ranking)
    for name, run in others.items():
        notes += _note(
            f"judged queries for which {name} has no documents, and which count 0", grades.keys() - run.keys()
        )
    systems = {name: score_run(run, grades) for each in (runs, others) for name, run in each.items()}
    tests = {
        measure: compare_rankings({name: scores.values[measure] for name, scores in systems.items()}, title)
        for measure, (title, _) in track(RETRIEVAL_MEASURES.items(), "testing significance", len(RETRIEVAL_MEASURES))
    }
    signatures = {METHOD_TITLES[method]: signature for method, signature in session.index.signatures().items()}
    return SearchEvaluation(systems, tests, signatures, len(grades), tuple(notes))


def _check_judgments(
    session: SearchSession, queries: Sequence[SearchQuery], grades: Judgments, files: tuple[Path, Path]
) -> Iterator[str]:
    """What does not fit together, in sentences; an error where nothing fits."""
    ids = {query.id for query in queries}
    if not ids & grades.keys():
        raise DataError(
            f"{files[1]}: judges no query of {files[0]}: it has the ids {list_ids([*grades])}; the queries have "
            f"{list_ids(sorted(ids))}"
        )
    documents = {document for graded in grades.values() for document in graded}
    unknown = {document for document in documents if session.index.documents.find(document) is None}
    if unknown == documents:
        raise DataError(
            f"{files[1]}: judges no document of {session.path}: it has the ids {list_ids(sorted(documents))}; the "
            f"index has {list_ids(session.index.documents.ids[:MAX_LISTED])}"
        )
    relevant = {document for query in ids & grades.keys() for document in _list_relevant(grades[query])}
    if not relevant - unknown:
        raise DataError(
            f"{files[1]}: has no document of {session.path} that is relevant (grade {MIN_RELEVANT} or more) to a query "
            f"of {files[0]}: every score would be 0"
        )
    irrelevant = {query for query, graded in grades.items() if not _list_relevant(graded)}
    yield from _note("queries without a judged document, which are not scored", ids - grades.keys())
    yield from _note(f"judged queries that {files[0]} does not have, and which count 0", grades.keys() - ids)
    yield from _note("judged queries without a relevant document, which count 0", irrelevant)
    yield from _note("judged documents that are not in the index, and that no search finds", unknown)


def _list_relevant(graded: Mapping[str, int]) -> list[str]:
    return [document for document, grade in graded.items() if grade >= MIN_RELEVANT]


def _note(what: str, identifiers: Set[str]) -> Iterator[str]:
    if identifiers:
        yield f"{what}: {len(identifiers):,} ({list_ids(sorted(identifiers))})"


def _name_files(paths: Sequence[Path]) -> list[str]:
    """The names of files, or their paths where two have the same name or that of a method."""
    names = [path.name for path in paths]
    reserved = {*METHOD_TITLES.values(), *(name for name in names if names.count(name) > 1)}
    return [str(path) if path.name in reserved else path.name for path in paths]


def _test_as_dict(test: RankingTest) -> dict[str, Any]:
    score = test.difference
    values = {"difference": score.value, "low": score.low, "high": score.high}
    p_values = {"p_bootstrap": test.p_bootstrap, "p_randomized": test.p_randomized}
    return {"first": test.first, "second": test.second, **values, **p_values, "differing": test.num_differing}
