/* Opaque raises, and what handlers do with the exception they get. */
#include "opaque.h"

/* ---- Raising ---------------------------------------------------------------------------------------------------- */
/* The exception that is set goes on as it was raised before: without a new entry in its traceback. */
static int again(FJRun *r, PyObject *error, int lasti) {
    fj_put_error(Py_NewRef(error));
    r->again = 1;
    r->lasti = lasti;
    return -1;
}

/* The instance that `raise value` or `from value` means; a new reference. */
static PyObject *instance(PyObject *value, const char *complaint, int checked) {
    if (PyExceptionInstance_Check(value)) return Py_NewRef(value);
    if (!PyExceptionClass_Check(value)) {
        PyErr_SetString(PyExc_TypeError, complaint);
        return NULL;
    }
    PyObject *made = PyObject_CallNoArgs(value);
    if (!made || !checked || PyExceptionInstance_Check(made)) return made;
    PyErr_Format(PyExc_TypeError, "calling %R should have returned an instance of BaseException, not %R", value, Py_TYPE(made));
    Py_DECREF(made);
    return NULL;
}

static int raise_handled(FJRun *r) {
    PyObject *error = PyErr_GetHandledException();
    if (!error || error == Py_None) {
        Py_XDECREF(error);
        PyErr_SetString(PyExc_RuntimeError, "No active exception to reraise");
        return -1;
    }
    again(r, error, r->op->pc / 2);
    Py_DECREF(error);
    return -1;
}

static int raise_varargs(FJRun *r) {
    int count = r->op->arg;
    if (!fj_is_handled(r->c, r->op->pc)) { /* the frame ends: CPython does all of that */
        r->native = 1;
        return 0;
    }
    if (count < 1) return raise_handled(r);
    if (fj_need(r, count) < 0) return -1;
    PyObject *error = instance(TOP(r, count), "exceptions must derive from BaseException", 1), *cause = NULL;
    if (!error) return -1;
    if (count > 1) {
        if (TOP(r, 1) != Py_None && !(cause = instance(TOP(r, 1), "exception causes must derive from BaseException", 0))) {
            Py_DECREF(error);
            return -1;
        }
        PyException_SetCause(error, cause);
    }
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
    return -1;
}

static int reraise(FJRun *r) {
    int depth = r->op->arg, lasti = r->op->pc / 2;
    if (!fj_is_handled(r->c, r->op->pc)) {
        r->native = 1;
        return 0;
    }
    if (fj_need(r, depth + 1) < 0) return -1;
    if (depth) {
        PyObject *place = TOP(r, depth + 1);
        if (!place || !PyLong_Check(place)) {
            PyErr_SetString(PyExc_SystemError, "lasti is not an int");
            return -1;
        }
        lasti = (int)PyLong_AsLong(place);
    }
    return again(r, TOP(r, 1), lasti);
}

static int end_async_for(FJRun *r) {
    if (fj_need(r, 2) < 0) return -1;
    if (PyErr_GivenExceptionMatches(TOP(r, 1), PyExc_StopAsyncIteration)) return fj_done(r, 2, 0);
    if (fj_is_handled(r->c, r->op->pc)) return again(r, TOP(r, 1), r->op->pc / 2);
    r->native = 1;
    return 0;
}

/* ---- Handling --------------------------------------------------------------------------------------------------- */
static int push_exc_info(FJRun *r) {
    if (fj_need(r, 1) < 0 || fj_room(r, 1) < 0) return -1;
    _PyErr_StackItem *info = r->c->ts->exc_info;
    PyObject *error = TOP(r, 1), *previous = info->exc_value;
    TOP(r, 1) = previous ? previous : Py_NewRef(Py_None);
    info->exc_value = Py_NewRef(error);
    fj_push(r->f, error);
    return 0;
}

static int pop_except(FJRun *r) {
    if (fj_need(r, 1) < 0) return -1;
    PyObject *previous = TOP(r, 1);
    TOP(r, 1) = NULL;
    r->f->stacktop--;
    Py_XSETREF(r->c->ts->exc_info->exc_value, previous);
    return 0;
}

static int is_exception_class(PyObject *type) {
    if (PyExceptionClass_Check(type)) return 1;
    PyErr_SetString(PyExc_TypeError, "catching classes that do not inherit from BaseException is not allowed");
    return 0;
}

/* Whether `except type` is allowed. */
static int is_exception_type(PyObject *type) {
    if (!PyTuple_Check(type)) return is_exception_class(type);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type); i++)
        if (!is_exception_class(PyTuple_GET_ITEM(type, i))) return 0;
    return 1;
}

static int check_exc_match(FJRun *r) {
    if (fj_need(r, 2) < 0 || !is_exception_type(TOP(r, 1))) return -1;
    return fj_truth(r, 1, PyErr_GivenExceptionMatches(TOP(r, 2), TOP(r, 1)));
}

static int is_no_group(PyObject *type) {
    int is_group = PyObject_IsSubclass(type, PyExc_BaseExceptionGroup);
    if (is_group > 0)
        PyErr_SetString(PyExc_TypeError, "catching ExceptionGroup with except* is not allowed. Use except instead.");
    return is_group == 0;
}

/* Whether `except* type` is allowed. */
static int is_star_type(PyObject *type) {
    if (!is_exception_type(type)) return 0;
    if (!PyTuple_Check(type)) return is_no_group(type);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type); i++)
        if (!is_no_group(PyTuple_GET_ITEM(type, i))) return 0;
    return 1;
}

static PyObject *group_of(PyObject *error) {
    PyObject *members = PyList_New(1);
    if (!members) return NULL;
    PyList_SET_ITEM(members, 0, Py_NewRef(error));
    PyObject *group = PyObject_CallFunction(PyExc_BaseExceptionGroup, "sO", "", members);
    Py_DECREF(members);
    return group;
}

