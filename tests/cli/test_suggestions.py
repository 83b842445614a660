"""A command or an option by another name is answered with ours; ours are left alone."""

import pytest

from regard.cli import command_options, main
from regard.cli.suggestions import COMMANDS, OPTIONS, suggest


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("embed-words bank", "there is no command 'embed-words'; did you mean 'senses'?"),
        ("look runs/x --against start", "regard look has no option --against; did you mean --compare-with?"),
        ("look runs/x --places 9", "regard look has no option --places; did you mean --num-positions?"),
        (
            "translate runs/x --length-penalty 1",
            "regard translate has no option --length-penalty; did you mean --alpha?",
        ),
        ("heads runs/x --alone", "regard heads has no option --alone; did you mean --keep-only?"),
        ("prune runs/x --mend=5", "regard prune has no option --mend; did you mean --finetune-steps?"),
        ("train a.tsv --lr 0.1", "regard train has no option --lr; did you mean --learning-rate?"),
        ("train a.tsv --batch-size 64", "regard train has no option --batch-size; did you mean --batch-tokens?"),
        ("train a.tsv --num-epochs=3", "regard train has no option --num-epochs; did you mean --epochs?"),
        ("train a.tsv --max-epochs 3", "regard train has no option --max-epochs; did you mean --epochs?"),
        ("train a.tsv --num-threads 2", "regard train has no option --num-threads; did you mean --threads?"),
        ("train a.tsv --report-to all", "regard train has no option --report-to; did you mean --track?"),
        ("train a.tsv --wandb", "regard train has no option --wandb; did you mean --track?"),
        (
            "train a.tsv --warmup-steps 9",
            "regard train has no option --warmup-steps; did you mean --set train.warmup=…?",
        ),
        ("train a.tsv --hidden-size=64", "regard train has no option --hidden-size; did you mean --set model.dim=…?"),
        ("train a.tsv --max-steps 4", "regard train has no option --max-steps; did you mean --steps?"),
    ],
)
def test_another_name_is_answered_with_ours(line: str, answer: str, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(line.split())
    assert stopped.value.code == 2
    assert capsys.readouterr().err == f"error: {answer}\n"


@pytest.mark.parametrize("line", ["train a.tsv --steps 4", "train --zzz", "nonsense", "", "train -- --lr", "--version"])
def test_what_is_ours_or_unknown_is_left_to_the_parser(line: str):
    assert suggest(line.split(), command_options()) is None


def test_every_answer_exists_and_no_command_is_called_foreign():
    options = command_options()
    assert {name for answer in COMMANDS.values() for name in answer.split(" or ")} <= options.keys()
    assert not COMMANDS.keys() & options.keys()
    every_option = frozenset().union(*options.values())
    assert {answer.split()[0] for answer in OPTIONS.values()} <= every_option
    assert not OPTIONS.keys() & every_option
