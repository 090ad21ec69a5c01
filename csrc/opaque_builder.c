/* Opaque construction, merging and unpacking of containers and text. */
#include "opaque.h"

/* ---- Text ------------------------------------------------------------------------------------------------------- */
static PyObject *converted(PyObject *value, int conversion) {
    switch (conversion) {
    case 1: return PyObject_Str(value);
    case 2: return PyObject_Repr(value);
    case 3: return PyObject_ASCII(value);
    default: return Py_NewRef(value);
    }
}

static int format_value(FJRun *r) {
    int spec = (r->op->arg & 4) != 0;
    if (fj_need(r, 1 + spec) < 0) return -1;
    PyObject *value = converted(TOP(r, 1 + spec), r->op->arg & 3);
    if (!value) return -1;
    PyObject *text = !spec && PyUnicode_CheckExact(value) ? Py_NewRef(value) : PyObject_Format(value, spec ? TOP(r, 1) : NULL);
    Py_DECREF(value);
    return fj_result(r, 1 + spec, text);
}

static int convert_value(FJRun *r) { return fj_need(r, 1) < 0 ? -1 : fj_result(r, 1, converted(TOP(r, 1), r->op->arg)); }

static int build_string(FJRun *r) {
    int count = r->op->arg;
    if (fj_need(r, count) < 0) return -1;
    PyObject *empty = PyUnicode_New(0, 0);
    if (!empty) return -1;
    PyObject *text = _PyUnicode_JoinArray(empty, &TOP(r, count), count);
    Py_DECREF(empty);
    return fj_result(r, count, text);
}

/* ---- New containers --------------------------------------------------------------------------------------------- */
static int build_set(FJRun *r) {
    int count = r->op->arg;
    if (fj_need(r, count) < 0) return -1;
    PyObject *set = PySet_New(NULL);
    for (int i = count; set && i > 0; i--)
        if (PySet_Add(set, TOP(r, i)) < 0) Py_CLEAR(set);
    return fj_result(r, count, set);
}

static int build_map(FJRun *r) {
    int count = r->op->arg;
    if (count < 0 || fj_need(r, 2 * count) < 0) return -1;
    PyObject *dict = PyDict_New();
    for (int i = 2 * count; dict && i > 0; i -= 2)
        if (PyDict_SetItem(dict, TOP(r, i), TOP(r, i - 1)) < 0) Py_CLEAR(dict);
    return fj_result(r, 2 * count, dict);
}

static int build_const_key_map(FJRun *r) {
    int count = r->op->arg;
    if (count < 0 || fj_need(r, count + 1) < 0) return -1;
    PyObject *keys = TOP(r, 1);
    if (!PyTuple_CheckExact(keys) || PyTuple_GET_SIZE(keys) != count) {
        PyErr_SetString(PyExc_SystemError, "bad BUILD_CONST_KEY_MAP keys argument");
        return -1;
    }
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < count; i++)
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(keys, i), TOP(r, count + 1 - i)) < 0) Py_CLEAR(dict);
    return fj_result(r, count + 1, dict);
}

static int build_slice(FJRun *r) {
    int count = r->op->arg;
    if (fj_need(r, count) < 0 || count < 2) return -1;
    PyObject *slice = count == 3 ? PySlice_New(TOP(r, 3), TOP(r, 2), TOP(r, 1)) : PySlice_New(TOP(r, 2), TOP(r, 1), NULL);
    return fj_result(r, count, slice);
}

static int list_to_tuple(FJRun *r) { return fj_need(r, 1) < 0 ? -1 : fj_result(r, 1, PySequence_Tuple(TOP(r, 1))); }

/* ---- Growing containers ----------------------------------------------------------------------------------------- */
/* The container that lies `arg` deep once `operands` have been popped. */
static PyObject *container(FJRun *r, int operands, int (*check)(PyObject *)) {
    if (r->op->arg < 1 || fj_need(r, r->op->arg + operands) < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "framejit: no container");
        return NULL;
    }
    PyObject *target = TOP(r, r->op->arg + operands);
    if (target && check(target)) return target;
    PyErr_SetString(PyExc_SystemError, "framejit: not the right container");
    return NULL;
}

static int is_list(PyObject *obj) { return PyList_Check(obj); }

