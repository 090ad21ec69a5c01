// The graph call: generator state, the hook, exceptions that a replay must not swallow; and run() for tests.
#include "machine.h"

#include <cstring>

namespace fj {

static PyObject *save_hook, *restore_hook, *result_error;

enum { REPLAY_FLAG = 1, RANDOM_FLAG = 2 };

static bool hand_out(Run &m, PyObject *result, const int32_t *outs) {
    bool list = PyList_Check(result);
    if (!list && !PyTuple_Check(result)) {
        PyErr_Format(result_error, "a compiled graph must return a tuple or list, not '%s'", Py_TYPE(result)->tp_name);
        return false;
    }
    if (Py_SIZE(result) != outs[0]) {
        PyErr_Format(result_error, "a compiled graph returned %zd values, not %d", Py_SIZE(result), static_cast<int>(outs[0]));
        return false;
    }
    for (int32_t i = 0; i < outs[0]; i++)
        if (outs[1 + i] >= 0) m.put(outs[1 + i], Py_NewRef(list ? PyList_GET_ITEM(result, i) : PyTuple_GET_ITEM(result, i)));
    return true;
}

static PyObject *call_graph(Run &m, PyObject *graph, int32_t flags, const int32_t *inputs) {
    Values args(m, inputs);
    int hook = fj_hook_set(0);
    PyObject *result = nullptr;
    bool random = (flags & RANDOM_FLAG) && (flags & REPLAY_FLAG) && save_hook;
    if (random) Py_XSETREF(m.rng, PyObject_CallNoArgs(save_hook));
    if (!random || m.rng) result = PyObject_Vectorcall(graph, args.data(), inputs[0] | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
    fj_hook_set(hook);
    return result;
}

const int32_t *op_CALL_GRAPH(Run &m, const int32_t *a) {
    const int32_t *inputs = a + 3, *outs = inputs + 1 + inputs[0];
    PyObject *graph = Py_XNewRef(m.constant(a[1]));
    if (!graph) return nullptr;
    PyObject *result = call_graph(m, graph, a[2], inputs);
    Py_DECREF(graph);
    bool ok = result && hand_out(m, result, outs);
    Py_XDECREF(result);
    return ok ? outs + 1 + outs[0] : m.error();
}

PyObject *restore_rng(PyObject *saved) {
    if (!restore_hook) Py_RETURN_NONE;
    int hook = fj_hook_set(0);
    PyObject *result = PyObject_CallOneArg(restore_hook, saved);
    fj_hook_set(hook);
    return result;
}

// The code that runs when a callable is called, through methods, partials and __call__; NULL without an error: no Python.
static PyObject *code_of(PyObject *callable, int depth = 0) {
    if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
    if (PyFunction_Check(callable)) return Py_NewRef(PyFunction_GET_CODE(callable));
    if (depth > 4 || PyCFunction_Check(callable)) return nullptr;
    PyObject *inner = PyObject_GetAttrString(callable, "func");
    if (!inner) {
        PyErr_Clear();
        inner = PyObject_GetAttrString(reinterpret_cast<PyObject *>(Py_TYPE(callable)), "__call__");
    }
    PyObject *code = inner ? code_of(inner, depth + 1) : nullptr;
    PyErr_Clear();
    Py_XDECREF(inner);
    return code;
}

static PyObject *handler_codes() { // a list
    PyObject *codes = PyList_New(0), *module = PyImport_ImportModule("_signal");
    PyObject *signals = module ? PyObject_CallMethod(module, "valid_signals", nullptr) : nullptr;
    PyObject *iterator = signals ? PyObject_GetIter(signals) : nullptr, *number;
    while (codes && iterator && (number = PyIter_Next(iterator))) {
        PyObject *handler = PyObject_CallMethod(module, "getsignal", "O", number);
        PyObject *code = handler && PyCallable_Check(handler) ? code_of(handler) : nullptr;
        if (code) PyList_Append(codes, code);
        Py_DECREF(number);
        Py_XDECREF(handler);
        Py_XDECREF(code);
    }
    Py_XDECREF(module);
    Py_XDECREF(signals);
    Py_XDECREF(iterator);
    PyErr_Clear();
    return codes;
}

static bool passes_through(PyObject *traceback, PyObject *codes) {
    for (auto *t = reinterpret_cast<PyTracebackObject *>(traceback); t; t = t->tb_next) {
        PyCodeObject *code = PyFrame_GetCode(t->tb_frame);
        bool found = false;
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(codes); i++)
            found |= PyList_GET_ITEM(codes, i) == reinterpret_cast<PyObject *>(code);
        Py_DECREF(code);
        if (found) return true;
    }
    return false;
}

// The exception or one that led to it, up to the one that was being handled before the graph ran.
static bool comes_from(PyObject *exception, PyObject *codes) {
    PyObject *handled = PyErr_GetHandledException();
    bool found = false;
    Py_XINCREF(exception);
    for (int depth = 0; exception && exception != handled && !found && depth < 100; depth++) {
        PyObject *traceback = PyException_GetTraceback(exception), *earlier = PyException_GetContext(exception);
        found = passes_through(traceback, codes);
        Py_XDECREF(traceback);
        Py_SETREF(exception, earlier);
    }
    Py_XDECREF(exception);
    Py_XDECREF(handled);
    return found;
}

static thread_local bool error_kept = false;
static thread_local PyObject *replayed_error = nullptr; // what the graph raised whose run is done again

PyObject *take_error() {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback) PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

void keep_replayed(PyObject *error) { Py_XSETREF(replayed_error, error); }

PyObject *take_replayed() {
    PyObject *error = replayed_error;
    replayed_error = nullptr;
    return error;
}

static PyObject *keep_error(PyObject *, PyObject *) {
    error_kept = true;
    Py_RETURN_NONE;
}

// Whether the graph has said of the exception that it raises that it is the program's: the run is not to be done again.
bool is_error_kept() {
    bool kept = error_kept;
    error_kept = false;
    return kept;
}

// Whether the exception that is set was raised below a frame of an installed signal handler.
bool raised_by_signal_handler() {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback) PyException_SetTraceback(value, traceback);
    int hook = fj_hook_set(0);
    PyObject *codes = handler_codes();
    bool found = codes && comes_from(value, codes);
    Py_XDECREF(codes);
    PyErr_Clear();
    fj_hook_set(hook);
    PyErr_Restore(type, value, traceback);
    return found;
}

