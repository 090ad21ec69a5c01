// The Program type: parse instructions given as tuples, validate them, pack them flat.
#include "memo.h"
#include "tensor_check.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace fj {

OpInfo op_info[FJ_OP_COUNT] = {
#define FJ_OP(name, spec, doc) {#name, spec, doc, {0}, FJ_OP_##name >= FJ_OP_RETURN, false},
#define FJ_OPAQUE(name, doc)
#include "ops.def"
#undef FJ_OP
#undef FJ_OPAQUE
};

PyTypeObject *program_type;
PyObject *empty_tuple;

static const int32_t EMPTY = -1, KEEP = -2;

// Calls visit(kind, operand) for every operand of an instruction, lists flattened.
template <class Visit> static void each_operand(const Program *p, size_t index, Visit visit) {
    const int32_t *a = &p->code[p->starts[index]];
    const char *kinds = op_info[*a++].kinds;
    for (; *kinds; kinds++) {
        if (*kinds == '*' || *kinds == 'D' || *kinds == 'K') {
            for (int32_t n = *a++; n > 0; n--) visit(*kinds, *a++);
        } else {
            visit(*kinds, *a++);
        }
    }
}

namespace {

// One pass over the instruction tuples; `at` is the instruction that messages name.
struct Packer {
    Program *p;
    PyObject *consts;
    std::vector<bool> only_checked;
    std::vector<std::vector<uint8_t>> arrive; // registers certainly set where a jump lands
    std::vector<uint8_t> set;
    bool reached = true;
    int32_t on_error = EMPTY;
    Py_ssize_t at = 0, count = 0;

