/* Regions and marks per code object, pc and configuration, kept in co_extra. */
#include "hook.h"

static Py_ssize_t extra_index = -1;
static FJCode *all_codes;

/* ---- Records ---------------------------------------------------------------------------------------------------- */
static void clear_entry(FJEntry *entry) {
    Py_CLEAR(entry->key);
    Py_CLEAR(entry->programs);
}

/* Empties the record first, because releasing programs can run anything. */
static void clear_record(FJCode *record) {
    FJEntry *entries = record->entries;
    int count = record->count;
    record->entries = NULL;
    record->count = record->capacity = 0;
    record->marked = 0;
    for (int i = 0; i < count; i++) clear_entry(&entries[i]);
    PyMem_Free(entries);
}

/* A mark that turns code off for everybody is no knowledge but a wish. */
static int is_wish(FJEntry *entry) { return !entry->key && entry->mode == FJ_MODE_OFF; }

static void free_record(void *extra) {
    FJCode *record = extra;
    if (!record) return;
    *record->back = record->next;
    if (record->next) record->next->back = record->back;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    clear_record(record);
    PyErr_Restore(type, value, traceback);
    PyMem_Free(record);
}

static FJCode *existing(PyCodeObject *code) {
    void *extra = NULL;
    if (fj_extra_get((PyObject *)code, extra_index, &extra) < 0) PyErr_Clear();
    return extra;
}

FJCode *fj_code(PyCodeObject *code) {
    FJCode *record = existing(code);
    if (record) return record;
    record = PyMem_Calloc(1, sizeof *record);
    if (!record) {
        PyErr_NoMemory();
        return NULL;
    }
    if (fj_extra_set((PyObject *)code, extra_index, record) < 0) {
        PyMem_Free(record);
        return NULL;
    }
    record->code = code;
    record->verdict = -1;
    record->return_pc = -1;
    record->next = all_codes;
    record->back = &all_codes;
    if (all_codes) all_codes->back = &record->next;
    all_codes = record;
    return record;
}

FJEntry *fj_find(FJCode *record, int pc, PyObject *key) {
    for (int i = 0; i < record->count; i++) {
        FJEntry *entry = &record->entries[i];
        if (entry->pc == pc && (entry->key == key || (!entry->key && entry->mode != FJ_MODE_CAPTURE))) return entry;
    }
    return NULL;
}

int fj_code_mode(FJCode *record, PyObject *key) {
    FJEntry *entry = record->marked ? fj_find(record, -1, key) : NULL;
    return entry ? entry->mode : FJ_MODE_CAPTURE;
}

/* Keys are compared by identity: equal ints and strs become one object, which lives for ever. */
PyObject *fj_key(PyObject *key) {
    static PyObject *known;
    if (!PyLong_CheckExact(key) && !PyUnicode_CheckExact(key)) return key;
    if (!known && !(known = PyDict_New())) return NULL;
    return PyDict_SetDefault(known, key, key);
}

/* The entry for exactly this key (NULL: every key), made when missing. Marks for every key are found first. */
static FJEntry *make_entry(FJCode *record, int pc, PyObject *key) {
    if (key && !(key = fj_key(key))) return NULL;
    for (int i = 0; i < record->count; i++)
        if (record->entries[i].pc == pc && record->entries[i].key == key) return &record->entries[i];
    if (record->count == record->capacity) {
        int capacity = record->capacity ? 2 * record->capacity : 4;
        FJEntry *entries = PyMem_Realloc(record->entries, capacity * sizeof *entries);
        if (!entries) {
            PyErr_NoMemory();
            return NULL;
        }
        record->entries = entries;
        record->capacity = capacity;
    }
    int at = key ? record->count : 0;
    memmove(record->entries + at + 1, record->entries + at, (record->count - at) * sizeof(FJEntry));
    record->count++;
    record->marked |= pc < 0;
    record->entries[at] = (FJEntry){pc, FJ_MODE_CAPTURE, Py_XNewRef(key), NULL};
    return &record->entries[at];
}

/* ---- Changes ---------------------------------------------------------------------------------------------------- */
int fj_install(PyCodeObject *code, int pc, PyObject *key, PyObject *program) {
    FJCode *record = fj_code(code);
    FJEntry *entry = record ? make_entry(record, pc, key) : NULL;
    if (!entry) return -1;
    Py_ssize_t count = 1, old_count = entry->programs ? PyTuple_GET_SIZE(entry->programs) : 0;
    PyObject *programs = PyTuple_New(1 + old_count);
    if (!programs) return -1;
    PyTuple_SET_ITEM(programs, 0, Py_NewRef(program));
    for (Py_ssize_t i = 0; i < old_count; i++) {
        PyObject *old = PyTuple_GET_ITEM(entry->programs, i);
        if (!fj_program_dead(old)) PyTuple_SET_ITEM(programs, count++, Py_NewRef(old));
    }
    Py_ssize_t dead = 1 + old_count - count;
    PyObject *old = entry->programs;
    entry->programs = programs;
    if (dead && _PyTuple_Resize(&entry->programs, count) < 0) return -1;
    Py_XDECREF(old);
    fj_stats.installs++;
    return 0;
}

