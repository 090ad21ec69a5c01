"""`python -m fuzz -n 10000 --seed 0`: random programs in child processes, differences shrunk and printed."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from fuzz.modes import PLANS

SECONDS_PER_PROGRAM = 60


class Campaign:
    """Counts over all batches."""

    def __init__(self, plans: str, shrink: float) -> None:
        self.plans, self.shrink = plans, shrink
        self.ran: Counter[str] = Counter()
        self.unbroken = self.captured = self.raised = 0
        self.reasons: Counter[str] = Counter()
        self.stress: Counter[str] = Counter()
        self.failures: list[tuple[int, str, str]] = []
        self.began = time.monotonic()

    def batch(self, first: int, count: int) -> None:
        """Run programs in one child process, and in another behind each crash."""
        end = first + count
        while first < end:
            records, tail = _child("--first", str(first), "--count", str(end - first), "--plans", self.plans)
            started = None
            for record in records:
                if "start" in record:
                    started = record
                else:
                    started = None
                    self._count(record)
            if started is None:
                return
            self._failure(started["start"], started["plan"], "the process ended: " + tail[-1500:])
            first = started["start"] + 1

    def _count(self, record: dict[str, Any]) -> None:
        self.ran[record["plan"]] += 1
        self.raised += record["raised"]
        self.captured += record["breaks"] >= 0
        self.stress.update({name: record[name] for name in ("regions", "cut", "failed")})
        if record["plan"] in ("plain", "arguments", "reset", "repeat"):
            reasons = [reason for reason in record["reasons"] if not reason.startswith("UNCAUGHT_EXCEPTION")]
            self.unbroken += record["breaks"] >= 0 and not reasons
            self.reasons.update(reason[:70] for reason in set(reasons))
        if record["difference"]:
            self._failure(record["seed"], record["plan"], record["difference"])

    def _failure(self, seed: int, plan: str, text: str) -> None:
        self.failures.append((seed, plan, text))
        print(f"\nDIFFERENCE seed {seed} plan {plan}\n{text[:1800]}", flush=True)
        if self.shrink:
            _, tail = _child("--first", str(seed), "--plans", plan, "--shrink", str(self.shrink), raw=True)
            marker = "\nclass Custom"
            print(tail if marker not in tail else tail[tail.index("--- seed") :], flush=True)

    def summary(self) -> str:
        """One line of progress."""
        total = sum(self.ran.values())
        seconds = time.monotonic() - self.began
        relaxed = sum(self.ran[name] for name in ("plain", "arguments", "reset", "repeat"))
        return (
            f"{total} programs, {len(self.failures)} differences, {total / seconds:.1f} programs/s, {self.captured} captured, "
            f"{self.raised} raise, {self.unbroken} of {relaxed} without stress captured without a break; {self.stress['regions']} regions, "
            f"{self.stress['cut']} of them cut, {self.stress['failed']} guards failed on purpose"
        )


def _child(*options: str, raw: bool = False) -> tuple[list[dict[str, Any]], str]:
    command = [sys.executable, "-W", "ignore", "-m", "fuzz.worker", *options]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    if raw:
        return [], done.stdout + (done.stderr if done.returncode else "")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")], f"{done.returncode}\n{done.stderr}"


def main() -> int:
    """Command line; the exit status is 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="fuzz")
    parser.add_argument("-n", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--batch", type=int, default=100, help="programs per process")
    parser.add_argument("--plans", default=",".join(PLANS), help="ways of running, by name")
    parser.add_argument("--shrink", type=float, default=120.0, help="seconds of shrinking per difference; 0 for none")
    options = parser.parse_args()
    campaign = Campaign(options.plans, options.shrink)
    for first in range(options.seed, options.seed + options.n, options.batch):
        campaign.batch(first, min(options.batch, options.seed + options.n - first))
        print(campaign.summary(), flush=True)
    for reason, count in campaign.reasons.most_common(25):
        print(f"{count:6} {reason}")
    for seed, plan, _ in campaign.failures:
        print(f"python -m fuzz.worker --first {seed} --plans {plan} --shrink {options.shrink}")
    return bool(campaign.failures)


if __name__ == "__main__":
    sys.exit(main())
