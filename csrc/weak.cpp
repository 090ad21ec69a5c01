// Constants that a program must not keep alive: weak references and descriptors known by their parts.
#include "program.h"

namespace fj {

static PyObject *on_death(PyObject *life, PyObject *) {
    if (auto *p = static_cast<Program *>(PyCapsule_GetContext(life))) {
        p->dead = true;
        for (size_t k = 0; p->held && k < p->consts.size(); k++) {
            PyObject *held = PyTuple_GET_ITEM(p->held, k);
            if (held && PyWeakref_CheckRef(held) && PyWeakref_GET_OBJECT(held) == Py_None) p->consts[k].object = nullptr;
        }
    }
    Py_RETURN_NONE;
}

static PyMethodDef death_method = {"on_death", on_death, METH_O, nullptr};

static PyObject *weak_or_strong(Program *p, PyObject *value) {
    if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(value))) return Py_NewRef(value);
    PyObject *callback = PyCFunction_New(&death_method, p->life);
    if (!callback) return nullptr;
    PyObject *ref = PyWeakref_NewRef(value, callback);
    Py_DECREF(callback);
    return ref;
}

static PyObject *part(PyObject *held) { return PyWeakref_CheckRef(held) ? PyWeakref_GET_OBJECT(held) : held; }

static bool is_descriptor(PyObject *value) {
    PyTypeObject *t = Py_TYPE(value);
    return t == &PyMethodDescr_Type || t == &PyGetSetDescr_Type || t == &PyMemberDescr_Type || t == &PyWrapperDescr_Type ||
           t == &PyClassMethodDescr_Type;
}

static const char *const property_parts[] = {"fget", "fset", "fdel", nullptr};
static const char *const wrapper_parts[] = {"__func__", nullptr};
static const char *const method_parts[] = {"__func__", "__self__", nullptr};

static const char *const *part_names(PyObject *value) {
    if (PyObject_TypeCheck(value, &PyProperty_Type)) return property_parts;
    if (PyObject_TypeCheck(value, &PyClassMethod_Type) || PyObject_TypeCheck(value, &PyStaticMethod_Type)) return wrapper_parts;
    if (PyMethod_Check(value)) return method_parts;
    return nullptr;
}

static PyObject *named_part(PyObject *value, const char *name) {
    if (PyMethod_Check(value)) return Py_NewRef(name[2] == 'f' ? PyMethod_GET_FUNCTION(value) : PyMethod_GET_SELF(value));
    PyObject *key = PyUnicode_InternFromString(name);
    if (!key) return nullptr;
    PyObject *result = PyObject_GenericGetAttr(value, key);
    Py_DECREF(key);
    return result;
}

// (type, part, …) of a property, class method, static method or bound method; (type, class, name) of a descriptor of a
// heap type; NULL without an error: the value has no parts.
static PyObject *take_parts(Program *p, PyObject *value) {
    const char *const *names = part_names(value);
    bool descriptor = !names && is_descriptor(value) && (PyDescr_TYPE(value)->tp_flags & Py_TPFLAGS_HEAPTYPE);
    if (!names && !descriptor) return nullptr;
    PyObject *list = PyList_New(0), *parts = nullptr;
    auto add = [&](PyObject *item) { // steals
        bool ok = item && list && PyList_Append(list, item) == 0;
        Py_XDECREF(item);
        return ok;
    };
    bool ok = add(weak_or_strong(p, reinterpret_cast<PyObject *>(Py_TYPE(value))));
    if (descriptor) {
        ok = ok && add(weak_or_strong(p, reinterpret_cast<PyObject *>(PyDescr_TYPE(value)))) &&
             add(Py_NewRef(PyDescr_NAME(value)));
    } else {
        for (; ok && *names; names++) {
            PyObject *item = named_part(value, *names);
            ok = item && add(weak_or_strong(p, item));
            Py_XDECREF(item);
        }
    }
    if (ok) parts = PyList_AsTuple(list);
    Py_XDECREF(list);
    return parts;
}

bool parts_match(PyObject *parts, PyObject *value) {
    if (reinterpret_cast<PyObject *>(Py_TYPE(value)) != part(PyTuple_GET_ITEM(parts, 0))) return false;
    if (is_descriptor(value))
        return reinterpret_cast<PyObject *>(PyDescr_TYPE(value)) == part(PyTuple_GET_ITEM(parts, 1)) &&
               same_text(PyDescr_NAME(value), PyTuple_GET_ITEM(parts, 2));
    const char *const *names = part_names(value);
    for (Py_ssize_t i = 1; names && *names; i++, names++) {
        PyObject *item = named_part(value, *names);
        if (!item) {
            PyErr_Clear();
            return false;
        }
        Py_DECREF(item); // the value keeps it
        if (item != part(PyTuple_GET_ITEM(parts, i))) return false;
    }
    return names != nullptr;
}

// The descriptor that parts name, a borrowed reference; NULL without an error when it is gone.
PyObject *parts_find(PyObject *parts) {
    PyObject *owner = part(PyTuple_GET_ITEM(parts, 1));
    if (PyTuple_GET_SIZE(parts) != 3 || !PyType_Check(owner)) return nullptr;
    PyObject *found = _PyType_Lookup(reinterpret_cast<PyTypeObject *>(owner), PyTuple_GET_ITEM(parts, 2));
    return found && parts_match(parts, found) ? found : nullptr;
}

PyObject *constant_value(const Program *p, int32_t k) {
    if (p->consts[k].object) return Py_NewRef(p->consts[k].object);
    if (p->consts[k].parts) return Py_NewRef(p->consts[k].parts);
    Py_RETURN_NONE;
}

bool hold_constants(Program *p, PyObject *consts, PyObject *weak, const std::vector<bool> &only_checked) {
    Py_ssize_t n = PyTuple_GET_SIZE(consts);
    std::vector<bool> is_weak(n, false);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(weak); i++) {
        Py_ssize_t k = PyNumber_AsSsize_t(PyTuple_GET_ITEM(weak, i), PyExc_ValueError);
        if (k == -1 && PyErr_Occurred()) return false;
        if (k < 0 || k >= n) {
            PyErr_Format(PyExc_ValueError, "weak constant %zd of %zd", k, n);
            return false;
        }
        is_weak[k] = true;
    }
    p->consts.assign(n, Const{nullptr, nullptr});
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *value = PyTuple_GET_ITEM(consts, k), *held = nullptr;
        if (is_weak[k] && only_checked[k]) {
            held = take_parts(p, value);
            if (PyErr_Occurred()) return false;
            if (held) {
                p->consts[k].parts = held;
                PyTuple_SET_ITEM(p->held, k, held);
                continue;
            }
        }
        bool keep = !is_weak[k] || part_names(value) || is_descriptor(value);
        held = keep ? Py_NewRef(value) : weak_or_strong(p, value);
        if (!held) return false;
        p->consts[k].object = value;
        PyTuple_SET_ITEM(p->held, k, held);
    }
    return true;
}

} // namespace fj
