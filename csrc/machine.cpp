// The loop: runs a program's loads and checks in place, calls out for the rest, stops in front of exits.
#include "memo.h"
#include "tensor_check.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace fj {

#define HOT(name) inline __attribute__((always_inline)) const int32_t *op_##name(Run &m, const int32_t *a)
#define LIKELY(x) __builtin_expect(!!(x), 1)

static inline const int32_t *load(Run &m, int32_t d, PyObject *borrowed, const int32_t *next) {
    if (!LIKELY(borrowed != nullptr)) return nullptr;
    m.put(d, Py_NewRef(borrowed));
    return next;
}

HOT(LOAD_SLOT) { return a[2] < m.frame->nslots ? load(m, a[1], m.frame->slots[a[2]], a + 3) : nullptr; }
HOT(LOAD_CONST) { return load(m, a[1], m.constant(a[2]), a + 3); }
HOT(LOAD_GLOBALS) { return load(m, a[1], m.frame->globals, a + 2); }
HOT(LOAD_BUILTINS) { return load(m, a[1], m.frame->builtins, a + 2); }
HOT(LOAD_LOCALS) { return load(m, a[1], m.frame->locals, a + 2); }
HOT(LOAD_FUNC) { return load(m, a[1], m.frame->func, a + 2); }
HOT(LOAD_HANDLED) { return load(m, a[1], m.frame->handled ? m.frame->handled : Py_None, a + 2); }
HOT(LOAD_CELL) {
    PyObject *cell = m.reg(a[2]);
    return PyCell_Check(cell) ? load(m, a[1], PyCell_GET(cell), a + 3) : nullptr;
}
HOT(LOAD_TYPE) { return load(m, a[1], reinterpret_cast<PyObject *>(Py_TYPE(m.reg(a[2]))), a + 3); }
HOT(LOAD_INSTANCE_DICT) { return load(m, a[1], instance_dict(m.reg(a[2])), a + 3); }

static inline PyObject *dict_item(PyObject *dict, PyObject *key) { // borrowed; NULL: none
    if (!PyDict_Check(dict) || !key) return nullptr;
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (!value && PyErr_Occurred()) PyErr_Clear();
    return value;
}
HOT(LOAD_DICT_ITEM) { return load(m, a[1], dict_item(m.reg(a[2]), m.constant(a[3])), a + 4); }

HOT(LOAD_ITEM) {
    PyObject *container = m.reg(a[2]);
    if (!PyList_Check(container) && !PyTuple_Check(container)) return nullptr;
    Py_ssize_t n = Py_SIZE(container), i = a[3] < 0 ? a[3] + n : a[3];
    if (i < 0 || i >= n) return nullptr;
    return load(m, a[1], PyList_Check(container) ? PyList_GET_ITEM(container, i) : PyTuple_GET_ITEM(container, i), a + 4);
}
HOT(LOAD_CLOSURE) {
    PyObject *func = m.reg(a[2]), *closure = PyFunction_Check(func) ? PyFunction_GET_CLOSURE(func) : nullptr;
    return closure && a[3] >= 0 && a[3] < PyTuple_GET_SIZE(closure) ? load(m, a[1], PyTuple_GET_ITEM(closure, a[3]), a + 4)
                                                                    : nullptr;
}
// A function makes the dict of its annotations when it is asked for them.
static bool make_annotations(PyFunctionObject *f) {
    PyObject *made = PyObject_GetAttrString(reinterpret_cast<PyObject *>(f), "__annotations__");
    if (!made) PyErr_Clear();
    Py_XDECREF(made); // the function keeps it
    return made != nullptr;
}
HOT(LOAD_FUNC_FIELD) {
    if (!PyFunction_Check(m.reg(a[2])) || a[3] < 0 || a[3] > 5) return nullptr;
    auto *f = reinterpret_cast<PyFunctionObject *>(m.reg(a[2]));
    if (a[3] == 5 && !(f->func_annotations && PyDict_Check(f->func_annotations)) && !make_annotations(f)) return nullptr;
    PyObject *fields[] = {f->func_code,       f->func_globals, f->func_defaults,
                          f->func_kwdefaults, f->func_closure, f->func_annotations};
    return load(m, a[1], fields[a[3]] ? fields[a[3]] : Py_None, a + 4);
}
HOT(LOAD_REFERENT) {
    PyObject *reference = m.reg(a[2]);
    return PyWeakref_CheckRef(reference) ? load(m, a[1], PyWeakref_GET_OBJECT(reference), a + 3) : nullptr;
}
HOT(LOAD_SELF) {
    PyObject *method = m.reg(a[2]);
    if (PyMethod_Check(method)) return load(m, a[1], PyMethod_GET_SELF(method), a + 3);
    return PyCFunction_Check(method) ? load(m, a[1], PyCFunction_GET_SELF(method), a + 3) : nullptr;
}
HOT(LOAD_METHOD_FUNC) {
    PyObject *method = m.reg(a[2]);
    return PyMethod_Check(method) ? load(m, a[1], PyMethod_GET_FUNCTION(method), a + 3) : nullptr;
}

