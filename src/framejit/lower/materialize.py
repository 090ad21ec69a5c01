"""Values to registers: what comes from paths, from the graph, and objects born in the capture, made real here."""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.fx

from framejit import _C
from framejit.core.classes import BASES, META, NAMESPACE, set_slot
from framejit.core.errors import Retrace
from framejit.core.heap import MISSING, Heap
from framejit.core.program import EMPTY
from framejit.core.trace import Trace
from framejit.core.value import Const, Lazy, Node, Null, Number, Pack, Ref, Value
from framejit.lower.guards import Head
from framejit.lower.pack import Instruction, Label, Packer
from framejit.objects import dates, frame_, reach, weak
from framejit.objects.constants import TUPLE
from framejit.objects.dict_ import user_keys
from framejit.objects.exact import defines
from framejit.objects.exception import LOCALS, NEXT, PLACE
from framejit.objects.fold import FOLDABLE, VALUE
from framejit.objects.iterator import STATE
from framejit.objects.rebuild import MADE_BY, OUT_OF_STEP, REBUILDERS, STEP, WRITERS, rebuild

ITEMS = Heap.ITEMS
CONTENTS, DICT_FIELD = ("contents",), ("dict",)
HEAP_TYPE = 1 << 9
CONTAINERS = (list, dict, set, types.CellType, deque)
MAXLEN = ("maxlen",)  # of a deque
PRIVATE: set[Any] = {VALUE, TUPLE, STATE, MAXLEN}  # fields that only the capture knows
Builder = Callable[["Materializer", Any], int]
BUILDERS: dict[type, Builder] = {}
UNMADE: dict[type, Any] = {}  # types whose objects cannot be made -> the field that holds the step at which to break instead
FILLERS: dict[type, Callable[[Materializer, Ref, int], None]] = {}  # what is written to objects of these types once they are there


def builder(*kinds: type) -> Callable[[Builder], Builder]:
    """Register what makes virtual objects of these exact types real."""

    def register(function: Builder) -> Builder:
        for kind in kinds:
            if kind in BUILDERS:
                raise ValueError(f"two builders for {kind.__qualname__}")
            BUILDERS[kind] = function
        return function

    return register


