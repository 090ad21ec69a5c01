/* Reading, refilling, entering and ending interpreter frames. */
#include "hook.h"

void fj_frame_fill(FJContext *c, FJFrame *frame) {
    FJPyFrame *f = c->frame;
    frame->slots = f->localsplus;
    frame->nslots = f->stacktop;
    frame->globals = f->f_globals;
    frame->builtins = f->f_builtins;
    frame->func = fj_frame_func(f);
    frame->handled = c->ts->exc_info->exc_value;
    frame->locals = f->f_locals;
    frame->context = c;
}

/* ---- Slots ------------------------------------------------------------------------------------------------------ */
void fj_truncate(FJPyFrame *f, int count) {
    while (f->stacktop > count) {
        PyObject *old = f->localsplus[--f->stacktop];
        f->localsplus[f->stacktop] = NULL;
        Py_XDECREF(old);
    }
}

/* Makes room for `count` slots; 0 or -1. At every moment all slots below stacktop are valid. */
static int resize(FJPyFrame *f, int count) {
    PyCodeObject *code = fj_frame_code(f);
    if (count < code->co_nlocalsplus || count > code->co_nlocalsplus + code->co_stacksize) {
        PyErr_Format(PyExc_SystemError, "framejit: %d slots do not fit %U", count, code->co_qualname);
        return -1;
    }
    while (f->stacktop < count) fj_push(f, NULL);
    return 0;
}

static inline void replace(FJPyFrame *f, int i, PyObject *value) {
    PyObject *old = f->localsplus[i];
    f->localsplus[i] = Py_XNewRef(value);
    Py_XDECREF(old);
}

int fj_write_slots(FJContext *c, PyObject **regs, const int32_t *words, int count, PyObject **old) {
    FJPyFrame *f = c->frame;
    if (resize(f, count) < 0) return -1;
    for (int i = 0; i < count; i++) {
        old[i] = NULL;
        if (words[i] == -2) continue;
        old[i] = f->localsplus[i];
        f->localsplus[i] = words[i] < 0 ? NULL : Py_XNewRef(regs[words[i]]);
    }
    return 0;
}

int fj_write_values(FJPyFrame *f, PyObject **values, int count) {
    if (resize(f, count) < 0) return -1;
    for (int i = 0; i < count; i++) replace(f, i, values[i]);
    fj_truncate(f, count);
    return 0;
}

/* ---- The thread's chain of frames ------------------------------------------------------------------------------- */
FJPyFrame *fj_link(FJContext *c, int pc) {
    FJPyFrame *previous = FJ_TOP_FRAME(c->ts);
    fj_frame_set_current(c->frame, pc);
    c->frame->previous = previous;
    FJ_TOP_FRAME(c->ts) = c->frame;
    return previous;
}

void fj_unlink(FJContext *c, FJPyFrame *previous) {
    FJ_TOP_FRAME(c->ts) = previous;
    c->frame->previous = previous;
}

/* ---- Exceptions ------------------------------------------------------------------------------------------------- */
static const unsigned char *read_varint(const unsigned char *at, int *value) {
    int result = *at & 63;
    while (*at++ & 64) result = result << 6 | (*at & 63);
    *value = result;
    return at;
}

typedef struct {
    int start, size, target, depth, lasti; /* code units; depth of the stack, whether the raising unit is pushed too */
} Handler;

/* The row of the exception table for a code unit; target -1 where there is none. */
static Handler handler_of(PyCodeObject *code, int unit) {
    const unsigned char *at = (unsigned char *)PyBytes_AS_STRING(code->co_exceptiontable);
    const unsigned char *end = at + PyBytes_GET_SIZE(code->co_exceptiontable);
    Handler h;
    while (at < end) {
        at = read_varint(at, &h.start);
        at = read_varint(at, &h.size);
        at = read_varint(at, &h.target);
        at = read_varint(at, &h.depth);
        if (h.start > unit) break;
        if (unit >= h.start + h.size) continue;
        h.lasti = h.depth & 1;
        h.depth >>= 1;
        return h;
    }
    return (Handler){0, 0, -1, 0, 0};
}

static int line_of(PyCodeObject *code, int unit) { return PyCode_Addr2Line(code, unit * 2); }

