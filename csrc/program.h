// The packed form of a program, shared by the files of the machine.
#pragma once
#include <Python.h>
#include <cstdint>
#include <vector>

extern "C" {
#include "framejit.h"
}

namespace fj {

struct OpInfo {
    const char *name, *spec, *doc;
    char kinds[10];  // the spec without its blanks
    bool exit, ends; // run by the hook; nothing follows it
};
extern OpInfo op_info[FJ_OP_COUNT];

// A constant: `object` is borrowed from `held` (or from what a weak reference names) and NULL once dead or when the
// constant is known by its parts only (a descriptor whose own life must not be prolonged).
struct Const {
    PyObject *object, *parts;
};

// What a dict or type looked like when it was last checked in full; values are borrowed, the version keeps them alive.
struct Stamp {
    uint64_t version;
    int32_t count;
    PyObject **values;
};

// When an instruction fails: nothing has happened yet, the frame can be replayed, or it is too late for either.
enum Phase : uint8_t { BEFORE_GRAPH, REPLAYABLE, COMMITTED };

// What the failing instruction saw, in a form that keeps nothing alive.
struct Seen {
    enum Kind : uint8_t { NOTHING, INTEGER, FLOAT, TEXT, OBJECT } kind;
    long long integer;
    double number;
    char text[96];
};

struct MemoData; // of memo.cpp

struct Program {
    PyObject_HEAD
    std::vector<int32_t> code, starts, on_error; // on_error: where a failure goes that can no longer be undone, or -1
    std::vector<uint8_t> phases;
    std::vector<std::vector<uint8_t>> live; // of exits: the registers needed after each
    std::vector<Const> consts;
    std::vector<Stamp> stamps;
    PyObject *held, *life, *name; // tuple of what keeps or watches the constants; capsule known to the weak references
    int32_t nregs;
    int32_t depth; // frames on top of the one that it runs in, as the captured code has them
    bool dead;
    long long hits;
    int32_t failed;
    Seen seen;
    MemoData *memo; // NULL until it has run a few times
};
extern PyTypeObject *program_type;

bool hold_constants(Program *p, PyObject *consts, PyObject *weak, const std::vector<bool> &only_checked);
bool parts_match(PyObject *parts, PyObject *value);
PyObject *parts_find(PyObject *parts);
PyObject *constant_value(const Program *p, int32_t k); // what `.consts` shows, new reference

inline bool constant_is(const Const &c, PyObject *value) { return value == c.object || (c.parts && parts_match(c.parts, value)); }

bool exactly_equal(PyObject *a, PyObject *b);
bool same_text(PyObject *a, PyObject *b);

extern PyObject *empty_tuple;

bool program_init(PyObject *module);

} // namespace fj
