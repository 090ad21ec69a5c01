/* The OPAQUE exit: one instruction by the C API, on the real stack of a frame that stands on the thread's chain. */
#include "opaque.h"

PyObject *fj_operand(FJRun *r, int i) {
    PyObject *value = i < r->op->nconsts ? fj_program_const(r->op->program, r->op->consts[i]) : NULL;
    if (!value) PyErr_SetString(PyExc_SystemError, "framejit: an operand is missing");
    return value;
}

static FJOperation operation_of(int kind) {
    if (kind < 0 || kind >= FJ_OPAQUE_COUNT) return NULL;
    if (fj_object_operations[kind]) return fj_object_operations[kind];
    if (fj_name_operations[kind]) return fj_name_operations[kind];
    if (fj_raise_operations[kind]) return fj_raise_operations[kind];
    if (fj_await_operations[kind]) return fj_await_operations[kind];
    return fj_builder_operations[kind];
}

FJOut fj_opaque(FJContext *c, const FJOpaqueOp *op) {
    FJOperation operation = operation_of(op->kind);
    FJRun r = {c, c->frame, op, 0, 0, 0, 0};
    c->pc = op->pc;
    if (!operation) return FJ_OUT_NATIVE;
    FJPyFrame *previous = fj_link(c, op->pc);
    int status = operation(&r);
    fj_unlink(c, previous);
    if (r.native) return FJ_OUT_NATIVE;
    if (status < 0) return r.again ? fj_rethrow(c, r.lasti) : FJ_OUT_THROW;
    c->pc = r.jump ? op->target_pc : op->next_pc;
    return FJ_OUT_LOOKUP;
}
