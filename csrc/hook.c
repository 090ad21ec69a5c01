/* The PEP 523 hook: which frames are looked at, and the loop that runs regions over one frame. */
#include "hook.h"

/* A hooked call nests on the C stack; frames deeper than this run with the pointer cleared. */
#define NESTING_LIMIT 100

/* Programs with more registers than this keep them on the heap. */
#define STACK_REGISTERS 1024

__thread FJThread fj_thread;

static int users;                  /* threads whose flag is on */
static int deep;                   /* subtrees beyond the nesting limit */
static int buried;                 /* another hook was pushed over ours and still calls it */
static _PyFrameEvalFunction below; /* the hook that was there before ours, or NULL */
static _PyFrameEvalFunction above; /* the hook that buried ours */
static PyInterpreterState *interp; /* the main interpreter */
static PyObject *tick;             /* an empty Python function: its RESUME does what waits in the eval breaker */

/* ---- The pointer ------------------------------------------------------------------------------------------------ */
static void pointer_set(void) {
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interp);
    if (current == fj_hook) return;
    if (buried && current == above) return; /* it calls ours */
    buried = 0;
    below = current == _PyEval_EvalFrameDefault ? NULL : current;
    _PyInterpreterState_SetEvalFrameFunc(interp, fj_hook);
}

static void pointer_clear(void) {
    _PyFrameEvalFunction current = _PyInterpreterState_GetEvalFrameFunc(interp);
    if (current == fj_hook) {
        _PyInterpreterState_SetEvalFrameFunc(interp, below ? below : _PyEval_EvalFrameDefault);
    } else if (current != _PyEval_EvalFrameDefault && current != below) {
        buried = 1;
        above = current;
    }
}

void fj_pointer_sync(void) {
    if (users > 0 && deep == 0)
        pointer_set();
    else
        pointer_clear();
}

void fj_pointer_force(void) { pointer_set(); }

int fj_hook_set(int enabled) {
    FJThread *t = &fj_thread;
    int previous = t->enabled;
    if (previous != enabled) {
        t->enabled = enabled;
        users += enabled ? 1 : -1;
        fj_pointer_sync();
    }
    return previous;
}

static inline PyObject *evaluate(PyThreadState *ts, FJPyFrame *f, int throwflag) {
    return below ? below(ts, f, throwflag) : _PyEval_EvalFrameDefault(ts, f, throwflag);
}

/* ---- Interruptions ---------------------------------------------------------------------------------------------- */
/* What CPython does on a backward jump: signals, asynchronous exceptions, the GIL, the collector. 0 or -1. */
static int interruption(FJContext *c) {
    FJPyFrame *previous = fj_link(c, c->pc);
    int enabled = fj_hook_set(0), failed = PyErr_CheckSignals() < 0;
    if (!failed) {
        PyObject *result = PyObject_CallNoArgs(tick);
        failed = !result;
        Py_XDECREF(result);
        if (failed) { /* the traceback begins in tick: forget that */
            PyObject *error = fj_take_error(), *traceback = PyException_GetTraceback(error);
            PyObject *rest = traceback ? (PyObject *)((PyTracebackObject *)traceback)->tb_next : NULL;
            PyException_SetTraceback(error, rest ? rest : Py_None);
            Py_XDECREF(traceback);
            fj_put_error(error);
        }
    }
    fj_hook_set(enabled);
    fj_unlink(c, previous);
    return failed ? -1 : 0;
}

/* ---- One frame -------------------------------------------------------------------------------------------------- */
static FJOut after_run(FJContext *c, PyObject *program, PyObject **regs, int code, int at) {
    switch (code) {
    case FJ_EXIT: return fj_exits(c, program, regs, at);
    case FJ_MISS: return FJ_OUT_MISS;
    case FJ_REPLAY: return fj_replayed(c, program) < 0 ? FJ_OUT_THROW : FJ_OUT_NATIVE;
    default:
        if (at < 0) return FJ_OUT_THROW;
        c->error = fj_take_error();
        return fj_exits(c, program, regs, at);
    }
}

static FJOut run_with(FJContext *c, PyObject *program, PyObject **regs, int count) {
    FJFrame frame;
    int at = -1;
    memset(regs, 0, count * sizeof *regs);
    fj_frame_fill(c, &frame);
    int code = fj_run(program, &frame, regs, 0, &at);
    FJOut out = after_run(c, program, regs, code, at);
    fj_release(regs, count, NULL);
    return out;
}

