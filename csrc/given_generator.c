/* Suspended generators and coroutines that a program did not make: their frames read without changing them, and brought to
 * another place, or to the end, as CPython would have left them. */
#include "hook.h"

static PyGenObject *generator(PyObject *object, const char *function) {
    if (PyGen_CheckExact(object) || PyCoro_CheckExact(object) || PyAsyncGen_CheckExact(object)) return (PyGenObject *)object;
    PyErr_Format(PyExc_TypeError, "%s() takes no %.100s", function, Py_TYPE(object)->tp_name);
    return NULL;
}

static inline FJPyFrame *frame_of(PyGenObject *g) { return (FJPyFrame *)g->gi_iframe; }

/* Somebody has the frame or its dict of locals in hand, and may look at them when the generator has ended. */
static int is_held(PyGenObject *g) {
    PyFrameObject *object = frame_of(g)->frame_obj;
    PyObject *locals = frame_of(g)->f_locals;
    return (object && (Py_REFCNT(object) > 1 || object->f_trace)) || (locals && Py_REFCNT(locals) > 1);
}

static int handles(PyGenObject *g) { return g->gi_exc_state.exc_value && g->gi_exc_state.exc_value != Py_None; }

static PyObject *generator_parts(PyObject *Py_UNUSED(module), PyObject *object) {
    PyGenObject *g = generator(object, "generator_parts");
    if (!g) return NULL;
    if (g->gi_frame_state > FRAME_EXECUTING) return PyTuple_Pack(1, Py_None);
    FJPyFrame *f = frame_of(g);
    PyObject *func = fj_frame_func(f);
    if (g->gi_frame_state == FRAME_EXECUTING || is_held(g) || handles(g)) Py_RETURN_NONE;
    if (PyAsyncGen_CheckExact(object) && g->gi_running_async) Py_RETURN_NONE; /* others do not set it */
    if (!func || !PyFunction_Check(func) || PyFunction_GET_CODE(func) != (PyObject *)fj_frame_code(f)) Py_RETURN_NONE;
    int count = f->stacktop;
    PyObject *filled = PyBytes_FromStringAndSize(NULL, count), *found = filled ? PyTuple_New(2 + count) : NULL;
    if (!found) {
        Py_XDECREF(filled);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        PyObject *value = f->localsplus[i];
        PyBytes_AS_STRING(filled)[i] = value ? 'o' : '.';
        PyTuple_SET_ITEM(found, 2 + i, Py_NewRef(value ? value : fj_null));
    }
    PyTuple_SET_ITEM(found, 1, Py_NewRef(func));
    PyObject *place = Py_BuildValue("iN", fj_frame_pc(f), filled);
    if (!place) {
        Py_DECREF(found);
        return NULL;
    }
    PyTuple_SET_ITEM(found, 0, place);
    return found;
}

/* What CPython does with the frame of a generator that has returned or raised. */
static void finish(PyGenObject *g) {
    FJPyFrame *f = frame_of(g);
    g->gi_frame_state = FRAME_CLEARED;
    Py_CLEAR(g->gi_exc_state.exc_value);
    fj_truncate(f, 0);
    Py_CLEAR(f->frame_obj);
    Py_CLEAR(f->f_locals);
    fj_generator_forget(f);
}

/* The slots fit the frame of the code, and only those are kept that are there: 0 or -1. */
static int check(FJPyFrame *f, Py_ssize_t pc, PyObject *const *slots, Py_ssize_t count) {
    PyCodeObject *code = fj_frame_code(f);
    int fits = count >= code->co_nlocalsplus && count <= code->co_nlocalsplus + code->co_stacksize;
    fits = fits && pc % 2 == 0 && pc / 2 < Py_SIZE(code);
    for (Py_ssize_t i = f->stacktop; fits && i < count; i++) fits = slots[i] != fj_missing;
    if (!fits) PyErr_Format(PyExc_ValueError, "set_generator(): %zd slots at %zd do not fit %U", count, pc, code->co_qualname);
    return fits ? 0 : -1;
}

