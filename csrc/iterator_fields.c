/* What real iterators of itertools and collections hold that their types tell nobody: read and written by CPython's layouts. */
#include "hook.h"

#include <string.h>

/* One letter for each field behind the head: O an object or nothing; L a list; S a tuple with places that may be empty; n a size;
   i an int; p the address of an object that it knows without owning it, which can be forgotten; x nothing of ours. */
typedef struct {
    const char *module, *name, *fields;
    int writable;
    PyTypeObject *type;
} Layout;

static Layout layouts[] = {
    {"itertools", "pairwise", "OO", 1, NULL},
    {"itertools", "cycle", "OLni", 1, NULL},
    {"itertools", "accumulate", "OOOO", 1, NULL},
    {"itertools", "zip_longest", "xnSxO", 1, NULL},
    {"itertools", "groupby", "OOOOOp", 1, NULL},
    {"itertools", "_grouper", "OO", 0, NULL},
    {"builtins", "reversed", "nO", 1, NULL},
    {"_collections", "_deque_iterator", "xnOnn", 0, NULL},
    {"_collections", "_deque_reverse_iterator", "xnOnn", 0, NULL},
    {"_collections", "deque", "nxxnnn", 0, NULL}, /* the first is the size of the head */
    {"_collections", "_odict_iterator", "iOnnOx", 0, NULL},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static size_t size_of(char kind) { return kind == 'i' ? sizeof(int) : sizeof(PyObject *); }

/* Where the field begins, or the next one of its size can. */
static char *aligned(char *place, char kind) {
    size_t size = size_of(kind);
    return (char *)(((uintptr_t)place + size - 1) / size * size);
}

static Layout *layout_of(PyObject *object, int write, const char *caller) {
    for (int i = 0; i < LAYOUTS; i++)
        if (PyObject_TypeCheck(object, layouts[i].type) && layouts[i].writable >= write) return &layouts[i];
    PyErr_Format(PyExc_TypeError, "%s() takes no %.100s", caller, Py_TYPE(object)->tp_name);
    return NULL;
}

/* A tuple with the first's items, and `to` in the place of what is `from`. */
static PyObject *replaced(PyObject *items, PyObject *from, PyObject *to) {
    PyObject *found = PyTuple_New(PyTuple_GET_SIZE(items));
    for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(items); i++) {
        PyObject *item = PyTuple_GET_ITEM(items, i);
        PyTuple_SET_ITEM(found, i, Py_XNewRef(item == from ? to : item));
    }
    return found;
}

static PyObject *read_field(char kind, const char *place) {
    switch (kind) {
    case 'n': return PyLong_FromSsize_t(*(const Py_ssize_t *)place);
    case 'i': return PyLong_FromLong(*(const int *)place);
    case 'p': return PyLong_FromVoidPtr(*(void *const *)place);
    case 'x': return Py_NewRef(Py_None);
    default: break;
    }
    PyObject *object = *(PyObject *const *)place;
    if (!object) return Py_NewRef(fj_missing);
    return kind == 'S' ? replaced(object, NULL, fj_missing) : Py_NewRef(object);
}

static PyObject *iterator_fields(PyObject *Py_UNUSED(module), PyObject *object) {
    Layout *layout = layout_of(object, 0, "iterator_fields");
    if (!layout) return NULL;
    const char *kinds = layout->fields;
    Py_ssize_t count = (Py_ssize_t)strlen(kinds);
    PyObject *found = PyTuple_New(count);
    char *place = (char *)(object + 1);
    for (Py_ssize_t i = 0; found && i < count; place += size_of(kinds[i++])) {
        PyObject *value = read_field(kinds[i], place = aligned(place, kinds[i]));
        if (value)
            PyTuple_SET_ITEM(found, i, value);
        else
            Py_CLEAR(found);
    }
    return found;
}

/* A number that a field can hold; -1 where it is none. */
static Py_ssize_t number_of(PyObject *value) {
    Py_ssize_t number = PyLong_CheckExact(value) ? PyLong_AsSsize_t(value) : -1;
    if (number == -1 && PyErr_Occurred()) PyErr_Clear();
    return number;
}

