// Exact equality of constants, and the loads and checks that are not on the fastest path.
#include "machine.h"
#include "tensor_check.h"

#include <structmember.h>

#include <algorithm>
#include <cstring>
#include <vector>

// Exported by every CPython; since 3.13 only the internal headers declare it.
extern "C" PyAPI_FUNC(int) _PySet_NextEntry(PyObject *set, Py_ssize_t *position, PyObject **key, Py_hash_t *hash);

namespace fj {

bool same_text(PyObject *a, PyObject *b) {
    if (a == b) return true;
    Py_ssize_t n = PyUnicode_GET_LENGTH(a);
    return n == PyUnicode_GET_LENGTH(b) && PyUnicode_KIND(a) == PyUnicode_KIND(b) &&
           memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), n * PyUnicode_KIND(a)) == 0;
}

static bool same_bits(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

static Py_ssize_t count_equal(PyObject *set, PyObject *item) {
    Py_ssize_t position = 0, n = 0;
    PyObject *key;
    Py_hash_t hash;
    while (_PySet_NextEntry(set, &position, &key, &hash)) n += exactly_equal(key, item);
    return n;
}

static bool equal_sets(PyObject *a, PyObject *b) {
    if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
    Py_ssize_t position = 0;
    PyObject *key;
    Py_hash_t hash;
    while (_PySet_NextEntry(a, &position, &key, &hash))
        if (count_equal(a, key) != count_equal(b, key)) return false;
    return true;
}

static bool equal_tuples(PyObject *a, PyObject *b) {
    Py_ssize_t n = PyTuple_GET_SIZE(a);
    if (n != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!exactly_equal(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
    return true;
}

// By exact type and bits; a value of any other type equals only itself. Runs no user code.
bool exactly_equal(PyObject *a, PyObject *b) {
    if (a == b) return true;
    PyTypeObject *t = Py_TYPE(a);
    if (t != Py_TYPE(b)) return false;
    if (t == &PyLong_Type) return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
    if (t == &PyUnicode_Type) return same_text(a, b);
    if (t == &PyFloat_Type) return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
    if (t == &PyTuple_Type) return equal_tuples(a, b);
    if (t == &PyBytes_Type)
        return PyBytes_GET_SIZE(a) == PyBytes_GET_SIZE(b) &&
               memcmp(PyBytes_AS_STRING(a), PyBytes_AS_STRING(b), PyBytes_GET_SIZE(a)) == 0;
    if (t == &PyComplex_Type)
        return same_bits(PyComplex_RealAsDouble(a), PyComplex_RealAsDouble(b)) &&
               same_bits(PyComplex_ImagAsDouble(a), PyComplex_ImagAsDouble(b));
    if (t == &PyFrozenSet_Type) return equal_sets(a, b);
    return false;
}

// The order of an OrderedDict is not that of its table. Calls visit(key) until it says no; false if it did.
template <class Visit> static bool each_key(PyObject *dict, Visit visit) {
    PyObject *key, *value;
    if (!PyODict_Check(dict)) {
        Py_ssize_t position = 0;
        while (PyDict_Next(dict, &position, &key, &value))
            if (!visit(key)) return false;
        return true;
    }
    PyObject *iterator = PyODict_Type.tp_iter(dict);
    bool go_on = iterator != nullptr;
    while (go_on && (key = PyIter_Next(iterator))) {
        go_on = visit(key);
        Py_DECREF(key); // the dict keeps it
    }
    Py_XDECREF(iterator);
    PyErr_Clear();
    return go_on;
}

const int32_t *op_CHECK_DICT_KEYS(Run &m, const int32_t *a) {
    PyObject *dict = m.reg(a[1]), *keys = m.constant(a[2]);
    if (!PyDict_Check(dict) || !keys || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) return nullptr;
    Py_ssize_t i = 0;
    return each_key(dict, [&](PyObject *key) { return exactly_equal(key, PyTuple_GET_ITEM(keys, i++)); }) ? a + 3 : nullptr;
}

const int32_t *op_LOAD_DICT_KEY(Run &m, const int32_t *a) {
    PyObject *dict = m.reg(a[2]), *found = nullptr;
    Py_ssize_t i = a[3];
    if (!PyDict_Check(dict) || i < 0 || i >= PyDict_GET_SIZE(dict)) return nullptr;
    each_key(dict, [&](PyObject *key) {
        if (i == 0) found = Py_NewRef(key);
        return i-- > 0;
    });
    return found ? give(m, a[1], found, a + 4) : nullptr;
}

const int32_t *op_LOAD_DICT_VALUE(Run &m, const int32_t *a) {
    PyObject *dict = m.reg(a[2]), *key, *value = nullptr;
    if (!PyDict_Check(dict)) return nullptr;
    Py_ssize_t i = a[3], position = 0;
    while (i >= 0 && PyDict_Next(dict, &position, &key, &value)) i--;
    return i < 0 && value ? give(m, a[1], Py_NewRef(value), a + 4) : nullptr;
}

const int32_t *op_CHECK_DICT_MISSING(Run &m, const int32_t *a) {
    PyObject *dict = m.reg(a[1]), *key = m.constant(a[2]);
    if (!PyDict_Check(dict) || !key) return nullptr;
    int found = PyDict_Contains(dict, key);
    if (found < 0) PyErr_Clear();
    return found == 0 ? a + 3 : nullptr;
}

const int32_t *op_LOAD_LEN(Run &m, const int32_t *a) {
    Py_ssize_t n = raw_length(m.reg(a[2]));
    return n < 0 ? nullptr : give(m, a[1], PyLong_FromSsize_t(n), a + 3);
}

static int raw_truth(PyObject *value) { // -1: not of a builtin type
    PyTypeObject *t = Py_TYPE(value);
    if (value == Py_None) return 0;
    if (t == &PyBool_Type || t == &PyLong_Type || t == &PyFloat_Type || t == &PyComplex_Type) return PyObject_IsTrue(value);
    bool sized = t == &PyList_Type || t == &PyTuple_Type || t == &PyDict_Type || t == &PySet_Type || t == &PyFrozenSet_Type ||
                 t == &PyUnicode_Type || t == &PyBytes_Type;
    return sized ? raw_length(value) > 0 : -1;
}

const int32_t *op_CHECK_TRUTH(Run &m, const int32_t *a) {
    int truth = raw_truth(m.reg(a[1]));
    return truth >= 0 && truth == (a[2] != 0) ? a + 3 : nullptr;
}

// So many values are compared in pairs, or so few with all others; of more, equal ones are found side by side in their order.
static const int32_t FEW = 64, FEW_FIRST = 16;

static bool distinct(Run &m, const int32_t *a) {
    std::vector<std::pair<PyObject *, int32_t>> values;
    for (int32_t i = 0; i < a[2]; i++) values.emplace_back(m.reg(a[3 + i]), i);
    std::sort(values.begin(), values.end());
    for (size_t i = 1; i < values.size(); i++)
        if (values[i].first == values[i - 1].first && values[i - 1].second < a[1]) return false;
    return true;
}

const int32_t *op_CHECK_DISTINCT(Run &m, const int32_t *a) {
    if (a[2] > FEW && a[1] > FEW_FIRST) return distinct(m, a) ? a + 3 + a[2] : nullptr;
    for (int32_t i = 0; i < a[1] && i < a[2]; i++)
        for (int32_t j = i + 1; j < a[2]; j++)
            if (m.reg(a[3 + i]) == m.reg(a[3 + j])) return nullptr;
    return a + 3 + a[2];
}

const int32_t *op_CHECK_NO_OVERLAP(Run &m, const int32_t *a) {
    Values values(m, a + 2);
    return storages_overlap(values.data(), a[1], a[2]) ? nullptr : a + 3 + a[2];
}

const int32_t *op_CHECK_PY(Run &m, const int32_t *a) {
    PyObject *predicate = m.constant(a[1]);
    if (!predicate) return nullptr;
    Values values(m, a + 2);
    Py_INCREF(predicate);
    int hook = fj_hook_set(0);
    PyObject *result = PyObject_Vectorcall(predicate, values.data(), a[2] | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    int truth = result ? PyObject_IsTrue(result) : -1;
    fj_hook_set(hook);
    Py_DECREF(predicate);
    Py_XDECREF(result);
    if (truth < 0) return m.error();
    return truth ? a + 3 + a[2] : nullptr;
}

PyObject *instance_dict(PyObject *value) {
    if (PyType_Check(value)) { // of a static type it cannot change, and 3.12 keeps it elsewhere
        auto *type = reinterpret_cast<PyTypeObject *>(value);
        return type->tp_flags & Py_TPFLAGS_HEAPTYPE ? type->tp_dict : nullptr;
    }
    PyObject **place = _PyObject_GetDictPtr(value);
    if (place && *place) return *place;
    PyObject *dict = PyObject_GenericGetDict(value, nullptr);
    if (!dict) PyErr_Clear();
    Py_XDECREF(dict); // the instance keeps it
    return dict;
}

const int32_t *op_LOAD_MEMBER(Run &m, const int32_t *a) {
    const Const &c = m.consts[a[3]];
    PyObject *value = m.reg(a[2]), *descriptor = c.parts ? parts_find(c.parts) : c.object;
    if (!descriptor || !PyObject_TypeCheck(value, PyDescr_TYPE(descriptor))) return nullptr;
    PyObject *found =
        PyMember_GetOne(reinterpret_cast<char *>(value), reinterpret_cast<PyMemberDescrObject *>(descriptor)->d_member);
    if (!found) return PyErr_Clear(), nullptr;
    return give(m, a[1], found, a + 4);
}

const int32_t *op_LOAD_ATTR(Run &m, const int32_t *a) {
    PyObject *name = m.constant(a[3]), *found = name ? PyObject_GetAttr(m.reg(a[2]), name) : nullptr;
    if (!found) return PyErr_Clear(), nullptr;
    return give(m, a[1], found, a + 4);
}

const int32_t *op_LOAD_MRO(Run &m, const int32_t *a) {
    PyObject *type = m.reg(a[2]);
    if (!PyType_Check(type)) return nullptr;
    PyObject *mro = reinterpret_cast<PyTypeObject *>(type)->tp_mro;
    return mro ? give(m, a[1], Py_NewRef(mro), a + 3) : nullptr;
}

static const int32_t *load_number(Run &m, const int32_t *a, char what, long i, const int32_t *next) {
    long long number;
    return tensor_number(m.reg(a[2]), what, i, &number) ? give(m, a[1], PyLong_FromLongLong(number), next) : nullptr;
}

const int32_t *op_LOAD_SIZE(Run &m, const int32_t *a) { return load_number(m, a, 's', a[3], a + 4); }
const int32_t *op_LOAD_STRIDE(Run &m, const int32_t *a) { return load_number(m, a, 't', a[3], a + 4); }
const int32_t *op_LOAD_OFFSET(Run &m, const int32_t *a) { return load_number(m, a, 'o', 0, a + 3); }

} // namespace fj