/* Writes all slots, and only then lets go of what was in them. */
static int replace(PyGenObject *g, int pc, PyObject *const *slots, int count) {
    FJPyFrame *f = frame_of(g);
    int before = f->stacktop, all = before > count ? before : count;
    PyObject **old = PyMem_Malloc((all + 1) * sizeof *old);
    if (!old) return PyErr_NoMemory(), -1;
    for (int i = 0; i < all; i++) {
        old[i] = i < before ? f->localsplus[i] : NULL;
        if (i >= count)
            f->localsplus[i] = NULL;
        else if (slots[i] == fj_missing)
            old[i] = NULL;
        else
            f->localsplus[i] = slots[i] == fj_null ? NULL : Py_NewRef(slots[i]);
    }
    f->stacktop = count;
    fj_frame_set_next(f, pc);
    g->gi_frame_state = fj_suspended_state(fj_frame_code(f), pc);
    for (int i = all; i-- > 0;) Py_XDECREF(old[i]);
    PyMem_Free(old);
    return 0;
}

static PyObject *set_generator(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count) {
    if (count < 3) return PyErr_Format(PyExc_TypeError, "set_generator() takes 3 arguments or more");
    PyGenObject *g = generator(args[0], "set_generator");
    Py_ssize_t pc = g ? PyLong_AsSsize_t(args[1]) : -1;
    if (!g || (pc == -1 && PyErr_Occurred())) return NULL;
    if (g->gi_frame_state >= FRAME_EXECUTING || (pc < 0 && is_held(g))) {
        PyErr_Format(PyExc_ValueError, "set_generator(): %U does not wait, or its frame is in use", g->gi_qualname);
        return NULL;
    }
    if (args[2] != Py_None && !PyExceptionInstance_Check(args[2]))
        return PyErr_Format(PyExc_TypeError, "set_generator(): not an exception: %R", args[2]);
    Py_INCREF(g); /* what it lets go of may be all that held it */
    int result = 0;
    if (pc < 0)
        finish(g);
    else if (!(result = check(frame_of(g), pc, args + 3, count - 3)) && !(result = replace(g, (int)pc, args + 3, (int)count - 3)))
        Py_XSETREF(g->gi_exc_state.exc_value, args[2] == Py_None ? NULL : Py_NewRef(args[2]));
    Py_DECREF(g);
    return result < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *asyncgen_flags(PyObject *Py_UNUSED(module), PyObject *object) {
    if (!PyAsyncGen_CheckExact(object)) return PyErr_Format(PyExc_TypeError, "asyncgen_flags() takes an asynchronous generator");
    PyAsyncGenObject *g = (PyAsyncGenObject *)object;
    return Py_BuildValue("iii", g->ag_hooks_inited, g->ag_closed, g->ag_origin_or_finalizer != NULL);
}

static PyObject *set_asyncgen(PyObject *Py_UNUSED(module), PyObject *args) {
    PyAsyncGenObject *g;
    int closed;
    if (!PyArg_ParseTuple(args, "O!p:set_asyncgen", &PyAsyncGen_Type, &g, &closed)) return NULL;
    g->ag_hooks_inited = 1;
    g->ag_closed = (char)closed;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"generator_parts", generator_parts, METH_O,
     "generator_parts(generator) -> ((pc, which slots are filled), function, *slots) of one that waits, (None,) of one that has "
     "ended, None where it runs, handles an exception or its frame is in use."},
    {"set_generator", (PyCFunction)(void (*)(void))set_generator, METH_FASTCALL,
     "set_generator(generator, pc, handled, *slots): one that waits goes on at pc with these slots (NULL: empty, MISSING: as "
     "it is); pc -1: it has ended."},
    {"asyncgen_flags", asyncgen_flags, METH_O,
     "asyncgen_flags(generator): whether it was told to an event loop, is closed, and has that loop's finalizer."},
    {"set_asyncgen", set_asyncgen, METH_VARARGS, "set_asyncgen(generator, closed): it was asked for items, and may be closed."},
    {NULL, NULL, 0, NULL},
};

int fj_given_generator_init(PyObject *module) { return PyModule_AddFunctions(module, methods); }