static int is_set(PyObject *obj) { return PyAnySet_Check(obj); }

static int is_dict(PyObject *obj) { return PyDict_Check(obj); }

static int list_append(FJRun *r) {
    PyObject *list = container(r, 1, is_list);
    return list ? fj_done(r, 1, PyList_Append(list, TOP(r, 1))) : -1;
}

static int set_add(FJRun *r) {
    PyObject *set = container(r, 1, is_set);
    return set ? fj_done(r, 1, PySet_Add(set, TOP(r, 1))) : -1;
}

static int map_add(FJRun *r) {
    PyObject *dict = container(r, 2, is_dict);
    return dict ? fj_done(r, 2, PyDict_SetItem(dict, TOP(r, 2), TOP(r, 1))) : -1;
}

static int list_extend(FJRun *r) {
    PyObject *list = container(r, 1, is_list);
    if (!list) return -1;
    PyObject *value = TOP(r, 1), *none = _PyList_Extend((PyListObject *)list, value);
    if (!none && PyErr_ExceptionMatches(PyExc_TypeError) && !Py_TYPE(value)->tp_iter && !PySequence_Check(value)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "Value after * must be an iterable, not %.200s", Py_TYPE(value)->tp_name);
    }
    Py_XDECREF(none);
    return fj_done(r, 1, none ? 0 : -1);
}

static int set_update(FJRun *r) {
    PyObject *set = container(r, 1, is_set);
    return set ? fj_done(r, 1, _PySet_Update(set, TOP(r, 1))) : -1;
}

static int dict_update(FJRun *r) {
    PyObject *dict = container(r, 1, is_dict);
    if (!dict) return -1;
    int status = PyDict_Update(dict, TOP(r, 1));
    if (status < 0 && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Format(PyExc_TypeError, "'%.200s' object is not a mapping", Py_TYPE(TOP(r, 1))->tp_name);
    return fj_done(r, 1, status);
}

/* Says which callable got the bad keyword arguments, as CPython does. */
static void explain_merge(PyObject *callable, PyObject *value) {
    int not_mapping = PyErr_ExceptionMatches(PyExc_AttributeError);
    if (!not_mapping && !PyErr_ExceptionMatches(PyExc_KeyError)) return;
    PyObject *error = fj_take_error(), *args = not_mapping ? NULL : ((PyBaseExceptionObject *)error)->args;
    PyObject *name = NULL;
    if (not_mapping || (args && PyTuple_GET_SIZE(args) == 1)) name = _PyObject_FunctionStr(callable);
    if (name && not_mapping)
        PyErr_Format(PyExc_TypeError, "%U argument after ** must be a mapping, not %.200s", name, Py_TYPE(value)->tp_name);
    else if (name && PyUnicode_Check(PyTuple_GET_ITEM(args, 0)))
        PyErr_Format(PyExc_TypeError, "%U got multiple values for keyword argument '%S'", name, PyTuple_GET_ITEM(args, 0));
    else if (name)
        PyErr_Format(PyExc_TypeError, "keywords must be strings");
    if (PyErr_Occurred())
        Py_DECREF(error);
    else
        fj_put_error(error);
    Py_XDECREF(name);
}

static int dict_merge(FJRun *r) {
    PyObject *dict = container(r, 1, is_dict);
    if (!dict) return -1;
    int status = _PyDict_MergeEx(dict, TOP(r, 1), 2), head = r->op->arg + (FJ_NULL_FIRST ? 3 : 4);
    if (status < 0 && fj_depth(r) >= head && TOP(r, head)) explain_merge(TOP(r, head), TOP(r, 1));
    return fj_done(r, 1, status);
}

/* ---- Unpacking -------------------------------------------------------------------------------------------------- */
static PyObject *iterator_to_unpack(PyObject *value) {
    PyObject *iterator = PyObject_GetIter(value);
    if (!iterator && PyErr_ExceptionMatches(PyExc_TypeError) && !Py_TYPE(value)->tp_iter && !PySequence_Check(value)) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object", Py_TYPE(value)->tp_name);
    }
    return iterator;
}

