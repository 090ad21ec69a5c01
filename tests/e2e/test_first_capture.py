"""The first capture of a process, which imports what capture needs: nothing of it stays behind."""

import subprocess
import sys
import textwrap

PROGRAM = """
    import gc
    import threading
    import weakref

    import torch

    import framejit

    gc.disable()


    class Held:
        value = 3


    def program(held, x):
        return x + held.value


    def caller():
        kept = Held()
        framejit.compile(program, backend="eager")(kept, torch.ones(1))
        held = Held()
        framejit.compile(program, backend="eager")(held, torch.ones(1))
        return weakref.ref(held), weakref.ref(kept)


    assert [ref() for ref in caller()] == [None, None]
    assert threading.active_count() == 1
"""


def test_it_keeps_no_object_and_no_frame_of_the_program():
    subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM)], check=True)
