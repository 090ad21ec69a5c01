/* Opaque iteration of coroutines, and `yield from`. */
#include "opaque.h"

#define ASYNC(type, slot) ((type)->tp_as_async ? (type)->tp_as_async->slot : NULL)

static int is_iterable_coroutine(PyObject *value) {
    return PyGen_CheckExact(value) && FJ_GEN_CODE((PyGenObject *)value)->co_flags & CO_ITERABLE_COROUTINE;
}

/* What `await value` iterates. */
static PyObject *awaitable_iterator(PyObject *value) {
    if (PyCoro_CheckExact(value) || is_iterable_coroutine(value)) return Py_NewRef(value);
    unaryfunc await = ASYNC(Py_TYPE(value), am_await);
    if (!await)
        return PyErr_Format(PyExc_TypeError, "object %.100s can't be used in 'await' expression", Py_TYPE(value)->tp_name);
    PyObject *found = await(value);
    if (!found) return NULL;
    if (PyCoro_CheckExact(found) || is_iterable_coroutine(found))
        PyErr_SetString(PyExc_TypeError, "__await__() returned a coroutine");
    else if (!PyIter_Check(found))
        PyErr_Format(PyExc_TypeError, "__await__() returned non-iterator of type '%.100s'", Py_TYPE(found)->tp_name);
    else
        return found;
    Py_DECREF(found);
    return NULL;
}

/* 0 where a coroutine waits for nothing yet. */
static int is_awaited(PyObject *coroutine) {
    PyObject *inner = PyObject_GetAttrString(coroutine, "cr_await");
    if (!inner) return -1;
    Py_DECREF(inner);
    return inner != Py_None;
}

static int get_awaitable(FJRun *r) {
    if (fj_need(r, 1) < 0) return -1;
    PyObject *value = TOP(r, 1), *found = awaitable_iterator(value);
    if (!found && r->op->arg && !ASYNC(Py_TYPE(value), am_await))
        PyErr_Format(
            PyExc_TypeError, "'async with' received an object from %s that does not implement __await__: %.100s",
            r->op->arg == 1 ? "__aenter__" : "__aexit__", Py_TYPE(value)->tp_name);
    if (found && PyCoro_CheckExact(found)) {
        int awaited = is_awaited(found);
        if (awaited > 0) PyErr_SetString(PyExc_RuntimeError, "coroutine is being awaited already");
        if (awaited) Py_CLEAR(found);
    }
    return fj_result(r, 1, found);
}

static int get_aiter(FJRun *r) {
    if (fj_need(r, 1) < 0) return -1;
    PyTypeObject *type = Py_TYPE(TOP(r, 1));
    unaryfunc aiter = ASYNC(type, am_aiter);
    if (!aiter) {
        PyErr_Format(PyExc_TypeError, "'async for' requires an object with __aiter__ method, got %.100s", type->tp_name);
        return -1;
    }
    PyObject *found = aiter(TOP(r, 1));
    if (found && !ASYNC(Py_TYPE(found), am_anext)) {
        PyErr_Format(
            PyExc_TypeError, "'async for' received an object from __aiter__ that does not implement __anext__: %.100s",
            Py_TYPE(found)->tp_name);
        Py_CLEAR(found);
    }
    return fj_result(r, 1, found);
}

/* Complains of what __anext__ gave, because of the exception that is set. */
static void not_awaitable(PyObject *value) {
    PyObject *cause = fj_take_error();
    PyErr_Format(PyExc_TypeError, "'async for' received an invalid object from __anext__: %.100s", Py_TYPE(value)->tp_name);
    PyObject *error = fj_take_error();
    PyException_SetContext(error, Py_XNewRef(cause));
    PyException_SetCause(error, cause);
    fj_put_error(error);
}

static int get_anext(FJRun *r) {
    if (fj_need(r, 1) < 0 || fj_room(r, 1) < 0) return -1;
    PyObject *iterator = TOP(r, 1);
    PyTypeObject *type = Py_TYPE(iterator);
    unaryfunc anext = ASYNC(type, am_anext);
    if (!anext) {
        PyErr_Format(PyExc_TypeError, "'async for' requires an iterator with __anext__ method, got %.100s", type->tp_name);
        return -1;
    }
    PyObject *item = anext(iterator);
    if (!item || PyAsyncGen_CheckExact(iterator)) return fj_result(r, 0, item);
    PyObject *found = awaitable_iterator(item);
    if (!found) not_awaitable(item);
    Py_DECREF(item);
    return fj_result(r, 0, found);
}

static int get_yield_from_iter(FJRun *r) {
    if (fj_need(r, 1) < 0) return -1;
    PyObject *value = TOP(r, 1);
    if (PyGen_CheckExact(value)) return 0;
    if (!PyCoro_CheckExact(value)) return fj_result(r, 1, PyObject_GetIter(value));
    if (r->c->code->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE)) return 0;
    PyErr_SetString(PyExc_TypeError, "cannot 'yield from' a coroutine object in a non-coroutine generator");
    return -1;
}

static int send(FJRun *r) {
    if (fj_need(r, 2) < 0) return -1;
    PyObject *value = NULL;
    switch (PyIter_Send(TOP(r, 2), TOP(r, 1), &value)) {
    case PYGEN_RETURN: r->jump = 1; return fj_result(r, 2, value);
    case PYGEN_NEXT: return fj_result(r, 1, value);
    default: return -1;
    }
}

const FJOperation fj_await_operations[FJ_OPAQUE_COUNT] = {
    [FJ_OPAQUE_GET_AWAITABLE] = get_awaitable,
    [FJ_OPAQUE_GET_AITER] = get_aiter,
    [FJ_OPAQUE_GET_ANEXT] = get_anext,
    [FJ_OPAQUE_GET_YIELD_FROM_ITER] = get_yield_from_iter,
    [FJ_OPAQUE_SEND] = send,
};