class Materializer:
    """Code that runs behind the graph call; graph outputs are collected as they are asked for."""

    def __init__(self, packer: Packer, head: Head, trace: Trace, keep_locals: bool = False):
        self.keep_locals = keep_locals
        self.packer, self.head, self.trace, self.heap = packer, head, trace, trace.heap
        self.code: list[Instruction | Label] = []
        self.made: dict[Any, int] = {}
        self.outputs: dict[torch.fx.Node, int] = {}
        self.placeholders = {entry.node: entry.path for entry in trace.inputs.values()}
        self.alive: list[Value] = []
        self.early: set[Ref] = set()  # containers of cycles: made empty, filled when all else is there
        self.unfilled: list[Ref] = []
        self.ordering: set[int] = set()  # objects whose weak references are being made, one after the other
        self.depth = 0
        self.namespaces: dict[int, int] = {}  # empty dicts of instances that were made, asked for only where they are used
        self.last: list[Instruction] = []  # behind all else
        self.late: set[int] = set()  # registers that are set behind the effects
        self.has_frames = False  # whether frames of the capture go on behind the region
        self.shows_frame = False  # whether a traceback shows the frame that the region begins in, with its locals

    # -- services of builders -----------------------------------------------------------------------------------------

    def add(self, op: str, *operands: Any) -> None:
        """Emit an instruction."""
        self.code.append(Instruction(op, operands))

    def new(self, op: str, *operands: Any) -> int:
        """Emit an instruction whose first operand is a new register, and return that."""
        register = self.packer.register()
        self.code.append(Instruction(op, (register, *operands)))
        return register

    def const(self, obj: Any) -> int:
        """A register with a constant, or with what the constant stands for."""
        if self.trace.classes or self.trace.wrappers:
            known = self._captured(obj)
            if known is not None:
                return known
        index = self.packer.const(obj)
        key = ("const", index)
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = self.new("LOAD_CONST", index)
        return found

    def _captured(self, obj: Any) -> int | None:
        """A class that the captured code defined, its functions, and what was made of these."""
        part = self._part(obj)
        if not isinstance(part, Const):
            return None if part is None else self.value(part)
        key = ("wrapper", id(obj))
        if key not in self.made:
            _, made, args, names = self.trace.wrappers[id(obj)]
            registers = [self.value(value) for value in (*args, *names.values())]
            register = self.made[key] = self.call(made, *registers, names=tuple(names))
            namespace, before = self.trace.cache.get(("namespace", id(obj))) or (None, {})
            for name, (_, value) in (self.heap.get(namespace, ITEMS) if namespace is not None else {}).items():
                if name not in before or before[name][1] is not value:
                    self.add("STORE_ATTR", register, self.packer.const(name), self.value(value))
        return self.made[key]

    def _part(self, obj: Any) -> Value | None:
        """What a real object stands for: a captured class or function, or a constant made of such; None: itself."""
        trace = self.trace
        if issubclass(type(obj), type):
            recipe = trace.classes.get(obj)
            if recipe is not None:
                return recipe.ref
        elif type(obj) is types.FunctionType:
            ref = trace.known.get(id(obj))
            return ref if isinstance(ref, Ref) and ref.path is None else None
        found = trace.wrappers.get(id(obj))
        return found[0] if found is not None and found[0].obj is obj else None

    def cell(self, ref: Ref) -> int:
        """A cell."""
        contents = self.heap.get(ref, CONTENTS)
        return self.new("BUILD_CELL", EMPTY if contents is None or contents is MISSING else self.value(contents))

    def call(self, function: Any, *args: int, names: tuple[str, ...] = ()) -> int:
        """A register with the result of calling a constant."""
        return self.new("CALL", self.const(function), args, (self.packer.const(names),) if names else ())

    def effect(self, function: Any, *args: int) -> None:
        """Call a constant, drop the result."""
        self.add("CALL_EFFECT", self.const(function), args, ())

    def tuple_of(self, items: Any) -> int:
        """A register with a new tuple of values."""
        return self.new("BUILD_TUPLE", tuple(self.value(item) for item in items))

    # -- values -------------------------------------------------------------------------------------------------------

    def known(self, value: Value) -> int | None:
        """The register that holds the value anyway, None if making it would take work."""
        if isinstance(value, Null):
            return EMPTY
        path = getattr(value, "path", None)
        if path is not None:
            return self.head.want(path) if path in self.head.registers else None
        if isinstance(value, Const):
            part = self._part(value.obj) if self.trace.classes else None
            return self.value(value) if part is None else self.made.get(id(part))
        if isinstance(value, Node):
            return self.outputs.get(value.node)
        return self.made.get(id(value))

    def value(self, value: Value) -> int:
        """The register that will hold the value behind the graph; -1 for an empty slot."""
        if isinstance(value, Null):
            return EMPTY
        if isinstance(value, Const):
            path = value.path
            return self.head.want(path) if path is not None and path in self.head.registers else self.const(value.obj)
        if isinstance(value, (Lazy, Number)):
            return self.head.want(value.path)
        path = value.path  # type: ignore[attr-defined]
        if path is not None:
            return self.head.want(path)
        if isinstance(value, Node):
            return self._node(value.node)
        if id(value) not in self.made and not self.depth and isinstance(value, (Ref, Pack)):
            self._find_cycles(value)
        return self._make(value)

    def keeps_dead(self, code: types.CodeType) -> bool:
        """Whether what no code asks for again is restored too."""
        return bool(self.keep_locals or self.trace.cache.get(reach.KEEP) or frame_.looks_at_locals(code))

    def spare(self, value: Value) -> int:
        """The register of a value that no code asks for again, of an empty slot where making it would take work."""
        if isinstance(value, (Const, Lazy, Number)) or self.trace.cache.get(reach.KEEP) or self.keep_locals:
            return self.value(value)
        found = self.known(value)
        return self.const(_C.NULL) if found is None or found == EMPTY else found

    def _node(self, node: torch.fx.Node) -> int:
        path = self.placeholders.get(node)
        if path is not None:
            return self.head.want(path)
        found = self.outputs.get(node)
        if found is None:
            found = self.outputs[node] = self.packer.register()
        return found

    def _make(self, value: Value) -> int:
        found = self.made.get(id(value))
        if found is not None:
            return found
        self.alive.append(value)
        self.depth += 1
        register = self._pack(value) if isinstance(value, Pack) else self._ref(value)  # type: ignore[arg-type]
        self.made[id(value)] = register
        self.depth -= 1
        if not self.depth:
            self.depth = 1
            while self.unfilled:  # what is hashed comes behind what it is hashed by
                ref = next((one for one in reversed(self.unfilled) if one.cls not in (dict, set)), self.unfilled[-1])
                self.unfilled.remove(ref)
                filler = FILLERS[BaseException] if issubclass(ref.cls, BaseException) else Materializer.fill
                filler(self, ref, self.made[id(ref)])
            self.depth = 0
        return register

    # -- aggregates ---------------------------------------------------------------------------------------------------

    def _pack(self, pack: Pack) -> int:
        cls = pack.cls
        if cls is tuple:
            return self.tuple_of(pack.items)
        if cls is slice:
            return self.new("BUILD_SLICE", *(self.value(item) for item in pack.items))
        if cls is types.MethodType:
            return self.new("BUILD_METHOD", *(self.value(item) for item in pack.items))
        if cls in (types.BuiltinMethodType, types.MethodWrapperType):
            descriptor, receiver = pack.items
            found = descriptor.obj  # type: ignore[attr-defined]
            return self.call(found.__get__, self.value(receiver), self.const(found.__objclass__))  # CPython needs the class of some
        if cls is super:
            return self.call(super, self.value(pack.items[0]), self.value(pack.items[1]))
        if issubclass(cls, frozenset):
            return BUILDERS[frozenset](self, pack)
        items = self.tuple_of(pack.items)
        if defines(cls, "n_sequence_fields") or cls is torch.Size:
            return self.call(cls, items)
        if issubclass(cls, tuple):
            return self.call(tuple.__new__, self.const(cls), items)
        raise NotImplementedError(f"building a {cls.__qualname__}")

    # -- mutable objects ----------------------------------------------------------------------------------------------

    def _ref(self, ref: Ref) -> int:
        cls = ref.cls
        owner = self.namespaces.get(id(ref))
        if owner is not None:
            return self.new("LOAD_INSTANCE_DICT", owner)
        if ref in self.early and (cls in CONTAINERS or _is_made_bare(cls)):
            register = self._empty(ref)
            self.made[id(ref)] = register
            self.unfilled.append(ref)
            return register
        if issubclass(cls, BaseException):
            cls = BaseException
        if issubclass(cls, functools.partial):
            cls = functools.partial
        made_by = self.trace.cache.get((MADE_BY, ref))
        if made_by is not None:
            return self.call(made_by[0].obj, *(self.value(arg) for arg in made_by[1:]))
        if issubclass(cls, weak.Reference):
            cls = weak.Reference
        found = BUILDERS.get(cls)
        if found is not None:
            return found(self, ref)
        if cls in REBUILDERS:
            if cls in OUT_OF_STEP and OUT_OF_STEP[cls](self.heap, ref):  # none can be made that stands like this
                raise Retrace(("break", self.heap.get(ref, STEP)))
            function, values = rebuild(self.heap, ref)
            register = self.call(function, *(self.value(value) for value in values))
            if any(isinstance(value, Ref) and self.heap.is_written(value) for value in values):
                self.late.add(register)  # an iterator finds its place in what the effects leave
            return register
        return self.instance(ref)

    def _empty(self, ref: Ref) -> int:
        cls = ref.cls
        if cls is list:
            return self.new("BUILD_LIST", ())
        if cls is dict:
            return self.new("BUILD_DICT", ())
        if cls is set:
            return self.new("BUILD_SET", ())
        if cls is deque:
            return self.call(deque)
        if cls is types.CellType:
            return self.new("BUILD_CELL", EMPTY)
        return self._bare(ref)

    def _bare(self, ref: Ref) -> int:
        plain, owner = self._plain(ref), _owner_of_new(ref.cls)
        if owner.__flags__ & HEAP_TYPE:
            return self.call(owner.__new__, self.const(ref.cls))
        if plain is None:
            return self.new("NEW", self.const(ref.cls))
        if isinstance(plain, Const) and type(plain.obj) in dates.KINDS:
            return self.call(dates.remade, self.const(ref.cls), self.value(plain))
        base = next(base for base in ref.cls.__mro__ if base in FOLDABLE or base is tuple)  # of a subclass of int, float, str ...
        return self.call(base.__new__, self.const(ref.cls), self.value(plain))

    def _plain(self, ref: Ref) -> Any:
        """What an object of a subclass of int, str, tuple ... is made of."""
        found = self.heap.get(ref, VALUE)
        return self.heap.get(ref, TUPLE) if found is None else found

    def instance(self, ref: Ref) -> int:
        """An object of a class written in Python: made bare, then filled."""
        register = self.made[id(ref)] = self._bare(ref)
        self.fill_now_or_later(ref, register)
        return register

    def fill_now_or_later(self, ref: Ref, register: int) -> None:
        """Write the fields of an object that is there, at the end where it is part of a cycle."""
        if ref in self.early:
            self.unfilled.append(ref)
        else:
            self.fill(ref, register)

    def fill(self, ref: Ref, register: int) -> None:
        """Write all fields of a virtual object whose bare form is in the register."""
        filler = FILLERS.get(ref.cls)
        if filler is not None:
            filler(self, ref, register)
            return
        for field, value in list(self.heap.fields_of(ref).items()):
            if value is not MISSING and not (type(field) is tuple and field[0] == "k"):
                self.store(ref, register, field, value)

    def store(self, ref: Ref, register: int, field: Any, value: Any) -> None:
        """Write one field of an object that is empty there."""
        if isinstance(field, str):
            self.add("STORE_INSTANCE_DICT", register, self.packer.const(field), self.value(value))
        elif isinstance(field, types.MemberDescriptorType):
            if field.__objclass__ in self.trace.classes:
                self.effect(set_slot, self.const(field), register, self.value(value))
            else:
                self.effect(field.__set__, register, self.value(value))
        elif field == DICT_FIELD:
            self._store_dict(register, value)
        elif field == CONTENTS:
            self.add("STORE_CELL", register, self.value(value))
        elif field == ITEMS and issubclass(ref.cls, set):
            FILLERS[set](self, ref, register)
        elif field == ITEMS and issubclass(ref.cls, deque):
            limit = self.heap.get(ref, MAXLEN)
            self.effect(deque.__init__, register, self.tuple_of(value), *([] if limit is None else [self.value(limit)]))
        elif field == ITEMS:
            self._store_items(ref.cls, register, value)
        elif field in WRITERS:
            function, values = WRITERS[field](value)
            self.effect(function, register, *(self.value(each) for each in values))
        elif field not in PRIVATE:
            raise NotImplementedError(f"field {field} of a {ref.cls.__qualname__}")

    def _store_dict(self, register: int, namespace: Ref) -> None:
        known = self.made.get(id(namespace))
        if known is not None or not namespace.virtual or namespace.cls is not dict or id(namespace) in self.namespaces:
            self.add("STORE_ATTR", register, self.packer.const("__dict__"), self.value(namespace))
            return
        self.alive.append(namespace)
        items = self.heap.get(namespace, ITEMS)
        if items:
            self.made[id(namespace)] = table = self.new("LOAD_INSTANCE_DICT", register)
            self._store_items(dict, table, items)
        else:
            self.namespaces[id(namespace)] = register

    def key(self, name: Any, key: Value) -> int:
        """The register of a key that a real dict or set is going to hash; `name` is what stands for it."""
        for user in user_keys(name):
            if not user.again(self.heap):
                raise Retrace(("break", user.step))
        return self.value(key)

    def _store_items(self, cls: type, register: int, items: Any) -> None:
        if issubclass(cls, list):
            self.add("LIST_ASSIGN", register, tuple(self.value(item) for item in items))
        elif issubclass(cls, dict):
            for name, (key, item) in items.items():
                self.add("DICT_SET", register, self.key(name, key), self.value(item))
        elif issubclass(cls, deque):
            self.effect(deque.extend, register, self.tuple_of(items))
        else:
            raise NotImplementedError(f"items of a {cls.__qualname__}")

    # -- cycles -------------------------------------------------------------------------------------------------------

    def _find_cycles(self, root: Value) -> None:
        """Choose, for every cycle of virtual objects below `root`, one that is made before its contents."""
        roots, finished = [root], set[int]()
        while roots:
            start = roots.pop()
            if id(start) in finished or id(start) in self.made:
                continue
            trail: list[tuple[Value, Iterator[Value]]] = [(start, iter(self.parts(start)))]
            open_: dict[int, int] = {id(start): 0}
            while trail:
                value, rest = trail[-1]
                for part in rest:
                    place = open_.get(id(part))
                    if self._is_cut(value, part):
                        roots.append(part)
                    elif place is not None:
                        keep = place + self._break_cycle([entry for entry, _ in trail[place:]]) + 1
                        for entry, _ in trail[keep:]:
                            del open_[id(entry)]
                        roots += [entry for entry, _ in trail[keep : keep + 1]] or [part]
                        del trail[keep:]
                        break
                    elif id(part) not in finished and id(part) not in self.made:
                        open_[id(part)] = len(trail)
                        trail.append((part, iter(self.parts(part))))
                        break
                else:
                    trail.pop()
                    del open_[id(value)]
                    finished.add(id(value))

    def _is_cut(self, value: Value, part: Value) -> bool:
        """Whether the object is made first and gets this part at the end."""
        if not isinstance(value, Ref):
            return False
        if value not in self.early:
            return issubclass(value.cls, BaseException)
        return value.cls in CONTAINERS or self._is_filled_later(value, part)

    def _break_cycle(self, cycle: list[Value]) -> int:
        """The place of the object in the cycle that is made first."""
        holders = [(value, part) for value, part in zip(cycle, [*cycle[1:], cycle[0]], strict=True) if isinstance(value, Ref)]
        bare = [value for value, part in holders if self._is_filled_later(value, part)]
        namespaces = [self.heap.get(value, DICT_FIELD) for value in bare]
        containers = [value for value, _ in holders if value.cls in CONTAINERS and value not in namespaces]
        if not containers and not bare:
            steps = [self.trace.classes[value.real].step for value, _ in holders if value.cls is type]
            steps += [self.heap.get(value, UNMADE[value.cls]) for value, _ in holders if value.cls in UNMADE]
            if steps:
                raise Retrace(("break", max(steps)))
            raise NotImplementedError(f"a cycle of {', '.join(value.cls.__qualname__ for value in cycle)}")
        chosen = (containers or bare)[0]
        self.early.add(chosen)
        return cycle.index(chosen)

    def _is_filled_later(self, ref: Ref, part: Value) -> bool:
        """Whether the object can be there before this part of it is."""
        if ref.cls is type:
            return not any(part is one for one in self.parts(ref, (BASES, NAMESPACE, META)))
        if ref.cls is types.FunctionType:
            return part is self.heap.get(ref, DICT_FIELD)
        if ref.cls in BUILDERS and ref.cls in FILLERS:
            return True
        return _is_made_bare(ref.cls) and part is not self._part(ref.cls) and part is not self._plain(ref)

    def parts(self, value: Value, fields: tuple[Any, ...] | None = None) -> list[Value]:
        """The virtual objects and aggregates that a value holds, in these or all of its fields."""
        found: list[Any] = []
        if isinstance(value, Pack):
            found += value.items
        elif isinstance(value, Const):
            _, _, args, names = self.trace.wrappers[id(value.obj)]
            found += (*args, *names.values())
        elif value.cls in REBUILDERS and fields is None:
            found += rebuild(self.heap, value)[1]  # type: ignore[arg-type]
        else:
            if value.cls is types.TracebackType:  # the frame that the region begins in is there
                fields = (NEXT, LOCALS) if self.heap.get(value, PLACE) is None else (NEXT,)  # type: ignore[arg-type]
            for field, content in self.heap.fields_of(value).items():  # type: ignore[arg-type]
                if fields is None or field in fields:
                    _gather(content, found)
        if self.trace.classes or self.trace.wrappers:
            found = [(self._part(part.obj) or part) if isinstance(part, Const) else part for part in found]
            if not isinstance(value, Const) and value.cls in self.trace.classes:
                found.append(self.trace.classes[value.cls].ref)
        return [part for part in found if (self._is_made(part) if isinstance(part, Const) else self._is_virtual(part))]

    def reaches(self, value: Value, target: Ref) -> bool:
        """Whether a value holds the object, at any depth."""
        start = self._part(value.obj) if isinstance(value, Const) else value if self._is_virtual(value) else None
        pending, seen = [start] if start is not None else [], set[int]()
        while pending:
            one = pending.pop()
            if one is target:
                return True
            if id(one) not in seen:
                seen.add(id(one))
                pending += self.parts(one)
        return False

    def _is_made(self, value: Const) -> bool:
        return id(value.obj) in self.trace.wrappers and self.trace.wrappers[id(value.obj)][0] is value

    def _is_virtual(self, value: Any) -> bool:
        return isinstance(value, (Pack, Ref)) and value.path is None


def _owner_of_new(cls: type) -> type:
    """The type written in C whose `__new__` makes instances of the class."""
    found: type = next(base for base in cls.__mro__ if isinstance(vars(base).get("__new__"), types.BuiltinFunctionType))
    return found


def _is_made_bare(cls: type) -> bool:
    """Whether the objects of a class are made empty and filled then: those of a class written in Python, and exceptions."""
    return issubclass(cls, BaseException) or not (cls in BUILDERS or cls in REBUILDERS)


def _gather(field: Any, found: list[Any]) -> None:
    """The values inside one field of the heap: a value, or tuples and dicts of them."""
    if isinstance(field, Value):
        found.append(field)
    elif isinstance(field, tuple):
        for item in field:
            _gather(item, found)
    elif isinstance(field, dict):
        for item in field.values():
            _gather(item, found)
