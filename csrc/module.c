/* The extension module framejit._C. */
#include "hook.h"

PyObject *fj_null, *fj_missing;
FJStats fj_stats;

/* ---- NULL and MISSING ------------------------------------------------------------------------------------------- */
typedef struct {
    PyObject_HEAD
    const char *name;
} Sentinel;

static PyObject *sentinel_repr(Sentinel *s) { return PyUnicode_FromString(s->name); }

static PyTypeObject Sentinel_Type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "framejit._C.Sentinel",
    .tp_basicsize = sizeof(Sentinel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A value that stands for none.",
    .tp_repr = (reprfunc)sentinel_repr,
};

static PyObject *sentinel(PyObject *module, const char *name) {
    Sentinel *s = PyObject_New(Sentinel, &Sentinel_Type);
    if (!s) return NULL;
    s->name = name;
    return PyModule_AddObjectRef(module, name, (PyObject *)s) < 0 ? NULL : (PyObject *)s;
}

/* ---- Functions -------------------------------------------------------------------------------------------------- */
static PyObject *hook_enabled(PyObject *self, PyObject *flag) {
    (void)self;
    int enabled = PyObject_IsTrue(flag);
    if (enabled < 0) return NULL;
    if (enabled && !fj_thread.key) fj_thread.key = Py_None;
    return PyBool_FromLong(fj_hook_set(enabled));
}

static PyObject *stats(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    FJStats *s = &fj_stats;
    return Py_BuildValue(
        "{sKsKsKsKsKsKsKsKsKsKsK}", "calls", s->calls, "frames", s->frames, "hits", s->hits, "misses", s->misses, "installs",
        s->installs, "rejects", s->rejects, "natives", s->natives, "opaques", s->opaques, "callees", s->callees, "throws",
        s->throws, "replays", s->replays);
}

/* Where a set is iterated next to what depends on which slots of its table are taken, by members or by what was removed. */
static PyObject *set_slots(PyObject *Py_UNUSED(module), PyObject *set) {
    if (!PyAnySet_Check(set)) {
        PyErr_Format(PyExc_TypeError, "set_slots() takes a set or frozenset, not %.100s", Py_TYPE(set)->tp_name);
        return NULL;
    }
    PySetObject *real = (PySetObject *)set;
    PyObject *found = PyBytes_FromStringAndSize(NULL, real->mask + 1);
    if (!found) return NULL;
    char *slots = PyBytes_AS_STRING(found);
    for (Py_ssize_t i = 0; i <= real->mask; i++) slots[i] = !real->table[i].key ? '.' : real->table[i].hash == -1 ? 'x' : 'o';
    return found;
}

extern PyAPI_FUNC(int) _PySet_NextEntry(PyObject *set, Py_ssize_t *position, PyObject **key, Py_hash_t *hash);

static int append_hash(PyObject *list, Py_hash_t hash) {
    PyObject *number = PyLong_FromSsize_t(hash);
    int result = number ? PyList_Append(list, number) : -1;
    Py_XDECREF(number);
    return result;
}

static int append_hashes_of_dict(PyObject *list, PyDictObject *dict) {
    PyDictKeysObject *keys = dict->ma_keys;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    int result = 0;
    if (DK_IS_UNICODE(keys)) { /* texts keep theirs */
        while (!result && PyDict_Next((PyObject *)dict, &position, &key, &value)) result = append_hash(list, PyObject_Hash(key));
        return result;
    }
    PyDictKeyEntry *entries = DK_ENTRIES(keys);
    for (; !result && position < keys->dk_nentries; position++)
        if (entries[position].me_value) result = append_hash(list, entries[position].me_hash);
    return result;
}

static int append_hashes_of_set(PyObject *list, PyObject *set) {
    PyObject *key;
    Py_ssize_t position = 0;
    Py_hash_t hash;
    int result = 0;
    while (!result && _PySet_NextEntry(set, &position, &key, &hash)) result = append_hash(list, hash);
    return result;
}

