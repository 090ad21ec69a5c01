// Remembered checks. A pass through the head of a program (its loads and checks) is recorded once: each word of memory that an
// answer hangs on, in the order in which they were reached. A later call compares the words. A word is only looked at when those
// before it are as they were, and these tell that the object which holds it is alive and of the type it had.
#include "memo.h"
#include "tensor_check.h"

#include <structmember.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace fj {

static const size_t MIN_WORDS = 16;
static const int FIRST_HITS = 2;           // runs before the first recording
static const int PATIENCE = 16, GOOD = 64; // recordings that may turn out useless; runs that make up for one
static const size_t AHEAD = 24;            // words are fetched so many before they are compared
static const int CHANGES = 3;              // a slot that was another object so often is not looked into

struct Word {
    const uint64_t *at;
    uint64_t value;
};

struct Root {
    int32_t op, slot;
    PyObject *value; // borrowed, only compared
};

struct Filled {
    int32_t reg;
    PyObject *value; // borrowed: the words tell that it is alive
};

struct Recording {
    std::vector<Root> roots;
    std::vector<Word> words;
    std::vector<Filled> filled;
    std::vector<CheckedTensor> tensors;        // borrowed like these
    std::vector<int32_t> code, starts, places; // what is run each time; where its instructions begin; their places in the program
    std::vector<PyObject *> held;              // numbers and texts that are known by their address
    int32_t room = 0;                          // registers in use

    Recording() = default;
    Recording(const Recording &) = delete;
    ~Recording() {
        for (PyObject *value : held) Py_DECREF(value);
    }
};

struct MemoData {
    std::unique_ptr<Recording> now;
    int32_t end = 0; // the first instruction behind the head
    int patience = PATIENCE, good = 0, users = 0;
    std::vector<uint8_t> changes; // of slots
};

void memo_free(MemoData *memo) { delete memo; }

int32_t memo_room(const MemoData *memo, int32_t nregs) { return memo && memo->now ? memo->now->room : nregs; }

size_t memo_words(const MemoData *memo) { return memo && memo->now ? memo->now->words.size() : 0; }

// Calls visit(kind, operand) for every operand, which it may change.
template <class Visit> static void operands(int32_t *a, Visit visit) {
    for (const char *kinds = op_info[*a++].kinds; *kinds; kinds++) {
        if (*kinds == '*' || *kinds == 'D' || *kinds == 'K') {
            for (int32_t n = *a++; n > 0; n--) visit(*kinds, *a++);
        } else {
            visit(*kinds, *a++);
        }
    }
}

static bool is_read(char kind) { return kind == 'r' || kind == 'o' || kind == '*'; }

static bool in_head(int32_t op) {
    return (op <= FJ_OP_IS && op != FJ_OP_CHECK_PY) || op == FJ_OP_DICT_GROUP || op == FJ_OP_DICT_STAMP;
}

// ---- Recording ------------------------------------------------------------------------------------------------------

// The value of a register that is set once: `steady` when the words lead to it; `fixed` when it is the very object that was seen
// (something that cannot have changed holds it), not another one at its address; `typed` when the words tell its type, `known`
// when that type is static or a constant of the program, so that it is no other type at its address.
struct Value {
    bool steady = false, fixed = false, typed = false, known = false, versioned = false;
    int32_t reg = -1;
};

namespace {

struct Recorder {
    Run &m;
    MemoData *memo;
    std::unique_ptr<Recording> made_now{new Recording};
    Recording &r = *made_now;
    std::vector<Value> values;
    std::vector<PyObject *> objects; // owned
    std::vector<int32_t> where;      // of a register: which value it holds

    Recorder(Run &run, MemoData *data) : m(run), memo(data), where(run.program->nregs, -1) {}
    ~Recorder() {
        for (PyObject *object : objects) Py_XDECREF(object);
    }
    bool run();

