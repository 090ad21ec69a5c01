// One run of a program, and the functions that carry out its ops.
#pragma once
#include "program.h"

namespace fj {

// An op returns where the next instruction starts. NULL with status FJ_MISS: it does not hold; FJ_ERROR: an exception
// is set; FJ_EXIT: the hook takes over.
struct Run {
    Program *program;
    const Const *consts;
    PyObject **regs;
    FJFrame *frame;
    int status;
    PyObject *rng; // the generator state before the graph, for a replay

    PyObject *reg(int32_t r) const { return regs[r]; }
    PyObject *reg_or_null(int32_t r) const { return r < 0 ? nullptr : regs[r]; }
    PyObject *constant(int32_t k) const { return consts[k].object; }
    void put(int32_t d, PyObject *owned) {
        PyObject *old = regs[d];
        regs[d] = owned;
        if (__builtin_expect(old != nullptr, 0)) Py_DECREF(old);
    }
    const int32_t *error() {
        status = FJ_ERROR;
        return nullptr;
    }
};

#define FJ_OP(name, spec, doc) const int32_t *op_##name(Run &m, const int32_t *a); // a: the instruction, op first
#define FJ_OPAQUE(name, doc)
#include "ops.def"
#undef FJ_OP
#undef FJ_OPAQUE

// The values of a list operand in a row, borrowed, NULL for an empty register; allocates only when they are many. The
// place in front of them is free: PY_VECTORCALL_ARGUMENTS_OFFSET.
class Values {
  public:
    Values(const Run &m, const int32_t *list)
        : many(list[0] < FEW ? 0 : list[0] + 1), items((many.empty() ? few : many.data()) + 1) {
        for (int32_t i = 0; i < list[0]; i++) items[i] = m.reg_or_null(list[1 + i]);
    }
    PyObject **data() { return items; }

  private:
    static const int32_t FEW = 16;
    PyObject *few[FEW];
    std::vector<PyObject *> many;
    PyObject **items;
};

// value stored in d, or an error; steals
inline const int32_t *give(Run &m, int32_t d, PyObject *value, const int32_t *next) {
    if (!value) return m.error();
    m.put(d, value);
    return next;
}

// Of the raw storage; -1: of no builtin type.
inline Py_ssize_t raw_length(PyObject *value) {
    if (PyDict_Check(value)) return PyDict_GET_SIZE(value);
    if (PyList_Check(value) || PyTuple_Check(value)) return Py_SIZE(value);
    if (PyAnySet_Check(value)) return PySet_GET_SIZE(value);
    if (PyUnicode_Check(value)) return PyUnicode_GET_LENGTH(value);
    return PyBytes_Check(value) ? PyBytes_GET_SIZE(value) : -1;
}

PyObject *instance_dict(PyObject *value); // borrowed; NULL without an error: it has none
bool is_error_kept();
PyObject *take_error();              // the exception that is set, with its traceback
void keep_replayed(PyObject *error); // takes the reference
PyObject *take_replayed();
bool raised_by_signal_handler();
bool graph_init(PyObject *module);
PyObject *restore_rng(PyObject *saved); // with the hook off

} // namespace fj
