/* Opaque attributes, names and imports. */
#include "opaque.h"

static PyObject *name_of(FJRun *r) {
    PyObject *name = fj_operand(r, 0);
    if (name && PyUnicode_CheckExact(name)) return name;
    if (name) PyErr_SetString(PyExc_SystemError, "framejit: a name is not a str");
    return NULL;
}

/* ---- Attributes ------------------------------------------------------------------------------------------------- */
static int load_attr(FJRun *r) {
    PyObject *name = name_of(r);
    if (!name || fj_need(r, 1) < 0) return -1;
    return fj_result(r, 1, PyObject_GetAttr(TOP(r, 1), name));
}

/* Replaces `count` operands by the head of a call of `value`. */
static int push_head(FJRun *r, int count, PyObject *value) {
    if (!value) return -1;
    if (fj_room(r, 2 - count) < 0) {
        Py_DECREF(value);
        return -1;
    }
    fj_result(r, count, value);
    fj_push(r->f, NULL);
    if (FJ_NULL_FIRST) {
        TOP(r, 1) = value;
        TOP(r, 2) = NULL;
    }
    return 0;
}

static int load_method(FJRun *r) {
    PyObject *name = name_of(r);
    if (!name || fj_need(r, 1) < 0) return -1;
    return push_head(r, 1, PyObject_GetAttr(TOP(r, 1), name));
}