  private:
    void place();
    bool instruction(int32_t index);
    bool steady(const int32_t *a, int32_t made);
    bool steady_load(const int32_t *a, int32_t made);
    bool steady_check(const int32_t *a);
    bool root(int32_t op, int32_t slot, int32_t made);
    bool item(const int32_t *a, int32_t made);
    bool same(int32_t v, const Const &c);
    bool equal(int32_t v, PyObject *expected);
    bool length(int32_t v);
    bool cell(int32_t v);
    bool closure(const int32_t *a);
    bool field(const int32_t *a, int32_t made);
    bool method(const int32_t *a);
    bool member(const int32_t *a, int32_t made);
    bool name_of(const int32_t *a, int32_t made);
    bool class_version(const int32_t *a);
    bool dict_place(int32_t v, int32_t made);
    bool typed(int32_t v);
    bool version(int32_t v);
    void only_new(std::vector<int32_t> &a);
    void later(const std::vector<int32_t> &a, int32_t index);

    template <class T> void word(const T *at) {
        static_assert(sizeof(T) == sizeof(uint64_t), "a word");
        r.words.push_back({reinterpret_cast<const uint64_t *>(at), *reinterpret_cast<const uint64_t *>(at)});
    }
    PyObject *object(int32_t v) { return objects[v]; }
};

bool is_atom(PyObject *value) {
    return PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) || PyBytes_CheckExact(value) ||
           PyComplex_CheckExact(value) || PyBool_Check(value) || value == Py_None;
}

// The class of an object of a static type cannot be changed, that of a module can. False: its type may be another one.
bool Recorder::typed(int32_t v) {
    Value &value = values[v];
    bool is_static = !(Py_TYPE(object(v))->tp_flags & Py_TPFLAGS_HEAPTYPE);
    if (!value.typed && !(value.fixed && is_static && !PyModule_Check(object(v)))) word(&object(v)->ob_type);
    value.typed = true;
    return value.known |= is_static;
}

#ifndef Py_TPFLAGS_INLINE_VALUES
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
bool Recorder::version(int32_t v) {
    if (values[v].versioned) return true;
    if (!typed(v)) return false;
    word(&reinterpret_cast<PyDictObject *>(object(v))->ma_version_tag);
    return values[v].versioned = true;
}
static const bool VERSIONS_TELL = true;
#else
bool Recorder::version(int32_t) { return false; }
static const bool VERSIONS_TELL = false; // of changes to values that lie inline beside their dict
#endif

bool Recorder::root(int32_t op, int32_t slot, int32_t made) {
    PyObject *value = object(made);
    if (op == FJ_OP_LOAD_SLOT) { // values that are likely to be the same in every call
        bool lasting = PyFunction_Check(value) || PyType_Check(value) || PyModule_Check(value) ||
                       (Py_TYPE(value)->tp_flags & Py_TPFLAGS_HEAPTYPE && !is_tensor(value));
        bool changes = static_cast<size_t>(slot) < memo->changes.size() && memo->changes[slot] >= CHANGES;
        if (!lasting || changes) return false;
    }
    r.roots.push_back({op, slot, value});
    return true;
}

bool Recorder::dict_place(int32_t v, int32_t made) {
    PyObject *value = object(v);
    if (!typed(v)) return false;
    if (PyType_Check(value)) {
        word(&reinterpret_cast<PyTypeObject *>(value)->tp_dict);
    } else {
        PyObject **place = _PyObject_GetDictPtr(value);
        if (Py_TYPE(value)->tp_dictoffset < 0 && Py_TYPE(value)->tp_itemsize) return false; // it hangs on the size
        if (!place || *place != object(made)) return false;
        word(place);
    }
    values[made].typed = values[made].known = true; // whatever it is, it is a dict
    return true;
}

bool Recorder::item(const int32_t *a, int32_t made) {
    PyObject *container = object(a[2]);
    Py_ssize_t i = a[3] < 0 ? a[3] + Py_SIZE(container) : a[3];
    bool list = PyList_Check(container);
    if (!typed(a[2])) return false;
    if (!list && values[a[2]].fixed) return values[made].fixed = true;
    word(&reinterpret_cast<PyVarObject *>(container)->ob_size);
    if (list) word(&reinterpret_cast<PyListObject *>(container)->ob_item);
    word(list ? &PyList_GET_ITEM(container, i) : &PyTuple_GET_ITEM(container, i));
    return true;
}

