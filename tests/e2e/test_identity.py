"""Which objects are one object: literals, arguments, results."""

from support import check


def literal():
    return (1, (2, "c"))


@check()
def test_tuples_of_the_code_stay_one_object(x):
    kept = []
    for _ in range(2):
        kept.append((1, "a"))
    return x + 1, kept, kept[0] is kept[1], literal() is literal(), literal()[1] is literal()[1]

