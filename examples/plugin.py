"""A position scheme, an activation and a file format of one's own.

REGARD_PLUGINS=examples/plugin.py regard train pairs.csv --out runs/mine \
    --set model.positions.kind=kerple --set model.positions.options.slope=0.5 --set model.activation=squared-relu
"""

import csv

import torch

import regard
from regard.formats import Pair, read_lines
from regard.model.positions import Positions, relative_positions


@regard.register_position_scheme("kerple")
class Kerple(Positions):
    """Scores fall with the logarithm of the distance, in each head at a learned slope.  Chi et al. 2022."""

    by_head = True

    def __init__(self, shape, config, slope: float = 1.0):
        super().__init__()
        self.slopes = torch.nn.Parameter(torch.full((shape.heads, 1, 1), slope))

    def bias(self, q, q_position_ids, k_position_ids):
        distance = relative_positions(q_position_ids, k_position_ids).abs()[:, None]  # (B or 1, 1, Tq, Tk)
        return -self.slopes.abs() * distance.to(q.dtype).log1p()  # (B or 1, H, Tq, Tk)


@regard.register_activation("squared-relu")
def squared_relu(x):
    """relu(x)².  So et al. 2021."""
    return x.relu().square()


@regard.register_format(".csv")
def read_csv(path, source, target):
    """Source and target in the first two columns."""
    for number, row in enumerate(csv.reader(read_lines(path)), start=1):
        yield Pair(row[0], row[1], f"{path}:{number}")
