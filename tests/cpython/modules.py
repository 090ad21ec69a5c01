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

REFCOUNTS = (
    "Counts references, or relies on an object being freed in the middle of a region: what a region no longer needs is "
    "dropped at its exit at the latest"
)
REUSE = "Relies on a tuple or number that CPython reuses because nothing else refers to it"
SIZES = "Measures the memory of objects or the layout of dict keys"
COUNTS = "Counts all objects of the process, and so those that a capture leaves: its regions"
FRAMES = "Looks at frames, or counts how deep they nest"

# "module Class.method" (a trailing * matches any rest) -> why it may differ.
EXCEPTIONS: dict[str, str] = {
    "test_generators FinalizationTest.test_refcycle": REFCOUNTS,
    "test_genexps doctest test.test_genexps.__test__.doctests": REUSE,
    "test_dict DictTest.test_splittable_popitem": SIZES,
    "test_descr SharedKeyTests.test_subclasses": SIZES,
    "test_descr ClassPropertiesAndMethods.test_slots": COUNTS,
    "test_itertools TestBasicOps.test_combinations_tuple_reuse": REUSE,
    "test_itertools TestBasicOps.test_combinations_with_replacement_tuple_reuse": REUSE,
    "test_itertools TestBasicOps.test_permutations_tuple_reuse": REUSE,
    "test_itertools TestBasicOps.test_product_tuple_reuse": REUSE,
    "test_functools TestLRUC.test_lru_cache_weakrefable": REFCOUNTS,
    "test_exceptions ExceptionTests.test_recursion_in_except_handler": FRAMES,
    "test_weakref ReferencesTestCase.test_cfunction": REFCOUNTS,
}


def exception(module: str, test: str) -> str | None:
    """Why this test may differ from plain CPython, or None."""
    name = f"{module} {test}"
    for pattern, reason in EXCEPTIONS.items():
        if name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1])):
            return reason
    return None