static __attribute__((noinline)) FJOut run_on_heap(FJContext *c, PyObject *program, int count) {
    PyObject **regs = PyMem_Malloc(count * sizeof *regs);
    if (!regs) return FJ_OUT_MISS;
    FJOut out = run_with(c, program, regs, count);
    PyMem_Free(regs);
    return out;
}

static __attribute__((noinline)) FJOut run_on_stack(FJContext *c, PyObject *program, int count) {
    PyObject *regs[count + 1];
    return run_with(c, program, regs, count);
}

static FJOut run_program(FJContext *c, PyObject *program) {
    if (FJ_REMAINING(c->ts) < fj_program_depth(program))
        return FJ_OUT_NATIVE; /* CPython finds where the recursion limit is met */
    int count = fj_program_room(program);
    if (count <= 16) {
        PyObject *regs[16];
        return run_with(c, program, regs, count);
    }
    return count <= STACK_REGISTERS ? run_on_stack(c, program, count) : run_on_heap(c, program, count);
}

/* Tries the regions at c->pc; the tuple is pinned, so that whatever a program does to the cache is harmless. */
static FJOut run_regions(FJContext *c, PyObject *programs) {
    FJOut out = FJ_OUT_MISS;
    Py_INCREF(programs);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(programs) && out == FJ_OUT_MISS; i++) {
        PyObject *program = PyTuple_GET_ITEM(programs, i);
        if (!fj_program_dead(program)) out = run_program(c, program);
    }
    Py_DECREF(programs);
    return out;
}

static FJOut after_miss(FJContext *c) {
    FJEntry *entry = fj_find(c->record, c->pc, c->thread->key);
    if (!entry || !entry->programs) return FJ_OUT_NATIVE;
    PyObject *program = Py_NewRef(PyTuple_GET_ITEM(entry->programs, 0));
    FJOut out = run_regions(c, entry->programs); /* another thread may have installed one in between */
    if (out == FJ_OUT_MISS) out = fj_reject(c, program) < 0 ? FJ_OUT_THROW : FJ_OUT_NATIVE;
    Py_DECREF(program);
    return out;
}

/* Finds and runs a region at c->pc, or asks for one. */
static FJOut look_up(FJContext *c) {
    FJEntry *entry = fj_find(c->record, c->pc, c->thread->key);
    if (entry) {
        if (entry->mode != FJ_MODE_CAPTURE) return FJ_OUT_NATIVE;
        if (entry->programs) {
            FJOut out = run_regions(c, entry->programs);
            if (out != FJ_OUT_MISS) {
                fj_stats.hits++;
                return out;
            }
        }
    }
    if (c->fresh) {
        int wanted = fj_wanted(c);
        if (wanted <= 0) return wanted < 0 ? FJ_OUT_THROW : FJ_OUT_NATIVE;
    }
    int installed = fj_miss(c);
    if (installed <= 0) return installed < 0 ? FJ_OUT_THROW : FJ_OUT_NATIVE;
    return after_miss(c);
}

static FJOut run_till_end(FJContext *c, FJOut out) {
    while (out == FJ_OUT_LOOKUP) {
        int pc = c->pc;
        /* Frames of a chain of callees beyond the limit go on in CPython, which counts them against the recursion limit. */
        if (!c->thread->enabled || c->thread->depth > NESTING_LIMIT || fj_traced(c->ts, c->code)) {
            out = FJ_OUT_NATIVE;
            break;
        }
        out = look_up(c);
        c->fresh = 0;
        if (out == FJ_OUT_LOOKUP && c->pc <= pc && fj_interrupted(c->ts) && interruption(c) < 0) out = FJ_OUT_THROW;
    }
    return out;
}

/* The frame counts against the recursion limit while it does not run in CPython, which counts it itself. */
PyObject *fj_loop(FJContext *c, FJOut out) {
    if (FJ_REMAINING(c->ts)-- <= 0 && out == FJ_OUT_LOOKUP) out = FJ_OUT_NATIVE;
    for (;;) {
        out = run_till_end(c, out);
        if (out != FJ_OUT_THROW || !PyErr_Occurred() || fj_traced(c->ts, c->code) || !fj_catch(c)) break;
        fj_stats.throws++;
        out = FJ_OUT_LOOKUP;
    }
    FJ_REMAINING(c->ts)++;
    if (out == FJ_OUT_DONE) return c->result;
    if (out == FJ_OUT_THROW) {
        fj_stats.throws++;
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "framejit: throw without an exception");
        return evaluate(c->ts, c->frame, fj_prepare_throw(c));
    }
    fj_stats.natives++;
    fj_frame_set_next(c->frame, c->pc);
    PyObject *result = evaluate(c->ts, c->frame, 0);
    return c->doubt ? fj_doubted(c, result) : result;
}

