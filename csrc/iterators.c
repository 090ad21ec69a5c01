/* Places of real iterators: the few whose type lets nobody set them are written here, by the layout that CPython gives them. */
#include "hook.h"

/* Iterators over something by index, and enumerate, which has its iterator where the others have their sequence. */
typedef struct {
    PyObject_HEAD
    Py_ssize_t index;
    PyObject *source;
} Indexed;

typedef struct {
    PyObject_HEAD
    PyObject *function, *sentinel;
} Until;

typedef struct {
    PyObject_HEAD
    PyObject *source;
    Py_ssize_t next, stop, step, done;
} Slice;

enum { LIST, LIST_BACKWARDS, TUPLE, TEXT, LATIN, BYTES, SEQUENCE, REVERSED, ENUMERATE, INDEXED };
static PyTypeObject *indexed[INDEXED], *until, *slice;

static PyObject *set_place(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *object;
    Py_ssize_t index;
    int ended;
    if (!PyArg_ParseTuple(args, "Onp:set_place", &object, &index, &ended)) return NULL;
    int kind = 0;
    while (kind < INDEXED && indexed[kind] != Py_TYPE(object)) kind++;
    if (kind == INDEXED) return PyErr_Format(PyExc_TypeError, "set_place() takes no %.100s", Py_TYPE(object)->tp_name);
    Indexed *it = (Indexed *)object;
    if (kind == ENUMERATE && (ended || index == PY_SSIZE_T_MAX)) {
        PyErr_SetString(PyExc_ValueError, "set_place(): an enumerate counts on, in small numbers");
        return NULL;
    }
    it->index = ended && kind == LIST ? -1 : index; /* since 3.13 that is what an ended one is known by */
    if (ended) Py_CLEAR(it->source);
    Py_RETURN_NONE;
}

static PyObject *set_slice(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *object;
    Py_ssize_t next, done;
    int ended;
    if (!PyArg_ParseTuple(args, "Onnp:set_slice", &object, &next, &done, &ended)) return NULL;
    if (Py_TYPE(object) != slice) return PyErr_Format(PyExc_TypeError, "set_slice() takes no %.100s", Py_TYPE(object)->tp_name);
    Slice *it = (Slice *)object;
    it->next = next;
    it->done = done;
    if (ended) Py_CLEAR(it->source);
    Py_RETURN_NONE;
}

static PyObject *end_until(PyObject *Py_UNUSED(module), PyObject *object) {
    if (Py_TYPE(object) != until) return PyErr_Format(PyExc_TypeError, "end_until() takes no %.100s", Py_TYPE(object)->tp_name);
    Until *it = (Until *)object;
    Py_CLEAR(it->function);
    Py_CLEAR(it->sentinel);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"set_place", set_place, METH_VARARGS,
     "set_place(iterator, index, ended): where an iterator by index goes on; at its end it drops what it iterates."},
    {"set_slice", set_slice, METH_VARARGS,
     "set_slice(islice, next, done, ended): the items that an islice has taken, and which it takes next."},
    {"end_until", end_until, METH_O, "end_until(iterator): an iterator `iter(function, sentinel)` has met its sentinel."},
    {NULL, NULL, 0, NULL},
};

/* The type of what `iter(sample)` or `call(sample)` gives, checked to be laid out as expected; steals the sample. */
PyTypeObject *fj_type_of(PyObject *call, PyObject *sample, Py_ssize_t size) {
    PyObject *made = !sample ? NULL : call ? PyObject_CallOneArg(call, sample) : PyObject_GetIter(sample);
    Py_XDECREF(sample);
    if (!made) return NULL;
    PyTypeObject *type = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(made));
    Py_DECREF(made);
    if (type->tp_basicsize >= size) return type;
    PyErr_Format(PyExc_ImportError, "framejit: %.100s is laid out in another way than it is known to be", type->tp_name);
    Py_DECREF(type);
    return NULL;
}

/* A type that has to be known by name: a function of a module of the standard library. */
PyTypeObject *fj_named_type(const char *module, const char *name, Py_ssize_t size) {
    PyObject *imported = PyImport_ImportModule(module);
    PyObject *found = imported ? PyObject_GetAttrString(imported, name) : NULL;
    Py_XDECREF(imported);
    if (found && PyType_Check(found) && ((PyTypeObject *)found)->tp_basicsize >= size) return (PyTypeObject *)found;
    if (found) PyErr_Format(PyExc_ImportError, "framejit: %s.%s is laid out in another way than it is known to be", module, name);
    Py_XDECREF(found);
    return NULL;
}

/* ---- What the iterators of a tee have in common: up to CELLS items that were read, a link to more ------------------- */
enum { CELLS = 57 };
typedef struct {
    PyObject_HEAD
    PyObject *source;
    int count, running;
    PyObject *following, *items[CELLS];
} TeeData;
static PyTypeObject *tee_data;

static PyObject *tee_extend(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    TeeData *data = count && Py_TYPE(args[0]) == tee_data ? (TeeData *)args[0] : NULL;
    if (!data || data->count + count - 1 > CELLS) return PyErr_Format(PyExc_ValueError, "tee_extend(): no room for the items");
    for (Py_ssize_t i = 1; i < count; i++) data->items[data->count++] = Py_NewRef(args[i]);
    Py_RETURN_NONE;
}

static PyMethodDef of_tees[] = {
    {"tee_extend", (PyCFunction)(void (*)(void))tee_extend, METH_FASTCALL,
     "tee_extend(data, *items): the tee has read these too."},
    {NULL, NULL, 0, NULL},
};

int fj_iterators_init(PyObject *module) {
    const Py_ssize_t size = sizeof(Indexed);
    PyObject *backwards = (PyObject *)&PyReversed_Type;
    indexed[LIST] = fj_type_of(NULL, PyList_New(0), size);
    indexed[LIST_BACKWARDS] = indexed[LIST] ? fj_type_of(backwards, PyList_New(0), size) : NULL;
    indexed[TUPLE] = indexed[LIST_BACKWARDS] ? fj_type_of(NULL, PyTuple_New(0), size) : NULL;
    indexed[TEXT] = indexed[TUPLE] ? fj_type_of(NULL, PyUnicode_FromString("\xc4\x80"), size) : NULL;
    indexed[LATIN] = indexed[TEXT] ? fj_type_of(NULL, PyUnicode_FromString(""), size) : NULL;
    indexed[BYTES] = indexed[LATIN] ? fj_type_of(NULL, PyBytes_FromString(""), size) : NULL;
    if (!indexed[BYTES]) return -1;
    indexed[SEQUENCE] = &PySeqIter_Type;
    indexed[REVERSED] = &PyReversed_Type;
    indexed[ENUMERATE] = &PyEnum_Type;
    until = &PyCallIter_Type;
    if (!(slice = fj_named_type("itertools", "islice", sizeof(Slice)))) return -1;
    if (!(tee_data = fj_named_type("itertools", "_tee_dataobject", sizeof(TeeData)))) return -1;
    if (tee_data->tp_basicsize != sizeof(TeeData)) return PyErr_Format(PyExc_ImportError, "framejit: an unknown tee"), -1;
    if (PyModule_AddFunctions(module, of_tees) < 0) return -1;
    return PyModule_AddFunctions(module, methods);
}
