"""What is counted, by hand."""

import pytest
import torch
from torch import nn

from regard.errors import LabError
from regard.labs.effects import Counted
from regard.labs.operations import count_operations
from regard.labs.rows import accuracy_row, mean_row
from regard.labs.verdict import Verdict


def test_a_matrix_product_is_one_multiplication_for_each_pair_of_numbers_that_meet():
    with count_operations() as operations:
        torch.ones(2, 3) @ torch.ones(3, 5)
        torch.ones(7, 2, 3) @ torch.ones(7, 3, 5)
    assert (operations.products, operations.multiplications) == (2, 2 * 3 * 5 * 8)


def test_a_convolution_meets_every_token_once_for_each_place_of_its_kernel():
    with count_operations() as operations, torch.no_grad():
        nn.Conv1d(2, 3, 5, padding=2)(torch.ones(1, 2, 11))
    assert (operations.products, operations.multiplications) == (1, 2 * 3 * 5 * 11)


def test_a_recurrent_network_waits_at_every_step():
    gru = nn.GRU(2, 3, batch_first=True)
    with count_operations() as operations, torch.no_grad():
        gru(torch.ones(1, 11, 2))
    assert operations.products == 1 + 11  # all inputs at once, then state by state
    assert operations.multiplications == 11 * (3 * 2 * 3 + 3 * 3 * 3)


def test_nothing_is_counted_after_the_block():
    with count_operations() as operations:
        pass
    torch.ones(2, 3) @ torch.ones(3, 5)
    assert operations.products == operations.multiplications == 0


def test_a_count_holds_on_its_side_of_the_bound():
    assert Counted("n", 3, least=3).verdict is Counted("n", 3, most=3).verdict is Verdict.HOLDS
    assert Counted("n", 2, least=3).verdict is Counted("n", 4, most=3).verdict is Verdict.DOES_NOT_HOLD
    assert Counted("n", 1, most=0).verdict is Verdict.DOES_NOT_HOLD
    assert Counted("n", 262_144, least=1).measured == "262,144"


def test_a_count_needs_one_bound_and_a_number():
    with pytest.raises(LabError, match="one bound"):
        Counted("n", 3)
    with pytest.raises(LabError, match="finite"):
        Counted("n", float("nan"), least=1)


def test_a_row_has_the_interval_and_accuracies_end_at_0_and_1():
    assert mean_row("loss", [1.0, 3.0])["loss"] == 2
    assert mean_row("loss", [1.0, 3.0])["low"] < -1
    row = accuracy_row([0.0, 1.0])
    assert (row["accuracy"], row["low"], row["high"]) == (0.5, 0.0, 1.0)
