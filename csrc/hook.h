/* What the C files of the frame machinery share; CPython's internals end here. */
#ifndef FJ_HOOK_H
#define FJ_HOOK_H

#include "compat.h"
#include "framejit.h"

/* ---- Threads and the hook (hook.c) ------------------------------------------------------------------------------ */
typedef struct FJContext FJContext;
typedef struct FJCode FJCode;

/* What to do next with a frame. */
typedef enum {
    FJ_OUT_LOOKUP, /* find a region at context->pc */
    FJ_OUT_NATIVE, /* CPython goes on at context->pc */
    FJ_OUT_THROW,  /* an exception is set: throw it at context->pc */
    FJ_OUT_DONE,   /* the frame has been retired; context->result is its value */
    FJ_OUT_MISS    /* of a program: nothing happened */
} FJOut;

/* How the next frame of `code` on this thread begins, instead of at its first instruction. */
typedef struct {
    PyCodeObject *code;
    FJOut (*begin)(FJContext *, void *);
    void *arg;
    int collector; /* the collector was on before the call */
} FJPending;

typedef struct {
    int enabled;        /* frames of this thread are looked at */
    int depth;          /* hooked frames on this thread's C stack */
    PyObject *key;      /* configuration of the innermost Compiled, borrowed from it */
    PyCodeObject *root; /* code that a Compiled is about to call: captured in any case */
    FJPending *pending;
} FJThread;

extern __thread FJThread fj_thread;

/* One frame while the hook is busy with it. */
struct FJContext {
    PyThreadState *ts;
    FJThread *thread;
    FJPyFrame *frame;
    PyCodeObject *code;
    FJCode *record; /* what is known about the code */
    int pc;
    int fresh;                /* nothing of this frame has run under the hook yet */
    PyObject *result;         /* of FJ_OUT_DONE */
    PyObject *error;          /* exception put aside while an exit sequence runs that ends in RAISE -1 */
    struct FJWaiting *caller; /* of a frame begun by a CALLEE exit */
    PyObject *doubt;          /* called if the frame, that runs again in CPython what a graph raised for, does not raise */
};

/* A frame that waits for its callee. The callee's LEAVE exit says how the caller goes on. */
typedef struct FJWaiting {
    FJContext *context;
    int call_pc, after_pc;
    FJResult how;
    PyObject *extra;   /* borrowed */
    PyObject *program; /* of a LEAVE; NULL: the result is used as `how` says */
    PyObject **regs;
    int at;
} FJWaiting;

PyObject *fj_hook(PyThreadState *ts, FJPyFrame *frame, int throwflag);
PyObject *fj_loop(FJContext *c, FJOut out);
/* Forces the hook pointer for a call that must meet the hook; the hook itself puts it right again. */
void fj_pointer_force(void);
void fj_pointer_sync(void);
void fj_pending_taken(FJPending *pending);
int fj_hook_init(PyObject *module);

/* ---- Frames (frame.c) ------------------------------------------------------------------------------------------- */
void fj_frame_fill(FJContext *c, FJFrame *frame);
/* Fills `count` slots: words index registers, -1 is empty, -2 keeps; `old` gets what they held. 0 or -1. */
int fj_write_slots(FJContext *c, PyObject **regs, const int32_t *words, int count, PyObject **old);
/* The same for plain values, which are borrowed. */
int fj_write_values(FJPyFrame *f, PyObject **values, int count);
/* Drops all slots from `count` on. */
void fj_truncate(FJPyFrame *f, int count);
static inline void fj_push(FJPyFrame *f, PyObject *stolen) { f->localsplus[f->stacktop++] = stolen; }
/* Puts the frame on the thread's chain while something runs on its behalf at `pc`. */
FJPyFrame *fj_link(FJContext *c, int pc);
void fj_unlink(FJContext *c, FJPyFrame *previous);
/* Moves the frame to the handler, if it has one, of the exception that is set and appears at c->pc. */
int fj_catch(FJContext *c);
/* Whether the frame has a handler for what the instruction at pc raises. */
int fj_is_handled(FJContext *c, int pc);
/* Moves the frame to that handler, for an exception that was raised before, at `lasti` (code units). */
FJOut fj_rethrow(FJContext *c, int lasti);
/* Prepares the frame for the exception that is set to appear at c->pc: the throw flag to evaluate it with. */
int fj_prepare_throw(FJContext *c);
/* Ends the frame with a value (stolen) at the return instruction at pc. */
FJOut fj_return(FJContext *c, PyObject *value, int pc);
#define FJ_SOME_RETURN (-1) /* pc: one that can return the value */
#define FJ_ANY_RETURN (-2)  /* pc: whichever, nobody looks at the value */
int fj_fast_return(FJContext *c);
/* Calls `func` so that its new frame begins as `begin` says. */
PyObject *fj_call_into(PyObject *func, FJOut (*begin)(FJContext *, void *), void *arg);
PyObject *fj_enter(PyObject *self, PyObject *args, PyObject *kwargs);
int fj_frame_init(PyObject *module);

/* ---- Callers (caller.c) ------------------------------------------------------------------------------------------ */
/* Ends the frame at the return instruction at pc; its caller goes on with the exit sequence at `at` and these registers, which
 * are moved there. */
