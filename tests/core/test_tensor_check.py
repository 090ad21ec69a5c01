"""Tensor checks, torch's modes, overlap of storages: each against what torch itself says."""

import gc
import weakref

import pytest
import torch

from framejit import _C
from framejit.core import reference
from framejit.core.program import Instruction, Listing


def pack(*rows, consts=(), nregs=4):
    """A packed program from rows written as (op, operands...)."""
    return Listing("test", tuple(Instruction(row[0], row[1:]) for row in rows), consts, nregs).pack()


class Subclass(torch.Tensor):
    pass


BASE = torch.zeros(4, 3)
OTHERS = {
    "shape": torch.zeros(4, 4),
    "rank": torch.zeros(4, 3, 1),
    "dtype": torch.zeros(4, 3, dtype=torch.float64),
    "strides": torch.zeros(3, 4).t(),
    "requires_grad": torch.zeros(4, 3, requires_grad=True),
    "graph output": torch.zeros(4, 3, requires_grad=True) + 1,
    "device": torch.zeros(4, 3, device="meta"),
    "parameter": torch.nn.Parameter(torch.zeros(4, 3), requires_grad=False),
    "subclass": torch.zeros(4, 3).as_subclass(Subclass),
    "sparse": torch.zeros(4, 3).to_sparse(),
    "conjugate": torch.zeros(4, 3, dtype=torch.complex64).conj(),
    "nested": torch.nested.nested_tensor([torch.zeros(3), torch.zeros(2)], layout=torch.strided),
    "scalar": torch.zeros(()),
    "empty": torch.zeros(0, 3),
    "number": 1.0,
    "none": None,
}
with torch.inference_mode():
    OTHERS["inference"] = torch.zeros(4, 3)


@pytest.mark.parametrize("name", OTHERS)
def test_tells_tensors_apart(name):
    other = OTHERS[name]
    check = _C.tensor_check(BASE)
    assert check.check(BASE) and check.check(torch.ones(4, 3)) and check.check(torch.ones(100)[:12].view(4, 3))
    assert not check.check(other)
    program = pack(("LOAD_SLOT", 0, 0), ("CHECK_TENSOR", 0, 0), ("RETURN", 0), consts=(check,))
    assert _C.run(program, [BASE])[0] == "exit" and _C.run(program, [other]) == ("miss", 1)
    assert program.explain_failure()[0] == 1 and program.explain_failure()[1]


@pytest.mark.parametrize("name", [name for name in OTHERS if name not in ("number", "none", "sparse", "nested")])
def test_every_tensor_passes_its_own_check(name):
    assert _C.tensor_check(OTHERS[name]).check(OTHERS[name])
    assert not _C.tensor_check(OTHERS[name]).check(BASE)


def test_tensors_without_strides_are_refused_or_pass_their_own_check():
    for name in ("sparse", "nested"):
        try:
            check = _C.tensor_check(OTHERS[name])
        except ValueError:
            continue
        assert check.check(OTHERS[name]) and not check.check(BASE)


def test_dynamic_numbers():
    check = _C.tensor_check(BASE, (None, 3))
    assert check.check(torch.zeros(9, 3)) and not check.check(torch.zeros(9, 4)) and not check.check(torch.zeros(3))
    assert not check.check(torch.zeros(3, 9).t())
    check = _C.tensor_check(BASE, (None, None), (None, None), contiguous=True)
    assert check.check(torch.zeros(2, 2)) and not check.check(torch.zeros(2, 3).t()) and check.check(torch.zeros(4, 3))
    check = _C.tensor_check(BASE, (None, None), (None, 1))
    assert check.check(torch.zeros(2, 8)[:, :5]) and not check.check(torch.zeros(2, 8)[:, ::2])
    assert _C.tensor_check(BASE, (5, 3)).check(torch.zeros(5, 3))
    assert _C.tensor_check(BASE, requires_grad=True).check(OTHERS["requires_grad"])
    for bad in [(None,), [None, None], (None, "x")]:
        with pytest.raises((ValueError, TypeError)):
            _C.tensor_check(BASE, bad)
    with pytest.raises(TypeError):
        _C.tensor_check(1)


