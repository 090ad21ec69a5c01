"""The modules of CPython's `test` package that are run, and the test methods that may differ, each with its reason."""

from __future__ import annotations

MODULES = """
    test_grammar test_generators test_genexps test_listcomps test_dictcomps test_setcomps test_dict test_list test_tuple
    test_set test_iter test_itertools test_functools test_operator test_collections test_contextlib test_dataclasses
    test_enum test_exceptions test_exception_group test_except_star test_raise test_with test_scope test_class test_descr
    test_property test_super test_compare test_richcmp test_augassign test_bool test_int test_float test_complex test_math
    test_sort test_string test_unicode test_format test_fstring test_patma test_named_expressions test_unpack test_extcall
    test_call test_keywordonlyarg test_positional_only_arg test_weakref test_copy test_userdict test_userlist test_deque
    test_heapq test_bisect test_random test_typing
""".split()

# "module Class.method" (a trailing * matches any rest) -> why it may differ.
EXCEPTIONS: dict[str, str] = {}


def exception(module: str, test: str) -> str | None:
    """Why this test may differ from plain CPython, or None."""
    name = f"{module} {test}"
    for pattern, reason in EXCEPTIONS.items():
        if name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1])):
            return reason
    return None
