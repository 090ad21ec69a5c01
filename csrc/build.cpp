// Computes on plain values and builds of new objects.
#include "machine.h"

namespace fj {

static PyObject *power(PyObject *a, PyObject *b) { return PyNumber_Power(a, b, Py_None); }

static PyObject *(*const binary[])(PyObject *, PyObject *) = {
    PyNumber_Add,      PyNumber_And,        PyNumber_FloorDivide, PyNumber_Lshift, PyNumber_MatrixMultiply,
    PyNumber_Multiply, PyNumber_Remainder,  PyNumber_Or,          power,           PyNumber_Rshift,
    PyNumber_Subtract, PyNumber_TrueDivide, PyNumber_Xor};
static PyObject *(*const unary[])(PyObject *) = {PyNumber_Negative, PyNumber_Positive, PyNumber_Invert};

// In-place operators, 13 to 25, do on these values what the plain ones do.
const int32_t *op_BINARY(Run &m, const int32_t *a) {
    auto function = a[2] == 26 ? PyObject_GetItem : binary[a[2] % 13];
    return give(m, a[1], function(m.reg(a[3]), m.reg(a[4])), a + 5);
}
const int32_t *op_COMPARE(Run &m, const int32_t *a) {
    return give(m, a[1], PyObject_RichCompare(m.reg(a[3]), m.reg(a[4]), a[2]), a + 5);
}
const int32_t *op_UNARY(Run &m, const int32_t *a) { return give(m, a[1], unary[a[2]](m.reg(a[3])), a + 4); }
const int32_t *op_NOT(Run &m, const int32_t *a) {
    int truth = PyObject_IsTrue(m.reg(a[2]));
    return truth < 0 ? m.error() : give(m, a[1], PyBool_FromLong(!truth), a + 3);
}
const int32_t *op_IS(Run &m, const int32_t *a) { return give(m, a[1], PyBool_FromLong(m.reg(a[2]) == m.reg(a[3])), a + 4); }

const int32_t *op_BUILD_TUPLE(Run &m, const int32_t *a) {
    int32_t n = a[2];
    PyObject *tuple = PyTuple_New(n);
    for (int32_t i = 0; tuple && i < n; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(m.reg(a[3 + i])));
    return give(m, a[1], tuple, a + 3 + n);
}

PyObject *list_of(const Run &m, const int32_t *list) {
    PyObject *result = PyList_New(list[0]);
    for (int32_t i = 0; result && i < list[0]; i++) PyList_SET_ITEM(result, i, Py_NewRef(m.reg(list[1 + i])));
    return result;
}

const int32_t *op_BUILD_LIST(Run &m, const int32_t *a) { return give(m, a[1], list_of(m, a + 2), a + 3 + a[2]); }

const int32_t *op_BUILD_SET(Run &m, const int32_t *a) {
    PyObject *set = PySet_New(nullptr);
    for (int32_t i = 0; set && i < a[2]; i++)
        if (PySet_Add(set, m.reg(a[3 + i])) < 0) Py_CLEAR(set);
    return give(m, a[1], set, a + 3 + a[2]);
}

const int32_t *op_BUILD_DICT(Run &m, const int32_t *a) {
    PyObject *dict = PyDict_New();
    for (int32_t i = 0; dict && i < a[2]; i += 2)
        if (PyDict_SetItem(dict, m.reg(a[3 + i]), m.reg(a[4 + i])) < 0) Py_CLEAR(dict);
    return give(m, a[1], dict, a + 3 + a[2]);
}

const int32_t *op_BUILD_SLICE(Run &m, const int32_t *a) {
    return give(m, a[1], PySlice_New(m.reg(a[2]), m.reg(a[3]), m.reg(a[4])), a + 5);
}
const int32_t *op_BUILD_CELL(Run &m, const int32_t *a) { return give(m, a[1], PyCell_New(m.reg_or_null(a[2])), a + 3); }
const int32_t *op_BUILD_METHOD(Run &m, const int32_t *a) {
    if (m.reg(a[3]) != Py_None) return give(m, a[1], PyMethod_New(m.reg(a[2]), m.reg(a[3])), a + 4);
    PyErr_SetString(PyExc_TypeError, "instance must not be None"); // what types.MethodType says
    return m.error();
}

static void set_field(PyObject *&field, PyObject *value) {
    if (value == Py_None) value = nullptr;
    Py_XSETREF(field, Py_XNewRef(value));
}

const int32_t *op_BUILD_FUNCTION(Run &m, const int32_t *a) {
    const int32_t *r = a + 4; // globals, name, qualname, defaults, kwdefaults, closure, annotations
    if (!m.constant(a[2])) return nullptr;
    PyObject *made = PyFunction_NewWithQualName(m.constant(a[2]), m.reg(r[0]), m.reg_or_null(r[2]));
    if (made) {
        auto *f = reinterpret_cast<PyFunctionObject *>(made);
        if (r[1] >= 0) set_field(f->func_name, m.reg(r[1]));
        set_field(f->func_defaults, m.reg_or_null(r[3]));
        set_field(f->func_kwdefaults, m.reg_or_null(r[4]));
        set_field(f->func_closure, m.reg_or_null(r[5]));
        set_field(f->func_annotations, m.reg_or_null(r[6]));
    }
    return give(m, a[1], made, r + 7);
}

const int32_t *op_BUILD_GENERATOR(Run &m, const int32_t *a) {
    Values slots(m, a + 4);
    return give(m, a[1], fj_build_generator(m.reg(a[2]), a[3], slots.data(), a[4]), a + 5 + a[4]);
}

const int32_t *op_BUILD_FRAME(Run &m, const int32_t *a) {
    Values slots(m, a + 5);
    return give(m, a[1], fj_build_frame(m.reg(a[2]), a[3], m.reg_or_null(a[4]), slots.data(), a[5]), a + 6 + a[5]);
}

const int32_t *op_BUILD_TRACEBACK(Run &m, const int32_t *a) {
    return give(m, a[1], fj_build_traceback(m.frame, m.reg(a[2]), a[3]), a + 4);
}

// As object.__new__ and its kin check it: the first base whose __new__ is not written in Python.
static PyObject *bare_instance(PyObject *value) {
    static newfunc python_new;
    if (!python_new) {
        PyObject *probe =
            PyObject_CallFunction(reinterpret_cast<PyObject *>(&PyType_Type), "s(){sO}", "probe", "__new__", Py_None);
        if (!probe) return nullptr;
        python_new = reinterpret_cast<PyTypeObject *>(probe)->tp_new;
        Py_DECREF(probe);
    }
    if (!PyType_Check(value)) return PyErr_Format(PyExc_TypeError, "not a class: %R", value);
    auto *type = reinterpret_cast<PyTypeObject *>(value), *base = type;
    while (base && base->tp_new == python_new) base = base->tp_base;
    if (!base || !base->tp_new) return PyErr_Format(PyExc_TypeError, "cannot create '%s' instances", type->tp_name);
    return base->tp_new(type, empty_tuple, nullptr);
}

const int32_t *op_NEW(Run &m, const int32_t *a) { return give(m, a[1], bare_instance(m.reg(a[2])), a + 3); }

// `list` is the operand list of arguments, behind it the keyword names.
PyObject *call(const Run &m, PyObject *callable, const int32_t *list) {
    int32_t n = list[0];
    const int32_t *k = list + 1 + n;
    Values args(m, list);
    PyObject *names = k[0] ? m.constant(k[1]) : nullptr;
    size_t positional = n - (names ? PyTuple_GET_SIZE(names) : 0);
    int hook = fj_hook_set(0);
    PyObject *result = PyObject_Vectorcall(callable, args.data(), positional | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
    fj_hook_set(hook);
    return result;
}

static const int32_t *behind_call(const int32_t *list) {
    const int32_t *k = list + 1 + list[0];
    return k + 1 + k[0];
}

const int32_t *op_CALL(Run &m, const int32_t *a) { return give(m, a[1], call(m, m.reg(a[2]), a + 3), behind_call(a + 3)); }

const int32_t *op_CALL_EFFECT(Run &m, const int32_t *a) {
    PyObject *result = call(m, m.reg(a[1]), a + 2);
    if (!result) return m.error();
    Py_DECREF(result);
    return behind_call(a + 2);
}

} // namespace fj
