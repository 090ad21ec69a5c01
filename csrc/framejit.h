/* The interface between the frame machinery (C, CPython's internals) and the register machine (C++). */
#ifndef FRAMEJIT_H
#define FRAMEJIT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Tables -----------------------------------------------------------------------------------------------------
 * ops.def has a row FJ_OP(NAME, "operand spec", "doc") for every machine instruction, exits included, and a row
 * FJ_OPAQUE(NAME, "stack effect") for every kind of the OPAQUE exit. fj_run stops in front of exits. */
typedef enum {
#define FJ_OP(name, spec, doc) FJ_OP_##name,
#define FJ_OPAQUE(name, effect)
#include "ops.def"
#undef FJ_OP
#undef FJ_OPAQUE
    FJ_OP_COUNT
} FJOp;

typedef enum {
#define FJ_OP(name, spec, doc)
#define FJ_OPAQUE(name, effect) FJ_OPAQUE_##name,
#include "ops.def"
#undef FJ_OP
#undef FJ_OPAQUE
    FJ_OPAQUE_COUNT
} FJOpaque;

/* What happens to the value that a CALLEE returns to its caller. */
typedef enum {
    FJ_RESULT_PUSH,  /* push it */
    FJ_RESULT_INIT,  /* it must be None (else TypeError); push the extra register */
    FJ_RESULT_DROP,  /* drop it, push nothing */
    FJ_RESULT_TRUTH, /* push True or False by its truth */
    FJ_RESULT_BOOL,  /* it must be a bool (else TypeError); push it */
    FJ_RESULT_COUNT
} FJResult;

/* ---- Frames ----------------------------------------------------------------------------------------------------- */
/* What a program may read of the frame it runs in; all references are borrowed. */
typedef struct {
    PyObject **slots; /* locals, cells, free variables, stack: one array, NULL for empty */
    int nslots;
    PyObject *globals, *builtins;
    PyObject *func;      /* the function of the frame */
    PyObject *handled;   /* exc_info->exc_value: NULL or None when nothing is handled */
    PyObject *locals;    /* the namespace of a class body or of module code, else NULL */
    const void *context; /* of a frame that runs under the hook, else NULL */
} FJFrame;

/* A frame that waits for its callee in a CALLEE exit; all references are borrowed. */
typedef struct {
    FJFrame frame;
    PyObject *code;
    int call_pc, after_pc;
    FJResult how;
    PyObject *extra; /* what takes the result's place, or NULL */
} FJCaller;

/* ---- Programs (machine.cpp) -------------------------------------------------------------------------------------
 * An instruction is packed as its op followed by its operands in the order of the spec, one int32 each; an operand of
 * kind * or K or D is its length followed by its items. */
int fj_is_program(PyObject *obj);
/* A weak constant has died: the program never runs again. */
int fj_program_dead(PyObject *program);
int fj_program_nregs(PyObject *program);
/* How many frames the captured code has on top of the one that it begins in. */
int fj_program_depth(PyObject *program);
/* The registers that a run from the start needs: no less. */
int fj_program_room(PyObject *program);
/* The packed instruction, op first. */
const int32_t *fj_program_instr(PyObject *program, int at);
/* Of an exit: one byte per register, nonzero when something after it still needs the register. */
const uint8_t *fj_program_live(PyObject *program, int at);
/* Borrowed; NULL without an exception when a weak constant has died. */
PyObject *fj_program_const(PyObject *program, int index);

enum {
    FJ_EXIT,   /* regs are filled; *at is the index of an exit instruction */
    FJ_MISS,   /* a check failed; nothing has happened; no exception set */
    FJ_REPLAY, /* an operator of the graph raised an Exception, nothing was written: put aside, run the frame natively */
    FJ_ERROR   /* exception set. *at: the instruction of the exit sequence to perform first (see ON_ERROR), or -1: throw
                  at the region's own pc with the frame as it is */
};

/* Runs instructions from `start` up to the next exit. The registers own their references (NULL: empty); the caller
 * passes them all NULL when it starts at 0, and clears them afterwards whatever is returned. A run that begins at 0 and
 * reaches an exit counts as a hit.
 * ON_ERROR L (an ordinary op; L = -1 turns it off) sets the exit sequence for later failures in the same run; such a
 * sequence ends in RAISE with register -1, which stands for the exception that is set. */
int fj_run(PyObject *program, FJFrame *frame, PyObject **regs, int start, int *at);
/* What the graph raised, behind FJ_REPLAY: a new reference, or NULL where it was a check. */
PyObject *fj_take_replayed(void);

/* Adds Program, OPS, tensor_check, torch_state, ... to the module; 0 or -1. */
int fj_machine_init(PyObject *module);

/* ---- Services of the frame machinery for the machine ------------------------------------------------------------ */
extern PyObject *fj_null;    /* _C.NULL: an empty slot */
extern PyObject *fj_missing; /* _C.MISSING: an absent attribute or key */

/* The frame that waits `depth` calls above, 1 for the direct caller; 0 if a native call lies between. */
int fj_caller(const FJFrame *frame, int depth, FJCaller *caller);

/* Switches the hook of this thread off or on and returns what it was: around graph calls, CHECK_PY, CALL, ... */
int fj_hook_set(int enabled);

/* A real generator or coroutine of `func` that is suspended in front of `pc` with these slots (borrowed; NULL: empty).
 * pc is that of the RESUME after a yield; the slots hold the stack without the value that is to be sent. */
PyObject *fj_build_generator(PyObject *func, int pc, PyObject **slots, int nslots);

/* The frame object of a call of `func` that has ended at pc with these slots (borrowed; NULL: empty); `back` may be NULL. */
PyObject *fj_build_frame(PyObject *func, int pc, PyObject *back, PyObject **slots, int nslots);
/* A traceback entry for the frame as it stands at pc, with `next` (an entry or None) behind it. */
PyObject *fj_build_traceback(const FJFrame *frame, PyObject *next, int pc);

/* Whether who drives the generator that runs, or who drives theirs, handles an exception. */
int fj_drivers_handle(void);

#ifdef __cplusplus
}
#endif
#endif
