/* What Python is asked about frames: classify, miss, reject; and the view of a frame that it is given. */
#include "hook.h"
#include <signal.h>
#include <structmember.h>

static PyObject *on_miss, *on_reject, *on_replay, *on_classify, *tensor_types;

/* ---- FrameView -------------------------------------------------------------------------------------------------- */
typedef struct {
    PyObject_HEAD
    PyObject *func, *code, *globals, *builtins, *slots, *handled, *key, *locals, *caller, *extra;
    int pc, next_pc, result;
    char generator, fresh;
} FrameView;

static int view_traverse(FrameView *v, visitproc visit, void *arg) {
    Py_VISIT(v->func);
    Py_VISIT(v->code);
    Py_VISIT(v->globals);
    Py_VISIT(v->builtins);
    Py_VISIT(v->slots);
    Py_VISIT(v->handled);
    Py_VISIT(v->key);
    Py_VISIT(v->locals);
    Py_VISIT(v->caller);
    Py_VISIT(v->extra);
    return 0;
}

static int view_clear(FrameView *v) {
    Py_CLEAR(v->func);
    Py_CLEAR(v->code);
    Py_CLEAR(v->globals);
    Py_CLEAR(v->builtins);
    Py_CLEAR(v->slots);
    Py_CLEAR(v->handled);
    Py_CLEAR(v->key);
    Py_CLEAR(v->locals);
    Py_CLEAR(v->caller);
    Py_CLEAR(v->extra);
    return 0;
}

static void view_dealloc(FrameView *v) {
    PyObject_GC_UnTrack(v);
    view_clear(v);
    PyObject_GC_Del(v);
}

static PyMemberDef view_members[] = {
    {"func", T_OBJECT, offsetof(FrameView, func), READONLY, "the function that the frame runs"},
    {"code", T_OBJECT, offsetof(FrameView, code), READONLY, "its code"},
    {"pc", T_INT, offsetof(FrameView, pc), READONLY, "the instruction to execute next"},
    {"globals", T_OBJECT, offsetof(FrameView, globals), READONLY, NULL},
    {"builtins", T_OBJECT, offsetof(FrameView, builtins), READONLY, NULL},
    {"slots", T_OBJECT, offsetof(FrameView, slots), READONLY, "list of all slots, NULL where one is empty"},
    {"handled", T_OBJECT, offsetof(FrameView, handled), READONLY, "the exception being handled or None"},
    {"key", T_OBJECT, offsetof(FrameView, key), READONLY, "the configuration of the Compiled that runs"},
    {"locals", T_OBJECT, offsetof(FrameView, locals), READONLY, "the namespace of a class body or module, or None"},
    {"caller", T_OBJECT, offsetof(FrameView, caller), READONLY,
     "the view of the frame that waits for this one in a CALLEE exit, or None"},
    {"next_pc", T_INT, offsetof(FrameView, next_pc), READONLY, "of a waiting frame: where it goes on; its pc is the call"},
    {"result", T_INT, offsetof(FrameView, result), READONLY, "of a waiting frame: what the result becomes (FJResult)"},
    {"extra", T_OBJECT, offsetof(FrameView, extra), READONLY, "of a waiting frame: what takes the result's place, or None"},
    {"generator", T_BOOL, offsetof(FrameView, generator), READONLY, "the frame belongs to a generator or coroutine"},
    {"fresh", T_BOOL, offsetof(FrameView, fresh), READONLY, "no region has run in this frame yet"},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject FrameView_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "framejit._C.FrameView",
    .tp_basicsize = sizeof(FrameView),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "A frame as it stands before an instruction.",
    .tp_traverse = (traverseproc)view_traverse,
    .tp_clear = (inquiry)view_clear,
    .tp_dealloc = (destructor)view_dealloc,
    .tp_members = view_members,
};

static PyObject *slot_list(FJPyFrame *f) {
    PyObject *slots = PyList_New(f->stacktop);
    for (int i = 0; slots && i < f->stacktop; i++)
        PyList_SET_ITEM(slots, i, Py_NewRef(f->localsplus[i] ? f->localsplus[i] : fj_null));
    return slots;
}

static PyObject *or_none(PyObject *value) { return Py_NewRef(value ? value : Py_None); }

/* How many waiting frames a view shows. */
#define CALLERS 8

static FrameView *make_view(FJContext *c, int callers);

static PyObject *caller_view(FJContext *c, int callers) {
    FJWaiting *waiting = c->caller;
    if (!waiting || callers == 0) return Py_NewRef(Py_None);
    FrameView *v = make_view(waiting->context, callers - 1);
    if (!v) return NULL;
    v->pc = waiting->call_pc;
    v->next_pc = waiting->after_pc;
    v->result = waiting->how;
    Py_XSETREF(v->extra, or_none(waiting->extra));
    return (PyObject *)v;
}

