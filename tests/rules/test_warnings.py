"""warnings.catch_warnings and its filters stay in one region, and so do the warnings that such filters decide on."""

from __future__ import annotations

import sys
import warnings

import torch

from support import check, program


@check()
def test_filters_are_changed_and_restored(x):
    before = warnings.filters
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        y = x + 1
    return y, caught, warnings.filters is before, sys.intern("name")


@check()
def test_a_warning_is_recorded(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("seen")
    return x + 1, [str(one.message) for one in caught]


def deep(level):
    warnings.warn("deep", DeprecationWarning, stacklevel=level)


@check()
def test_warnings_that_the_program_listens_to(x):
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        warnings.warn("first")
        deep(1)
        deep(2)
        warnings.warn(DeprecationWarning("x"))
        warnings.simplefilter("default")
        for _ in range(2):
            warnings.warn("twice")
        warnings.filterwarnings("ignore", "tw", UserWarning)
        warnings.warn("twice")
        warnings.warn("once")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("gone")
    return x + 1, [(str(one.message), one.category.__name__, one.filename, one.lineno) for one in log], list(__warningregistry__)  # noqa: F821


def remembered(x):
    warnings.simplefilter("default")
    warnings.warn("kept")
    return x + 1, len(__warningregistry__)  # noqa: F821


@program("eager")
def test_what_was_warned_of_is_remembered(compiled):
    globals().pop("__warningregistry__", None)
    with warnings.catch_warnings(record=True) as log:
        function = compiled(remembered)
        found = [function(torch.ones(2)), sorted(map(str, __warningregistry__))]  # noqa: F821
        for _ in range(2):
            remembered(torch.ones(2))
            found.append(function(torch.ones(2)))
    return found, [str(one.message) for one in log]
