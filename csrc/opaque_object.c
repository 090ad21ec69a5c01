/* Opaque calls, operators, iteration and blocks. */
#include "opaque.h"

#define ONE(name, expression)                                                                                                    \
    static int name(FJRun *r) {                                                                                                  \
        if (fj_need(r, 1) < 0) return -1;                                                                                        \
        PyObject *a = TOP(r, 1);                                                                                                 \
        return expression;                                                                                                       \
    }
#define TWO(name, expression)                                                                                                    \
    static int name(FJRun *r) {                                                                                                  \
        if (fj_need(r, 2) < 0) return -1;                                                                                        \
        PyObject *a = TOP(r, 2), *b = TOP(r, 1);                                                                                 \
        return expression;                                                                                                       \
    }
#define THREE(name, expression)                                                                                                  \
    static int name(FJRun *r) {                                                                                                  \
        if (fj_need(r, 3) < 0) return -1;                                                                                        \
        PyObject *a = TOP(r, 3), *b = TOP(r, 2), *c = TOP(r, 1);                                                                 \
        return expression;                                                                                                       \
    }

/* ---- Calls ------------------------------------------------------------------------------------------------------ */
/* Calls with `count` arguments on top of the head of a call, keyword values included. */
static PyObject *call_stack(FJRun *r, int count, int above, PyObject *names) {
    PyObject **args = &TOP(r, count + above), *first = args[-2], *second = args[-1], *callable;
    int bound;
    if (FJ_NULL_FIRST) {
        bound = first != NULL;
        callable = bound ? first : second;
    } else {
        bound = second != NULL;
        callable = first;
    }
    if (!callable) {
        PyErr_SetString(PyExc_SystemError, "framejit: nothing to call");
        return NULL;
    }
    Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
    size_t nargs = (size_t)(count - keywords + bound) | PY_VECTORCALL_ARGUMENTS_OFFSET;
    return PyObject_Vectorcall(callable, args - bound, nargs, names);
}

static int check_names(PyObject *names, int count) {
    if (PyTuple_CheckExact(names) && PyTuple_GET_SIZE(names) <= count) return 0;
    PyErr_SetString(PyExc_SystemError, "framejit: bad keyword names");
    return -1;
}

static int call(FJRun *r) {
    int count = r->op->arg;
    PyObject *names = NULL;
    if (count < 0 || fj_need(r, count + 2) < 0) return -1;
    if (r->op->nconsts > 0) {
        names = fj_operand(r, 0);
        if (!names || check_names(names, count) < 0) return -1;
        if (!PyTuple_GET_SIZE(names)) names = NULL;
    }
    return fj_result(r, count + 2, call_stack(r, count, 0, names));
}

static int call_kw(FJRun *r) {
    int count = r->op->arg;
    if (count < 0 || fj_need(r, count + 3) < 0) return -1;
    PyObject *names = TOP(r, 1);
    if (check_names(names, count) < 0) return -1;
    return fj_result(r, count + 3, call_stack(r, count, 1, PyTuple_GET_SIZE(names) ? names : NULL));
}

static PyObject *argument_tuple(PyObject *callable, PyObject *args) {
    if (PyTuple_CheckExact(args)) return Py_NewRef(args);
    if (Py_TYPE(args)->tp_iter || PySequence_Check(args)) return PySequence_Tuple(args);
    PyObject *name = _PyObject_FunctionStr(callable);
    if (!name) return NULL;
    PyErr_Format(PyExc_TypeError, "%U argument after * must be an iterable, not %.200s", name, Py_TYPE(args)->tp_name);
    Py_DECREF(name);
    return NULL;
}

static int call_ex(FJRun *r) {
    int keywords = r->op->arg & 1;
    if (fj_need(r, 3 + keywords) < 0) return -1;
    PyObject *callable = TOP(r, (FJ_NULL_FIRST ? 2 : 3) + keywords);
    PyObject *args = argument_tuple(callable, TOP(r, 1 + keywords));
    if (!args) return -1;
    PyObject *result = PyObject_Call(callable, args, keywords ? TOP(r, 1) : NULL);
    Py_DECREF(args);
    return fj_result(r, 3 + keywords, result);
}