/* What a dict or set goes by when it looks for a key, whatever the key says by now. */
static PyObject *stored_hashes(PyObject *Py_UNUSED(module), PyObject *table) {
    if (!PyAnySet_Check(table) && !PyDict_Check(table)) {
        PyErr_Format(PyExc_TypeError, "stored_hashes() takes a dict or set, not %.100s", Py_TYPE(table)->tp_name);
        return NULL;
    }
    PyObject *found = PyList_New(0);
    if (!found) return NULL;
    int result = PyDict_Check(table) ? append_hashes_of_dict(found, (PyDictObject *)table) : append_hashes_of_set(found, table);
    if (result < 0) Py_CLEAR(found);
    return found;
}

/* The dict of an instance, also where its class shows another one or none under that name. */
static PyObject *instance_dict(PyObject *Py_UNUSED(module), PyObject *object) {
    if (!PyType_Check(object)) return PyObject_GenericGetDict(object, NULL);
    PyErr_SetString(PyExc_TypeError, "instance_dict() takes no class");
    return NULL;
}

/* Whether nothing changes what a frame shows any more: neither does it run, nor does it wait for its generator to go on. */
static PyObject *frame_ended(PyObject *Py_UNUSED(module), PyObject *frame) {
    if (PyFrame_Check(frame)) return PyBool_FromLong(((PyFrameObject *)frame)->f_frame->owner == FRAME_OWNED_BY_FRAME_OBJECT);
    PyErr_Format(PyExc_TypeError, "frame_ended() takes a frame, not %.100s", Py_TYPE(frame)->tp_name);
    return NULL;
}

int fj_drivers_handle(void) {
    for (_PyErr_StackItem *item = PyThreadState_Get()->exc_info->previous_item; item; item = item->previous_item)
        if (item->exc_value && item->exc_value != Py_None) return 1;
    return 0;
}

static PyObject *drivers_handle(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused)) {
    return PyBool_FromLong(fj_drivers_handle());
}

static PyMethodDef methods[] = {
    {"drivers_handle", drivers_handle, METH_NOARGS,
     "drivers_handle() -> whether who drives the generator that runs, or who drives theirs, handles an exception."},
    {"hook_enabled", hook_enabled, METH_O, "hook_enabled(flag) -> previous: look at frames of this thread or not."},
    {"frame_ended", frame_ended, METH_O, "frame_ended(frame) -> whether it neither runs nor waits for its generator to go on."},
    {"instance_dict", instance_dict, METH_O,
     "instance_dict(object) -> the dict of an instance; AttributeError where it has none."},
    {"set_slots", set_slots, METH_O,
     "set_slots(set) -> bytes: '.' for each free slot of its table, 'o' for a member, 'x' for a removed one."},
    {"stored_hashes", stored_hashes, METH_O, "stored_hashes(dict or set) -> list of the hashes of its keys, in order."},
    {"stats", stats, METH_NOARGS, "stats() -> dict of counters."},
    {"enter", (PyCFunction)(void (*)(void))fj_enter, METH_VARARGS | METH_KEYWORDS,
     "enter(func, pc, slots, handled=None, raise_=None, locals=None): run a frame from pc on; of a generator function "
     "at pc > 0: (generator or None when it ended, value)."},
    {NULL, NULL, 0, NULL},
};

/* ---- Start ------------------------------------------------------------------------------------------------------ */
static int fill(PyObject *module) {
    if (PyType_Ready(&Sentinel_Type) < 0) return -1;
    if (!(fj_null = sentinel(module, "NULL")) || !(fj_missing = sentinel(module, "MISSING"))) return -1;
    if (fj_cache_init(module) < 0 || fj_view_init(module) < 0 || fj_hook_init(module) < 0) return -1;
    if (fj_compiled_init(module) < 0 || fj_generator_init(module) < 0 || fj_iterators_init(module) < 0) return -1;
    if (fj_iterator_fields_init(module) < 0 || fj_given_generator_init(module) < 0) return -1;
    return fj_machine_init(module);
}

static int begin(PyObject *module) {
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "framejit does not support sub-interpreters");
        return -1;
    }
    if (fj_null) {
        PyErr_SetString(PyExc_ImportError, "framejit._C can be loaded only once in a process");
        return -1;
    }
    return fill(module);
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, begin}, FJ_MODULE_SLOTS{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "framejit._C", "Frames, regions and the register machine.", 0, methods, module_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__C(void) { return PyModuleDef_Init(&definition); }
