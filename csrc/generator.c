/* What a compiled generator, coroutine or asynchronous generator function returns: the hook is on while it runs.
 * Each passes for the object that it stands for, by __class__ and by its attributes. */
#include "hook.h"
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *inner, *key, *weakrefs;
    PyObject *owner; /* the compiled function: its configuration lives as long as what it returned */
} Wrapper;

static PyTypeObject Generator_Type, IterableCoroutine_Type, Coroutine_Type, AsyncGenerator_Type, Await_Type;

static PyObject *wrap(PyTypeObject *type, PyObject *stolen, PyObject *key, PyObject *owner) {
    if (!stolen) return NULL;
    Wrapper *w = PyObject_GC_New(Wrapper, type);
    if (!w) {
        Py_DECREF(stolen);
        return NULL;
    }
    w->inner = stolen;
    w->key = Py_NewRef(key);
    w->owner = Py_NewRef(owner);
    w->weakrefs = NULL;
    PyObject_GC_Track(w);
    return (PyObject *)w;
}

PyObject *fj_generator_wrap(PyObject *inner, PyObject *key, PyObject *owner) {
    if (PyCoro_CheckExact(inner)) return wrap(&Coroutine_Type, inner, key, owner);
    if (PyAsyncGen_CheckExact(inner)) return wrap(&AsyncGenerator_Type, inner, key, owner);
    if (!PyGen_CheckExact(inner)) return inner;
    int awaitable = FJ_GEN_CODE((PyGenObject *)inner)->co_flags & CO_ITERABLE_COROUTINE;
    return wrap(awaitable ? &IterableCoroutine_Type : &Generator_Type, inner, key, owner);
}

/* ---- What all of them share ------------------------------------------------------------------------------------- */
static int wrapper_traverse(Wrapper *w, visitproc visit, void *arg) {
    Py_VISIT(w->inner);
    Py_VISIT(w->key);
    Py_VISIT(w->owner);
    return 0;
}

/* Leaves None behind: whatever still reaches the object must not meet NULL. */
static int wrapper_clear(Wrapper *w) {
    Py_SETREF(w->inner, Py_NewRef(Py_None));
    Py_SETREF(w->key, Py_NewRef(Py_None));
    Py_SETREF(w->owner, Py_NewRef(Py_None));
    return 0;
}

static void wrapper_dealloc(Wrapper *w) {
    PyObject_GC_UnTrack(w);
    if (w->weakrefs) PyObject_ClearWeakRefs((PyObject *)w);
    Py_DECREF(w->inner);
    Py_DECREF(w->key);
    Py_DECREF(w->owner);
    PyObject_GC_Del(w);
}

static PyObject *wrapper_repr(Wrapper *w) { return PyObject_Repr(w->inner); }

static PyObject *wrapper_getattro(PyObject *self, PyObject *name) {
    PyObject *result = PyObject_GenericGetAttr(self, name);
    if (result || !PyErr_ExceptionMatches(PyExc_AttributeError)) return result;
    PyErr_Clear();
    return PyObject_GetAttr(((Wrapper *)self)->inner, name);
}

static int wrapper_setattro(PyObject *self, PyObject *name, PyObject *value) {
    return PyObject_SetAttr(((Wrapper *)self)->inner, name, value);
}

static PyObject *wrapper_class(Wrapper *w, void *closure) {
    (void)closure;
    return Py_NewRef((PyObject *)Py_TYPE(w->inner));
}

static PyObject *wrapper_doc(Wrapper *w, void *closure) {
    (void)closure;
    return PyObject_GetAttrString(w->inner, "__doc__");
}

