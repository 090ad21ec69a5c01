/* Performing the exits of a program: what happens to the frame after a region. */
#include "hook.h"

/* The words of an exit, after its op. */
typedef struct {
    FJContext *c;
    PyObject *program, **regs;
    int at;
    const int32_t *w;
} Exit;

/* Where an exception must appear that the machine itself meets from `at` on: the pc that the exit leads to. */
static int destination(FJContext *c, PyObject *program, int at) {
    for (int steps = 0; steps < 1000; steps++) {
        const int32_t *w = fj_program_instr(program, at);
        switch (w[0]) {
        case FJ_OP_ENTER:
        case FJ_OP_NATIVE: return w[1];
        case FJ_OP_OPAQUE: return w[3];
        case FJ_OP_RETURN_AT:
        case FJ_OP_CALLEE:
        case FJ_OP_RAISE: return w[2];
        case FJ_OP_RETURN:
        case FJ_OP_LEAVE: return c->pc;
        case FJ_OP_BRANCH: at = w[2]; break;
        default: at++;
        }
    }
    return c->pc;
}

static FJOut fail(Exit *e) {
    e->c->pc = destination(e->c, e->program, e->at);
    Py_CLEAR(e->c->error);
    return FJ_OUT_THROW;
}

void fj_release(PyObject **regs, int count, const uint8_t *live) {
    int first = count, last = -1; // of those that end here
    for (int i = 0; i < count; i++) {
        PyObject *value = regs[i];
        if (!value || (live && live[i])) continue;
        if (Py_REFCNT(value) > 1) {
            regs[i] = NULL;
            Py_DECREF(value);
        } else {
            if (first > i) first = i;
            last = i;
        }
    }
    for (int i = last; i >= first; i--)
        if (!(live && live[i])) Py_CLEAR(regs[i]);
}

static void release_registers(Exit *e) { fj_release(e->regs, fj_program_nregs(e->program), fj_program_live(e->program, e->at)); }

/* Fills the frame. What it held dies once no register holds its parts: in CPython's order. */
static int write_slots(Exit *e, const int32_t *words, int count) {
    PyObject *old[count + 1];
    if (fj_write_slots(e->c, e->regs, words, count, old) < 0) return -1;
    release_registers(e);
    for (int i = 0; i < count; i++) Py_XDECREF(old[i]);
    fj_truncate(e->c->frame, count);
    return 0;
}

/* Nothing reads the slots of a frame that ends at once and that nobody has seen. */
static int slots_unseen(Exit *e) {
    int next = fj_program_instr(e->program, e->at + 1)[0];
    return (next == FJ_OP_RETURN || next == FJ_OP_RETURN_AT || next == FJ_OP_LEAVE) && fj_fast_return(e->c);
}

static void set_handled(FJContext *c, PyObject *value) { Py_XSETREF(c->ts->exc_info->exc_value, Py_XNewRef(value)); }

static FJOut exit_raise(Exit *e) {
    FJContext *c = e->c;
    int reg = e->w[1];
    c->pc = e->w[2];
    if (reg < 0) {
        if (!c->error) {
            PyErr_SetString(PyExc_SystemError, "framejit: no exception to raise");
            return FJ_OUT_THROW;
        }
        fj_put_error(c->error);
        c->error = NULL;
        return FJ_OUT_THROW;
    }
    PyObject *error = Py_XNewRef(e->regs[reg]);
    if (error && PyExceptionInstance_Check(error))
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    else
        PyErr_SetString(PyExc_SystemError, "framejit: not an exception");
    Py_XDECREF(error);
    return FJ_OUT_THROW;
}

static FJOut exit_opaque(Exit *e) {
    const int32_t *w = e->w;
    FJOpaqueOp op = {w[1], w[2], w[3], w[4], w[5], e->program, w + 7, w[6]};
    release_registers(e);
    fj_stats.opaques++;
    return fj_opaque(e->c, &op);
}

/* ---- Callees ---------------------------------------------------------------------------------------------------- */
typedef struct {
    PyObject *program, **regs;
    const int32_t *slots;
    int count, at, exit;
    FJWaiting *waiting;
} Callee;

static FJOut begin_callee(FJContext *c, void *arg) {
    Callee *callee = arg;
    c->caller = callee->waiting;
    Exit e = {c, callee->program, callee->regs, callee->exit, NULL};
    if (write_slots(&e, callee->slots, callee->count) < 0) return fail(&e);
    return fj_exits(c, callee->program, callee->regs, callee->at);
}

static PyObject *result_of(FJResult how, PyObject *value, PyObject *extra) {
    int truth;
    switch (how) {
    case FJ_RESULT_PUSH: return value;
    case FJ_RESULT_INIT:
        if (value != Py_None) {
            PyErr_Format(PyExc_TypeError, "__init__() should return None, not '%.200s'", Py_TYPE(value)->tp_name);
            break;
        }
        Py_DECREF(value);
        return Py_XNewRef(extra);
    case FJ_RESULT_TRUTH:
        truth = PyObject_IsTrue(value);
        Py_DECREF(value);
        return truth < 0 ? NULL : PyBool_FromLong(truth);
    case FJ_RESULT_BOOL:
        if (PyBool_Check(value)) return value;
        PyErr_Format(PyExc_TypeError, "__bool__ should return bool, returned %.200s", Py_TYPE(value)->tp_name);
        break;
    default: PyErr_SetString(PyExc_SystemError, "framejit: unknown use of a result");
    }
    Py_DECREF(value);
    return NULL;
}