bool Recorder::cell(int32_t v) {
    if (!typed(v)) return false;
    return word(&reinterpret_cast<PyCellObject *>(object(v))->ob_ref), true;
}

bool Recorder::closure(const int32_t *a) {
    auto *function = reinterpret_cast<PyFunctionObject *>(object(a[2]));
    if (!typed(a[2])) return false;
    word(&function->func_closure);
    word(&reinterpret_cast<PyVarObject *>(function->func_closure)->ob_size);
    word(&PyTuple_GET_ITEM(function->func_closure, a[3]));
    return true;
}

bool Recorder::field(const int32_t *a, int32_t made) {
    auto *f = reinterpret_cast<PyFunctionObject *>(object(a[2]));
    PyObject **fields[] = {&f->func_code,       &f->func_globals, &f->func_defaults,
                           &f->func_kwdefaults, &f->func_closure, &f->func_annotations};
    if (!typed(a[2])) return false;
    word(fields[a[3]]);
    values[made].fixed = !*fields[a[3]]; // None
    return true;
}

bool Recorder::method(const int32_t *a) {
    PyObject *method = object(a[2]);
    if (!typed(a[2])) return false;
    if (PyMethod_Check(method)) {
        auto *m = reinterpret_cast<PyMethodObject *>(method);
        word(*a == FJ_OP_LOAD_SELF ? &m->im_self : &m->im_func);
    } else {
        word(&reinterpret_cast<PyCFunctionObject *>(method)->m_self);
    }
    return true;
}

bool Recorder::member(const int32_t *a, int32_t made) {
    const Const &c = m.consts[a[3]];
    PyObject *descriptor = c.parts ? parts_find(c.parts) : c.object;
    if (!descriptor) return false;
    PyMemberDef *def = reinterpret_cast<PyMemberDescrObject *>(descriptor)->d_member;
    auto *place = reinterpret_cast<PyObject **>(reinterpret_cast<char *>(object(a[2])) + def->offset);
    if ((def->type != T_OBJECT_EX && def->type != T_OBJECT) || *place != object(made)) return false;
    if (!typed(a[2])) return false;
    word(place);
    return true;
}

// The name of a function, or of a class that is a constant.
bool Recorder::name_of(const int32_t *a, int32_t made) {
    PyObject *owner = object(a[2]), *name = m.constant(a[3]);
    bool is_name = PyUnicode_CompareWithASCIIString(name, "__name__") == 0;
    if (!is_name && PyUnicode_CompareWithASCIIString(name, "__qualname__") != 0) return false;
    PyObject **place;
    if (PyFunction_Check(owner)) {
        auto *function = reinterpret_cast<PyFunctionObject *>(owner);
        place = is_name ? &function->func_name : &function->func_qualname;
        if (!typed(a[2])) return false;
    } else if (PyType_Check(owner) && PyType_HasFeature(reinterpret_cast<PyTypeObject *>(owner), Py_TPFLAGS_HEAPTYPE)) {
        auto *type = reinterpret_cast<PyHeapTypeObject *>(owner);
        place = is_name ? &type->ht_name : &type->ht_qualname;
        if (!values[a[2]].fixed || *place != object(made)) return false; // a metaclass may have another attribute of the name
    } else {
        return false;
    }
    word(place);
    return true;
}