static bool caller_of(Run &m, int32_t depth, FJCaller *caller) { return m.frame->context && fj_caller(m.frame, depth, caller); }
HOT(LOAD_CALLER_SLOT) {
    FJCaller c;
    return caller_of(m, a[2], &c) && a[3] < c.frame.nslots ? load(m, a[1], c.frame.slots[a[3]], a + 4) : nullptr;
}
HOT(LOAD_CALLER_FUNC) {
    FJCaller c;
    return caller_of(m, a[2], &c) ? load(m, a[1], c.frame.func, a + 3) : nullptr;
}
HOT(LOAD_CALLER_EXTRA) {
    FJCaller c;
    return caller_of(m, a[2], &c) ? load(m, a[1], c.extra, a + 3) : nullptr;
}
HOT(CHECK_CALLER) {
    FJCaller c;
    bool holds =
        caller_of(m, a[1], &c) && c.code == m.constant(a[2]) && c.after_pc == a[3] && static_cast<int32_t>(c.how) == a[4];
    return holds ? a + 5 : nullptr;
}
HOT(CHECK_CALLER_EMPTY) {
    FJCaller c;
    return caller_of(m, a[1], &c) && (a[2] >= c.frame.nslots || !c.frame.slots[a[2]]) ? a + 3 : nullptr;
}

HOT(CHECK_SLOT_EMPTY) { return a[1] >= m.frame->nslots || !m.frame->slots[a[1]] ? a + 2 : nullptr; }
HOT(CHECK_CELL_EMPTY) { return PyCell_Check(m.reg(a[1])) && !PyCell_GET(m.reg(a[1])) ? a + 2 : nullptr; }
HOT(CHECK_TYPE) { return reinterpret_cast<PyObject *>(Py_TYPE(m.reg(a[1]))) == m.constant(a[2]) ? a + 3 : nullptr; }
HOT(CHECK_IS) { return constant_is(m.consts[a[2]], m.reg(a[1])) ? a + 3 : nullptr; }
HOT(CHECK_IS_NOT) { return constant_is(m.consts[a[2]], m.reg(a[1])) ? nullptr : a + 3; }
HOT(CHECK_EQ) {
    PyObject *value = m.reg(a[1]), *expected = m.constant(a[2]);
    return value == expected || (expected && exactly_equal(value, expected)) ? a + 3 : nullptr;
}
HOT(CHECK_SAME) { return m.reg(a[1]) == m.reg(a[2]) ? a + 3 : nullptr; }
HOT(CHECK_NOT_SAME) { return m.reg(a[1]) != m.reg(a[2]) ? a + 3 : nullptr; }
HOT(CHECK_LEN) { return a[2] >= 0 && raw_length(m.reg(a[1])) == a[2] ? a + 3 : nullptr; }
HOT(CHECK_FUNC_CODE) {
    PyObject *func = m.reg(a[1]);
    return PyFunction_Check(func) && PyFunction_GET_CODE(func) == m.constant(a[2]) ? a + 3 : nullptr;
}
HOT(CHECK_TENSOR) { return tensor_matches(m.constant(a[2]), m.reg(a[1])) ? a + 3 : nullptr; }
HOT(CHECK_UNHANDLED) {
    (void)m;
    return fj_drivers_handle() ? nullptr : a + 1;
}
HOT(CHECK_TORCH_STATE) { return torch_state_matches(m.constant(a[1])) ? a + 2 : nullptr; }

