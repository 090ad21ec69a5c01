// Whether the death of a value may run Python code: what a region lets go of without having looked at it.
#include "machine.h"

namespace fj {

namespace {
enum { MANY = 64, BUDGET = 256, DEPTH = 8 }; // items of a container that are looked at, objects in all

struct Look {
    int left;
    int depth; // how far containers in containers are followed
};

bool is_container(PyObject *value) {
    return PyList_CheckExact(value) || PyTuple_CheckExact(value) || PyDict_CheckExact(value) || PyAnySet_CheckExact(value);
}

Py_ssize_t items(PyObject *value) {
    if (PyDict_CheckExact(value)) return PyDict_GET_SIZE(value);
    return PyAnySet_CheckExact(value) ? PySet_GET_SIZE(value) : Py_SIZE(value);
}

bool has_callback(PyObject *value, PyTypeObject *type) {
    if (!type->tp_weaklistoffset) return false;
    auto *ref = reinterpret_cast<PyWeakReference *>(*PyObject_GET_WEAKREFS_LISTPTR(value));
    for (; ref; ref = ref->wr_next)
        if (ref->wr_callback || PyWeakref_CheckProxy(reinterpret_cast<PyObject *>(ref))) return true;
    return false;
}

// Whether the object itself may run code when it dies, whatever it holds.
bool is_doubtful(PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    if (PyGen_CheckExact(value) || PyCoro_CheckExact(value) || PyAsyncGen_CheckExact(value)) return true;
    if (PyExceptionInstance_Check(value) || PyFrame_Check(value) || PyTraceBack_Check(value)) return true;
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE && (type->tp_finalize || type->tp_del)) return true;
    return has_callback(value, type);
}

int visit(PyObject *value, void *arg) {
    Look &look = *static_cast<Look *>(arg);
    if (PyType_Check(value) || PyFunction_Check(value) || PyModule_Check(value)) return 0;
    if (look.left-- <= 0) return 0;
    if (is_doubtful(value)) return 1;
    if (!look.depth || !is_container(value) || items(value) > MANY) return 0;
    look.depth--;
    int found = Py_TYPE(value)->tp_traverse(value, visit, arg);
    look.depth++;
    return found;
}

bool is_quiet(PyObject *value) {
    if (PyType_Check(value) || PyFunction_Check(value) || PyModule_Check(value)) return true;
    if (is_doubtful(value)) return false;
    if (!PyObject_IS_GC(value) || (is_container(value) && items(value) > MANY)) return true;
    Look look{BUDGET, DEPTH};
    return !Py_TYPE(value)->tp_traverse || !Py_TYPE(value)->tp_traverse(value, visit, &look);
}
} // namespace

// Where the program goes on if the value, which may be missing, dies quietly.
static const int32_t *if_quiet(Run &m, PyObject *value, PyObject *ask, const int32_t *next) {
    if (!value || is_quiet(value)) return next;
    if (!ask) return nullptr;
    Py_INCREF(value);
    int hook = fj_hook_set(0);
    PyObject *result = PyObject_CallOneArg(ask, value);
    int quiet = result ? PyObject_IsTrue(result) : -1;
    fj_hook_set(hook);
    Py_XDECREF(result);
    Py_DECREF(value);
    if (quiet < 0) return m.error();
    return quiet ? next : nullptr;
}

const int32_t *op_CHECK_SLOT_QUIET(Run &m, const int32_t *a) {
    return if_quiet(m, a[1] < m.frame->nslots ? m.frame->slots[a[1]] : nullptr, m.constant(a[2]), a + 3);
}

const int32_t *op_CHECK_QUIET(Run &m, const int32_t *a) { return if_quiet(m, m.reg(a[1]), m.constant(a[2]), a + 3); }

const int32_t *op_CHECK_ITEM_QUIET(Run &m, const int32_t *a) {
    PyObject *dict = m.reg(a[1]), *key = m.constant(a[2]);
    if (!PyDict_Check(dict) || !key) return nullptr;
    PyObject *item = PyDict_GetItemWithError(dict, key);
    if (!item && PyErr_Occurred()) return m.error();
    return if_quiet(m, item, m.constant(a[3]), a + 4);
}

const int32_t *op_CHECK_CALLER_QUIET(Run &m, const int32_t *a) {
    FJCaller c;
    if (!m.frame->context || !fj_caller(m.frame, a[1], &c)) return nullptr;
    return if_quiet(m, a[2] < c.frame.nslots ? c.frame.slots[a[2]] : nullptr, m.constant(a[3]), a + 4);
}

} // namespace fj
