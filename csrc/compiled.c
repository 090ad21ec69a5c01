/* The callable that framejit.compile returns: it switches the hook on and calls the function. */
#include "hook.h"
#include <structmember.h>

#define GENERATOR_FLAGS (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *fn, *key, *dict, *weakrefs;
} Compiled;

static PyTypeObject Compiled_Type;

static PyObject *function_of(PyObject *fn) {
    if (PyMethod_Check(fn)) fn = PyMethod_GET_FUNCTION(fn);
    return PyFunction_Check(fn) ? fn : NULL;
}

static PyObject *compiled_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    Compiled *c = (Compiled *)self;
    PyObject *function = function_of(c->fn), *fn = Py_NewRef(c->fn), *key = Py_NewRef(c->key);
    PyCodeObject *code = function ? (PyCodeObject *)PyFunction_GET_CODE(function) : NULL;
    int generator = code && code->co_flags & GENERATOR_FLAGS;
    fj_stats.calls++;
    PyCodeObject *root = fj_thread.root;
    FJSaved saved = fj_switch_on(key);
    fj_thread.root = code;
    PyObject *result = PyObject_Vectorcall(fn, args, nargsf, kwnames);
    fj_thread.root = root;
    fj_switch_back(saved);
    if (result && generator) result = fj_generator_wrap(result, key, self);
    Py_DECREF(fn);
    Py_DECREF(key);
    return result;
}

static PyObject *compiled_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"fn", "key", NULL};
    PyObject *fn, *key;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:Compiled", names, &fn, &key)) return NULL;
    if (!PyCallable_Check(fn)) return PyErr_Format(PyExc_TypeError, "not callable: %R", fn);
    PyObject *function = function_of(fn);
    if (!(key = fj_key(key))) return NULL;
    if (function) {
        FJCode *record = fj_code((PyCodeObject *)PyFunction_GET_CODE(function));
        if (!record) return NULL;
        record->root = 1;
    }
    Compiled *c = (Compiled *)type->tp_alloc(type, 0);
    if (!c) return NULL;
    c->vectorcall = compiled_call;
    c->fn = Py_NewRef(fn);
    c->key = Py_NewRef(key);
    c->dict = PyDict_New();
    if (!c->dict) Py_CLEAR(c);
    return (PyObject *)c;
}

static int compiled_traverse(Compiled *c, visitproc visit, void *arg) {
    Py_VISIT(c->fn);
    Py_VISIT(c->key);
    Py_VISIT(c->dict);
    return 0;
}

/* Leaves None behind: whatever still reaches the object must not meet NULL. */
static int compiled_clear(Compiled *c) {
    Py_SETREF(c->fn, Py_NewRef(Py_None));
    Py_SETREF(c->key, Py_NewRef(Py_None));
    Py_CLEAR(c->dict);
    return 0;
}

static void compiled_dealloc(Compiled *c) {
    PyObject_GC_UnTrack(c);
    if (c->weakrefs) PyObject_ClearWeakRefs((PyObject *)c);
    Py_XDECREF(c->fn);
    Py_XDECREF(c->key);
    Py_XDECREF(c->dict);
    Py_TYPE(c)->tp_free((PyObject *)c);
}

/* Its own attributes first, then those of the function: __name__, __doc__, __defaults__, whatever was set on it. */
static PyObject *compiled_getattro(PyObject *self, PyObject *name) {
    PyObject *result = PyObject_GenericGetAttr(self, name);
    if (result || !PyErr_ExceptionMatches(PyExc_AttributeError)) return result;
    PyErr_Clear();
    return PyObject_GetAttr(((Compiled *)self)->fn, name);
}

static PyObject *compiled_descr_get(PyObject *self, PyObject *obj, PyObject *type) {
    (void)type;
    return obj && obj != Py_None ? PyMethod_New(self, obj) : Py_NewRef(self);
}

static PyObject *compiled_repr(Compiled *c) { return PyUnicode_FromFormat("<compiled %R>", c->fn); }

static PyObject *compiled_wrapped(Compiled *c, void *closure) {
    (void)closure;
    return Py_NewRef(c->fn);
}

static PyObject *compiled_key(Compiled *c, void *closure) {
    (void)closure;
    return Py_NewRef(c->key);
}

static PyObject *compiled_forward(Compiled *c, void *name) { return PyObject_GetAttrString(c->fn, name); }

static PyObject *compiled_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyObject_GetAttrString(((Compiled *)self)->fn, "__qualname__");
}

static PyGetSetDef compiled_getset[] = {
    {"__wrapped__", (getter)compiled_wrapped, NULL, "the function", NULL},
    {"__framejit_key__", (getter)compiled_key, NULL, "the configuration", NULL},
    {"__doc__", (getter)compiled_forward, NULL, NULL, "__doc__"},
    {"__module__", (getter)compiled_forward, NULL, NULL, "__module__"},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef compiled_methods[] = {
    {"__reduce__", compiled_reduce, METH_NOARGS, "Pickles by name, like a function."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject Compiled_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "framejit._C.Compiled",
    .tp_basicsize = sizeof(Compiled),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_BASETYPE,
    .tp_doc = "Compiled(fn, key): calls fn with the hook on.",
    .tp_new = compiled_new,
    .tp_traverse = (traverseproc)compiled_traverse,
    .tp_clear = (inquiry)compiled_clear,
    .tp_dealloc = (destructor)compiled_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Compiled, vectorcall),
    .tp_dictoffset = offsetof(Compiled, dict),
    .tp_weaklistoffset = offsetof(Compiled, weakrefs),
    .tp_getattro = compiled_getattro,
    .tp_descr_get = compiled_descr_get,
    .tp_repr = (reprfunc)compiled_repr,
    .tp_getset = compiled_getset,
    .tp_methods = compiled_methods,
};

int fj_compiled_init(PyObject *module) { return PyModule_AddType(module, &Compiled_Type); }
