"""Ranked documents and judgments -> Score, as trec_eval defines it; paired tests of systems on the same queries."""

from regard.metrics.retrieval.measures import (
    MIN_RELEVANT,
    RETRIEVAL_MEASURES,
    Judgments,
    RankedList,
    rank_documents,
)
from regard.metrics.retrieval.paired import RankingTest, compare_rankings
from regard.metrics.retrieval.scoring import RankingScores, score_run

__all__ = [
    "MIN_RELEVANT",
    "RETRIEVAL_MEASURES",
    "Judgments",
    "RankedList",
    "RankingScores",
    "RankingTest",
    "compare_rankings",
    "rank_documents",
    "score_run",
]
