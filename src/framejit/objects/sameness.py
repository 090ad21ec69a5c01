"""How containers compare their items: identity, then equality."""

from __future__ import annotations

from framejit.core.services import Services
from framejit.core.value import Const, Node, Ref, Value


def same_or_equal(s: Services, left: Value, right: Value) -> bool:
    """Whether two values are one object or equal; immutable values that are one object are equal in any case."""
    left, right = s.force(left), s.force(right)
    if left is right or (isinstance(left, Const) and isinstance(right, Const) and left.obj is right.obj):
        return True
    if isinstance(left, (Ref, Node)) and isinstance(right, (Ref, Node)) and s.is_same(left, right):
        return True
    return s.truth(s.compare("==", left, right))
