/* Frames that wait for a callee: what a region of the callee may know of them, and how it goes on in them. */
#include "hook.h"

int fj_caller(const FJFrame *frame, int depth, FJCaller *caller) {
    const FJContext *c = frame->context;
    FJWaiting *waiting = NULL;
    for (; depth > 0 && c; depth--) {
        waiting = c->caller;
        c = waiting ? waiting->context : NULL;
    }
    if (!waiting || !c) return 0;
    fj_frame_fill(waiting->context, &caller->frame);
    caller->code = (PyObject *)waiting->context->code;
    caller->call_pc = waiting->call_pc;
    caller->after_pc = waiting->after_pc;
    caller->how = waiting->how;
    caller->extra = waiting->extra;
    return 1;
}

FJOut fj_leave(FJContext *c, PyObject *program, PyObject **regs, int at, int pc) {
    FJWaiting *waiting = c->caller;
    int count = fj_program_nregs(program);
    if (!waiting || waiting->program) {
        PyErr_SetString(PyExc_SystemError, "framejit: no caller to leave to");
        return FJ_OUT_THROW;
    }
    waiting->regs = PyMem_Calloc(count + 1, sizeof *regs);
    if (!waiting->regs) {
        PyErr_NoMemory();
        return FJ_OUT_THROW;
    }
    memcpy(waiting->regs, regs, count * sizeof *regs);
    memset(regs, 0, count * sizeof *regs);
    waiting->program = Py_NewRef(program);
    waiting->at = at;
    return fj_return(c, Py_NewRef(Py_None), pc);
}

void fj_waiting_clear(FJWaiting *waiting) {
    if (!waiting->program) return;
    fj_release(waiting->regs, fj_program_nregs(waiting->program), NULL);
    PyMem_Free(waiting->regs);
    Py_CLEAR(waiting->program);
}

FJOut fj_go_on(FJContext *c, FJWaiting *waiting) {
    FJOut out = fj_exits(c, waiting->program, waiting->regs, waiting->at);
    fj_waiting_clear(waiting);
    return out;
}