bool Recorder::steady_load(const int32_t *a, int32_t made) {
    switch (*a) {
    case FJ_OP_LOAD_SLOT: return root(*a, a[2], made);
    case FJ_OP_LOAD_HANDLED: return object(made) == Py_None && root(*a, 0, made);
    case FJ_OP_LOAD_FUNC:
    case FJ_OP_LOAD_GLOBALS:
    case FJ_OP_LOAD_BUILTINS: return root(*a, 0, made);
    case FJ_OP_LOAD_CONST: return values[made].fixed = true;
    case FJ_OP_LOAD_INSTANCE_DICT: return dict_place(a[2], made);
    case FJ_OP_LOAD_DICT_ITEM: return values[made].fixed = version(a[2]);
    case FJ_OP_LOAD_ITEM: return item(a, made);
    case FJ_OP_LOAD_CLOSURE: return closure(a);
    case FJ_OP_LOAD_FUNC_FIELD: return field(a, made);
    case FJ_OP_LOAD_SELF:
    case FJ_OP_LOAD_METHOD_FUNC: return method(a);
    case FJ_OP_LOAD_MEMBER: return member(a, made);
    case FJ_OP_LOAD_CELL: return cell(a[2]);
    case FJ_OP_LOAD_ATTR: return name_of(a, made);
    case FJ_OP_LOAD_TYPE: return values[made].fixed = typed(a[2]);
    default: return false;
    }
}

bool Recorder::same(int32_t v, const Const &c) {
    if (c.object && object(v) == c.object) return values[v].fixed = true; // the program lives only as long as its constants
    return values[v].fixed;
}

// Of an immutable value.
bool Recorder::equal(int32_t v, PyObject *expected) {
    if (object(v) == expected || values[v].fixed) return values[v].fixed = true;
    if (!is_atom(object(v))) return false;
    r.held.push_back(Py_NewRef(object(v)));
    return values[v].fixed = true;
}

bool Recorder::length(int32_t v) {
    PyObject *value = object(v);
    if (PyDict_Check(value)) {
        if (values[v].versioned) return true;
        if (!typed(v)) return false;
        word(&reinterpret_cast<PyDictObject *>(value)->ma_used);
    } else if (PyList_Check(value) || PyTuple_Check(value)) {
        if (!typed(v)) return false;
        word(&reinterpret_cast<PyVarObject *>(value)->ob_size);
    } else if (PyAnySet_Check(value)) {
        if (!typed(v)) return false;
        word(&reinterpret_cast<PySetObject *>(value)->used);
    } else {
        return values[v].fixed;
    }
    return true;
}

// The attributes of a class that is a constant: it renews its version, or gives it up, when they change.
bool Recorder::class_version(const int32_t *a) {
    PyObject *type = m.constant(a[1]);
    if (!type) return false;
    const unsigned int *version = &reinterpret_cast<PyTypeObject *>(type)->tp_version_tag;
    if (!*version || *version != m.program->stamps[a[2]].version) return false;
    static_assert(offsetof(PyTypeObject, tp_version_tag) % sizeof(uint64_t) == 0, "a word of its own");
    static_assert(
        offsetof(PyTypeObject, tp_finalize) - offsetof(PyTypeObject, tp_version_tag) == sizeof(uint64_t), "and padding");
    word(reinterpret_cast<const uint64_t *>(version));
    return true;
}

// A check that has passed: what would make it fail.
bool Recorder::steady_check(const int32_t *a) {
    int32_t v = a[1];
    switch (*a) {
    case FJ_OP_CHECK_TYPE: return values[v].known = true, typed(v);
    case FJ_OP_CHECK_IS: return same(v, m.consts[a[2]]);
    case FJ_OP_CHECK_IS_NOT: return m.consts[a[2]].object && !m.consts[a[2]].parts;
    case FJ_OP_CHECK_EQ: return equal(v, m.constant(a[2]));
    case FJ_OP_CHECK_SAME:
    case FJ_OP_CHECK_NOT_SAME:
    case FJ_OP_CHECK_DISTINCT: return true;
    case FJ_OP_CHECK_LEN: return length(v);
    case FJ_OP_CHECK_TRUTH: return is_atom(object(v)) && equal(v, nullptr);
    case FJ_OP_CHECK_DICT_MISSING: return version(v);
    case FJ_OP_CHECK_DICT_KEYS: return !PyODict_Check(object(v)) && version(v);
    case FJ_OP_CHECK_FUNC_CODE:
        if (!typed(v)) return false;
        return word(&reinterpret_cast<PyFunctionObject *>(object(v))->func_code), true;
    case FJ_OP_CHECK_CELL_EMPTY: return cell(v);
    case FJ_OP_CHECK_TYPE_ATTRS: return class_version(a);
    case FJ_OP_CHECK_TENSOR: return r.tensors.push_back(checked_tensor(object(v), m.constant(a[2]))), true;
    default: return false;
    }
}