def test_a_check_follows_changes_in_place():
    tensor = torch.zeros(4, 3)
    check = _C.tensor_check(tensor)
    for change in (lambda: tensor.t_(), lambda: tensor.resize_(2, 2), lambda: tensor.requires_grad_()):
        assert check.check(tensor)
        change()
        assert not check.check(tensor)
        tensor = torch.zeros(4, 3)
    tensor.data = torch.zeros(3, 3)
    assert not check.check(tensor)


def test_a_check_does_not_keep_a_class_alive():
    class Local(torch.Tensor):
        pass

    tensor = torch.zeros(2).as_subclass(Local)
    check, ref = _C.tensor_check(tensor), weakref.ref(Local)
    assert check.check(tensor)
    del tensor, Local
    gc.collect()
    assert ref() is None and not check.check(torch.zeros(2)) and "dead class" in repr(check)


def test_prints():
    assert repr(_C.tensor_check(torch.zeros(8, 3), (None, 3))) == "Tensor f32[*,3] cpu strides [3,1]"
    assert repr(_C.tensor_check(OTHERS["requires_grad"])).endswith("requires_grad")
    program = pack(("LOAD_SLOT", 0, 0), ("CHECK_TENSOR", 0, 0), ("RETURN", 0), consts=(_C.tensor_check(BASE),))
    _C.run(program, [torch.zeros(2, dtype=torch.int64)])
    assert program.explain_failure() == (1, "Tensor i64[2] cpu strides [1]")


def test_numbers_of_tensors():
    program = pack(("LOAD_SLOT", 0, 0), ("LOAD_SIZE", 1, 0, 1), ("LOAD_STRIDE", 2, 0, 0), ("LOAD_OFFSET", 3, 0), ("RETURN", 0))
    tensor = torch.zeros(40)[5:25].view(4, 5)
    for run in (_C.run, reference.run):
        assert run(program, [tensor])[2][1:] == [5, 5, 5]
        assert run(program, [torch.zeros(4)]) == ("miss", 1) and run(program, [3]) == ("miss", 1)


def overlaps(*tensors):
    """Whether the machine takes the tensors for overlapping; the reference agrees."""
    loads = [("LOAD_SLOT", i, i) for i in range(len(tensors))]
    program = pack(*loads, ("CHECK_NO_OVERLAP", len(tensors), tuple(range(len(tensors)))), ("RETURN", 0))
    found = _C.run(program, tensors)[0]
    assert found == reference.run(program, tensors)[0]
    return found == "miss"


def test_overlap():
    base = torch.zeros(10, 10)
    assert not overlaps(base) and not overlaps(base, torch.zeros(10, 10), torch.zeros(3))
    assert overlaps(base, base) and overlaps(base, base.view(-1)) and overlaps(torch.zeros(2), base, base[3])
    assert not overlaps(base[:5], base[5:]) and overlaps(base[:6], base[5:])
    assert not overlaps(base[:0], base)
    array = base.numpy()
    assert overlaps(torch.from_numpy(array), base)  # two storages, one memory
    assert not overlaps(base[0], base[1], base[2]) and overlaps(base[0], base[1], base[0, 9:])


# ---- The modes of torch -----------------------------------------------------------------------------------------------


class FunctionMode(torch.overrides.TorchFunctionMode):
    pass