static PyGetSetDef wrapper_getset[] = {
    {"__class__", (getter)wrapper_class, NULL, "the type that it stands for", NULL},
    {"__doc__", (getter)wrapper_doc, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Calls a method of the inner object with the hook on. */
static PyObject *forward(Wrapper *w, const char *name, PyObject *const *args, Py_ssize_t count) {
    PyObject *method = PyObject_GetAttrString(w->inner, name), *inner = Py_NewRef(w->inner), *key = Py_NewRef(w->key);
    PyObject *result = NULL;
    if (method) {
        FJSaved saved = fj_switch_on(key);
        result = PyObject_Vectorcall(method, args, count, NULL);
        fj_switch_back(saved);
    }
    Py_XDECREF(method);
    Py_DECREF(inner);
    Py_DECREF(key);
    return result;
}

static PyObject *wrapper_send(Wrapper *w, PyObject *value) { return forward(w, "send", &value, 1); }

static PyObject *wrapper_throw(Wrapper *w, PyObject *const *args, Py_ssize_t count) { return forward(w, "throw", args, count); }

static PyObject *wrapper_close(Wrapper *w, PyObject *unused) {
    (void)unused;
    return forward(w, "close", NULL, 0);
}

static PyMethodDef wrapper_methods[] = {
    {"send", (PyCFunction)wrapper_send, METH_O, "Resumes it with a value."},
    {"throw", (PyCFunction)(void (*)(void))wrapper_throw, METH_FASTCALL, "Resumes it with an exception."},
    {"close", (PyCFunction)wrapper_close, METH_NOARGS, "Ends it with GeneratorExit."},
    {NULL, NULL, 0, NULL},
};

static PySendResult wrapper_am_send(PyObject *self, PyObject *value, PyObject **result) {
    Wrapper *w = (Wrapper *)self;
    PyObject *inner = Py_NewRef(w->inner), *key = Py_NewRef(w->key);
    FJSaved saved = fj_switch_on(key);
    PySendResult how = PyIter_Send(inner, value, result);
    fj_switch_back(saved);
    Py_DECREF(inner);
    Py_DECREF(key);
    return how;
}

static PyObject *wrapper_next(PyObject *self) {
    PyObject *result = NULL;
    PySendResult how = wrapper_am_send(self, Py_None, &result);
    if (how != PYGEN_RETURN) return result;
    if (result != Py_None) _PyGen_SetStopIterationValue(result);
    Py_DECREF(result);
    return NULL;
}

/* ---- Await: what an `await` of one of them iterates over --------------------------------------------------------- */
static PyObject *coroutine_await(PyObject *self) {
    Wrapper *w = (Wrapper *)self;
    PyObject *awaited = PyObject_GetAttrString(w->inner, PyCoro_CheckExact(w->inner) ? "cr_await" : "gi_yieldfrom");
    if (!awaited) return NULL;
    Py_DECREF(awaited);
    if (awaited != Py_None) {
        PyErr_SetString(PyExc_RuntimeError, "coroutine is being awaited already");
        return NULL;
    }
    return wrap(&Await_Type, Py_NewRef(w->inner), w->key, w->owner);
}

static PyObject *coroutine_dunder_await(PyObject *self, PyObject *unused) {
    (void)unused;
    return coroutine_await(self);
}

/* ---- Asynchronous generators ------------------------------------------------------------------------------------- */
static PyObject *async_next(PyObject *self) {
    Wrapper *w = (Wrapper *)self;
    return wrap(&Await_Type, forward(w, "__anext__", NULL, 0), w->key, w->owner);
}

static PyObject *async_asend(Wrapper *w, PyObject *value) {
    return wrap(&Await_Type, forward(w, "asend", &value, 1), w->key, w->owner);
}

static PyObject *async_athrow(Wrapper *w, PyObject *const *args, Py_ssize_t count) {
    return wrap(&Await_Type, forward(w, "athrow", args, count), w->key, w->owner);
}

static PyObject *async_aclose(Wrapper *w, PyObject *unused) {
    (void)unused;
    return wrap(&Await_Type, forward(w, "aclose", NULL, 0), w->key, w->owner);
}

static PyMethodDef async_methods[] = {
    {"asend", (PyCFunction)async_asend, METH_O, "Awaitable that resumes it with a value."},
    {"athrow", (PyCFunction)(void (*)(void))async_athrow, METH_FASTCALL, "Awaitable that resumes it with an exception."},
    {"aclose", (PyCFunction)async_aclose, METH_NOARGS, "Awaitable that ends it."},
    {NULL, NULL, 0, NULL},
};

/* ---- Types ------------------------------------------------------------------------------------------------------ */
#define WRAPPER_TYPE(text, documentation)                                                                                        \
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "framejit._C." text, .tp_basicsize = sizeof(Wrapper),                               \
                                .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,         \
                                .tp_traverse = (traverseproc)wrapper_traverse, .tp_clear = (inquiry)wrapper_clear,               \
                                .tp_dealloc = (destructor)wrapper_dealloc, .tp_weaklistoffset = offsetof(Wrapper, weakrefs),     \
                                .tp_doc = documentation

#define STAND_IN                                                                                                                 \
    .tp_repr = (reprfunc)wrapper_repr, .tp_getattro = wrapper_getattro, .tp_setattro = wrapper_setattro,                         \
    .tp_getset = wrapper_getset

static PyMethodDef coroutine_methods[] = {
    {"send", (PyCFunction)wrapper_send, METH_O, "Resumes it with a value."},
    {"throw", (PyCFunction)(void (*)(void))wrapper_throw, METH_FASTCALL, "Resumes it with an exception."},
    {"close", (PyCFunction)wrapper_close, METH_NOARGS, "Ends it with GeneratorExit."},
    {"__await__", coroutine_dunder_await, METH_NOARGS, "What an await iterates over."},
    {NULL, NULL, 0, NULL},
};

static PyAsyncMethods generator_async = {.am_send = wrapper_am_send};
static PyAsyncMethods coroutine_async = {.am_await = coroutine_await, .am_send = wrapper_am_send};
static PyAsyncMethods async_generator_async = {.am_aiter = PyObject_SelfIter, .am_anext = async_next};
static PyAsyncMethods await_async = {.am_await = PyObject_SelfIter, .am_send = wrapper_am_send};

static PyTypeObject Generator_Type = {
    WRAPPER_TYPE("Generator", "A compiled generator."),
    STAND_IN,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = wrapper_next,
    .tp_as_async = &generator_async,
    .tp_methods = wrapper_methods,
};

static PyTypeObject IterableCoroutine_Type = {
    WRAPPER_TYPE("IterableCoroutine", "A compiled generator made by types.coroutine."),
    STAND_IN,
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = wrapper_next,
    .tp_as_async = &coroutine_async,
    .tp_methods = coroutine_methods,
};

static PyTypeObject Coroutine_Type = {
    WRAPPER_TYPE("Coroutine", "A compiled coroutine."),
    STAND_IN,
    .tp_as_async = &coroutine_async,
    .tp_methods = coroutine_methods,
};

static PyTypeObject AsyncGenerator_Type = {
    WRAPPER_TYPE("AsyncGenerator", "A compiled asynchronous generator."),
    STAND_IN,
    .tp_as_async = &async_generator_async,
    .tp_methods = async_methods,
};

static PyTypeObject Await_Type = {
    WRAPPER_TYPE("Await", "What an await of a compiled object iterates over."),
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = wrapper_next,
    .tp_as_async = &await_async,
    .tp_methods = wrapper_methods,
};

int fj_generator_init(PyObject *module) {
    PyTypeObject *types[] = {&Generator_Type, &IterableCoroutine_Type, &Coroutine_Type, &AsyncGenerator_Type, &Await_Type};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (PyModule_AddType(module, types[i]) < 0) return -1;
    return 0;
}
