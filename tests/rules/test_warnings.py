"""warnings.catch_warnings and its filters stay in one region; a warning itself breaks."""

from __future__ import annotations

import sys
import warnings

from support import check


@check()
def test_filters_are_changed_and_restored(x):
    before = warnings.filters
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        y = x + 1
    return y, caught, warnings.filters is before, sys.intern("name")


@check(graphs=1, breaks=1)
def test_a_warning_is_recorded(x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("seen")
    return x + 1, [str(one.message) for one in caught]
