"""A child process: runs a batch of programs, or tries candidates of the shrinker, one forked process each."""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import re
import sys
import tempfile
import warnings

import torch

from fuzz.modes import PLANS, Plan, stressed
from fuzz.programs import program
from fuzz.runner import compare
from fuzz.shrink import shrink

SECONDS = 90


def run_batch(first: int, count: int, plans: list[str]) -> None:
    """One line of JSON before and after each program."""
    for seed in range(first, first + count):
        source = program(seed)
        for name in [plans[seed % len(plans)]] if len(plans) > 1 else plans:
            plan = PLANS[name](seed)
            print(json.dumps({"start": seed, "plan": name}), flush=True)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            result = compare(stressed(source, plan), plan)
            faulthandler.cancel_dump_traceback_later()
            print(json.dumps({"seed": seed, "plan": name, **result._asdict()}), flush=True)


def kind(text: str) -> str:
    """What a difference is about, so that the shrinker keeps to one."""
    lines = text.splitlines()
    if not lines:
        return ""
    if lines[0].startswith("call "):
        internal = [line for line in lines if "InternalError" in line or "was rejected" in line or "was captured" in line]
        if internal:
            return "InternalError"
        return " / ".join(re.split(r"[=\[.:]| has | is ", line)[0] for line in lines[1:3])
    return lines[0][:40]


def forked(source: str, plan: Plan) -> str:
    """The difference that a program gives in a process of its own; a crash or hang is one too."""
    with tempfile.TemporaryFile() as out:
        pid = os.fork()
        if pid == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            faulthandler.dump_traceback_later(SECONDS // 3, exit=True)
            try:
                print(compare(source, plan).difference, flush=True)
            except BaseException as error:  # noqa: BLE001 - a candidate that is no program
                print(f"outside: {type(error).__name__}: {error}", flush=True)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        text = out.read().decode().strip()
    return text if status == 0 else f"process ended with status {status}"


def reproduce(seed: int, name: str, seconds: float) -> None:
    """Print the difference of one seed and a shrunk program."""
    plan = PLANS[name](seed)
    source = stressed(program(seed), plan)
    text = forked(source, plan)
    if not text:
        print("no difference")
        return
    wanted = kind(text)
    call = re.match(r"call (\d+), arguments (\d+)", text)
    if call is not None:
        last = int(call[1])
        for variants in (plan.variants[last : last + 1], plan.variants[last - 1 : last + 1], plan.variants[: last + 1]):
            if kind(forked(source, plan._replace(variants=variants))) == wanted:
                plan = plan._replace(variants=variants)
                break
    if seconds:
        source = shrink(source, lambda other: kind(forked(other, plan)) == wanted, seconds)
    print(f"--- seed {seed}, plan {plan}\n{source}\n--- {forked(source, plan)}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--plans", default=",".join(PLANS))
    parser.add_argument("--shrink", type=float, default=-1.0, help="reproduce the first seed and shrink it, for so many seconds")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    faulthandler.enable()
    plans = options.plans.split(",")
    if options.shrink >= 0:
        reproduce(options.first, plans[0], options.shrink)
    else:
        run_batch(options.first, options.count, plans)


if __name__ == "__main__":
    sys.exit(main())