int fj_remove(PyCodeObject *code, int pc, PyObject *key, PyObject *program) {
    FJCode *record = existing(code);
    FJEntry *entry = record ? fj_find(record, pc, key) : NULL;
    if (!entry || !entry->programs) return 0;
    PyObject *kept = PyList_New(0);
    if (!kept) return -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(entry->programs); i++) {
        PyObject *other = PyTuple_GET_ITEM(entry->programs, i);
        if (other != program && PyList_Append(kept, other) < 0) {
            Py_DECREF(kept);
            return -1;
        }
    }
    PyObject *programs = PyList_GET_SIZE(kept) ? PyList_AsTuple(kept) : NULL;
    Py_DECREF(kept);
    if (PyErr_Occurred()) return -1;
    PyObject *old = entry->programs;
    entry->programs = programs;
    Py_XDECREF(old);
    return 0;
}

/* ---- Python functions ------------------------------------------------------------------------------------------- */
static PyObject *install(PyObject *self, PyObject *args) {
    PyCodeObject *code;
    PyObject *key, *program;
    int pc;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!iOO:install", &PyCode_Type, &code, &pc, &key, &program)) return NULL;
    if (!fj_is_program(program)) return PyErr_Format(PyExc_TypeError, "not a Program: %R", program);
    if (pc < 0 || pc % 2 || pc / 2 >= Py_SIZE(code)) return PyErr_Format(PyExc_ValueError, "no pc %d", pc);
    if (fj_install(code, pc, key, program) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *regions(PyObject *self, PyObject *arg) {
    (void)self;
    if (!PyCode_Check(arg)) return PyErr_Format(PyExc_TypeError, "not a code object: %R", arg);
    PyObject *list = PyList_New(0);
    FJCode *record = existing((PyCodeObject *)arg);
    for (int i = 0; list && record && i < record->count; i++) {
        FJEntry *entry = &record->entries[i];
        PyObject *programs = entry->programs ? Py_NewRef(entry->programs) : PyTuple_New(0);
        PyObject *row =
            programs ? Py_BuildValue("(iOiN)", entry->pc, entry->key ? entry->key : Py_None, entry->mode, programs) : NULL;
        if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *mark(PyObject *self, PyObject *args) {
    PyCodeObject *code;
    PyObject *key;
    int pc, mode;
    (void)self;
    if (!PyArg_ParseTuple(args, "O!Oii:mark", &PyCode_Type, &code, &key, &pc, &mode)) return NULL;
    if (mode < 0 || mode >= FJ_MODE_COUNT) return PyErr_Format(PyExc_ValueError, "no mode %d", mode);
    FJCode *record = fj_code(code);
    FJEntry *entry = record ? make_entry(record, pc, key == Py_None ? NULL : key) : NULL;
    if (!entry) return NULL;
    entry->mode = mode;
    Py_RETURN_NONE;
}

/* Drops all entries that are not wishes (key NULL) or those of one key; how many, or -1 without memory. */
static int forget(FJCode *record, PyObject *key) {
    int kept = 0, count = record->count;
    FJEntry *entries = record->entries, *rest = NULL;
    for (int i = 0; i < count; i++) kept += key ? entries[i].key != key : is_wish(&entries[i]);
    if (kept == count) return 0;
    if (kept && !(rest = PyMem_Calloc(kept, sizeof *rest))) {
        PyErr_NoMemory();
        return -1;
    }
    record->entries = rest;
    record->count = record->capacity = kept;
    record->marked = kept > 0;
    int to = 0, dropped = 0;
    for (int i = 0; i < count; i++) /* first all that stay, then the others' ends, which may run anything */
        if (key ? entries[i].key != key : is_wish(&entries[i]))
            rest[to++] = entries[i];
        else
            entries[dropped++] = entries[i];
    for (int i = 0; i < dropped; i++) clear_entry(&entries[i]);
    PyMem_Free(entries);
    return dropped;
}

/* The same for all records; releasing programs may free records, so it begins again after each. 0 or -1. */
static int forget_everywhere(PyObject *key) {
    for (FJCode *record = all_codes; record;) {
        FJCode *next = record->next;
        if (!key) record->verdict = -1;
        int dropped = forget(record, key);
        if (dropped < 0) return -1;
        record = dropped ? all_codes : next;
    }
    return 0;
}

static PyObject *forget_key(PyObject *self, PyObject *key) {
    (void)self;
    if (!(key = fj_key(key)) || forget_everywhere(key) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *reset(PyObject *self, PyObject *args) {
    PyObject *code = Py_None;
    (void)self;
    if (!PyArg_ParseTuple(args, "|O:reset", &code)) return NULL;
    if (code == Py_None) {
        if (forget_everywhere(NULL) < 0) return NULL;
        Py_RETURN_NONE;
    }
    if (!PyCode_Check(code)) return PyErr_Format(PyExc_TypeError, "not a code object: %R", code);
    FJCode *record = existing((PyCodeObject *)code);
    if (record) record->verdict = -1;
    if (record && forget(record, NULL) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"install", install, METH_VARARGS, "install(code, pc, key, program): add a region, tried before older ones."},
    {"regions", regions, METH_O, "regions(code): rows (pc, key, mode, programs); key None stands for every key."},
    {"mark", mark, METH_VARARGS, "mark(code, key, pc, mode): how to go on at pc; -1: at all of the code."},
    {"reset", reset, METH_VARARGS,
     "reset(code=None): forget the regions and marks of one or all code objects, but not what is off for "
     "every key."},
    {"forget", forget_key, METH_O, "forget(key): drop the regions and marks of a configuration that nobody uses any more."},
    {NULL, NULL, 0, NULL},
};

int fj_cache_init(PyObject *module) {
    extra_index = fj_extra_index(free_record);
    if (extra_index < 0) {
        PyErr_SetString(PyExc_ImportError, "framejit: no co_extra index is left");
        return -1;
    }
    return PyModule_AddFunctions(module, methods);
}