static FrameView *make_view(FJContext *c, int callers) {
    FJPyFrame *f = c->frame;
    FrameView *v = PyObject_GC_New(FrameView, &FrameView_Type);
    if (!v) return NULL;
    v->next_pc = v->result = -1;
    v->extra = Py_NewRef(Py_None);
    v->caller = NULL;
    v->func = or_none(fj_frame_func(f));
    v->code = Py_NewRef((PyObject *)c->code);
    v->globals = or_none(f->f_globals);
    v->builtins = or_none(f->f_builtins);
    v->handled = or_none(c->ts->exc_info->exc_value);
    v->key = or_none(c->thread->key);
    v->locals = or_none(f->f_locals);
    v->pc = c->pc;
    v->generator = f->owner == FRAME_OWNED_BY_GENERATOR;
    v->fresh = (char)c->fresh;
    v->slots = slot_list(f);
    PyObject_GC_Track(v);
    if (v->slots) v->caller = caller_view(c, callers);
    if (!v->caller) Py_CLEAR(v);
    return v;
}

/* ---- Questions -------------------------------------------------------------------------------------------------- */
/* Calls back with the hook off and the frame off the thread's chain, as it has not begun. */
static PyObject *ask(PyObject *callback, PyObject **args, int count) {
    int enabled = fj_hook_set(0);
    PyObject *key = fj_thread.key, *result;
    callback = Py_NewRef(callback);
    result = PyObject_Vectorcall(callback, args, count, NULL);
    Py_DECREF(callback);
    fj_thread.key = key;
    fj_hook_set(enabled);
    return result;
}

static int ask_truth(PyObject *callback, PyObject **args, int count) {
    PyObject *result = ask(callback, args, count);
    if (!result) return -1;
    int truth = PyObject_IsTrue(result);
    Py_DECREF(result);
    return truth;
}

/* Whether CPython's own handler of SIGINT interrupted the capture: the signal then waits again, for the frame and its `try`. */
static int interrupted(void) {
    if (!PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) return 0;
    FJRaised raised = fj_set_aside();
    PyObject *module = PyImport_ImportModule("signal");
    PyObject *present = module ? PyObject_CallMethod(module, "getsignal", "i", SIGINT) : NULL;
    PyObject *usual = present ? PyObject_GetAttrString(module, "default_int_handler") : NULL;
    int same = usual && present == usual;
    Py_XDECREF(module);
    Py_XDECREF(present);
    Py_XDECREF(usual);
    if (!same) {
        PyErr_Clear();
        fj_set_again(raised);
        return 0;
    }
    Py_XDECREF(raised.type);
    Py_XDECREF(raised.value);
    Py_XDECREF(raised.traceback);
    PyErr_SetInterrupt();
    return 1;
}

int fj_miss(FJContext *c) {
    fj_stats.misses++;
    if (!on_miss) return 0;
    FrameView *view = make_view(c, CALLERS);
    if (!view) return -1;
    PyObject *args[] = {(PyObject *)view};
    int installed = ask_truth(on_miss, args, 1);
    Py_DECREF(view);
    return installed < 0 && interrupted() ? 0 : installed;
}

int fj_reject(FJContext *c, PyObject *program) {
    fj_stats.rejects++;
    PyObject *key = c->thread->key;
    if (fj_remove(c->code, c->pc, key, program) < 0) return -1;
    if (!on_reject) return 0;
    PyObject *pc = PyLong_FromLong(c->pc);
    if (!pc) return -1;
    PyObject *args[] = {(PyObject *)c->code, pc, key ? key : Py_None, program};
    PyObject *result = ask(on_reject, args, 4);
    Py_DECREF(pc);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

int fj_replayed(FJContext *c, PyObject *program) {
    fj_stats.replays++;
    PyObject *key = c->thread->key, *error = fj_take_replayed(), *result = NULL;
    if (!error || !on_replay) {
        Py_XDECREF(error);
        return 0;
    }
    PyObject *pc = PyLong_FromLong(c->pc);
    PyObject *args[] = {(PyObject *)c->code, pc, key ? key : Py_None, program, error};
    if (pc) result = ask(on_replay, args, 5);
    Py_XDECREF(pc);
    Py_DECREF(error);
    if (result && result != Py_None) Py_XSETREF(c->doubt, Py_NewRef(result));
    Py_XDECREF(result);
    return result ? 0 : -1;
}

PyObject *fj_doubted(FJContext *c, PyObject *result) {
    PyObject *doubt = c->doubt;
    c->doubt = NULL;
    if (result) {
        PyObject *said = ask(doubt, NULL, 0);
        if (!said) Py_CLEAR(result);
        Py_XDECREF(said);
    }
    Py_DECREF(doubt);
    return result;
}

/* ---- Which frames are worth a capture --------------------------------------------------------------------------- */
static int classify(FJContext *c) {
    if (c->record->verdict >= 0) return c->record->verdict;
    if (!on_classify) return FJ_NEVER;
    PyObject *args[] = {(PyObject *)c->code, c->frame->f_globals}, *result = ask(on_classify, args, 2);
    if (!result) return interrupted() ? FJ_NEVER : -1;
    long verdict = PyLong_AsLong(result);
    Py_DECREF(result);
    if (verdict == -1 && PyErr_Occurred()) return -1;
    c->record->verdict = verdict <= 0 ? FJ_NEVER : verdict == 1 ? FJ_WITH_TENSOR : FJ_ALWAYS;
    return c->record->verdict;
}

static int is_tensor(PyObject *value) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensor_types); i++)
        if (PyObject_TypeCheck(value, (PyTypeObject *)PyTuple_GET_ITEM(tensor_types, i))) return 1;
    return 0;
}