bool Recorder::steady(const int32_t *a, int32_t made) {
    bool all = true;
    operands(const_cast<int32_t *>(a), [&](char kind, int32_t &v) {
        if (is_read(kind) && v >= 0) all = all && values[v].steady;
    });
    return all && (made >= 0 ? steady_load(a, made) : steady_check(a));
}

// An instruction that is to be run each time.
void Recorder::later(const std::vector<int32_t> &a, int32_t index) {
    r.places.push_back(index);
    r.starts.push_back(static_cast<int32_t>(r.code.size()));
    r.code.insert(r.code.end(), a.begin(), a.end());
}

// Those of the values that may be others in a later call, behind the first ones, if these are what they were.
void Recorder::only_new(std::vector<int32_t> &a) {
    auto first = a.begin() + 3, rest = first + std::min(a[1], a[2]);
    if (!std::all_of(first, rest, [&](int32_t v) { return values[v].steady; })) return;
    a.erase(std::remove_if(rest, a.end(), [&](int32_t v) { return values[v].steady; }), a.end());
    a[2] = static_cast<int32_t>(a.size()) - 3;
}

// Carries out one instruction on registers that are never set twice.
bool Recorder::instruction(int32_t index) {
    const Program *p = m.program;
    const int32_t *from = &p->code[p->starts[index]];
    const int32_t *to =
        static_cast<size_t>(index + 1) < p->starts.size() ? &p->code[p->starts[index + 1]] : p->code.data() + p->code.size();
    if (*from == FJ_OP_DICT_GROUP || *from == FJ_OP_DICT_STAMP) return true;
    std::vector<int32_t> a(from, to);
    int32_t made = -1, target = -1;
    operands(a.data(), [&](char kind, int32_t &v) {
        if (is_read(kind) && v >= 0) v = where[v];
    });
    if (op_info[*from].kinds[0] == 'd') {
        target = a[1];
        a[1] = made = static_cast<int32_t>(values.size());
        values.push_back({});
        objects.push_back(nullptr);
    }
    Run run = m;
    run.regs = objects.data();
    if (!step(run, a.data())) return PyErr_Clear(), false;
    if (made >= 0) where[target] = made;
    if (steady(a.data(), made)) {
        if (made >= 0) values[made].steady = true;
    } else {
        if (*from == FJ_OP_CHECK_DISTINCT) only_new(a);
        later(a, index);
    }
    return true;
}

// Gives the values that are used later their registers: those that the rest of the program reads stay where it looks for them.
void Recorder::place() {
    Program *p = m.program;
    std::vector<uint8_t> taken(p->nregs, 0);
    for (size_t i = memo->end; i < p->starts.size(); i++)
        operands(&p->code[p->starts[i]], [&](char kind, int32_t &reg) {
            if (is_read(kind) && reg >= 0 && where[reg] >= 0) values[where[reg]].reg = reg, taken[reg] = 1;
        });
    int32_t next = 0;
    for (int32_t start : r.starts)
        operands(&r.code[start], [&](char kind, int32_t &v) {
            if ((!is_read(kind) && kind != 'd') || v < 0) return;
            int32_t &reg = values[v].reg;
            if (reg < 0) {
                while (next < p->nregs && taken[next]) next++;
                reg = next++;
            }
            v = reg;
        });
    r.room = std::max(next, p->nregs);
    for (size_t v = 0; v < values.size(); v++)
        if (values[v].steady && values[v].reg >= 0) r.filled.push_back({values[v].reg, objects[v]});
    r.starts.push_back(static_cast<int32_t>(r.code.size()));
    r.code.insert(r.code.end(), {FJ_OP_RETURN, 0}); // where the loop stops
}

