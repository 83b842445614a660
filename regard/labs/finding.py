"""Finding: what a lab found, with a verdict and a sentence that are computed."""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.labs.effects import Effect, MeasuredClaim
from regard.labs.verdict import Verdict, combine_verdicts
from regard.report.page import PagePart, Paragraph, render_fragment
from regard.report.table import Table
from regard.report.table_view import TableView

PHRASES = {
    Verdict.HOLDS: "{name} is {measured}, {claimed} as claimed",
    Verdict.DOES_NOT_HOLD: "{name} is {measured}, not {claimed}",
    Verdict.OPPOSITE_HOLDS: "{name} is {measured}, the opposite of {claimed}",
    Verdict.UNDECIDED: "{name} is {measured}, which leaves open whether it is {claimed}",
}


@dataclass(frozen=True)
class Need:
    """What has to be so before anything follows from a measurement, as that a model has learned its task."""

    name: str
    values: Sequence[float]
    """One of each seed."""
    least: float

    @property
    def is_met(self) -> bool:
        return min(self.values) >= self.least

    @property
    def sentence(self) -> str:
        text = f"{self.name}: {min(self.values):.3g} in the worst seed, at least {self.least:g} is needed"
        return text if self.is_met else f"{text}, so nothing follows"


@dataclass(frozen=True)
class Finding:
    """The parts of a claim, measured; the numbers behind the picture; what had to be so."""

    parts: Sequence[MeasuredClaim]
    table: Table
    needs: Sequence[Need] = ()

    @property
    def verdict(self) -> Verdict:
        if not all(need.is_met for need in self.needs):
            return Verdict.UNDECIDED
        return combine_verdicts([part.verdict for part in self.parts])

    @property
    def sentence(self) -> str:
        """The verdict with the numbers that it rests on."""
        unmet = [need.sentence for need in self.needs if not need.is_met]
        return f"{self.verdict.capitalize()}: {'; '.join(unmet or map(phrase, self.parts))}."

    @property
    def headline(self) -> str:
        """The verdict with one number: that of the first part which does not hold, or else of the first."""
        unmet = [need.sentence for need in self.needs if not need.is_met]
        part = next((part for part in self.parts if part.verdict is not Verdict.HOLDS), self.parts[0])
        return f"{self.verdict.capitalize()}: {unmet[0] if unmet else phrase(part)}"

    @property
    def predicted_part(self) -> MeasuredClaim:
        """The part that the lab's question asks for: its first number that chance is in, or else its first."""
        return next((part for part in self.parts if isinstance(part, Effect)), self.parts[0])

    def parts_table(self) -> Table:
        """A row for each part of the claim."""
        return Table.from_rows(
            {
                "verdict": f"{part.verdict.sign} {part.verdict}",
                "what": part.name,
                "measured": part.measured,
                "claimed": part.claimed,
            }
            for part in self.parts
        )

    def page_parts(self) -> list[PagePart]:
        """The numbers of the finding, and what had to be so, as parts of a page."""
        return [TableView(self.parts_table()), *(Paragraph(f"Needed: {need.sentence}.") for need in self.needs)]

    def _repr_html_(self) -> str:
        return render_fragment([Paragraph(f"{self.verdict.sign} {self.headline}."), *self.page_parts()])

    @property
    def margin(self) -> float:
        """That of the part whose verdict is the least certain."""
        return min(part.margin for part in self.parts)


def phrase(part: MeasuredClaim) -> str:
    """A part of a claim with its number, as a part of a sentence."""
    if part.measured == part.claimed:
        return f"{part.name} is {part.measured} as claimed"
    return PHRASES[part.verdict].format(name=part.name, measured=part.measured, claimed=part.claimed)