static int load_super_attr(FJRun *r) {
    PyObject *name = name_of(r);
    if (!name || fj_need(r, 3) < 0) return -1;
    PyObject *args[] = {NULL, TOP(r, 2), TOP(r, 1)};
    size_t count = r->op->arg & 2 ? 2 : 0;
    PyObject *super = PyObject_Vectorcall(TOP(r, 3), args + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    PyObject *value = super ? PyObject_GetAttr(super, name) : NULL;
    Py_XDECREF(super);
    return r->op->arg & 1 ? push_head(r, 3, value) : fj_result(r, 3, value);
}

static int store_attr(FJRun *r) {
    PyObject *name = name_of(r);
    if (!name || fj_need(r, 2) < 0) return -1;
    return PyObject_SetAttr(TOP(r, 1), name, TOP(r, 2)) < 0 ? -1 : fj_operated(r, 2, NULL);
}

static int delete_attr(FJRun *r) {
    PyObject *name = name_of(r);
    if (!name || fj_need(r, 1) < 0) return -1;
    return fj_done(r, 1, PyObject_SetAttr(TOP(r, 1), name, NULL));
}

/* ---- Names ------------------------------------------------------------------------------------------------------ */
/* A name in a namespace: 1 found, 0 not, -1. */
static int find_name(PyObject *space, PyObject *name, PyObject **value) {
    *value = NULL;
    if (!space) return 0;
    if (PyDict_CheckExact(space)) {
        *value = Py_XNewRef(PyDict_GetItemWithError(space, name));
        return *value ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    *value = PyObject_GetItem(space, name);
    if (*value) return 1;
    if (!PyErr_ExceptionMatches(PyExc_KeyError)) return -1;
    PyErr_Clear();
    return 0;
}

static int undefined(PyObject *name) {
    PyErr_Format(PyExc_NameError, "name '%.200U' is not defined", name);
    PyObject *error = fj_take_error();
    if (Py_IS_TYPE(error, (PyTypeObject *)PyExc_NameError) && PyObject_SetAttrString(error, "name", name) < 0) PyErr_Clear();
    fj_put_error(error);
    return -1;
}

static PyObject *global_or_builtin(FJRun *r, PyObject *name) {
    PyObject *value;
    int found = find_name(r->f->f_globals, name, &value);
    if (!found) found = find_name(r->f->f_builtins, name, &value);
    if (!found) undefined(name);
    return value;
}

static int load_global(FJRun *r) {
    PyObject *name = name_of(r);
    if (!name) return -1;
    PyObject *value = global_or_builtin(r, name);
    return r->op->arg & 1 ? push_head(r, 0, value) : fj_result(r, 0, value);
}

static int load_name(FJRun *r) {
    PyObject *name = name_of(r), *value;
    if (!name) return -1;
    int found = find_name(r->f->f_locals, name, &value);
    if (found < 0) return -1;
    return fj_result(r, 0, found ? value : global_or_builtin(r, name));
}

static int store_in(FJRun *r, PyObject *space) {
    PyObject *name = name_of(r);
    if (!name || fj_need(r, 1) < 0) return -1;
    if (!space) {
        PyErr_Format(PyExc_SystemError, "no locals found when storing %R", name);
        return -1;
    }
    int status = PyDict_CheckExact(space) ? PyDict_SetItem(space, name, TOP(r, 1)) : PyObject_SetItem(space, name, TOP(r, 1));
    return fj_done(r, 1, status);
}

static int delete_in(FJRun *r, PyObject *space) {
    PyObject *name = name_of(r);
    if (!name) return -1;
    if (!space) {
        PyErr_Format(PyExc_SystemError, "no locals when deleting %R", name);
        return -1;
    }
    if (PyObject_DelItem(space, name) == 0) return 0;
    if (!PyErr_ExceptionMatches(PyExc_KeyError)) return -1;
    PyErr_Clear();
    return undefined(name);
}

static int store_global(FJRun *r) { return store_in(r, r->f->f_globals); }

static int delete_global(FJRun *r) { return delete_in(r, r->f->f_globals); }

static int store_name(FJRun *r) { return store_in(r, r->f->f_locals); }

static int delete_name(FJRun *r) { return delete_in(r, r->f->f_locals); }

static int load_build_class(FJRun *r) {
    PyObject *name = PyUnicode_InternFromString("__build_class__"), *value;
    if (!name) return -1;
    int found = find_name(r->f->f_builtins, name, &value);
    Py_DECREF(name);
    if (found == 0) PyErr_SetString(PyExc_NameError, "__build_class__ not found");
    return fj_result(r, 0, value);
}

/* ---- Imports ---------------------------------------------------------------------------------------------------- */
static int import_name(FJRun *r) {
    PyObject *name = name_of(r), *text, *import;
    if (!name || fj_need(r, 2) < 0 || !(text = PyUnicode_InternFromString("__import__"))) return -1;
    int found = find_name(r->f->f_builtins, text, &import);
    Py_DECREF(text);
    if (found == 0) PyErr_SetString(PyExc_ImportError, "__import__ not found");
    if (found <= 0) return -1;
    PyObject *locals = r->f->f_locals ? r->f->f_locals : Py_None;
    PyObject *args[] = {NULL, name, r->f->f_globals, locals, TOP(r, 1), TOP(r, 2)};
    PyObject *module = PyObject_Vectorcall(import, args + 1, 5 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(import);
    return fj_result(r, 2, module);
}

/* sys.modules[f"{package}.{name}"], for circular imports: 1, 0 or -1. */
static int find_submodule(PyObject *package, PyObject *name, PyObject **value) {
    PyObject *full = PyUnicode_FromFormat("%U.%U", package, name);
    if (!full) return -1;
    *value = PyImport_GetModule(full);
    Py_DECREF(full);
    return *value ? 1 : PyErr_Occurred() ? -1 : 0;
}

static int is_initializing(PyObject *module) {
    PyObject *spec = PyObject_GetAttrString(module, "__spec__");
    PyObject *flag = spec ? PyObject_GetAttrString(spec, "_initializing") : NULL;
    int truth = flag ? PyObject_IsTrue(flag) : 0;
    Py_XDECREF(spec);
    Py_XDECREF(flag);
    PyErr_Clear();
    return truth > 0;
}

static int cannot_import(PyObject *module, PyObject *package, PyObject *name) {
    PyObject *path = PyModule_Check(module) ? PyModule_GetFilenameObject(module) : NULL, *text;
    PyErr_Clear();
    PyObject *shown = package ? Py_NewRef(package) : PyUnicode_FromString("<unknown module name>");
    if (!shown) return -1;
    if (!path)
        text = PyUnicode_FromFormat("cannot import name %R from %R (unknown location)", name, shown);
    else if (is_initializing(module))
        text = PyUnicode_FromFormat(
            "cannot import name %R from partially initialized module %R (most likely due to a "
            "circular import) (%S)",
            name, shown, path);
    else
        text = PyUnicode_FromFormat("cannot import name %R from %R (%S)", name, shown, path);
    if (text) PyErr_SetImportError(text, shown, path);
    Py_XDECREF(text);
    Py_XDECREF(path);
    Py_DECREF(shown);
    return -1;
}

static int import_from(FJRun *r) {
    PyObject *name = name_of(r), *value = NULL, *package = NULL, *text;
    if (!name || fj_need(r, 1) < 0) return -1;
    PyObject *module = TOP(r, 1);
    int found = fj_lookup(module, name, &value);
    if (found > 0) return fj_result(r, 0, value);
    if (found < 0 || !(text = PyUnicode_InternFromString("__name__"))) return -1;
    found = fj_lookup(module, text, &package);
    Py_DECREF(text);
    if (found < 0) return -1;
    if (package && !PyUnicode_Check(package)) Py_CLEAR(package);
    found = package ? find_submodule(package, name, &value) : 0;
    if (found == 0) found = cannot_import(module, package, name);
    Py_XDECREF(package);
    return found < 0 ? -1 : fj_result(r, 0, value);
}

const FJOperation fj_name_operations[FJ_OPAQUE_COUNT] = {
    [FJ_OPAQUE_LOAD_ATTR] = load_attr,
    [FJ_OPAQUE_LOAD_METHOD] = load_method,
    [FJ_OPAQUE_LOAD_SUPER_ATTR] = load_super_attr,
    [FJ_OPAQUE_STORE_ATTR] = store_attr,
    [FJ_OPAQUE_DELETE_ATTR] = delete_attr,
    [FJ_OPAQUE_LOAD_GLOBAL] = load_global,
    [FJ_OPAQUE_STORE_GLOBAL] = store_global,
    [FJ_OPAQUE_DELETE_GLOBAL] = delete_global,
    [FJ_OPAQUE_LOAD_NAME] = load_name,
    [FJ_OPAQUE_STORE_NAME] = store_name,
    [FJ_OPAQUE_DELETE_NAME] = delete_name,
    [FJ_OPAQUE_LOAD_BUILD_CLASS] = load_build_class,
    [FJ_OPAQUE_IMPORT_NAME] = import_name,
    [FJ_OPAQUE_IMPORT_FROM] = import_from,
};
