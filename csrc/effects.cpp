// Effects: writes to objects that the rest of the program can see.
#include "machine.h"

namespace fj {

PyObject *list_of(const Run &m, const int32_t *list);

static const int32_t *done(Run &m, int result, const int32_t *next) { return result < 0 ? m.error() : next; }

static int wrong_type(const char *wanted, PyObject *value) {
    PyErr_Format(PyExc_TypeError, "not a %s: '%s'", wanted, Py_TYPE(value)->tp_name);
    return -1;
}

static int store_attr(PyObject *object, PyObject *name, PyObject *value) {
    if (!name) return PyErr_SetString(PyExc_ReferenceError, "a constant has died"), -1;
    if (PyType_Check(object)) return PyType_Type.tp_setattro(object, name, value); // keeps the type's caches true
    return PyObject_GenericSetAttr(object, name, value);
}

const int32_t *op_STORE_ATTR(Run &m, const int32_t *a) {
    return done(m, store_attr(m.reg(a[1]), m.constant(a[2]), m.reg(a[3])), a + 4);
}
const int32_t *op_DEL_ATTR(Run &m, const int32_t *a) {
    return done(m, store_attr(m.reg(a[1]), m.constant(a[2]), nullptr), a + 3);
}

const int32_t *op_STORE_INSTANCE_DICT(Run &m, const int32_t *a) {
    PyObject *object = m.reg(a[1]), *dict = PyType_Check(object) ? nullptr : instance_dict(object);
    if (!dict || !m.constant(a[2])) return wrong_type("object with a dict", object), m.error();
    return done(m, PyDict_SetItem(dict, m.constant(a[2]), m.reg(a[3])), a + 4);
}

// An OrderedDict keeps its order beside the table: the raw functions of dict would break it.
static int dict_set(PyObject *dict, PyObject *key, PyObject *value) {
    if (!PyDict_Check(dict)) return wrong_type("dict", dict);
    return PyODict_Check(dict) ? PyODict_SetItem(dict, key, value) : PyDict_SetItem(dict, key, value);
}
static int dict_del(PyObject *dict, PyObject *key) {
    if (!PyDict_Check(dict)) return wrong_type("dict", dict);
    return PyODict_Check(dict) ? PyODict_DelItem(dict, key) : PyDict_DelItem(dict, key);
}
static int dict_clear(PyObject *dict) {
    if (!PyDict_Check(dict)) return wrong_type("dict", dict);
    if (!PyODict_Check(dict)) return PyDict_Clear(dict), 0;
    PyObject *result = PyObject_CallMethod(reinterpret_cast<PyObject *>(&PyODict_Type), "clear", "O", dict);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

const int32_t *op_DICT_SET(Run &m, const int32_t *a) { return done(m, dict_set(m.reg(a[1]), m.reg(a[2]), m.reg(a[3])), a + 4); }
const int32_t *op_DICT_DEL(Run &m, const int32_t *a) { return done(m, dict_del(m.reg(a[1]), m.reg(a[2])), a + 3); }
const int32_t *op_DICT_CLEAR(Run &m, const int32_t *a) { return done(m, dict_clear(m.reg(a[1])), a + 2); }

static int list_assign(PyObject *list, PyObject *contents) {
    if (!contents) return -1;
    if (!PyList_Check(list)) return wrong_type("list", list);
    return PyList_SetSlice(list, 0, PyList_GET_SIZE(list), contents);
}

const int32_t *op_LIST_ASSIGN(Run &m, const int32_t *a) {
    PyObject *contents = list_of(m, a + 2);
    int result = list_assign(m.reg(a[1]), contents);
    Py_XDECREF(contents);
    return done(m, result, a + 3 + a[2]);
}

const int32_t *op_LIST_APPEND(Run &m, const int32_t *a) {
    PyObject *list = m.reg(a[1]);
    return done(m, PyList_Check(list) ? PyList_Append(list, m.reg(a[2])) : wrong_type("list", list), a + 3);
}

const int32_t *op_SET_ADD(Run &m, const int32_t *a) {
    PyObject *set = m.reg(a[1]);
    return done(m, PySet_Check(set) ? PySet_Add(set, m.reg(a[2])) : wrong_type("set", set), a + 3);
}
const int32_t *op_SET_CLEAR(Run &m, const int32_t *a) {
    PyObject *set = m.reg(a[1]);
    return done(m, PySet_Check(set) ? PySet_Clear(set) : wrong_type("set", set), a + 2);
}

const int32_t *op_STORE_CELL(Run &m, const int32_t *a) {
    PyObject *cell = m.reg(a[1]);
    return done(m, PyCell_Check(cell) ? PyCell_Set(cell, m.reg_or_null(a[2])) : wrong_type("cell", cell), a + 3);
}

} // namespace fj