    bool fail(const char *what) {
        int32_t op = p->starts.empty() ? -1 : p->code[p->starts.back()];
        PyErr_Format(PyExc_ValueError, "instruction %zd%s%s: %s", at, op >= 0 ? " " : "", op >= 0 ? op_info[op].name : "", what);
        return false;
    }
    bool integer(PyObject *value, int32_t *out) {
        if (!PyLong_Check(value)) return fail("an operand is not an int");
        int overflow;
        long v = PyLong_AsLongAndOverflow(value, &overflow);
        if (overflow || v != static_cast<int32_t>(v)) return fail("an operand does not fit 32 bits");
        *out = static_cast<int32_t>(v);
        return true;
    }
    bool reads(int32_t r) {
        if (r < 0 || r >= p->nregs) return fail("no such register");
        return set[r] || fail("reads a register that is not set");
    }
    bool is_constant(int32_t k) { return (k >= 0 && k < PyTuple_GET_SIZE(consts)) || fail("no such constant"); }
    bool operand(char kind, PyObject *value);
    bool sequence(char kind, PyObject *value);
    void land(int32_t target);
    bool types(const int32_t *a);
    bool constant(int32_t k, bool ok, const char *what) { return (is_constant(k) && ok) || fail(what); }
    PyObject *get(int32_t k) { return PyTuple_GET_ITEM(consts, k); }
    bool flow(const int32_t *a);
    bool instruction(PyObject *tuple);
};

bool Packer::sequence(char kind, PyObject *value) {
    if (!PyTuple_Check(value)) return fail("an operand is not a tuple");
    Py_ssize_t n = PyTuple_GET_SIZE(value);
    int32_t op = p->code[p->starts.back()];
    bool slots = op == FJ_OP_SLOTS, may_be_empty = slots || op == FJ_OP_CALLEE || op == FJ_OP_BUILD_GENERATOR ||
                                                   op == FJ_OP_BUILD_FRAME || op == FJ_OP_BUILD_FUNCTION;
    p->code.push_back(static_cast<int32_t>(n));
    for (Py_ssize_t i = 0; i < n; i++) {
        int32_t v;
        if (!integer(PyTuple_GET_ITEM(value, i), &v)) return false;
        if (kind == 'K' && !is_constant(v)) return false;
        if (kind == 'D' && (v < EMPTY || v >= p->nregs)) return fail("no such register");
        bool empty = (v == EMPTY && may_be_empty) || (v == KEEP && slots);
        if (kind == '*' && !empty && op != FJ_OP_DICT_GROUP && !reads(v)) return false;
        p->code.push_back(v);
    }
    return true;
}

bool Packer::operand(char kind, PyObject *value) {
    if (kind == '*' || kind == 'D' || kind == 'K') return sequence(kind, value);
    int32_t v;
    if (!integer(value, &v)) return false;
    if (kind == 'd' && (v < 0 || v >= p->nregs)) return fail("no such register");
    if ((kind == 'r' || (kind == 'o' && v != EMPTY)) && !reads(v)) return false;
    if (kind == 'k' && !is_constant(v)) return false;
    if (kind == 'l' && v == EMPTY) return p->code.push_back(v), true;
    if ((kind == 'L' || kind == 'l') && (v <= at || v >= count)) return fail("jumps backward or out of the program");
    p->code.push_back(v);
    return true;
}

// What each op demands of its constants and literals; `a` points behind the opcode.
bool Packer::types(const int32_t *a) {
    switch (a[-1]) {
    case FJ_OP_CHECK_TYPE: return PyType_Check(get(a[1])) || fail("not a class");
    case FJ_OP_CHECK_FUNC_CODE: return PyCode_Check(get(a[1])) || fail("not a code object");
    case FJ_OP_BUILD_FUNCTION:
        if (!PyCode_Check(get(a[1]))) return fail("not a code object");
        if (a[2] != 7 || a[3] < 0) return fail("wants 7 registers, globals first");
        return true;
    case FJ_OP_CHECK_DICT_KEYS: return PyTuple_Check(get(a[1])) || fail("not a tuple");
    case FJ_OP_LOAD_MEMBER: return Py_TYPE(get(a[2])) == &PyMemberDescr_Type || fail("not a member descriptor");
    case FJ_OP_LOAD_ATTR: return PyUnicode_CheckExact(get(a[2])) || fail("not a name");
    case FJ_OP_STORE_ATTR:
    case FJ_OP_DEL_ATTR:
    case FJ_OP_STORE_INSTANCE_DICT: return PyUnicode_CheckExact(get(a[1])) || fail("not a name");
    case FJ_OP_CHECK_TENSOR: return is_tensor_check(get(a[1])) || fail("not a tensor_check");
    case FJ_OP_CHECK_TORCH_STATE: return is_torch_state(get(a[0])) || fail("not a torch_state");
    case FJ_OP_CHECK_TYPE_ATTRS:
        if (!PyType_Check(get(a[0]))) return fail("not a class");
        if (a[1] < 0 || a[2] % 2) return fail("wants a stamp and name, value pairs");
        for (int32_t i = 0; i < a[2]; i += 2) {
            PyObject *expected = get(a[4 + i]);
            if (PyType_Check(get(a[3 + i]))) {
                if (!PyBool_Check(expected) && !(PyLong_CheckExact(expected) && PyLong_AsSsize_t(expected) >= 0))
                    return PyErr_Clear(), fail("not a place in an MRO");
            } else if (!PyUnicode_CheckExact(get(a[3 + i]))) {
                return fail("not a name");
            }
        }
        return true;
    case FJ_OP_LOAD_SLOT: return a[1] >= 0 || fail("no such slot");
    case FJ_OP_BINARY: return (a[1] >= 0 && a[1] <= 26) || fail("no such operator");
    case FJ_OP_COMPARE: return (a[1] >= 0 && a[1] <= Py_GE) || fail("no such operator");
    case FJ_OP_UNARY: return (a[1] >= 0 && a[1] <= 2) || fail("no such operator");
    case FJ_OP_BUILD_DICT: return a[1] % 2 == 0 || fail("wants key, value pairs");
    case FJ_OP_OPAQUE: return (a[0] >= 0 && a[0] < FJ_OPAQUE_COUNT) || fail("no such kind");
    default: return true;
    }
}

// A call's keyword names; `a` points at the operand list of the call's arguments.
static bool keyword_names(Packer &packer, const int32_t *a) {
    int32_t n = a[0];
    const int32_t *k = a + 1 + n;
    if (k[0] == 0) return true;
    if (k[0] != 1 || !PyTuple_Check(packer.get(k[1]))) return packer.fail("wants one tuple of names or nothing");
    PyObject *names = packer.get(k[1]);
    if (PyTuple_GET_SIZE(names) > n) return packer.fail("more names than arguments");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++)
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(names, i))) return packer.fail("not a name");
    return true;
}