/* A tensor or module, or a list, tuple or dict that directly holds one. */
static int holds_tensor(PyObject *value) {
    if (is_tensor(value)) return 1;
    if (PyTuple_Check(value)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++)
            if (is_tensor(PyTuple_GET_ITEM(value, i))) return 1;
    } else if (PyList_Check(value)) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++)
            if (is_tensor(PyList_GET_ITEM(value, i))) return 1;
    } else if (PyDict_Check(value)) {
        PyObject *key, *item;
        for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item);)
            if (is_tensor(item)) return 1;
    }
    return 0;
}

int fj_wanted(FJContext *c) {
    FJThread *t = c->thread;
    if (c->record->root) return 1;
    if (t->root == c->code) {
        t->root = NULL;
        return 1;
    }
    int verdict = classify(c);
    if (verdict != FJ_WITH_TENSOR) return verdict < 0 ? -1 : verdict == FJ_ALWAYS;
    if (!tensor_types) return 0;
    for (int i = 0; i < c->code->co_nlocalsplus && i < c->frame->stacktop; i++)
        if (c->frame->localsplus[i] && holds_tensor(c->frame->localsplus[i])) return 1;
    return 0;
}

/* ---- Python functions ------------------------------------------------------------------------------------------- */
static PyObject *set_callback(PyObject **where, PyObject *callback) {
    if (callback != Py_None && !PyCallable_Check(callback)) return PyErr_Format(PyExc_TypeError, "not callable: %R", callback);
    PyObject *previous = *where;
    *where = callback == Py_None ? NULL : Py_NewRef(callback);
    return previous ? previous : Py_NewRef(Py_None);
}

static PyObject *set_miss(PyObject *self, PyObject *callback) {
    (void)self;
    return set_callback(&on_miss, callback);
}

static PyObject *set_reject(PyObject *self, PyObject *callback) {
    (void)self;
    return set_callback(&on_reject, callback);
}

static PyObject *set_replay(PyObject *self, PyObject *callback) {
    (void)self;
    return set_callback(&on_replay, callback);
}

static PyObject *set_classify(PyObject *self, PyObject *callback) {
    (void)self;
    return set_callback(&on_classify, callback);
}

static PyObject *set_tensor_types(PyObject *self, PyObject *types) {
    (void)self;
    if (!PyTuple_CheckExact(types)) return PyErr_Format(PyExc_TypeError, "not a tuple of classes: %R", types);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++)
        if (!PyType_Check(PyTuple_GET_ITEM(types, i))) return PyErr_Format(PyExc_TypeError, "not a tuple of classes: %R", types);
    PyObject *previous = tensor_types;
    tensor_types = Py_NewRef(types);
    return previous ? previous : PyTuple_New(0);
}

static PyMethodDef methods[] = {
    {"set_miss", set_miss, METH_O, "set_miss(f) -> previous: f(FrameView) -> whether a region was installed for it."},
    {"set_reject", set_reject, METH_O,
     "set_reject(f) -> previous: f(code, pc, key, program) hears of regions that failed at once."},
    {"set_replay", set_replay, METH_O,
     "set_replay(f) -> previous: f(code, pc, key, program, error) hears of graphs that raised, and gives None or what is to be "
     "called "
     "if the frame returns after all."},
    {"set_classify", set_classify, METH_O,
     "set_classify(f) -> previous: f(code, globals) -> 0 never, 1 with a tensor, 2 always."},
    {"set_tensor_types", set_tensor_types, METH_O,
     "set_tensor_types(classes) -> previous: what counts as a tensor for classify."},
    {NULL, NULL, 0, NULL},
};

int fj_view_init(PyObject *module) {
    if (PyModule_AddType(module, &FrameView_Type) < 0) return -1;
    return PyModule_AddFunctions(module, methods);
}
