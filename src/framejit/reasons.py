"""The table of break reasons: one row each, with what happened and what the user can do about it."""

from __future__ import annotations

import enum


@enum.unique
class R(enum.Enum):
    """Why a region ended; the member's name is the reason's stable id."""

    USER_BREAK = ("framejit.graph_break() was called", "Remove the call to capture across it.")
    DISABLED_FUNCTION = (
        "call of a function that was disabled",
        "Remove the `disable` decorator to have the function captured.",
    )
    OPAQUE_CALL = (
        "call of a function that cannot be captured",
        "Move the call out of the compiled function, or register the function with framejit.allow_in_graph "
        "if it only computes tensors from tensors.",
    )
    OPAQUE_OPERATION = (
        "operation on an object whose type is not modelled",
        "Do this outside the compiled function, or use plain Python containers and tensors here.",
    )
    ATTRIBUTE_OF_OPAQUE = (
        "read of an attribute that cannot be followed",
        "Read the attribute before the compiled function and pass its value in.",
    )
    STORE_TO_OPAQUE = (
        "store to an object whose type is not modelled",
        "Store after the compiled function has returned, or into a plain object, list or dict.",
    )
    UNKNOWN_TYPE = (
        "value of a type that is not modelled",
        "Pass tensors, numbers, strings, containers or plain Python objects.",
    )
    UNKNOWN_ITERATOR = (
        "iteration of an object that cannot be captured",
        "Turn the iterator into a list before the compiled function.",
    )
    DATA_DEPENDENT_BRANCH = (
        "branch on a value that is only known when the graph runs",
        "Use torch.where or torch.cond, or move the test out of the compiled function.",
    )
    SCALAR_READ = (
        "a tensor's value is read into a Python number",
        "Keep the value in a tensor, or read it after the compiled function.",
    )
    DYNAMIC_SHAPE_OPERATOR = (
        "operator whose output shape depends on the data",
        "Use an operator of fixed shape (torch.where, masking) or accept the break.",
    )
    UNSUPPORTED_OPERATOR = (
        "tensor operator that cannot be captured",
        "Accept the break, or replace the operator.",
    )
    FAKE_TENSOR_ERROR = (
        "the operator's shapes and types could not be computed ahead",
        "If eager raises here too, fix the arguments; otherwise the operator needs a fake (meta) implementation.",
    )
    UNSUPPORTED_OPCODE = ("bytecode instruction that is not captured", "Accept the break, or write it in another way.")
    IMPORT = ("import that runs code", "Import at the top of the file.")
    BUILD_CLASS = (
        "definition of a class whose metaclass orders or compares classes itself",
        "Define the class outside the compiled function.",
    )
    FRAME_INSPECTION = (
        "the function looks at frames or at its own locals",
        "Avoid locals(), eval, exec and sys._getframe in compiled functions.",
    )
    GENERATOR_ESCAPES = (
        "a generator started in the region is still alive at its end",
        "Consume the generator within the function, or use a list.",
    )
    GENERATOR_OPERATION = ("generator operation that is not captured", "Iterate the generator with a for loop.")
    COROUTINE = ("await of an object that cannot be captured", "Accept the break: the awaited part runs in CPython.")
    UNCAUGHT_EXCEPTION = (
        "an exception outlives the captured code, or runs a finalizer on its way",
        "None needed: the exception is raised as in plain Python.",
    )
    EXCEPTION_OPERATION = ("use of an exception that is not captured", "Accept the break.")
    CONTEXT_MANAGER = (
        "context manager that cannot be captured",
        "Enter it outside the compiled function, or accept the break: what is inside is still captured.",
    )
    HOOK_MODE = (
        "a torch function mode, dispatch mode or transform is active",
        "Leave the mode before calling the compiled function.",
    )
    TENSOR_SUBCLASS = ("tensor subclass that cannot be captured", "Use plain tensors here.")
    TENSOR_ATTRIBUTE_STORE = (
        "store to an attribute of a tensor",
        "Set the attribute after the compiled function has returned.",
    )
    BACKWARD = ("backward pass inside the captured code", "Call backward() outside the compiled function.")
    RANDOM_STATE = (
        "a seed or a random number that only the run knows decides what goes on",
        "Use torch's random operators, or decide outside the compiled function.",
    )
    OUTPUT = ("the function prints, logs, or reads input", "Print after the compiled function has returned.")
    CODE_TOO_LARGE = (
        "the captured region grew too large",
        "Raise framejit.config.instruction_limit, or split the function.",
    )
    INLINE_TOO_DEEP = (
        "calls nest too deeply to be inlined",
        "Raise framejit.config.inline_limit, or flatten recursion.",
    )
    RECOMPILE_LIMIT = (
        "the code was captured too often for changing inputs",
        "Keep the value named by the failed guard constant, or raise framejit.config.recompile_limit.",
    )
    NO_TENSOR_WORK = ("the code computes no tensors", "None needed: it runs in CPython.")
    REJECTED = (
        "the region did not accept the frame it was captured from",
        "This is a defect of framejit: please report it.",
    )
    INTERNAL_ERROR = (
        "an error inside framejit",
        "The code runs in plain Python. Please report it; framejit.config.strict = True raises the error.",
    )

    @property
    def id(self) -> str:
        """The stable id."""
        return self.name

    @property
    def text(self) -> str:
        """What happened."""
        return str(self.value[0])

    @property
    def hint(self) -> str:
        """What the user can do."""
        return str(self.value[1])