/* ---- Operators -------------------------------------------------------------------------------------------------- */
static PyObject *power(PyObject *a, PyObject *b) { return PyNumber_Power(a, b, Py_None); }

static PyObject *inplace_power(PyObject *a, PyObject *b) { return PyNumber_InPlacePower(a, b, Py_None); }

static const binaryfunc binary_functions[] = {
    [NB_ADD] = PyNumber_Add,
    [NB_AND] = PyNumber_And,
    [NB_FLOOR_DIVIDE] = PyNumber_FloorDivide,
    [NB_LSHIFT] = PyNumber_Lshift,
    [NB_MATRIX_MULTIPLY] = PyNumber_MatrixMultiply,
    [NB_MULTIPLY] = PyNumber_Multiply,
    [NB_REMAINDER] = PyNumber_Remainder,
    [NB_OR] = PyNumber_Or,
    [NB_POWER] = power,
    [NB_RSHIFT] = PyNumber_Rshift,
    [NB_SUBTRACT] = PyNumber_Subtract,
    [NB_TRUE_DIVIDE] = PyNumber_TrueDivide,
    [NB_XOR] = PyNumber_Xor,
    [NB_INPLACE_ADD] = PyNumber_InPlaceAdd,
    [NB_INPLACE_AND] = PyNumber_InPlaceAnd,
    [NB_INPLACE_FLOOR_DIVIDE] = PyNumber_InPlaceFloorDivide,
    [NB_INPLACE_LSHIFT] = PyNumber_InPlaceLshift,
    [NB_INPLACE_MATRIX_MULTIPLY] = PyNumber_InPlaceMatrixMultiply,
    [NB_INPLACE_MULTIPLY] = PyNumber_InPlaceMultiply,
    [NB_INPLACE_REMAINDER] = PyNumber_InPlaceRemainder,
    [NB_INPLACE_OR] = PyNumber_InPlaceOr,
    [NB_INPLACE_POWER] = inplace_power,
    [NB_INPLACE_RSHIFT] = PyNumber_InPlaceRshift,
    [NB_INPLACE_SUBTRACT] = PyNumber_InPlaceSubtract,
    [NB_INPLACE_TRUE_DIVIDE] = PyNumber_InPlaceTrueDivide,
    [NB_INPLACE_XOR] = PyNumber_InPlaceXor,
};

static int binary_op(FJRun *r) {
    if (fj_need(r, 2) < 0) return -1;
    if (r->op->arg < 0 || r->op->arg > NB_INPLACE_XOR) {
        PyErr_Format(PyExc_SystemError, "framejit: no binary operator %d", r->op->arg);
        return -1;
    }
    return fj_operator(r, 2, binary_functions[r->op->arg](TOP(r, 2), TOP(r, 1)));
}

static int compare(FJRun *r) {
    if (fj_need(r, 2) < 0) return -1;
    PyObject *value = PyObject_RichCompare(TOP(r, 2), TOP(r, 1), r->op->arg & 7);
    if (!value || !(r->op->arg & 16)) return fj_operator(r, 2, value);
    int truth = PyObject_IsTrue(value);
    Py_DECREF(value);
    return fj_told(r, 2, truth);
}

static int not(FJRun * r) {
    if (fj_need(r, 1) < 0) return -1;
    int truth = PyObject_IsTrue(TOP(r, 1));
    return fj_truth(r, 1, truth < 0 ? -1 : !truth);
}

static int contains(FJRun *r) {
    if (fj_need(r, 2) < 0) return -1;
    int found = PySequence_Contains(TOP(r, 1), TOP(r, 2));
    return fj_told(r, 2, found < 0 ? -1 : found ^ (r->op->arg & 1));
}