// On 3.13, where values can lie inline beside their dict, a store to an attribute does not renew the dict's version.
#ifndef Py_TPFLAGS_INLINE_VALUES
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
HOT(DICT_GROUP) {
    PyObject *dict = m.reg(a[1]);
    const Stamp &stamp = m.program->stamps[a[2]];
    if (!PyDict_Check(dict) || reinterpret_cast<PyDictObject *>(dict)->ma_version_tag != stamp.version) return a + 5 + a[4];
    for (int32_t i = 0; i < stamp.count; i++) m.put(a[5 + i], Py_NewRef(stamp.values[i]));
    return &m.program->code[m.program->starts[a[3]]];
}
HOT(DICT_STAMP) {
    PyObject *dict = m.reg(a[1]);
    Stamp &stamp = m.program->stamps[a[2]];
    if (PyDict_Check(dict)) {
        stamp.version = reinterpret_cast<PyDictObject *>(dict)->ma_version_tag;
        for (int32_t i = 0; i < stamp.count; i++) stamp.values[i] = m.reg(a[4 + i]);
    }
    return a + 4 + a[3];
}
#else
HOT(DICT_GROUP) { return a + 5 + a[4]; }
HOT(DICT_STAMP) { return a + 4 + a[3]; }
#endif

// True and False: whether the class descends from the other; a number: at which place of its MRO the other stands.
static bool descent_holds(PyTypeObject *type, PyObject *other, PyObject *expected) {
    if (PyBool_Check(expected)) return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject *>(other)) == (expected == Py_True);
    Py_ssize_t place = PyLong_AsSsize_t(expected);
    return type->tp_mro && place < PyTuple_GET_SIZE(type->tp_mro) && PyTuple_GET_ITEM(type->tp_mro, place) == other;
}

static bool lookups_hold(Run &m, PyTypeObject *type, const int32_t *pairs, int32_t n) {
    for (int32_t i = 0; i < n; i += 2) {
        PyObject *name = m.constant(pairs[i]);
        const Const &expected = m.consts[pairs[i + 1]];
        if (!name) return false;
        if (PyType_Check(name)) {
            if (!descent_holds(type, name, expected.object)) return false;
            continue;
        }
        PyObject *found = _PyType_Lookup(type, name);
        if (found ? !constant_is(expected, found) : expected.object != fj_missing) return false;
    }
    return true;
}

// The version is read again after the look-ups: they may have given the type its tag.
HOT(CHECK_TYPE_ATTRS) {
    auto *type = reinterpret_cast<PyTypeObject *>(m.constant(a[1]));
    Stamp &stamp = m.program->stamps[a[2]];
    const int32_t *next = a + 4 + a[3];
    if (LIKELY(type && stamp.version && type->tp_version_tag == stamp.version)) return next;
    if (!type || !lookups_hold(m, type, a + 4, a[3])) return nullptr;
    stamp.version = type->tp_version_tag;
    return next;
}

HOT(DROP) {
    for (int32_t i = 0; i < a[1]; i++) Py_CLEAR(m.regs[a[2 + i]]);
    return a + 2 + a[1];
}
HOT(ON_ERROR) { return (void)m, a + 2; }

#define EXIT(name)                                                                                                               \
    HOT(name) { return m.status = FJ_EXIT, (void)a, nullptr; }