/* A unit that shows the line of `unit` while the unit before it has the handler of `unit`; -1 where there is none. */
static int throwing_unit(PyCodeObject *code, int unit) {
    int count = (int)Py_SIZE(code), target = handler_of(code, unit).target, line = line_of(code, unit), last = unit;
    while (last + 1 < count && FJ_OPCODE(_PyCode_CODE(code)[last]) == EXTENDED_ARG) last++;
    if (last + 1 < count && line_of(code, last + 1) == line) return last + 1;
    for (int u = code->_co_firsttraceable; u < count; u++)
        if (line_of(code, u) == line && handler_of(code, u - 1).target == target) return u;
    return -1;
}

/* What COPY_FREE_VARS does: whoever looks at the locals of a frame that was thrown at before it takes it for done. */
static void copy_free_variables(FJPyFrame *f, PyCodeObject *code) {
    PyObject *func = fj_frame_func(f), *closure = func && PyFunction_Check(func) ? PyFunction_GET_CLOSURE(func) : NULL;
    PyObject **free = f->localsplus + code->co_nlocalsplus - code->co_nfreevars;
    for (int i = 0; closure && i < code->co_nfreevars; i++)
        if (!free[i]) free[i] = Py_NewRef(PyTuple_GET_ITEM(closure, i));
}

/* Adds the frame, as it stands at `unit`, to the traceback of the exception that is set, and only then makes that an object. */
static void add_traceback(FJContext *c, int unit) {
    FJRaised raised = fj_set_aside();
    FJPyFrame *previous = fj_link(c, unit * 2);
    PyFrameObject *frame = PyThreadState_GetFrame(c->ts);
    fj_set_again(raised);
    if (frame) PyTraceBack_Here(frame);
    fj_put_error(fj_take_error());
    fj_unlink(c, previous);
    Py_XDECREF(frame);
}

PyObject *fj_build_frame(PyObject *func, int pc, PyObject *back, PyObject **slots, int nslots) {
    PyCodeObject *code = PyFunction_Check(func) ? (PyCodeObject *)PyFunction_GET_CODE(func) : NULL;
    if (!code || nslots != code->co_nlocalsplus || (back && !PyFrame_Check(back)))
        return PyErr_Format(PyExc_SystemError, "framejit: no such frame");
    PyFrameObject *made = fj_new_frame(func);
    if (!made) return NULL;
    FJPyFrame *f = made->f_frame;
    for (int i = 0; i < nslots; i++) f->localsplus[i] = Py_XNewRef(slots[i]);
    fj_frame_set_current(f, pc);
    made->f_back = (PyFrameObject *)Py_XNewRef(back);
    return (PyObject *)made;
}

PyObject *fj_build_traceback(const FJFrame *frame, PyObject *next, int pc) {
    FJContext *c = (FJContext *)frame->context;
    if (!c) return PyErr_Format(PyExc_SystemError, "framejit: no frame for a traceback");
    FJPyFrame *previous = fj_link(c, pc);
    PyFrameObject *object = PyThreadState_GetFrame(c->ts);
    fj_unlink(c, previous);
    if (!object) return PyErr_NoMemory();
    PyObject *made =
        PyObject_CallFunction((PyObject *)&PyTraceBack_Type, "OOii", next, object, pc, PyCode_Addr2Line(c->code, pc));
    Py_DECREF(object);
    return made;
}

/* A RERAISE that no handler covers: it leaves the frame without adding to the traceback. */
static int naked_reraise(PyCodeObject *code, int *takes_lasti) {
    PyObject *bytes = PyCode_GetCode(code);
    int found = -1;
    if (!bytes) {
        PyErr_Clear();
        return -1;
    }
    const unsigned char *ops = (unsigned char *)PyBytes_AS_STRING(bytes);
    for (int i = 0; i < PyBytes_GET_SIZE(bytes) && found < 0; i += 2)
        if (ops[i] == RERAISE && ops[i + 1] <= 1 && handler_of(code, i / 2).target < 0) {
            found = i;
            *takes_lasti = ops[i + 1];
        }
    Py_DECREF(bytes);
    return found;
}