/* What `except* type` takes of an exception and what it leaves; 0 or -1. */
static int split(PyObject *error, PyObject *type, PyObject **match, PyObject **rest) {
    int is_group = PyObject_TypeCheck(error, (PyTypeObject *)PyExc_BaseExceptionGroup);
    if (error != Py_None && PyErr_GivenExceptionMatches(error, type)) {
        *match = is_group ? Py_NewRef(error) : group_of(error);
        *rest = Py_NewRef(Py_None);
        return *match ? 0 : -1;
    }
    if (error != Py_None && is_group) {
        PyObject *pair = PyObject_CallMethod(error, "split", "(O)", type);
        if (!pair) return -1;
        *match = Py_NewRef(PyTuple_GET_ITEM(pair, 0));
        *rest = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
        Py_DECREF(pair);
        return 0;
    }
    *match = Py_NewRef(Py_None);
    *rest = Py_NewRef(error);
    return 0;
}

static int check_eg_match(FJRun *r) {
    PyObject *match = NULL, *rest = NULL;
    if (FJ_VERSION != 0x030B) { /* later versions give the new group a traceback */
        r->native = 1;
        return 0;
    }
    if (fj_need(r, 2) < 0 || !is_star_type(TOP(r, 1))) return -1;
    if (split(TOP(r, 2), TOP(r, 1), &match, &rest) < 0) {
        Py_XDECREF(match);
        Py_XDECREF(rest);
        return -1;
    }
    if (match != Py_None) PyErr_SetHandledException(match);
    fj_result(r, 2, rest);
    fj_push(r->f, match);
    return 0;
}

/* ---- Locals and cells ------------------------------------------------------------------------------------------- */
static PyObject **slot_of(FJRun *r) {
    int i = r->op->arg;
    if (i >= 0 && i < r->c->code->co_nlocalsplus) return &r->f->localsplus[i];
    PyErr_SetString(PyExc_SystemError, "framejit: no such slot");
    return NULL;
}

/* Complains as CPython does of a variable without a value. */
static int unbound(FJRun *r) {
    PyCodeObject *code = r->c->code;
    PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, r->op->arg);
    if (!(PyBytes_AS_STRING(code->co_localspluskinds)[r->op->arg] & CO_FAST_FREE)) {
        PyErr_Format(PyExc_UnboundLocalError, "cannot access local variable '%U' where it is not associated with a value", name);
        return -1;
    }
    PyErr_Format(
        PyExc_NameError, "cannot access free variable '%U' where it is not associated with a value in enclosing scope", name);
    PyObject *error = fj_take_error();
    if (PyObject_SetAttrString(error, "name", name) < 0) PyErr_Clear();
    fj_put_error(error);
    return -1;
}

static int load_slot(FJRun *r) {
    PyObject **slot = slot_of(r);
    if (!slot) return -1;
    return *slot ? fj_result(r, 0, Py_NewRef(*slot)) : unbound(r);
}

static int store_slot(FJRun *r) {
    PyObject **slot = slot_of(r);
    if (!slot || fj_need(r, 1) < 0) return -1;
    PyObject *value = TOP(r, 1), *old = *slot;
    TOP(r, 1) = NULL;
    r->f->stacktop--;
    *slot = value;
    Py_XDECREF(old);
    return 0;
}

static PyObject *cell_of(FJRun *r) {
    PyObject **slot = slot_of(r);
    if (!slot) return NULL;
    if (*slot && PyCell_Check(*slot)) return *slot;
    PyErr_SetString(PyExc_SystemError, "framejit: no cell in the slot");
    return NULL;
}

static int load_cell(FJRun *r) {
    PyObject *cell = cell_of(r), *value;
    if (!cell) return -1;
    value = PyCell_Get(cell);
    return value ? fj_result(r, 0, value) : unbound(r);
}

static int store_cell(FJRun *r) {
    PyObject *cell = cell_of(r);
    if (!cell || fj_need(r, 1) < 0) return -1;
    return fj_done(r, 1, PyCell_Set(cell, TOP(r, 1)));
}

/* Unbinds a local, or empties the cell in its slot. */
static int delete_slot(FJRun *r) {
    PyObject **slot = slot_of(r);
    if (!slot) return -1;
    int kind = (unsigned char)PyBytes_AS_STRING(r->c->code->co_localspluskinds)[r->op->arg];
    if (kind & (CO_FAST_CELL | CO_FAST_FREE) && *slot && PyCell_Check(*slot))
        return PyCell_GET(*slot) ? PyCell_Set(*slot, NULL) : unbound(r);
    if (!*slot) return unbound(r);
    Py_CLEAR(*slot);
    return 0;
}

const FJOperation fj_raise_operations[FJ_OPAQUE_COUNT] = {
    [FJ_OPAQUE_RAISE_VARARGS] = raise_varargs,   [FJ_OPAQUE_RERAISE] = reraise,
    [FJ_OPAQUE_END_ASYNC_FOR] = end_async_for,   [FJ_OPAQUE_PUSH_EXC_INFO] = push_exc_info,
    [FJ_OPAQUE_POP_EXCEPT] = pop_except,         [FJ_OPAQUE_CHECK_EXC_MATCH] = check_exc_match,
    [FJ_OPAQUE_CHECK_EG_MATCH] = check_eg_match, [FJ_OPAQUE_LOAD_SLOT] = load_slot,
    [FJ_OPAQUE_STORE_SLOT] = store_slot,         [FJ_OPAQUE_DELETE_SLOT] = delete_slot,
    [FJ_OPAQUE_LOAD_CELL] = load_cell,           [FJ_OPAQUE_STORE_CELL] = store_cell,
};