static PyObject *set_rng_hooks(PyObject *, PyObject *args) {
    PyObject *save, *restore;
    if (!PyArg_ParseTuple(args, "OO:set_rng_hooks", &save, &restore)) return nullptr;
    PyObject *before = PyTuple_Pack(2, save_hook ? save_hook : Py_None, restore_hook ? restore_hook : Py_None);
    if (!before) return nullptr;
    Py_XSETREF(save_hook, save == Py_None ? nullptr : Py_NewRef(save));
    Py_XSETREF(restore_hook, restore == Py_None ? nullptr : Py_NewRef(restore));
    return before;
}

static PyObject *register_list(PyObject **regs, int n) {
    PyObject *list = PyList_New(n);
    for (int i = 0; list && i < n; i++) PyList_SET_ITEM(list, i, Py_NewRef(regs[i] ? regs[i] : fj_null));
    return list;
}

static PyObject *outcome(int status, int at, PyObject **regs, int n) {
    switch (status) {
    case FJ_EXIT: return Py_BuildValue("(siN)", "exit", at, register_list(regs, n));
    case FJ_MISS: return Py_BuildValue("(si)", "miss", at);
    case FJ_REPLAY: return Py_BuildValue("(s)", "replay");
    default: return nullptr;
    }
}

// run(program, slots, globals=None, builtins=None, func=None, handled=None, start=0, regs=None)
static PyObject *run_program(PyObject *, PyObject *args, PyObject *kwargs) {
    static const char *names[] = {"program", "slots", "globals", "builtins", "func", "handled", "start", "regs", nullptr};
    PyObject *program, *slots, *globals = nullptr, *builtins = nullptr, *func = nullptr, *handled = nullptr, *given = Py_None;
    int start = 0, at = -1;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!O|OOOOiO:run", const_cast<char **>(names), program_type, &program, &slots, &globals, &builtins,
            &func, &handled, &start, &given))
        return nullptr;
    auto *p = reinterpret_cast<Program *>(program);
    if (start < 0 || static_cast<size_t>(start) >= p->starts.size())
        return PyErr_Format(PyExc_ValueError, "no instruction %d", start);
    PyObject *sequence = PySequence_Tuple(slots), *before = given == Py_None ? Py_NewRef(empty_tuple) : PySequence_Tuple(given);
    PyObject *result = nullptr;
    if (sequence && before) {
        std::vector<PyObject *> values, regs(fj_program_room(program) + 1, nullptr);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence); i++) {
            PyObject *value = PyTuple_GET_ITEM(sequence, i);
            values.push_back(value == fj_null ? nullptr : value);
        }
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(before) && i < p->nregs; i++)
            if (PyTuple_GET_ITEM(before, i) != fj_null) regs[i] = Py_NewRef(PyTuple_GET_ITEM(before, i));
        auto real = [](PyObject *value) { return value == Py_None ? nullptr : value; };
        FJFrame frame{};
        frame.slots = values.data();
        frame.nslots = static_cast<int>(values.size());
        frame.globals = real(globals), frame.builtins = real(builtins), frame.func = real(func), frame.handled = real(handled);
        int status = fj_run(program, &frame, regs.data(), start, &at);
        keep_replayed(nullptr);
        result = outcome(status, status == FJ_MISS ? p->failed : at, regs.data(), p->nregs);
        for (PyObject *value : regs) Py_XDECREF(value);
    }
    Py_XDECREF(sequence);
    Py_XDECREF(before);
    return result;
}

static PyMethodDef methods[] = {
    {"run", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(run_program)), METH_VARARGS | METH_KEYWORDS,
     "Runs a program without a frame: ('exit', index, registers), ('miss', index) or ('replay',)."},
    {"keep_error", keep_error, METH_NOARGS,
     "Called by a graph in front of an error that is the program's: the run is not done again by CPython."},
    {"set_rng_hooks", set_rng_hooks, METH_VARARGS,
     "Sets what saves and restores the random generators around a graph; returns the pair before."},
    {nullptr, nullptr, 0, nullptr}};

bool graph_init(PyObject *module) {
    result_error = PyErr_NewExceptionWithDoc(
        "framejit._C.GraphResultError", "A compiled graph returned something else than its outputs.", PyExc_TypeError, nullptr);
    if (!result_error || PyModule_AddObjectRef(module, "GraphResultError", result_error) < 0) return false;
    return PyModule_AddFunctions(module, methods) == 0;
}

} // namespace fj