FJOut fj_leave(FJContext *c, PyObject *program, PyObject **regs, int at, int pc);
/* Performs what a LEAVE left; steals nothing but what it holds. */
FJOut fj_go_on(FJContext *c, FJWaiting *waiting);
void fj_waiting_clear(FJWaiting *waiting);

/* ---- Exits (exits.c) -------------------------------------------------------------------------------------------- */
FJOut fj_exits(FJContext *c, PyObject *program, PyObject **regs, int at);
/* Empties registers, without `live` all: first what others hold too, so that owners let go of their parts in their own order. */
void fj_release(PyObject **regs, int count, const uint8_t *live);

/* ---- Opaque operations (opaque.c) ------------------------------------------------------------------------------- */
typedef struct {
    int kind, arg, pc, next_pc, target_pc;
    PyObject *program;
    const int32_t *consts;
    int nconsts;
} FJOpaqueOp;

/* Does one instruction on the frame's real stack; sets c->pc. FJ_OUT_LOOKUP or FJ_OUT_THROW. */
FJOut fj_opaque(FJContext *c, const FJOpaqueOp *op);
int fj_opaque_init(PyObject *module);

/* ---- Regions (cache.c) ------------------------------------------------------------------------------------------ */
typedef enum {
    FJ_MODE_CAPTURE, /* a miss is reported */
    FJ_MODE_NATIVE,  /* CPython goes on here, no questions asked */
    FJ_MODE_OFF,     /* the same, and nothing below is looked at either */
    FJ_MODE_COUNT
} FJMode;

typedef struct {
    int pc; /* -1: the whole code */
    int mode;
    PyObject *key;      /* NULL: every key */
    PyObject *programs; /* tuple, newest first, never changed in place; or NULL */
} FJEntry;

struct FJCode {
    struct FJCode *next, **back;
    PyCodeObject *code; /* borrowed: it owns this */
    FJEntry *entries;
    int count, capacity;
    signed char verdict; /* of classify: 0 never, 1 with a tensor, 2 always; -1 not asked */
    char root;           /* a Compiled exists */
    char marked;         /* there is an entry for the whole code */
    int return_pc;       /* some RETURN_VALUE, -1 when none is known */
};

enum { FJ_NEVER, FJ_WITH_TENSOR, FJ_ALWAYS };

/* What is known about a code object; created on demand. NULL with an exception when out of memory. */
FJCode *fj_code(PyCodeObject *code);
/* The object that stands for a key; borrowed. */
PyObject *fj_key(PyObject *key);
FJEntry *fj_find(FJCode *code, int pc, PyObject *key);
int fj_code_mode(FJCode *code, PyObject *key);
int fj_install(PyCodeObject *code, int pc, PyObject *key, PyObject *program);
int fj_remove(PyCodeObject *code, int pc, PyObject *key, PyObject *program);
int fj_cache_init(PyObject *module);

/* ---- Callbacks (view.c) ----------------------------------------------------------------------------------------- */
/* Asks for a region at c->pc: 1 installed, 0 not, -1 exception. */
int fj_miss(FJContext *c);
/* Reports a new region that failed on its own frame: 0 or -1. */
int fj_reject(FJContext *c, PyObject *program);
/* Reports that the graph of a region raised, and CPython does it again: 0, or -1 with the error that the frame is to see. */
int fj_replayed(FJContext *c, PyObject *program);
/* Calls c->doubt where the frame gave a result after all; takes and returns the result, NULL on an error. */
PyObject *fj_doubted(FJContext *c, PyObject *result);
/* Whether a fresh frame is worth a capture: 1, 0 or -1. */
int fj_wanted(FJContext *c);
int fj_view_init(PyObject *module);

/* ---- Compiled callables (compiled.c, generator.c) --------------------------------------------------------------- */
typedef struct {
    int enabled;
    PyObject *key;
} FJSaved;

static inline FJSaved fj_switch_on(PyObject *key) {
    FJSaved saved = {fj_hook_set(1), fj_thread.key};
    fj_thread.key = key;
    return saved;
}
static inline void fj_switch_back(FJSaved saved) {
    fj_thread.key = saved.key;
    fj_hook_set(saved.enabled);
}
int fj_compiled_init(PyObject *module);
int fj_generator_init(PyObject *module);
/* Places of real iterators (iterators.c). */
int fj_iterators_init(PyObject *module);
PyTypeObject *fj_type_of(PyObject *call, PyObject *sample, Py_ssize_t size);
PyTypeObject *fj_named_type(const char *module, const char *name, Py_ssize_t size);
int fj_iterator_fields_init(PyObject *module); /* iterator_fields.c */
/* Generators that a program did not make (given_generator.c). */
int fj_given_generator_init(PyObject *module);
/* Wraps a generator, coroutine or asynchronous generator; steals it. */
PyObject *fj_generator_wrap(PyObject *inner, PyObject *key, PyObject *owner);

/* ---- Counters (module.c) ---------------------------------------------------------------------------------------- */
typedef struct {
    uint64_t calls, frames, hits, misses, installs, rejects, natives, opaques, callees, throws, replays;
} FJStats;
extern FJStats fj_stats;
#endif