// Runs the head and leaves the registers as it does; false: a check fails.
bool Recorder::run() {
    for (int32_t index = 0; index < memo->end; index++)
        if (!instruction(index)) return false;
    for (int32_t reg = 0; reg < m.program->nregs; reg++)
        if (where[reg] >= 0) m.put(reg, Py_NewRef(objects[where[reg]]));
    if (r.words.size() < MIN_WORDS || r.words.size() < r.starts.size()) return true;
    place();
    memo->now = std::move(made_now);
    return true;
}
} // namespace

// ---- Running --------------------------------------------------------------------------------------------------------

static PyObject *root_now(const Run &m, const Root &root) {
    switch (root.op) {
    case FJ_OP_LOAD_HANDLED: return m.frame->handled ? m.frame->handled : Py_None;
    case FJ_OP_LOAD_FUNC: return m.frame->func;
    case FJ_OP_LOAD_GLOBALS: return m.frame->globals;
    case FJ_OP_LOAD_BUILTINS: return m.frame->builtins;
    default: return root.slot < m.frame->nslots ? m.frame->slots[root.slot] : nullptr;
    }
}

static bool as_it_was(const Run &m, MemoData *memo) {
    for (const Root &root : memo->now->roots)
        if (root_now(m, root) != root.value) {
            if (root.op != FJ_OP_LOAD_SLOT) return false;
            if (memo->changes.size() <= static_cast<size_t>(root.slot)) memo->changes.resize(root.slot + 1);
            if (memo->changes[root.slot] < CHANGES) memo->changes[root.slot]++;
            return false;
        }
    const std::vector<Word> &words = memo->now->words;
    size_t n = words.size();
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n) __builtin_prefetch(words[i + AHEAD].at);
        if (*words[i].at != words[i].value) return false;
    }
    if (!tensors_match(memo->now->tensors.data(), memo->now->tensors.size())) return false;
    return true;
}

static MemoResult reached(const Run &m) { return {Memo::REACHED, &m.program->code[m.program->starts[m.program->memo->end]], 0}; }

static MemoResult use(Run &m, MemoData *memo) {
    const Recording &r = *memo->now;
    for (const Filled &filled : r.filled) m.put(filled.reg, Py_NewRef(filled.value));
    memo->users++; // code that runs here could come back: the recording stays
    const int32_t *stopped = loop(m, r.code.data());
    memo->users--;
    if (m.status == FJ_EXIT) {
        m.status = FJ_MISS;
        if (++memo->good >= GOOD) memo->good = 0, memo->patience = std::min(memo->patience + 1, PATIENCE);
        return reached(m);
    }
    auto offset = static_cast<int32_t>(stopped - r.code.data());
    size_t i = std::lower_bound(r.starts.begin(), r.starts.end(), offset) - r.starts.begin();
    return {Memo::MISS, stopped, r.places[i]};
}

static int32_t find_end(const Program *p) {
    int32_t end = 0;
    while (in_head(p->code[p->starts[end]])) end++;
    for (int32_t i = 0; i < end; i++) {
        const int32_t *a = &p->code[p->starts[i]];
        if (*a == FJ_OP_DICT_GROUP && a[3] > end) return 0;
    }
    return end;
}

MemoResult memo_run(Run &m) {
    Program *p = m.program;
    const MemoResult none = {Memo::NONE, nullptr, 0};
    if (!p->memo) {
        if (!VERSIONS_TELL || p->hits < FIRST_HITS) return none;
        p->memo = new MemoData;
        p->memo->end = find_end(p);
        if (static_cast<size_t>(p->memo->end) < MIN_WORDS) p->memo->patience = 0;
    }
    MemoData *memo = p->memo;
    if (memo->now && as_it_was(m, memo)) return use(m, memo);
    if (memo->patience <= 0 || memo->users) return none;
    memo->patience--;
    memo->users++;
    bool passed = Recorder(m, memo).run();
    memo->users--;
    return passed ? reached(m) : none;
}

} // namespace fj