void Packer::land(int32_t target) {
    auto &state = arrive[target];
    if (state.empty()) state = set;
    for (size_t r = 0; r < set.size(); r++) state[r] &= set[r];
}

// Registers set or released, jumps, and stamps.
bool Packer::flow(const int32_t *a) {
    switch (a[-1]) {
    case FJ_OP_DROP:
        for (int32_t i = 0; i < a[0]; i++) set[a[1 + i]] = 0;
        return true;
    case FJ_OP_DICT_GROUP:
    case FJ_OP_DICT_STAMP: {
        bool group = a[-1] == FJ_OP_DICT_GROUP;
        const int32_t *list = a + (group ? 3 : 2);
        if (a[1] < 0 || a[1] > 1000000) return fail("no such stamp");
        for (int32_t i = 0; i < list[0]; i++)
            if (list[1 + i] < 0 || list[1 + i] >= p->nregs) return fail("no such register");
        if (static_cast<size_t>(a[1]) >= p->stamps.size()) p->stamps.resize(a[1] + 1, Stamp{0, -1, nullptr});
        Stamp &stamp = p->stamps[a[1]];
        if (stamp.count >= 0 && stamp.count != list[0]) return fail("a stamp with another number of registers");
        stamp.count = list[0];
        if (!group) return true;
        auto saved = set;
        for (int32_t i = 0; i < list[0]; i++) set[list[1 + i]] = 1;
        land(a[2]);
        set = saved;
        return true;
    }
    case FJ_OP_CHECK_TYPE_ATTRS:
        if (a[1] > 1000000) return fail("no such stamp");
        if (static_cast<size_t>(a[1]) >= p->stamps.size()) p->stamps.resize(a[1] + 1, Stamp{0, -1, nullptr});
        if (p->stamps[a[1]].count > 0) return fail("a stamp that a dict uses");
        p->stamps[a[1]].count = 0;
        return true;
    case FJ_OP_CALL_GRAPH: {
        const int32_t *outs = a + 3 + a[2];
        for (int32_t i = 0; i < outs[0]; i++)
            if (outs[1 + i] >= 0) set[outs[1 + i]] = 1;
        return true;
    }
    case FJ_OP_ON_ERROR: return on_error = a[0], true;
    default:
        each_operand(p, p->starts.size() - 1, [&](char kind, int32_t v) {
            if (kind == 'L') land(v);
        });
        if (op_info[a[-1]].kinds[0] == 'd') set[a[0]] = 1;
        return true;
    }
}