static FJOut exit_callee(Exit *e) {
    FJContext *c = e->c;
    const int32_t *w = e->w;
    int call_pc = w[2], after_pc = w[3], how = w[4], count = w[6];
    PyObject *func = Py_XNewRef(e->regs[w[1]]), *extra = w[5] < 0 ? NULL : Py_XNewRef(e->regs[w[5]]), *result = NULL;
    FJWaiting waiting = {c, call_pc, after_pc, how, extra, NULL, NULL, 0};
    Callee callee = {e->program, e->regs, w + 7, count, w[7 + count], e->at, &waiting};
    fj_stats.callees++;
    c->pc = call_pc;
    FJPyFrame *previous = fj_link(c, call_pc);
    if (func)
        result = fj_call_into(func, begin_callee, &callee);
    else
        PyErr_SetString(PyExc_SystemError, "framejit: no function to call");
    Py_XDECREF(func);
    if (result && (waiting.program || how == FJ_RESULT_DROP))
        Py_DECREF(result);
    else if (result && (result = result_of(how, result, extra)))
        fj_push(c->frame, result);
    fj_unlink(c, previous);
    if (result && waiting.program) {
        Py_XDECREF(extra); /* the caller goes on, maybe for long: nothing of this exit is needed any more */
        waiting.extra = NULL;
        fj_release(e->regs, fj_program_nregs(e->program), NULL);
        return fj_go_on(c, &waiting);
    }
    fj_waiting_clear(&waiting);
    Py_XDECREF(extra);
    if (!result) return FJ_OUT_THROW;
    c->pc = after_pc;
    return FJ_OUT_LOOKUP;
}

/* ---- The sequence ----------------------------------------------------------------------------------------------- */
/* Runs ordinary instructions between exits; -1 when that ended the sequence, then *out says how. */
static int run_between(Exit *e, FJOut *out) {
    FJFrame frame;
    int at = -1;
    fj_frame_fill(e->c, &frame);
    switch (fj_run(e->program, &frame, e->regs, e->at, &at)) {
    case FJ_EXIT: e->at = at; return 0;
    case FJ_ERROR:
        if (at >= 0 && !e->c->error) {
            e->c->error = fj_take_error();
            e->at = at;
            return 0;
        }
        break;
    default: PyErr_SetString(PyExc_SystemError, "framejit: a check failed inside an exit");
    }
    *out = fail(e);
    return -1;
}

static FJOut finish(Exit *e) {
    FJContext *c = e->c;
    const int32_t *w = e->w;
    PyObject *value;
    switch (w[0]) {
    case FJ_OP_RETURN:
    case FJ_OP_RETURN_AT:
        value = e->regs[w[1]];
        e->regs[w[1]] = NULL;
        if (!value) {
            PyErr_SetString(PyExc_SystemError, "framejit: no value to return");
            return FJ_OUT_THROW;
        }
        fj_release(e->regs, fj_program_nregs(e->program), NULL);
        return fj_return(c, value, w[0] == FJ_OP_RETURN ? FJ_SOME_RETURN : w[2]);
    case FJ_OP_ENTER: c->pc = w[1]; return FJ_OUT_LOOKUP;
    case FJ_OP_NATIVE: c->pc = w[1]; return FJ_OUT_NATIVE;
    case FJ_OP_LEAVE: return fj_leave(c, e->program, e->regs, w[1], w[2]);
    case FJ_OP_OPAQUE: return exit_opaque(e);
    case FJ_OP_CALLEE: return exit_callee(e);
    default: return exit_raise(e);
    }
}

FJOut fj_exits(FJContext *c, PyObject *program, PyObject **regs, int at) {
    Exit e = {c, program, regs, at, NULL};
    FJOut out;
    for (;;) {
        e.w = fj_program_instr(program, e.at);
        switch (e.w[0]) {
        case FJ_OP_SLOTS:
            if (!slots_unseen(&e) && write_slots(&e, e.w + 2, e.w[1]) < 0) return fail(&e);
            e.at++;
            break;
        case FJ_OP_SET_HANDLED:
            set_handled(c, e.w[1] < 0 ? NULL : regs[e.w[1]]);
            e.at++;
            break;
        case FJ_OP_BRANCH: {
            int truth = regs[e.w[1]] ? PyObject_IsTrue(regs[e.w[1]]) : 0;
            if (truth < 0) return fail(&e);
            e.at = e.w[truth ? 2 : 3];
            break;
        }
        case FJ_OP_RETURN:
        case FJ_OP_RETURN_AT:
        case FJ_OP_ENTER:
        case FJ_OP_NATIVE:
        case FJ_OP_LEAVE:
        case FJ_OP_OPAQUE:
        case FJ_OP_CALLEE:
        case FJ_OP_RAISE: return finish(&e);
        default:
            if (run_between(&e, &out) < 0) return out;
        }
    }
}
