/* Everything that depends on the CPython version; include it before Python.h. */
#ifndef FJ_COMPAT_H
#define FJ_COMPAT_H

#define Py_BUILD_CORE_MODULE 1
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <opcode.h>
#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#error "framejit supports CPython 3.11, 3.12 and 3.13"
#endif
#ifdef Py_GIL_DISABLED
#error "framejit does not support free-threaded builds of CPython"
#endif
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_object.h>
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x030D0000
#include <internal/pycore_ceval.h>
#include <internal/pycore_list.h>
#include <internal/pycore_setobject.h>
#include <internal/pycore_unicodeobject.h>
#endif

typedef struct _PyInterpreterFrame FJPyFrame;

#define FJ_VERSION (PY_VERSION_HEX >> 16) /* 0x030B, ... */

/* How many more Python frames the thread may have on top of each other. */
#if PY_VERSION_HEX >= 0x030C0000
#define FJ_REMAINING(ts) ((ts)->py_recursion_remaining)
#else
#define FJ_REMAINING(ts) ((ts)->recursion_remaining)
#endif

/* ---- Frames ----------------------------------------------------------------------------------------------------- */
static inline PyCodeObject *fj_frame_code(FJPyFrame *f) {
#if PY_VERSION_HEX >= 0x030D0000
    return (PyCodeObject *)f->f_executable;
#else
    return f->f_code;
#endif
}

static inline PyObject *fj_frame_func(FJPyFrame *f) {
#if PY_VERSION_HEX >= 0x030C0000
    return f->f_funcobj;
#else
    return (PyObject *)f->f_func;
#endif
}

/* A frame object of a call that never ran; its slots are empty. */
static inline PyFrameObject *fj_new_frame(PyObject *func) {
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_Format(PyExc_SystemError, "framejit: no frame is made of %R on this Python", func);
    return NULL;
#else
    PyFrameObject *made =
        PyFrame_New(PyThreadState_Get(), (PyCodeObject *)PyFunction_GET_CODE(func), PyFunction_GET_GLOBALS(func), NULL);
    if (made) Py_SETREF(made->f_frame->f_func, (PyFunctionObject *)Py_NewRef(func));
    return made;
#endif
}

/* The instruction that the frame would execute next. */
static inline int fj_frame_pc(FJPyFrame *f) {
    _Py_CODEUNIT *first = _PyCode_CODE(fj_frame_code(f));
#if PY_VERSION_HEX >= 0x030D0000
    return (int)(f->instr_ptr - first) * 2;
#else
    return (int)(f->prev_instr + 1 - first) * 2;
#endif
}

/* Makes `pc` the instruction to execute next. */
static inline void fj_frame_set_next(FJPyFrame *f, int pc) {
    _Py_CODEUNIT *first = _PyCode_CODE(fj_frame_code(f));
#if PY_VERSION_HEX >= 0x030D0000
    f->instr_ptr = first + pc / 2;
#else
    f->prev_instr = first + pc / 2 - 1;
#endif
}

/* Makes the frame look as if the instruction at `pc` was executing: line numbers, f_lasti. */
static inline void fj_frame_set_current(FJPyFrame *f, int pc) {
    _Py_CODEUNIT *first = _PyCode_CODE(fj_frame_code(f));
#if PY_VERSION_HEX >= 0x030D0000
    f->instr_ptr = first + pc / 2;
#else
    f->prev_instr = first + pc / 2;
#endif
}

/* An exception thrown into a frame takes its line from instr_ptr and its handler from one unit before (3.13); both
 * from prev_instr earlier. */
#if PY_VERSION_HEX >= 0x030D0000
#define FJ_THROW_LOOKS_BACK 1
#else
#define FJ_THROW_LOOKS_BACK 0
#endif

/* Since 3.12 the interpreter itself retires the frame that it evaluates; 3.11 leaves that to the caller of the hook. */
static inline int fj_frame_retire(PyThreadState *ts, FJPyFrame *f) {
#if PY_VERSION_HEX >= 0x030D0000
    _PyEval_FrameClearAndPop(ts, f);
    return 1;
#elif PY_VERSION_HEX >= 0x030C0000
    (void)ts, (void)f;
    return 0;
#else
    (void)ts, (void)f;
    return 1;
#endif
}
#define FJ_CAN_RETIRE (FJ_VERSION != 0x030C)

/* The state of a generator that waits at `pc`: before the first RESUME it has not started, and takes nothing but None; 3.13 tells
 * `yield from` and `await` apart. */
static inline int fj_suspended_state(PyCodeObject *code, int pc) {
    if (pc / 2 < code->_co_firsttraceable) return FRAME_CREATED;
#if PY_VERSION_HEX >= 0x030D0000
    _Py_CODEUNIT unit = _PyCode_CODE(code)[pc / 2];
    if ((unit.op.code == RESUME || unit.op.code == RESUME_CHECK) && (unit.op.arg & 3) >= 2) return FRAME_SUSPENDED_YIELD_FROM;
#endif
    return FRAME_SUSPENDED;
}

/* Lets go of what the frame of a generator that has ended was made of; since 3.12 the generator keeps the code. */
static inline void fj_generator_forget(FJPyFrame *f) {
#if PY_VERSION_HEX >= 0x030C0000
    Py_CLEAR(f->f_funcobj);
#else
    Py_CLEAR(f->f_func);
    Py_CLEAR(f->f_code);
#endif
}