bool Packer::instruction(PyObject *tuple) {
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) < 1) return fail("not a tuple");
    if (!arrive[at].empty()) {
        if (reached)
            for (size_t r = 0; r < set.size(); r++) set[r] &= arrive[at][r];
        else
            set = arrive[at];
        reached = true;
    }
    int32_t op;
    if (!integer(PyTuple_GET_ITEM(tuple, 0), &op)) return false;
    if (op < 0 || op >= FJ_OP_COUNT) return fail("no such op");
    p->starts.push_back(static_cast<int32_t>(p->code.size()));
    p->code.push_back(op);
    if (!reached) return fail("cannot be reached");
    const char *kinds = op_info[op].kinds;
    if (PyTuple_GET_SIZE(tuple) != static_cast<Py_ssize_t>(1 + strlen(kinds))) return fail("has the wrong number of operands");
    for (size_t i = 0; kinds[i]; i++)
        if (!operand(kinds[i], PyTuple_GET_ITEM(tuple, i + 1))) return false;
    const int32_t *a = &p->code[p->starts.back() + 1];
    if (!types(a)) return false;
    if ((op == FJ_OP_CALL && !keyword_names(*this, a + 2)) || (op == FJ_OP_CALL_EFFECT && !keyword_names(*this, a + 1)))
        return false;
    if (on_error >= 0 && on_error > at) land(on_error);
    p->on_error.push_back(on_error);
    if (!flow(a)) return false;
    if (op_info[op].exit) on_error = EMPTY;
    reached = !op_info[op].ends;
    return true;
}

} // namespace

// Backward: what is still read after each exit.
static void find_live(Program *p) {
    size_t n = p->starts.size();
    p->live.assign(n, {});
    std::vector<std::vector<uint8_t>> at(n); // only of jump targets
    std::vector<bool> target(n, false);
    for (size_t i = 0; i < n; i++)
        each_operand(p, i, [&](char kind, int32_t v) {
            if ((kind == 'L' || kind == 'l') && v >= 0) target[v] = true;
        });
    std::vector<uint8_t> live(p->nregs, 0);
    for (size_t i = n; i-- > 0;) {
        int32_t op = p->code[p->starts[i]];
        if (op_info[op].ends) std::fill(live.begin(), live.end(), 0);
        each_operand(p, i, [&](char kind, int32_t v) {
            if (kind == 'L' || (kind == 'l' && v >= 0))
                for (int32_t r = 0; r < p->nregs; r++) live[r] |= at[v][r];
        });
        if (op_info[op].exit) p->live[i] = live;
        bool group = op == FJ_OP_DICT_GROUP;
        each_operand(p, i, [&](char kind, int32_t v) {
            if ((kind == 'd' || kind == 'D') && v >= 0) live[v] = 0;
        });
        each_operand(p, i, [&](char kind, int32_t v) {
            if ((kind == 'r' || kind == 'o' || (kind == '*' && !group)) && v >= 0) live[v] = 1;
        });
        if (target[i]) at[i] = live;
    }
}

static bool is_effect(int32_t op) { return op >= FJ_OP_STORE_ATTR && op <= FJ_OP_CALL_EFFECT; }
static bool is_check(int32_t op) { return op >= FJ_OP_CHECK_SLOT_EMPTY && op <= FJ_OP_DICT_STAMP; }

static bool find_phases(Program *p) {
    uint8_t phase = BEFORE_GRAPH;
    for (size_t i = 0; i < p->starts.size(); i++) {
        const int32_t *a = &p->code[p->starts[i]];
        if (phase != BEFORE_GRAPH && is_check(*a)) {
            PyErr_Format(PyExc_ValueError, "instruction %zu %s: a check after the graph or an effect", i, op_info[*a].name);
            return false;
        }
        if (*a == FJ_OP_CALL_GRAPH) phase = phase != COMMITTED && (a[2] & 1) ? REPLAYABLE : COMMITTED;
        if (is_effect(*a) || (op_info[*a].exit && *a != FJ_OP_BRANCH)) phase = COMMITTED;
        p->phases.push_back(phase);
    }
    return true;
}

// Constants that are only compared may be known by their parts.
static std::vector<bool> find_only_checked(const Program *p, Py_ssize_t n) {
    std::vector<bool> result(n, true);
    for (size_t i = 0; i < p->starts.size(); i++) {
        int32_t op = p->code[p->starts[i]];
        if (op == FJ_OP_CHECK_IS || op == FJ_OP_CHECK_IS_NOT || op == FJ_OP_LOAD_MEMBER) continue;
        int position = 0;
        each_operand(p, i, [&](char kind, int32_t v) {
            if (kind == 'k') result[v] = false;
            if (kind == 'K' && (op != FJ_OP_CHECK_TYPE_ATTRS || position++ % 2 == 0)) result[v] = false;
        });
    }
    return result;
}