EXIT(RETURN)
EXIT(RETURN_AT)
EXIT(LEAVE)
EXIT(SLOTS)
EXIT(SET_HANDLED)
EXIT(ENTER)
EXIT(NATIVE)
EXIT(OPAQUE)
EXIT(CALLEE)
EXIT(RAISE)
EXIT(BRANCH)

// Runs from `at` until an op fails or an exit is reached; returns that instruction.
const int32_t *loop(Run &m, const int32_t *at) {
    static const void *const labels[] = {
#define FJ_OP(name, spec, doc) &&do_##name,
#define FJ_OPAQUE(name, doc)
#include "ops.def"
#undef FJ_OP
    };
    const int32_t *next = at;
    goto *labels[*at];
#define FJ_OP(name, spec, doc)                                                                                                   \
    do_##name : next = op_##name(m, at);                                                                                         \
    if (!LIKELY(next != nullptr)) return at;                                                                                     \
    at = next;                                                                                                                   \
    goto *labels[*at];
#include "ops.def"
#undef FJ_OP
#undef FJ_OPAQUE
}

// Carries out one instruction.
const int32_t *step(Run &m, const int32_t *at) {
    switch (*at) {
#define FJ_OP(name, spec, doc)                                                                                                   \
    case FJ_OP_##name:                                                                                                           \
        return op_##name(m, at);
#define FJ_OPAQUE(name, doc)
#include "ops.def"
#undef FJ_OP
#undef FJ_OPAQUE
    default: return nullptr;
    }
}

static void see_object(Seen &seen, PyObject *value) {
    seen.kind = Seen::OBJECT;
    if (!value)
        snprintf(seen.text, sizeof seen.text, "nothing");
    else if (!describe_tensor(value, seen.text, sizeof seen.text)) {
        const char *name = PyType_Check(value) ? reinterpret_cast<PyTypeObject *>(value)->tp_name : Py_TYPE(value)->tp_name;
        snprintf(seen.text, sizeof seen.text, "<%s%.80s>", PyType_Check(value) ? "class " : "", name);
    }
}

static void see(Seen &seen, PyObject *value) {
    if (value && PyLong_CheckExact(value)) {
        int overflow;
        seen.kind = Seen::INTEGER;
        seen.integer = PyLong_AsLongLongAndOverflow(value, &overflow);
        if (overflow) see_object(seen, value);
    } else if (value && PyFloat_CheckExact(value)) {
        seen.kind = Seen::FLOAT;
        seen.number = PyFloat_AS_DOUBLE(value);
    } else if (value && PyUnicode_CheckExact(value) && PyUnicode_IS_ASCII(value)) {
        seen.kind = Seen::TEXT;
        size_t n = std::min(static_cast<size_t>(PyUnicode_GET_LENGTH(value)), sizeof seen.text - 1);
        memcpy(seen.text, PyUnicode_DATA(value), n);
        seen.text[n] = 0;
    } else if (value == Py_None || value == Py_True || value == Py_False) {
        seen.kind = Seen::OBJECT;
        snprintf(seen.text, sizeof seen.text, "%s", value == Py_None ? "None" : value == Py_True ? "True" : "False");
    } else {
        see_object(seen, value);
    }
}

// Notes what the failing instruction looked at: its first register operand, or the slot or state that it reads.
static void note_failure(Run &m, const int32_t *a, int32_t index) {
    Program *p = m.program;
    p->failed = index;
    const char *r = strchr(op_info[*a].kinds, 'r');
    if (*a == FJ_OP_LOAD_SLOT || *a == FJ_OP_CHECK_SLOT_EMPTY || *a == FJ_OP_CHECK_SLOT_QUIET) {
        int32_t slot = a[*a == FJ_OP_LOAD_SLOT ? 2 : 1];
        see(p->seen, slot < m.frame->nslots ? m.frame->slots[slot] : nullptr);
    } else if (*a == FJ_OP_CHECK_TORCH_STATE) {
        p->seen.kind = Seen::OBJECT;
        describe_state_difference(m.constant(a[1]), p->seen.text, sizeof p->seen.text);
    } else if (r && r - op_info[*a].kinds < 2) {
        see(p->seen, m.reg(a[1 + (r - op_info[*a].kinds)]));
    } else {
        p->seen.kind = Seen::NOTHING;
        p->seen.text[0] = 0;
    }
}