static int fits(char kind, PyObject *value, const char *place) {
    switch (kind) {
    case 'n': return number_of(value) >= 0;
    case 'i': return number_of(value) == 0 || number_of(value) == 1;
    case 'p': return PyLong_CheckExact(value) && (number_of(value) == 0 || PyLong_AsVoidPtr(value) == *(void *const *)place);
    case 'L': return PyList_CheckExact(value);
    case 'S': return PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == PyTuple_GET_SIZE(*(PyObject *const *)place);
    default: return 1;
    }
}

/* Writes a field; what it held is put into `old`, to be dropped when all are written. */
static void write_field(char kind, char *place, PyObject *value, PyObject **old) {
    switch (kind) {
    case 'n': *(Py_ssize_t *)place = number_of(value); return;
    case 'i': *(int *)place = (int)number_of(value); return;
    case 'p': *(void **)place = PyLong_AsVoidPtr(value); return;
    case 'x': return;
    default: break;
    }
    *old = *(PyObject **)place;
    *(PyObject **)place = value == fj_missing ? NULL : Py_NewRef(value);
}

/* A copy of the values with each tuple as the field holds it; NULL where a value does not fit. */
static PyObject *prepared(const char *kinds, PyObject *values, char *place) {
    Py_ssize_t count = (Py_ssize_t)strlen(kinds);
    PyObject *found = PyTuple_GET_SIZE(values) == count ? PyTuple_New(count) : NULL;
    for (Py_ssize_t i = 0; found && i < count; place += size_of(kinds[i++])) {
        PyObject *value = PyTuple_GET_ITEM(values, i);
        place = aligned(place, kinds[i]);
        if (fits(kinds[i], value, place))
            value = kinds[i] == 'S' ? replaced(value, fj_missing, NULL) : Py_NewRef(value);
        else
            value = NULL;
        if (value)
            PyTuple_SET_ITEM(found, i, value);
        else
            Py_CLEAR(found);
    }
    return found;
}

static PyObject *set_iterator_fields(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *object, *values, *old[8] = {NULL};
    if (!PyArg_ParseTuple(args, "OO!:set_iterator_fields", &object, &PyTuple_Type, &values)) return NULL;
    Layout *layout = layout_of(object, 1, "set_iterator_fields");
    if (!layout) return NULL;
    const char *kinds = layout->fields;
    char *place = (char *)(object + 1);
    values = prepared(kinds, values, place);
    if (!values) {
        if (PyErr_Occurred()) return NULL;
        return PyErr_Format(PyExc_ValueError, "set_iterator_fields(): a %.100s cannot hold this", layout->name);
    }
    for (Py_ssize_t i = 0; kinds[i]; place += size_of(kinds[i++]))
        write_field(kinds[i], place = aligned(place, kinds[i]), PyTuple_GET_ITEM(values, i), &old[i]);
    Py_DECREF(values);
    for (int i = 0; i < 8; i++) Py_XDECREF(old[i]);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"iterator_fields", iterator_fields, METH_O,
     "iterator_fields(iterator): what an iterator or a deque holds, MISSING where it holds nothing."},
    {"set_iterator_fields", set_iterator_fields, METH_VARARGS, "set_iterator_fields(iterator, fields): all of that."},
    {NULL, NULL, 0, NULL},
};

/* What type it is, and that the fields end within its objects. */
static int init_layout(Layout *layout) {
    char *end = (char *)sizeof(PyObject);
    for (const char *kind = layout->fields; *kind; kind++) end = aligned(end, *kind) + size_of(*kind);
    if (strcmp(layout->name, "_odict_iterator"))
        layout->type = fj_named_type(layout->module, layout->name, (Py_ssize_t)end);
    else
        layout->type = fj_type_of(NULL, PyODict_New(), (Py_ssize_t)end);
    return layout->type ? 0 : -1;
}

int fj_iterator_fields_init(PyObject *module) {
    for (int i = 0; i < LAYOUTS; i++)
        if (init_layout(&layouts[i]) < 0) return -1;
    return PyModule_AddFunctions(module, methods);
}
