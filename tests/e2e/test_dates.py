"""Dates, times and durations in captured code: constants that are compared by what they say."""

from __future__ import annotations

import copy
import datetime
import enum
import pickle
from datetime import date, time, timedelta, timezone

import torch

from support import check


def said(action, *args):
    try:
        return action(*args)
    except Exception as error:
        return type(error).__name__, str(error)


@check()
def test_what_dates_do(x):
    a, b = date(2023, 12, 1), datetime.datetime(2020, 1, 2, 3, 4, 5, 6)
    u, t = datetime.datetime(2020, 1, 2, 3, tzinfo=timezone.utc), timedelta(days=3, hours=5)
    seen = [a.year, a.month, b.hour, t.days, t.total_seconds(), str(a), repr(a), str(b), repr(b), str(t), repr(t), repr(u), str(u)]
    seen += [f"{a}", f"{b} {t}", a + t, a - t, a - date(2020, 1, 1), b + t, b - t, t * 2, 2 * t, t / 2, t / t, t // t, -t, abs(-t)]
    seen += [a < date(2024, 1, 1), a == date(2023, 12, 1), b == a, hash(a) == hash(date(2023, 12, 1)), {a: 1}[date(2023, 12, 1)]]
    seen += [a.isoformat(), b.isoformat("T"), a.weekday(), a.toordinal(), a.replace(year=2000), b.date(), b.time(), u.utcoffset()]
    seen += [bool(timedelta(0)), bool(t), a.ctime(), date.fromisoformat("2011-11-04"), date.fromordinal(700000), date.min, time(3, 4).isoformat()]
    seen += [datetime.datetime.combine(a, time(3)), timedelta.resolution, timezone.utc.utcoffset(None)]
    seen += [said(date, 2023, 13, 1), said(lambda: a + a), said(lambda: a < 3), said(lambda: a < b), said(lambda: a.other), said(date), said(lambda: b - u)]
    return x + 1, seen, a, b, u, t


@check(
    lambda: (torch.ones(2), date(2022, 5, 6), timedelta(5)), lambda: (torch.ones(2), date(2022, 5, 6), timedelta(5)),
    lambda: (torch.ones(2), date(2022, 5, 7), timedelta(5)), lambda: (torch.ones(2), datetime.datetime(2022, 5, 7), timedelta(5)),
)  # fmt: skip
def test_dates_from_outside(x, day, span):
    copies = copy.copy(day) == day, copy.deepcopy([day]), pickle.loads(pickle.dumps(day)), pickle.dumps(span)
    return x + day.day, day.year, day + span, span.days, day - timedelta(1), copies


class Day(date):
    def isoformat(self):
        return "my " + super().isoformat()


class Plain(date):
    pass


class Span(timedelta):
    def __new__(cls, days):
        self = super().__new__(cls, days=days)
        self.tag = days
        return self


class Holiday(date, enum.Enum):
    NEW_YEAR = 2024, 1, 1
    SPRING = 2024, 3, 20


@check()
def test_subclasses(x):
    k, p, q = Day(2020, 1, 1), Plain(2020, 1, 2), Span(4)
    p.other = 5
    seen = [str(k), repr(k), f"{k}", str(p), repr(p), repr(q), q.days, q.tag, k.year, k == date(2020, 1, 1), k < p, p - k, isinstance(k, date)]
    seen += [hash(p) == hash(date(2020, 1, 2)), Holiday.SPRING.month, Holiday.SPRING > Holiday.NEW_YEAR, str(Holiday.SPRING), Holiday(date(2024, 1, 1))]
    return x + 1, seen, k, p, q, vars(p)


@check(graphs=3, breaks=1)
def test_what_a_subclass_makes_itself(x):
    y = x + 1
    later = Day(2020, 1, 1) + timedelta(3)
    return y * 2, later, type(later).__name__


@check()
def test_enums_of_dates_made_here(x):
    class Local(date, enum.Enum):
        FIRST = 2024, 1, 1
        SECOND = 2024, 3, 20

    return x + 1, Local.FIRST.year, Local.SECOND - Local.FIRST, [member.name for member in Local], Local.FIRST.value