/* Takes exactly `before` items into a new list; -1 for `after` says that nothing may follow. */
static PyObject *take_items(PyObject *iterator, int before, int after) {
    PyObject *items = PyList_New(0);
    for (int i = 0; items && i < before; i++) {
        PyObject *item = PyIter_Next(iterator);
        if (!item && !PyErr_Occurred()) {
            if (after < 0)
                PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected %d, got %d)", before, i);
            else
                PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected at least %d, got %d)", before + after, i);
        }
        if (!item || PyList_Append(items, item) < 0) Py_CLEAR(items);
        Py_XDECREF(item);
    }
    return items;
}

/* Pushes the items of a list so that the first one is on top. */
static int push_items(FJRun *r, PyObject *items) {
    Py_ssize_t count = PyList_GET_SIZE(items);
    int status = fj_room(r, (int)count - 1);
    if (status == 0) fj_pop(r, 1);
    for (Py_ssize_t i = count; status == 0 && i > 0; i--) fj_push(r->f, Py_NewRef(PyList_GET_ITEM(items, i - 1)));
    Py_DECREF(items);
    return status;
}

static int unpack_sequence(FJRun *r) {
    int count = r->op->arg;
    if (fj_need(r, 1) < 0) return -1;
    PyObject *iterator = iterator_to_unpack(TOP(r, 1));
    if (!iterator) return -1;
    PyObject *items = take_items(iterator, count, -1), *extra = items ? PyIter_Next(iterator) : NULL;
    Py_DECREF(iterator);
    if (extra) PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d)", count);
    if (items && PyErr_Occurred()) Py_CLEAR(items);
    Py_XDECREF(extra);
    return items ? push_items(r, items) : -1;
}

/* Moves all but the last `after` items of `rest` into one list, which is appended to `items` before them. */
static int split_rest(PyObject *items, PyObject *rest, int before, int after) {
    Py_ssize_t total = PyList_GET_SIZE(rest), middle = total - after;
    if (middle < 0) {
        PyErr_Format(
            PyExc_ValueError, "not enough values to unpack (expected at least %d, got %zd)", before + after, before + total);
        return -1;
    }
    PyObject *tail = PyList_GetSlice(rest, middle, total);
    int status = tail && PyList_SetSlice(rest, middle, total, NULL) == 0 && PyList_Append(items, rest) == 0 ? 0 : -1;
    for (int i = 0; status == 0 && i < after; i++) status = PyList_Append(items, PyList_GET_ITEM(tail, i));
    Py_XDECREF(tail);
    return status;
}

static int unpack_ex(FJRun *r) {
    int before = r->op->arg & 255, after = r->op->arg >> 8;
    if (fj_need(r, 1) < 0) return -1;
    PyObject *iterator = iterator_to_unpack(TOP(r, 1));
    if (!iterator) return -1;
    PyObject *items = take_items(iterator, before, after), *rest = items ? PySequence_List(iterator) : NULL;
    Py_DECREF(iterator);
    if (items && (!rest || split_rest(items, rest, before, after) < 0)) Py_CLEAR(items);
    Py_XDECREF(rest);
    return items ? push_items(r, items) : -1;
}

const FJOperation fj_builder_operations[FJ_OPAQUE_COUNT] = {
    [FJ_OPAQUE_FORMAT_VALUE] = format_value, [FJ_OPAQUE_CONVERT_VALUE] = convert_value,
    [FJ_OPAQUE_BUILD_STRING] = build_string, [FJ_OPAQUE_BUILD_SET] = build_set,
    [FJ_OPAQUE_BUILD_MAP] = build_map,       [FJ_OPAQUE_BUILD_CONST_KEY_MAP] = build_const_key_map,
    [FJ_OPAQUE_BUILD_SLICE] = build_slice,   [FJ_OPAQUE_LIST_TO_TUPLE] = list_to_tuple,
    [FJ_OPAQUE_LIST_APPEND] = list_append,   [FJ_OPAQUE_SET_ADD] = set_add,
    [FJ_OPAQUE_MAP_ADD] = map_add,           [FJ_OPAQUE_LIST_EXTEND] = list_extend,
    [FJ_OPAQUE_SET_UPDATE] = set_update,     [FJ_OPAQUE_DICT_UPDATE] = dict_update,
    [FJ_OPAQUE_DICT_MERGE] = dict_merge,     [FJ_OPAQUE_UNPACK_SEQUENCE] = unpack_sequence,
    [FJ_OPAQUE_UNPACK_EX] = unpack_ex,
};