ONE(positive, fj_result(r, 1, PyNumber_Positive(a)))
ONE(negative, fj_result(r, 1, PyNumber_Negative(a)))
ONE(invert, fj_result(r, 1, PyNumber_Invert(a)))
ONE(to_bool, fj_truth(r, 1, PyObject_IsTrue(a)))
TWO(is, fj_told(r, 2, (a == b) ^ (r->op->arg & 1)))
TWO(subscript, fj_operator(r, 2, PyObject_GetItem(a, b)))
THREE(store_subscript, PyObject_SetItem(b, c, a) < 0 ? -1 : fj_operated(r, 3, NULL))
TWO(delete_subscript, PyObject_DelItem(a, b) < 0 ? -1 : fj_operated(r, 2, NULL))

static int get_slice(FJRun *r) {
    if (fj_need(r, 3) < 0) return -1;
    PyObject *slice = PySlice_New(TOP(r, 2), TOP(r, 1), NULL);
    PyObject *value = slice ? PyObject_GetItem(TOP(r, 3), slice) : NULL;
    Py_XDECREF(slice);
    return fj_result(r, 3, value);
}

static int store_slice(FJRun *r) {
    if (fj_need(r, 4) < 0) return -1;
    PyObject *slice = PySlice_New(TOP(r, 2), TOP(r, 1), NULL);
    int status = slice ? PyObject_SetItem(TOP(r, 3), slice, TOP(r, 4)) : -1;
    Py_XDECREF(slice);
    return fj_done(r, 4, status);
}

/* ---- Iteration -------------------------------------------------------------------------------------------------- */
ONE(get_iter, fj_result(r, 1, PyObject_GetIter(a)))

static int get_len(FJRun *r) {
    if (fj_need(r, 1) < 0) return -1;
    Py_ssize_t length = PyObject_Length(TOP(r, 1));
    return length < 0 ? -1 : fj_result(r, 0, PyLong_FromSsize_t(length));
}

static int for_iter(FJRun *r) {
    if (fj_need(r, 1) < 0) return -1;
    PyObject *iterator = TOP(r, 1);
    if (!PyIter_Check(iterator)) {
        PyErr_SetString(PyExc_SystemError, "framejit: not an iterator");
        return -1;
    }
    PyObject *item = Py_TYPE(iterator)->tp_iternext(iterator);
    if (item) return fj_result(r, 0, item);
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_StopIteration)) return -1;
        PyErr_Clear();
    }
    r->jump = 1;
    return fj_done(r, 1, 0);
}

static int jump_on(FJRun *r, int wanted) {
    if (fj_need(r, 1) < 0) return -1;
    int truth = PyObject_IsTrue(TOP(r, 1));
    r->jump = truth == wanted;
    return fj_done(r, 1, truth);
}

static int jump_or_pop_on(FJRun *r, int wanted) {
    if (fj_need(r, 1) < 0) return -1;
    int truth = PyObject_IsTrue(TOP(r, 1));
    r->jump = truth == wanted;
    return fj_done(r, r->jump ? 0 : 1, truth);
}

static int jump_if_true(FJRun *r) { return jump_on(r, 1); }

static int jump_if_false(FJRun *r) { return jump_on(r, 0); }

static int jump_if_true_or_pop(FJRun *r) { return jump_or_pop_on(r, 1); }

static int jump_if_false_or_pop(FJRun *r) { return jump_or_pop_on(r, 0); }

/* ---- With blocks ------------------------------------------------------------------------------- */
static PyObject *special(PyObject *manager, const char *name, const char *kind, const char *complaint) {
    PyObject *text = PyUnicode_InternFromString(name), *method = text ? _PyObject_LookupSpecial(manager, text) : NULL;
    Py_XDECREF(text);
    if (!method && !PyErr_Occurred())
        PyErr_Format(
            PyExc_TypeError, "'%.200s' object does not support the %scontext manager protocol%s", Py_TYPE(manager)->tp_name, kind,
            complaint);
    return method;
}

static int enter_block(FJRun *r, const char *kind, const char *names[2], const char *missed) {
    if (fj_need(r, 1) < 0 || fj_room(r, 1) < 0) return -1;
    PyObject *manager = TOP(r, 1), *enter = special(manager, names[0], kind, ""), *result = NULL;
    PyObject *leave = enter ? special(manager, names[1], kind, missed) : NULL;
    if (leave) result = PyObject_CallNoArgs(enter);
    Py_XDECREF(enter);
    if (!result) {
        Py_XDECREF(leave);
        return -1;
    }
    fj_result(r, 1, leave);
    fj_push(r->f, result);
    return 0;
}

