"""Every instruction as an opaque operation, over the programs of the frame-entry matrix."""

import itertools
from types import CodeType
from typing import Any

from frames.core import C, callbacks, compiled
from frames.stepper import Stepper
from versions import programs, reference
from versions.matrix import Real, Run

reference.HIDDEN.add(__file__)


class Stepped(Run):
    """A run of a program with the hook on and one region for each instruction."""

    def compiled(self) -> Any:
        function = self.case.make()
        if self.case.kind == "class":
            return self.outcome(lambda: self.class_under_hook(function))
        args, kwargs = self.arguments()
        call = compiled(function)
        if self.case.kind == "function":
            return self.outcome(lambda: call(*args, **kwargs))
        return self.outcome(lambda: self.drive(Real(call(*args, **kwargs), self.case.kind)))

    def class_under_hook(self, function: Any) -> Any:
        before = C.hook_enabled(True)
        try:
            return self.class_natively(function)
        finally:
            C.hook_enabled(before)


def codes_of(code: CodeType) -> set[CodeType]:
    found = {code}
    for const in code.co_consts:
        if isinstance(const, CodeType):
            found |= codes_of(const)
    return found


def run_case(case: programs.Case) -> tuple[list[str], Stepper]:
    stepper = Stepper(codes_of(case.make().__code__))
    failures = []
    for variant, plan, calm in itertools.product(case.variants, case.plans, (False, True)):
        run = Stepped(C, case, variant, plan, calm)
        wanted = run.native()
        for code in stepper.codes:
            C.reset(code)
        with callbacks(stepper.miss, stepper.classify):
            for turn in ("captured", "hit"):
                got = run.compiled()
                if got != wanted:
                    failures.append(f"{case.name}[{case.variants.index(variant)}] {turn}\n  got    {got}\n  wanted {wanted}")
    return failures, stepper


def test_programs():
    failures, met = [], set()
    for case in programs.CASES:
        failed, stepper = run_case(case)
        failures += failed
        met |= stepper.opaque
    assert not failures, "\n".join(failures)
    assert len(met) > 35, sorted(met)
