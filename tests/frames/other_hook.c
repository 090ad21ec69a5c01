/* A PEP 523 hook of somebody else, for test_nesting.py: it counts frames and calls the hook below it. */
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_pystate.h>

static int frames;
static _PyFrameEvalFunction below;

static PyObject *hook(PyThreadState *ts, struct _PyInterpreterFrame *f, int throwflag) {
    frames++;
    return below ? below(ts, f, throwflag) : _PyEval_EvalFrameDefault(ts, f, throwflag);
}

void push(void) {
    below = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Main());
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), hook);
}

void pop(void) {
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), below ? below : _PyEval_EvalFrameDefault);
}

void clear(void) {
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), _PyEval_EvalFrameDefault);
}

int count(void) {
    return frames;
}