static bool pack(Program *p, PyObject *instructions, PyObject *consts) {
    Packer packer;
    packer.p = p;
    packer.consts = consts;
    packer.count = PyTuple_GET_SIZE(instructions);
    packer.set.assign(p->nregs + 1, 0); // one more, always set: an empty state is one that nothing reached
    packer.set[p->nregs] = 1;
    packer.arrive.resize(packer.count);
    if (!packer.count) return packer.fail("a program is not empty");
    for (; packer.at < packer.count; packer.at++)
        if (!packer.instruction(PyTuple_GET_ITEM(instructions, packer.at))) return false;
    packer.at--;
    if (packer.reached) return packer.fail("the program runs off its end");
    if (!find_phases(p)) return false;
    find_live(p);
    for (Stamp &stamp : p->stamps)
        if (stamp.count > 0 && !(stamp.values = static_cast<PyObject **>(PyMem_Calloc(stamp.count, sizeof(PyObject *)))))
            return PyErr_NoMemory(), false;
    return true;
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *names[] = {"instructions", "consts", "nregs", "name", "weak", "depth", nullptr};
    PyObject *instructions, *consts, *name = nullptr, *weak = empty_tuple;
    int nregs, depth = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "OO!i|UO!i:Program", const_cast<char **>(names), &instructions, &PyTuple_Type, &consts, &nregs, &name,
            &PyTuple_Type, &weak, &depth))
        return nullptr;
    if (nregs < 0 || nregs > 1000000) return PyErr_Format(PyExc_ValueError, "%d registers", nregs);
    PyObject *tuple = PySequence_Tuple(instructions);
    auto *p = tuple ? reinterpret_cast<Program *>(type->tp_alloc(type, 0)) : nullptr;
    if (!p) {
        Py_XDECREF(tuple);
        return nullptr;
    }
    new (&p->code) std::vector<int32_t>;
    new (&p->starts) std::vector<int32_t>;
    new (&p->on_error) std::vector<int32_t>;
    new (&p->phases) std::vector<uint8_t>;
    new (&p->live) std::vector<std::vector<uint8_t>>;
    new (&p->consts) std::vector<Const>;
    new (&p->stamps) std::vector<Stamp>;
    p->nregs = nregs;
    p->depth = depth;
    p->failed = -1;
    p->name = name ? Py_NewRef(name) : PyUnicode_FromString("");
    p->held = PyTuple_New(PyTuple_GET_SIZE(consts));
    p->life = PyCapsule_New(p, nullptr, nullptr);
    if (p->life) PyCapsule_SetContext(p->life, p); // taken back in dealloc: a weak reference may outlive the program
    bool ok = p->name && p->held && p->life && pack(p, tuple, consts) &&
              hold_constants(p, consts, weak, find_only_checked(p, PyTuple_GET_SIZE(consts)));
    Py_DECREF(tuple);
    if (!ok) Py_CLEAR(p);
    return reinterpret_cast<PyObject *>(p);
}