/* ---- The hook --------------------------------------------------------------------------------------------------- */
static PyObject *run_off(FJContext *c) {
    int enabled = fj_hook_set(0);
    PyObject *result = evaluate(c->ts, c->frame, 0);
    fj_hook_set(enabled);
    return result;
}

static PyObject *run_frame(PyThreadState *ts, FJThread *t, FJPyFrame *f) {
    FJContext c = {ts, t, f, fj_frame_code(f), NULL, fj_frame_pc(f), 1, NULL, NULL};
    c.record = fj_code(c.code);
    if (!c.record) PyErr_Clear();
    int mode = c.record ? fj_code_mode(c.record, t->key) : FJ_MODE_NATIVE;
    if (mode == FJ_MODE_CAPTURE) return fj_loop(&c, FJ_OUT_LOOKUP);
    return mode == FJ_MODE_OFF ? run_off(&c) : evaluate(ts, f, 0);
}

/* A generator goes on with an exception that was thrown into it: at its handler, if it has one. */
static PyObject *run_thrown(PyThreadState *ts, FJThread *t, FJPyFrame *f) {
    FJContext c = {ts, t, f, fj_frame_code(f), NULL, fj_frame_pc(f) - 2, 1, NULL, NULL};
    if (FJ_THROW_LOOKS_BACK || ts->c_profilefunc || fj_traced(ts, c.code) || !fj_is_handled(&c, c.pc)) return evaluate(ts, f, 1);
    FJRaised raised = fj_set_aside();
    c.record = fj_code(c.code);
    if (!c.record) PyErr_Clear();
    int wanted = c.record && fj_code_mode(c.record, t->key) == FJ_MODE_CAPTURE;
    fj_set_again(raised);
    return wanted && fj_catch(&c) ? fj_loop(&c, FJ_OUT_LOOKUP) : evaluate(ts, f, 1);
}

void fj_pending_taken(FJPending *pending) {
    fj_thread.pending = NULL;
    if (pending->collector) PyGC_Enable();
    fj_pointer_sync();
}

static PyObject *run_pending(PyThreadState *ts, FJThread *t, FJPyFrame *f) {
    FJPending *pending = t->pending;
    FJContext c = {ts, t, f, fj_frame_code(f), NULL, fj_frame_pc(f), 0, NULL, NULL};
    fj_pending_taken(pending);
    c.record = fj_code(c.code);
    if (!c.record) return fj_loop(&c, FJ_OUT_THROW);
    FJ_REMAINING(ts)--; /* what begins may have frames on top of this one */
    FJOut out = pending->begin(&c, pending->arg);
    FJ_REMAINING(ts)++;
    return fj_loop(&c, out);
}

PyObject *fj_hook(PyThreadState *ts, FJPyFrame *f, int throwflag) {
    FJThread *t = &fj_thread;
    int too_deep = t->depth >= NESTING_LIMIT;
    PyObject *result;
    t->depth++;
    if (too_deep) {
        deep++;
        fj_pointer_sync();
    }
    if (t->pending && t->pending->code == fj_frame_code(f) && !throwflag)
        result = run_pending(ts, t, f);
    else if (!t->enabled || too_deep)
        result = evaluate(ts, f, throwflag);
    else if (throwflag)
        result = run_thrown(ts, t, f);
    else
        result = run_frame(ts, t, f);
    if (too_deep) {
        deep--;
        fj_pointer_sync();
    }
    t->depth--;
    return result;
}

int fj_hook_init(PyObject *module) {
    (void)module;
    interp = PyInterpreterState_Main();
    PyObject *namespace = PyDict_New();
    if (!namespace) return -1;
    PyObject *none = PyRun_String("def tick(): pass", Py_file_input, namespace, namespace);
    if (none) tick = Py_XNewRef(PyDict_GetItemString(namespace, "tick"));
    Py_XDECREF(none);
    Py_DECREF(namespace);
    return tick ? 0 : -1;
}