class DispatchMode(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class flag:
    """Sets a global flag of torch for a while."""

    def __init__(self, setter, value, before):
        self.setter, self.value, self.before = setter, value, before

    def __enter__(self):
        self.setter(self.value)

    def __exit__(self, *error):
        self.setter(self.before)


def matmul_precision(value):
    torch.backends.mkldnn.matmul.fp32_precision = value


def cudnn_benchmark(value):
    torch.backends.cudnn.benchmark = value


MODES = {
    "grad_mode": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast_cpu": lambda: torch.autocast("cpu"),
    "autocast_cpu_dtype": lambda: flag(lambda t: torch.set_autocast_dtype("cpu", t), torch.float16, torch.bfloat16),
    "autocast_cuda": lambda: flag(lambda on: torch.set_autocast_enabled("cuda", on), True, False),
    "autocast_cache": lambda: flag(torch.set_autocast_cache_enabled, False, True),
    "default_dtype": lambda: flag(torch.set_default_dtype, torch.float64, torch.float32),
    "deterministic": lambda: flag(torch.use_deterministic_algorithms, True, False),
    "fp32_precision_mkldnn_matmul": lambda: flag(matmul_precision, "bf16", "none"),
    "cudnn_benchmark": lambda: flag(cudnn_benchmark, True, False),
    "anomaly_mode": torch.autograd.detect_anomaly,
    "num_threads": lambda: flag(torch.set_num_threads, torch.get_num_threads() + 1, torch.get_num_threads()),
    "torch_function": torch._C.DisableTorchFunction,
    "torch_function_modes": FunctionMode,
    "default device": lambda: torch.device("meta"),
    "dispatch_modes": DispatchMode,
    "saved_tensor_hooks": lambda: torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
    "forward_grad_mode": lambda: torch.autograd.forward_ad._set_fwd_grad_enabled(False),
    "multithreaded_backward": lambda: torch.autograd.set_multithreading_enabled(False),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODES)
def test_states_differ(name):
    outside = _C.torch_state()
    assert outside.check() and outside.difference() is None
    with MODES[name]():
        assert not outside.check() and outside.difference()
        if name in outside.fields and not name.startswith(("dispatch", "inference", "torch_function_modes")):
            assert outside.difference().split(":")[0] == name
        inside = _C.torch_state()
        assert inside.check()
    assert outside.check() and not inside.check()


def test_states_below_functorch():
    outside, seen = _C.torch_state(), []

    def look(x):
        seen.append(_C.torch_state())
        return x.sum()

    torch.vmap(look)(BASE)
    torch.func.grad(look)(BASE)
    torch.vmap(torch.func.grad(look))(BASE)
    assert not any(state.check() for state in seen) and outside.check()
    assert len({tuple(state.fields.values()) for state in seen}) == 3


def test_the_same_device_context_is_the_same_state():
    with torch.device("meta"):
        state = _C.torch_state()
    with torch.device("meta"):
        assert state.check()
    with torch.device("cpu"):
        assert not state.check()


def test_states_do_not_keep_modes_alive():
    mode = FunctionMode()
    with mode:
        state = _C.torch_state()
    ref = weakref.ref(mode)
    del mode
    gc.collect()
    assert ref() is None
    for _ in range(50):  # a new mode may take the place of the dead one
        with FunctionMode():
            assert not state.check()


def test_explains_states():
    program = pack(("CHECK_TORCH_STATE", 0), ("LOAD_SLOT", 0, 0), ("RETURN", 0), consts=(_C.torch_state(),))
    assert _C.run(program, [1])[0] == "exit"
    with torch.no_grad():
        assert _C.run(program, [1]) == ("miss", 0)
    assert program.explain_failure() == (0, "grad_mode: 0 was 1")


def test_a_view_requires_grad_as_what_it_is_a_view_of():
    base = torch.ones(4)
    with torch.no_grad():
        view = base[1:]
    base.requires_grad_()
    assert view.requires_grad
    check = _C.tensor_check(view)
    program = Listing("test", (Instruction("LOAD_SLOT", (0, 0)), Instruction("CHECK_TENSOR", (0, 0)), Instruction("RETURN", (0,))), (check,), 1, ())
    assert _C.run(program.pack(), (view,))[0] == "exit"
    assert _C.run(program.pack(), (torch.ones(4)[1:],))[0] == "miss"