static int program_traverse(PyObject *self, visitproc visit, void *arg) {
    auto *p = reinterpret_cast<Program *>(self);
    Py_VISIT(p->held);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

// Collected as part of a cycle: it must not run again, but a running machine may still read its packed code.
static int program_clear(PyObject *self) {
    auto *p = reinterpret_cast<Program *>(self);
    p->dead = true;
    for (Const &c : p->consts) c = {nullptr, nullptr};
    Py_CLEAR(p->held);
    return 0;
}

static void program_dealloc(PyObject *self) {
    auto *p = reinterpret_cast<Program *>(self);
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (p->life) PyCapsule_SetContext(p->life, nullptr);
    Py_CLEAR(p->held);
    Py_CLEAR(p->life);
    Py_CLEAR(p->name);
    for (Stamp &stamp : p->stamps) PyMem_Free(stamp.values);
    memo_free(p->memo);
    using std::vector;
    p->code.~vector(), p->starts.~vector(), p->on_error.~vector(), p->phases.~vector(), p->live.~vector(), p->consts.~vector(),
        p->stamps.~vector();
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *instruction_tuple(const Program *p, size_t index) {
    const int32_t *a = &p->code[p->starts[index]];
    const char *kinds = op_info[*a].kinds;
    PyObject *result = PyTuple_New(1 + strlen(kinds));
    if (!result) return nullptr;
    PyTuple_SET_ITEM(result, 0, PyLong_FromLong(*a++));
    for (Py_ssize_t i = 1; *kinds; i++, kinds++) {
        bool list = *kinds == '*' || *kinds == 'D' || *kinds == 'K';
        int32_t n = *a++;
        PyObject *item = list ? PyTuple_New(n) : PyLong_FromLong(n);
        for (int32_t j = 0; list && item && j < n; j++) PyTuple_SET_ITEM(item, j, PyLong_FromLong(*a++));
        PyTuple_SET_ITEM(result, i, item);
    }
    if (PyErr_Occurred()) Py_CLEAR(result);
    return result;
}

static PyObject *get_instructions(PyObject *self, void *) {
    auto *p = reinterpret_cast<Program *>(self);
    PyObject *result = PyTuple_New(p->starts.size());
    for (size_t i = 0; result && i < p->starts.size(); i++) {
        PyObject *item = instruction_tuple(p, i);
        if (!item)
            Py_CLEAR(result);
        else
            PyTuple_SET_ITEM(result, i, item);
    }
    return result;
}

static PyObject *get_consts(PyObject *self, void *) {
    auto *p = reinterpret_cast<Program *>(self);
    PyObject *result = PyTuple_New(p->consts.size());
    for (size_t k = 0; result && k < p->consts.size(); k++) PyTuple_SET_ITEM(result, k, constant_value(p, k));
    return result;
}

static PyObject *get_depth(PyObject *self, void *) { return PyLong_FromLong(reinterpret_cast<Program *>(self)->depth); }
static PyObject *get_nregs(PyObject *self, void *) { return PyLong_FromLong(reinterpret_cast<Program *>(self)->nregs); }
static PyObject *get_hits(PyObject *self, void *) { return PyLong_FromLongLong(reinterpret_cast<Program *>(self)->hits); }
static PyObject *get_name(PyObject *self, void *) { return Py_NewRef(reinterpret_cast<Program *>(self)->name); }
static PyObject *get_dead(PyObject *self, void *) { return PyBool_FromLong(reinterpret_cast<Program *>(self)->dead); }

static PyObject *get_words(PyObject *self, void *) {
    return PyLong_FromSize_t(memo_words(reinterpret_cast<Program *>(self)->memo));
}

static PyObject *explain_failure(PyObject *self, PyObject *) {
    auto *p = reinterpret_cast<Program *>(self);
    if (p->failed < 0) Py_RETURN_NONE;
    PyObject *text = nullptr, *number;
    switch (p->seen.kind) {
    case Seen::INTEGER: text = PyUnicode_FromFormat("%lld", p->seen.integer); break;
    case Seen::FLOAT:
        if ((number = PyFloat_FromDouble(p->seen.number))) {
            text = PyObject_Repr(number);
            Py_DECREF(number);
        }
        break;
    case Seen::TEXT: {
        PyObject *plain = PyUnicode_DecodeUTF8(p->seen.text, strlen(p->seen.text), "replace");
        text = plain ? PyObject_Repr(plain) : nullptr;
        Py_XDECREF(plain);
        break;
    }
    default: text = PyUnicode_DecodeUTF8(p->seen.text, strlen(p->seen.text), "replace");
    }
    return text ? Py_BuildValue("(iN)", p->failed, text) : nullptr;
}

static PyObject *program_repr(PyObject *self) {
    auto *p = reinterpret_cast<Program *>(self);
    return PyUnicode_FromFormat("<framejit program %R, %zu instructions%s>", p->name, p->starts.size(), p->dead ? ", dead" : "");
}

static PyGetSetDef getset[] = {
    {"instructions", get_instructions, nullptr, "the instructions as tuples", nullptr},
    {"consts", get_consts, nullptr, "the constants, None for the dead", nullptr},
    {"depth", get_depth, nullptr, "frames that the captured code has on top of the one that it begins in", nullptr},
    {"nregs", get_nregs, nullptr, "number of registers", nullptr},
    {"name", get_name, nullptr, "what the program was made from", nullptr},
    {"hits", get_hits, nullptr, "how often all checks passed", nullptr},
    {"words", get_words, nullptr, "how many words of memory stand for its checks; 0: these run in full", nullptr},
    {"dead", get_dead, nullptr, "a weak constant died; it never runs again", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
static PyMethodDef methods[] = {
    {"explain_failure", explain_failure, METH_NOARGS, "(index of the instruction that failed last, what it saw) or None"},
    {nullptr, nullptr, 0, nullptr}};
static PyType_Slot type_slots[] = {
    {Py_tp_doc, const_cast<char *>("A packed program: loads, checks, a graph, builds, effects, exits.")},
    {Py_tp_new, reinterpret_cast<void *>(program_new)},
    {Py_tp_dealloc, reinterpret_cast<void *>(program_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void *>(program_traverse)},
    {Py_tp_clear, reinterpret_cast<void *>(program_clear)},
    {Py_tp_repr, reinterpret_cast<void *>(program_repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, nullptr}};
static PyType_Spec type_spec = {"framejit._C.Program", sizeof(Program), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, type_slots};

static bool add_tables(PyObject *module) {
    PyObject *ops = PyTuple_New(FJ_OP_COUNT);
    for (int i = 0; ops && i < FJ_OP_COUNT; i++) {
        OpInfo &info = op_info[i];
        size_t n = 0;
        for (const char *s = info.spec; *s; s++)
            if (*s != ' ') info.kinds[n++] = *s;
        info.ends = info.exit && i != FJ_OP_SLOTS && i != FJ_OP_SET_HANDLED;
        PyTuple_SET_ITEM(ops, i, Py_BuildValue("(sss)", info.name, info.spec, info.doc));
    }
    static const struct {
        const char *name, *doc;
    } kinds[] = {
#define FJ_OP(name, spec, doc)
#define FJ_OPAQUE(name, doc) {#name, doc},
#include "ops.def"
#undef FJ_OP
#undef FJ_OPAQUE
    };
    Py_ssize_t n = sizeof(kinds) / sizeof(kinds[0]);
    PyObject *opaque = PyTuple_New(n);
    for (Py_ssize_t i = 0; opaque && i < n; i++) PyTuple_SET_ITEM(opaque, i, Py_BuildValue("(ss)", kinds[i].name, kinds[i].doc));
    bool ok = ops && opaque && !PyErr_Occurred() && PyModule_AddObjectRef(module, "OPS", ops) == 0 &&
              PyModule_AddObjectRef(module, "OPAQUE", opaque) == 0;
    Py_XDECREF(ops);
    Py_XDECREF(opaque);
    return ok;
}

bool program_init(PyObject *module) {
    if (!(empty_tuple = PyTuple_New(0)) || !add_tables(module)) return false;
    program_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&type_spec));
    return program_type && PyModule_AddObjectRef(module, "Program", reinterpret_cast<PyObject *>(program_type)) == 0;
}

} // namespace fj