/* The top of the thread's chain of frames. */
#if PY_VERSION_HEX >= 0x030D0000
#define FJ_TOP_FRAME(ts) ((ts)->current_frame)
#else
#define FJ_TOP_FRAME(ts) ((ts)->cframe->current_frame)
#endif

/* Calls a Python function by CPython's own entry point, which 3.13 does not export. */
static inline PyObject *fj_function_call(PyObject *func, PyObject *const *args, size_t count, PyObject *names) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyObject_Vectorcall(func, args, count, names);
#else
    return _PyFunction_Vectorcall(func, args, count, names);
#endif
}

/* ---- Code objects ----------------------------------------------------------------------------------------------- */
#if PY_VERSION_HEX >= 0x030C0000
#define fj_extra_index PyUnstable_Eval_RequestCodeExtraIndex
#define fj_extra_get PyUnstable_Code_GetExtra
#define fj_extra_set PyUnstable_Code_SetExtra
#define FJ_OPCODE(unit) ((unit).op.code)
#define FJ_OPARG(unit) ((unit).op.arg)
#else
#define fj_extra_index _PyEval_RequestCodeExtraIndex
#define fj_extra_get _PyCode_GetExtra
#define fj_extra_set _PyCode_SetExtra
#define FJ_OPCODE(unit) _Py_OPCODE(unit)
#define FJ_OPARG(unit) _Py_OPARG(unit)
#endif

#ifdef RETURN_CONST
#define FJ_RETURN_CONST RETURN_CONST
#else
#define FJ_RETURN_CONST (-1)
#endif

/* The kind of frame entry at which a generator waits for a value. */
#if PY_VERSION_HEX >= 0x030C0000
#define FJ_GEN_CODE(gen) fj_frame_code((FJPyFrame *)(gen)->gi_iframe)
#else
#define FJ_GEN_CODE(gen) ((gen)->gi_code)
#endif

/* Up to 3.12 the head of a call is [NULL, callable] or [function, self], from 3.13 [callable, NULL or self]. */
#define FJ_NULL_FIRST (FJ_VERSION < 0x030D)

/* ---- Modules ---------------------------------------------------------------------------------------------------- */
#if PY_VERSION_HEX >= 0x030C0000
#define FJ_MODULE_SLOTS {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#else
#define FJ_MODULE_SLOTS
#endif

/* ---- Threads ---------------------------------------------------------------------------------------------------- */
/* Signals, pending calls, asynchronous exceptions, requests for the GIL or (3.12) the collector are waiting. */
static inline int fj_interrupted(PyThreadState *ts) {
#if PY_VERSION_HEX >= 0x030D0000
    return (_Py_atomic_load_uintptr_relaxed(&ts->eval_breaker) & 255) != 0;
#else
    return _Py_atomic_load_relaxed(&ts->interp->ceval.eval_breaker) != 0;
#endif
}

/* A trace function, local events of sys.monitoring, or events of any tool but the profiler are on. */
static inline int fj_traced(PyThreadState *ts, PyCodeObject *code) {
    if (ts->c_tracefunc) return 1;
#if PY_VERSION_HEX >= 0x030C0000
    unsigned char tools = 0;
    for (size_t i = 0; i < sizeof ts->interp->monitors.tools; i++) tools |= ts->interp->monitors.tools[i];
    if (tools & ~(1 << 6)) return 1; /* tool 6 is sys.setprofile */
    if (code->_co_monitoring)
        for (size_t i = 0; i < sizeof code->_co_monitoring->local_monitors.tools; i++)
            if (code->_co_monitoring->local_monitors.tools[i] & ~(1 << 6)) return 1;
#else
    (void)code;
#endif
    return 0;
}

/* ---- Exceptions ------------------------------------------------------------------------------------------------- */
/* Takes the exception that is set (normalised, with its traceback); NULL when none is. */
static inline PyObject *fj_take_error(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (!type) return NULL;
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback) PyException_SetTraceback(value, traceback);
    Py_DECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

/* The exception that is set as it stands: up to 3.11 it need not be an object yet. */
typedef struct {
    PyObject *type, *value, *traceback;
} FJRaised;

static inline FJRaised fj_set_aside(void) {
    FJRaised raised = {NULL, NULL, NULL};
#if PY_VERSION_HEX >= 0x030C0000
    raised.value = PyErr_GetRaisedException();
#else
    PyErr_Fetch(&raised.type, &raised.value, &raised.traceback);
#endif
    return raised;
}

static inline void fj_set_again(FJRaised raised) {
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(raised.value);
#else
    PyErr_Restore(raised.type, raised.value, raised.traceback);
#endif
}

/* Sets an exception as it is, without giving it a context; steals it. */
static inline void fj_put_error(PyObject *error) {
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error);
#else
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(error)), error, PyException_GetTraceback(error));
#endif
}

/* obj.name, or NULL without an exception when it is missing: 1, 0 or -1. */
static inline int fj_lookup(PyObject *obj, PyObject *name, PyObject **result) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyObject_GetOptionalAttr(obj, name, result);
#else
    return _PyObject_LookupAttr(obj, name, result);
#endif
}
#endif