/* Does by hand what CPython does when it cannot be told both the line and the handler: the throw flag. */
static int unwind(FJContext *c, int unit) {
    FJPyFrame *f = c->frame;
    Handler handler = handler_of(c->code, unit);
    FJRaised raised = fj_set_aside();
    int next = handler.target * 2, depth = handler.depth, takes_lasti = handler.lasti;
    if (next < 0) next = naked_reraise(c->code, &takes_lasti);
    PyObject *lasti = PyLong_FromLong(unit);
    fj_set_again(raised);
    if (next < 0 || !lasti || depth + 2 > c->code->co_stacksize) { /* the line will be that of the next instruction */
        Py_XDECREF(lasti);
        fj_frame_set_current(f, unit + 1 < Py_SIZE(c->code) ? unit * 2 + 2 : unit * 2);
        return 1;
    }
    add_traceback(c, unit);
    PyObject *error = fj_take_error();
    fj_truncate(f, c->code->co_nlocalsplus + depth);
    if (takes_lasti)
        fj_push(f, lasti);
    else
        Py_DECREF(lasti);
    fj_push(f, error);
    fj_frame_set_next(f, next);
    return 0;
}

static int raising_unit(FJContext *c) {
    copy_free_variables(c->frame, c->code);
    return c->pc / 2 < c->code->_co_firsttraceable ? c->code->_co_firsttraceable : c->pc / 2;
}

/* Whether the frame has what the handler expects on its stack, and room for what it gets. */
static int is_ready(FJContext *c, Handler handler) {
    int bottom = c->code->co_nlocalsplus + handler.depth;
    return handler.target >= 0 && c->frame->stacktop >= bottom && handler.depth + handler.lasti < c->code->co_stacksize;
}

int fj_catch(FJContext *c) {
    int unit = raising_unit(c);
    Handler handler = handler_of(c->code, unit);
    if (!is_ready(c, handler)) return 0;
    return unwind(c, unit) ? 0 : (c->pc = handler.target * 2, 1);
}

int fj_is_handled(FJContext *c, int pc) { return is_ready(c, handler_of(c->code, pc / 2)); }

FJOut fj_rethrow(FJContext *c, int lasti) {
    Handler handler = handler_of(c->code, c->pc / 2);
    PyObject *error = fj_take_error(), *place = handler.lasti ? PyLong_FromLong(lasti) : NULL;
    if (handler.lasti && !place) {
        Py_DECREF(error);
        return FJ_OUT_THROW;
    }
    fj_truncate(c->frame, c->code->co_nlocalsplus + handler.depth);
    if (place) fj_push(c->frame, place);
    fj_push(c->frame, error);
    c->pc = handler.target * 2;
    return FJ_OUT_LOOKUP;
}

int fj_prepare_throw(FJContext *c) {
    int unit = raising_unit(c);
    if (FJ_THROW_LOOKS_BACK) {
        int shown = throwing_unit(c->code, unit);
        if (shown < 0) return unwind(c, unit);
        unit = shown;
    }
    fj_frame_set_current(c->frame, unit * 2);
    return 1;
}

/* ---- The end of a frame ----------------------------------------------------------------------------------------- */
/* Nobody can look at the frame once it has ended: its locals need not be written. */
int fj_fast_return(FJContext *c) {
    FJPyFrame *f = c->frame;
    return FJ_CAN_RETIRE && f->owner == FRAME_OWNED_BY_THREAD && !f->frame_obj && !c->ts->c_profilefunc;
}

/* The RETURN_CONST of a value (NULL: of any), or -1. */
static int search_constant(PyCodeObject *code, const unsigned char *ops, Py_ssize_t count, PyObject *value) {
    int start = -1, arg = 0;
    for (int i = 0; i < count; i += 2) {
        if (start < 0) start = i;
        arg = arg << 8 | ops[i + 1];
        if (ops[i] == EXTENDED_ARG) continue;
        if (ops[i] == FJ_RETURN_CONST && (!value || PyTuple_GET_ITEM(code->co_consts, arg) == value)) return start;
        start = -1;
        arg = 0;
    }
    return -1;
}

/* Some instruction that returns the value. */
static int search_return(FJContext *c, PyObject *value) {
    if (c->record->return_pc >= 0) return c->record->return_pc;
    PyObject *bytes = PyCode_GetCode(c->code);
    if (!bytes) return -1;
    const unsigned char *ops = (unsigned char *)PyBytes_AS_STRING(bytes);
    Py_ssize_t count = PyBytes_GET_SIZE(bytes);
    for (Py_ssize_t i = 0; i < count; i += 2)
        if (ops[i] == RETURN_VALUE) c->record->return_pc = (int)i;
    int pc = c->record->return_pc >= 0 ? c->record->return_pc : search_constant(c->code, ops, count, value);
    Py_DECREF(bytes);
    return pc;
}