// An op failed: miss, replay, or an error that the frame must see.
static int failed(Run &m, const int32_t *a, int32_t index, int *at) {
    Program *p = m.program;
    Phase phase = static_cast<Phase>(p->phases[index]);
    PyObject *error = nullptr;
    *at = p->on_error[index];
    if (m.status == FJ_ERROR) {
        bool ordinary = PyErr_ExceptionMatches(PyExc_Exception), kept = is_error_kept();
        if (!ordinary || kept || phase == COMMITTED || raised_by_signal_handler()) return FJ_ERROR;
        error = take_error();
    } else if (phase == COMMITTED) {
        PyErr_Format(PyExc_RuntimeError, "framejit: %s failed after the effects of a region", op_info[*a].name);
        return FJ_ERROR;
    }
    note_failure(m, a, index);
    if (phase == BEFORE_GRAPH) {
        Py_XDECREF(error);
        return FJ_MISS;
    }
    keep_replayed(error);
    if (!m.rng) return FJ_REPLAY;
    PyObject *done = restore_rng(m.rng);
    Py_XDECREF(done);
    if (!done) keep_replayed(nullptr);
    return done ? FJ_REPLAY : FJ_ERROR;
}

static int run(Program *p, FJFrame *frame, PyObject **regs, int start, int *at) {
    if (p->dead && start == 0) return FJ_MISS;
    Run m{p, p->consts.data(), regs, frame, FJ_MISS, nullptr};
    const int32_t *from = &p->code[p->starts[start]], *stopped;
    if (start == 0) {
        MemoResult memo = memo_run(m);
        if (memo.how == Memo::MISS) return failed(m, memo.stopped, memo.index, at);
        if (memo.how == Memo::REACHED) from = memo.stopped;
    }
    stopped = loop(m, from);
    int32_t offset = static_cast<int32_t>(stopped - p->code.data());
    int32_t index = static_cast<int32_t>(std::lower_bound(p->starts.begin(), p->starts.end(), offset) - p->starts.begin());
    int status = m.status;
    if (status == FJ_EXIT) {
        *at = index;
        if (start == 0) p->hits++;
    } else {
        status = failed(m, stopped, index, at);
    }
    Py_XDECREF(m.rng);
    return status;
}

} // namespace fj

using fj::Program;

extern "C" {

int fj_run(PyObject *program, FJFrame *frame, PyObject **regs, int start, int *at) {
    return fj::run(reinterpret_cast<Program *>(program), frame, regs, start, at);
}
PyObject *fj_take_replayed(void) { return fj::take_replayed(); }
int fj_is_program(PyObject *value) { return Py_TYPE(value) == fj::program_type; }
int fj_program_dead(PyObject *program) { return reinterpret_cast<Program *>(program)->dead; }
int fj_program_room(PyObject *program) {
    auto *p = reinterpret_cast<Program *>(program);
    return fj::memo_room(p->memo, p->nregs);
}
int fj_program_depth(PyObject *program) { return reinterpret_cast<Program *>(program)->depth; }
int fj_program_nregs(PyObject *program) { return reinterpret_cast<Program *>(program)->nregs; }
const int32_t *fj_program_instr(PyObject *program, int at) {
    auto *p = reinterpret_cast<Program *>(program);
    return &p->code[p->starts[at]];
}
const uint8_t *fj_program_live(PyObject *program, int at) { return reinterpret_cast<Program *>(program)->live[at].data(); }
PyObject *fj_program_const(PyObject *program, int k) { return reinterpret_cast<Program *>(program)->consts[k].object; }

int fj_machine_init(PyObject *module) {
    return fj::program_init(module) && fj::graph_init(module) && fj::tensor_init(module) ? 0 : -1;
}
}
