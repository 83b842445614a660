"""Eight layers need residual connections, two do not."""

from collections.abc import Callable, Sequence
from functools import partial

from torch import nn

from regard.config import ModelConfig, PositionsConfig
from regard.data.toy_tasks import marked_symbols
from regard.labs.effects import Effect
from regard.labs.finding import Finding, Need
from regard.labs.rows import accuracy_row
from regard.labs.seeds import over
from regard.model.build import RESIDUALS, build_decoder, use_parts
from regard.model.layers import PreNorm, Residual
from regard.model.variants import NoResidual
from regard.report.pictures import CurvePicture, Picture
from regard.report.table import Table
from regard.training.toy import measure_accuracy, train_on_task

CLAIM = "Residual connections, which add the input of a sublayer to its output, make training easier."
SOURCE = "He et al. 2016; lecture slides"
CLAIMS = (77, 78)
PREDICT = "8 layers, one marked symbol of 8 to find: how much accuracy is gained by residuals? (0 to 0.88)"
CHANGE = "LAYERS=2,3,4,6: at which depth do they begin to matter?"
TURN = {"STEPS": (50, 100, 200)}

LAYERS = (2, 4, 8)  # judged at both ends
STEPS, WIDTH, LENGTH, SYMBOLS, SEEDS = 100, 32, 8, 8, 3
TEXTS = 256

MakeResidual = Callable[[nn.Module, float], Residual]


def learn(residual: MakeResidual, layers: int) -> float:
    """The accuracy of a decoder that was trained to say which symbol is marked."""
    with use_parts(RESIDUALS, pre=residual):
        positions = PositionsConfig(kind="rotary")
        c = ModelConfig(dim=WIDTH, layers=layers, heads=2, ffn=2 * WIDTH, dropout=0.0, positions=positions)
        model = build_decoder(c, 2 * SYMBOLS + 1, pad=0, num_labels=SYMBOLS)
    train_on_task(model, lambda: marked_symbols(16, LENGTH, SYMBOLS), STEPS, learning_rate=5e-3)
    return measure_accuracy(model, marked_symbols(TEXTS, LENGTH, SYMBOLS))


def run(seeds: Sequence[int], residual: MakeResidual = PreNorm) -> Finding:
    arms: dict[str, MakeResidual] = {"with residuals": residual, "without": NoResidual}
    accuracies = {
        (name, layers): over(seeds, partial(learn, kind, layers)) for name, kind in arms.items() for layers in LAYERS
    }

    def gain(layers: int) -> list[float]:
        pairs = zip(accuracies["with residuals", layers], accuracies["without", layers], strict=True)
        return [one - other for one, other in pairs]

    shallow, deep = LAYERS[0], LAYERS[-1]
    return Finding(
        [
            # 0.3: what is easier shows in a third of the answers
            Effect(
                f"the accuracy that is gained with {layers} layers", gain(layers), least=0.3, grain=1 / TEXTS, limit=1
            )
            for layers in (deep, shallow)
        ],
        Table.from_rows(
            {"layers": layers, "stack": name, **accuracy_row(values)} for (name, layers), values in accuracies.items()
        ),
        [Need(f"{shallow} layers without residuals learn the task", accuracies["without", shallow], least=0.9)],
    )


def draw(finding: Finding) -> Picture:
    rules = {"chance": 1 / SYMBOLS}
    return CurvePicture(finding.table, "layers", "accuracy", "stack", ("low", "high"), log="x", rules=rules)


def broken(seeds: Sequence[int]) -> Finding:
    """No residuals on either side."""
    return run(seeds, residual=NoResidual)
