// Whether the death of a frame's value may run Python code: what a region lets go of without having looked at it.
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
    if (PyExceptionInstance_Check(value)) return true;
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

const int32_t *op_CHECK_SLOT_QUIET(Run &m, const int32_t *a) {
    PyObject *value = a[1] < m.frame->nslots ? m.frame->slots[a[1]] : nullptr, *ask = m.constant(a[2]);
    if (!value || is_quiet(value)) return a + 3;
    if (!ask) return nullptr;
    Py_INCREF(value);
    int hook = fj_hook_set(0);
    PyObject *result = PyObject_CallOneArg(ask, value);
    int quiet = result ? PyObject_IsTrue(result) : -1;
    fj_hook_set(hook);
    Py_XDECREF(result);
    Py_DECREF(value);
    if (quiet < 0) return m.error();
    return quiet ? a + 3 : nullptr;
}

} // namespace fj
