"""Plants faults in every room and says which of them its tests did not see.

    make mutants                                   # 40 faults a room, drawn by the hash of the last commit
    make mutants ROOM=decode COUNT=100 SEED=7      # other ones, of one room

Results are kept in .mutants/, so that an interrupted run goes on where it was. `--survivors` tries only the faults of
the same seed again that had survived, after tests were added.
"""

import argparse
import datetime
import signal
import sys
from pathlib import Path

from scripts.mutants.report import markdown
from scripts.mutants.sampling import ROOMS, last_commit
from scripts.mutants.workshop import Workshop

ROOT = Path(__file__).parent.parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="make mutants", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--room", action="append", choices=ROOMS, help="only this one; may be repeated")
    parser.add_argument("--count", type=int, default=40, help="faults in each room")
    parser.add_argument("--seed", help="of the drawing; without it the hash of the last commit")
    parser.add_argument("--survivors", action="store_true", help="try again only what had survived")
    parser.add_argument("--out", type=Path, help="the report, as well as on the terminal")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what is known so far is kept, as after Ctrl-C
    commit = last_commit(ROOT)
    seed = options.seed or commit
    workshop = Workshop(ROOT / ".mutants")
    held = workshop.lock()
    workshop.set_up(ROOT)
    results = []
    for room in options.room or ROOMS:
        print(f"{room} …", file=sys.stderr, flush=True)
        results += workshop.try_room(room, options.count, seed, options.survivors)
    today = datetime.date.today().isoformat()
    head = [
        f"{today}, commit {commit}, seed {seed}",
        f"{options.count} faults a room, tested by the tests of their own room",
    ]
    held.close()
    text = markdown(results, head)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
