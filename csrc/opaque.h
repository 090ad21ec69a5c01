/* Shared by the files that do opaque instructions. */
#ifndef FJ_OPAQUE_H
#define FJ_OPAQUE_H

#include "hook.h"

/* One instruction under way; its operands stay on the frame's stack until it has succeeded. */
typedef struct {
    FJContext *c;
    FJPyFrame *f;
    const FJOpaqueOp *op;
    int jump;   /* go on at target_pc */
    int native; /* nothing was done: CPython does it */
    int again;  /* the exception that is set was raised before, at `lasti` (code units) */
    int lasti;
} FJRun;

/* 0, or -1 with an exception. */
typedef int (*FJOperation)(FJRun *);

/* The n-th entry from the top of the stack, 1 being the top. */
#define TOP(r, n) ((r)->f->localsplus[(r)->f->stacktop - (n)])

static inline int fj_depth(FJRun *r) { return r->f->stacktop - r->c->code->co_nlocalsplus; }

/* Fails unless the stack holds `count` entries. */
static inline int fj_need(FJRun *r, int count) {
    if (count >= 0 && fj_depth(r) >= count) return 0;
    PyErr_SetString(PyExc_SystemError, "framejit: the stack is too short for the operation");
    return -1;
}

/* Fails unless `count` more entries fit. */
static inline int fj_room(FJRun *r, int count) {
    if (fj_depth(r) + count <= r->c->code->co_stacksize) return 0;
    PyErr_SetString(PyExc_SystemError, "framejit: the stack is too full for the operation");
    return -1;
}

static inline void fj_pop(FJRun *r, int count) { fj_truncate(r->f, r->f->stacktop - count); }

/* Replaces `count` operands by a new reference; a NULL value is a failure. */
static inline int fj_result(FJRun *r, int count, PyObject *value) {
    if (!value) return -1;
    if (count == 0) {
        if (fj_room(r, 1) < 0) {
            Py_DECREF(value);
            return -1;
        }
        fj_push(r->f, value);
        return 0;
    }
    PyObject *lowest = TOP(r, count);
    TOP(r, count) = value;
    fj_pop(r, count - 1);
    Py_XDECREF(lowest);
    return 0;
}

static inline int fj_truth(FJRun *r, int count, int truth) {
    return truth < 0 ? -1 : fj_result(r, count, Py_NewRef(truth ? Py_True : Py_False));
}

/* An operator has succeeded: its operands, four at most, go from the lowest on, as in CPython; a NULL result pushes nothing. */
static inline int fj_operated(FJRun *r, int count, PyObject *result) {
    PyObject *operands[4];
    memcpy(operands, &TOP(r, count), count * sizeof *operands);
    r->f->stacktop -= count;
    if (result) fj_push(r->f, result);
    for (int i = 0; i < count; i++) Py_XDECREF(operands[i]);
    return 0;
}

static inline int fj_operator(FJRun *r, int count, PyObject *result) { return result ? fj_operated(r, count, result) : -1; }

static inline int fj_told(FJRun *r, int count, int truth) {
    return truth < 0 ? -1 : fj_operated(r, count, Py_NewRef(truth ? Py_True : Py_False));
}

/* Operation succeeded: drop the operands. */
static inline int fj_done(FJRun *r, int count, int status) {
    if (status < 0) return -1;
    fj_pop(r, count);
    return 0;
}

/* Constant i of the operation, borrowed. */
PyObject *fj_operand(FJRun *r, int i);

extern const FJOperation fj_name_operations[FJ_OPAQUE_COUNT];    /* names, imports, attributes */
extern const FJOperation fj_object_operations[FJ_OPAQUE_COUNT];  /* calls, operators, iteration, blocks */
extern const FJOperation fj_raise_operations[FJ_OPAQUE_COUNT];   /* raises, handlers, locals */
extern const FJOperation fj_await_operations[FJ_OPAQUE_COUNT];   /* coroutines */
extern const FJOperation fj_builder_operations[FJ_OPAQUE_COUNT]; /* containers and text */
#endif