static int before_with(FJRun *r) {
    const char *names[] = {"__enter__", "__exit__"};
    return enter_block(r, "", names, " (missed __exit__ method)");
}

static int before_async_with(FJRun *r) {
    const char *names[] = {"__aenter__", "__aexit__"};
    return enter_block(r, "asynchronous ", names, " (missed __aexit__ method)");
}

static int with_exit(FJRun *r) {
    if (fj_need(r, 4) < 0) return -1;
    PyObject *error = TOP(r, 1), *leave = TOP(r, 4);
    if (!error || !PyExceptionInstance_Check(error)) {
        PyErr_SetString(PyExc_SystemError, "framejit: no exception to leave a with block");
        return -1;
    }
    PyObject *traceback = PyException_GetTraceback(error);
    PyObject *args[] = {NULL, (PyObject *)Py_TYPE(error), error, traceback ? traceback : Py_None};
    PyObject *result = PyObject_Vectorcall(leave, args + 1, 3 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_XDECREF(traceback);
    return fj_result(r, 0, result);
}

ONE(match_mapping, (a = (PyObject *)Py_TYPE(a), fj_truth(r, 0, PyType_HasFeature((PyTypeObject *)a, Py_TPFLAGS_MAPPING))))
ONE(match_sequence, (a = (PyObject *)Py_TYPE(a), fj_truth(r, 0, PyType_HasFeature((PyTypeObject *)a, Py_TPFLAGS_SEQUENCE))))

static int pop_top(FJRun *r) { return fj_need(r, 1) < 0 ? -1 : fj_done(r, 1, 0); }

const FJOperation fj_object_operations[FJ_OPAQUE_COUNT] = {
    [FJ_OPAQUE_CALL] = call,
    [FJ_OPAQUE_CALL_KW] = call_kw,
    [FJ_OPAQUE_CALL_EX] = call_ex,
    [FJ_OPAQUE_BINARY_OP] = binary_op,
    [FJ_OPAQUE_UNARY_POSITIVE] = positive,
    [FJ_OPAQUE_UNARY_NEGATIVE] = negative,
    [FJ_OPAQUE_UNARY_INVERT] = invert,
    [FJ_OPAQUE_UNARY_NOT] = not,
    [FJ_OPAQUE_TO_BOOL] = to_bool,
    [FJ_OPAQUE_COMPARE_OP] = compare,
    [FJ_OPAQUE_CONTAINS_OP] = contains,
    [FJ_OPAQUE_IS_OP] = is,
    [FJ_OPAQUE_BINARY_SUBSCR] = subscript,
    [FJ_OPAQUE_STORE_SUBSCR] = store_subscript,
    [FJ_OPAQUE_DELETE_SUBSCR] = delete_subscript,
    [FJ_OPAQUE_BINARY_SLICE] = get_slice,
    [FJ_OPAQUE_STORE_SLICE] = store_slice,
    [FJ_OPAQUE_GET_ITER] = get_iter,
    [FJ_OPAQUE_GET_LEN] = get_len,
    [FJ_OPAQUE_FOR_ITER] = for_iter,
    [FJ_OPAQUE_JUMP_IF_TRUE] = jump_if_true,
    [FJ_OPAQUE_JUMP_IF_FALSE] = jump_if_false,
    [FJ_OPAQUE_JUMP_IF_TRUE_OR_POP] = jump_if_true_or_pop,
    [FJ_OPAQUE_JUMP_IF_FALSE_OR_POP] = jump_if_false_or_pop,
    [FJ_OPAQUE_BEFORE_WITH] = before_with,
    [FJ_OPAQUE_BEFORE_ASYNC_WITH] = before_async_with,
    [FJ_OPAQUE_WITH_EXIT] = with_exit,
    [FJ_OPAQUE_MATCH_MAPPING] = match_mapping,
    [FJ_OPAQUE_MATCH_SEQUENCE] = match_sequence,
    [FJ_OPAQUE_POP_TOP] = pop_top,
};