static int returns_constant(PyCodeObject *code, int pc) {
    _Py_CODEUNIT *unit = _PyCode_CODE(code) + pc / 2;
    while (FJ_OPCODE(*unit) == EXTENDED_ARG) unit++;
    return FJ_OPCODE(*unit) == FJ_RETURN_CONST;
}

FJOut fj_return(FJContext *c, PyObject *value, int pc) {
    FJPyFrame *f = c->frame;
    fj_truncate(f, c->code->co_nlocalsplus);
    if (fj_fast_return(c) && fj_frame_retire(c->ts, f)) {
        c->result = value;
        return FJ_OUT_DONE;
    }
    if (pc < 0) pc = search_return(c, pc == FJ_ANY_RETURN ? NULL : value);
    if (pc < 0) {
        Py_DECREF(value);
        if (!PyErr_Occurred()) PyErr_Format(PyExc_SystemError, "framejit: %U cannot return", c->code->co_qualname);
        return FJ_OUT_THROW;
    }
    c->pc = pc;
    if (returns_constant(c->code, pc))
        Py_DECREF(value);
    else
        fj_push(f, value);
    return FJ_OUT_NATIVE;
}

/* ---- New frames ------------------------------------------------------------------------------------------------- */
static PyObject *keyword_only_names(PyCodeObject *code) {
    PyObject *names = PyTuple_New(code->co_kwonlyargcount);
    if (!names) return NULL;
    for (int i = 0; i < code->co_kwonlyargcount; i++) {
        PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, code->co_argcount + i);
        PyTuple_SET_ITEM(names, i, Py_NewRef(name));
    }
    return names;
}

/* Calls a Python function with None for every parameter. */
static PyObject *call_blindly(PyObject *func) {
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(func);
    int count = code->co_argcount + code->co_kwonlyargcount;
    PyObject *few[16], **args = few, *names = NULL, *result = NULL;
    if (count > 16 && !(args = PyMem_Malloc(count * sizeof *args))) return PyErr_NoMemory();
    for (int i = 0; i < count; i++) args[i] = Py_None;
    if (!code->co_kwonlyargcount || (names = keyword_only_names(code)))
        result = fj_function_call(func, args, code->co_argcount, names);
    Py_XDECREF(names);
    if (args != few) PyMem_Free(args);
    return result;
}

/* Between this and the hook nothing may run that could meet the hook itself or move the pointer: 3.11 could collect
 * garbage while the call makes its **kwargs. */
static void expect(FJPending *pending) {
    fj_thread.pending = pending;
    pending->collector = PyGC_Disable();
    fj_pointer_force();
}

static void check_taken(FJPending *pending, PyObject **result) {
    if (fj_thread.pending != pending) return;
    fj_pending_taken(pending);
    if (!*result) return;
    Py_CLEAR(*result);
    PyErr_SetString(PyExc_SystemError, "framejit: the hook was not called");
}

PyObject *fj_call_into(PyObject *func, FJOut (*begin)(FJContext *, void *), void *arg) {
    if (!PyFunction_Check(func)) return PyErr_Format(PyExc_TypeError, "not a Python function: %R", func);
    FJPending pending = {(PyCodeObject *)PyFunction_GET_CODE(func), begin, arg, 0};
    expect(&pending);
    PyObject *result = call_blindly(func);
    check_taken(&pending, &result);
    return result;
}

/* ---- Generators ------------------------------------------------------------------------------------------------- */
#define GENERATOR_FLAGS (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

static int is_generator_function(PyObject *func) {
    return PyFunction_Check(func) && ((PyCodeObject *)PyFunction_GET_CODE(func))->co_flags & GENERATOR_FLAGS;
}

static PyObject *fresh_generator(PyObject *func) {
    if (!is_generator_function(func)) return PyErr_Format(PyExc_TypeError, "not a generator function: %R", func);
    int enabled = fj_hook_set(0);
    PyObject *generator = call_blindly(func);
    fj_hook_set(enabled);
    return generator;
}

PyObject *fj_build_generator(PyObject *func, int pc, PyObject **slots, int nslots) {
    PyObject *generator = fresh_generator(func);
    if (!generator) return NULL;
    PyGenObject *g = (PyGenObject *)generator;
    FJPyFrame *f = (FJPyFrame *)g->gi_iframe;
    if (fj_write_values(f, slots, nslots) < 0) {
        Py_DECREF(generator);
        return NULL;
    }
    fj_frame_set_next(f, pc);
    g->gi_frame_state = fj_suspended_state(fj_frame_code(f), pc);
    return generator;
}

/* ---- _C.enter: a frame in any state, for tests ------------------------------------------------------------------- */
typedef struct {
    int pc, count;
    PyObject **values, *handled, *error, *locals, *saved;
} Entry;

static FJOut begin_entry(FJContext *c, void *arg) {
    Entry *e = arg;
    FJPyFrame *f = c->frame;
    if (fj_write_values(f, e->values, e->count) < 0) return FJ_OUT_THROW;
    if (e->locals) Py_XSETREF(f->f_locals, Py_NewRef(e->locals));
    if (e->handled) {
        e->saved = c->ts->exc_info->exc_value;
        c->ts->exc_info->exc_value = Py_NewRef(e->handled);
    }
    c->pc = e->pc;
    if (!e->error) return FJ_OUT_NATIVE;
    PyErr_SetObject((PyObject *)Py_TYPE(e->error), e->error);
    return FJ_OUT_THROW;
}

static PyObject *enter_function(PyObject *func, Entry *e) {
    PyObject *result = fj_call_into(func, begin_entry, e);
    if (e->handled) Py_XSETREF(PyThreadState_Get()->exc_info->exc_value, e->saved);
    return result;
}

/* Resumes a new generator into the state: (generator, value yielded) or (None, value returned). */
static PyObject *enter_generator(PyObject *func, Entry *e) {
    PyObject *generator = fresh_generator(func), *value = NULL;
    if (!generator) return NULL;
    PyObject *iterator =
        PyAsyncGen_CheckExact(generator) ? Py_TYPE(generator)->tp_as_async->am_anext(generator) : Py_NewRef(generator);
    if (!iterator) {
        Py_DECREF(generator);
        return NULL;
    }
    FJPending pending = {(PyCodeObject *)PyFunction_GET_CODE(func), begin_entry, e, 0};
    expect(&pending);
    PySendResult how = PyIter_Send(iterator, Py_None, &value);
    check_taken(&pending, &value);
    Py_DECREF(iterator);
    int alive = how == PYGEN_NEXT || PyAsyncGen_CheckExact(generator);
    PyObject *result = value ? PyTuple_Pack(2, alive ? generator : Py_None, value) : NULL;
    Py_XDECREF(value);
    Py_DECREF(generator);
    return result;
}

PyObject *fj_enter(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"func", "pc", "slots", "handled", "raise_", "locals", NULL};
    PyObject *func, *slots, *handled = Py_None, *error = Py_None, *locals = Py_None, *result = NULL;
    Entry e = {0};
    (void)self;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!iO|OOO", names, &PyFunction_Type, &func, &e.pc, &slots, &handled, &error, &locals))
        return NULL;
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(func);
    if (e.pc < 0 || e.pc % 2 || e.pc / 2 >= Py_SIZE(code)) return PyErr_Format(PyExc_ValueError, "no pc %d", e.pc);
    if (error != Py_None && !PyExceptionInstance_Check(error))
        return PyErr_Format(PyExc_TypeError, "not an exception: %R", error);
    PyObject *sequence = PySequence_Tuple(slots);
    if (!sequence) return NULL;
    e.count = (int)PyTuple_GET_SIZE(sequence);
    e.handled = handled == Py_None ? NULL : handled;
    e.error = error == Py_None ? NULL : error;
    e.locals = locals == Py_None ? NULL : locals;
    e.values = PyMem_Malloc((e.count + 1) * sizeof *e.values);
    if (!e.values) {
        Py_DECREF(sequence);
        return PyErr_NoMemory();
    }
    for (int i = 0; i < e.count; i++) {
        PyObject *value = PyTuple_GET_ITEM(sequence, i);
        e.values[i] = value == fj_null ? NULL : value;
    }
    result = is_generator_function(func) && e.pc > 0 ? enter_generator(func, &e) : enter_function(func, &e);
    PyMem_Free(e.values);
    Py_DECREF(sequence);
    return result;
}
