// What the machine asks about tensors and about torch's modes; without torch nothing is a tensor.
#pragma once
#include <Python.h>

#include <cstddef>

namespace fj {

struct CheckedTensor {
    PyObject *value, *check;
    const void *near[2]; // places that the check will look at, if they are what they were: never relied upon
};

#ifdef FJ_NO_TORCH
inline bool is_tensor(PyObject *) { return false; }
inline bool is_tensor_check(PyObject *) { return false; }
inline bool is_torch_state(PyObject *) { return false; }
inline bool tensor_matches(PyObject *, PyObject *) { return false; }
inline CheckedTensor checked_tensor(PyObject *value, PyObject *check) { return {value, check, {}}; }
inline bool tensors_match(const CheckedTensor *, size_t) { return false; }
inline bool torch_state_matches(PyObject *) { return false; }
inline bool storages_overlap(PyObject *const *, Py_ssize_t, Py_ssize_t) { return true; }
inline bool tensor_number(PyObject *, char, long, long long *) { return false; }
inline bool describe_tensor(PyObject *, char *, size_t) { return false; }
inline void describe_state_difference(PyObject *, char *text, size_t) { *text = 0; }
inline bool tensor_init(PyObject *) { return true; }
#else
bool is_tensor(PyObject *value);
bool is_tensor_check(PyObject *value);
bool is_torch_state(PyObject *value);
bool tensor_matches(PyObject *check, PyObject *value);
CheckedTensor checked_tensor(PyObject *value, PyObject *check);
bool tensors_match(const CheckedTensor *tensors, size_t n); // all of them
bool torch_state_matches(PyObject *state);
// One of the first tensors shares memory with another, or one is no plain tensor.
bool storages_overlap(PyObject *const *values, Py_ssize_t first, Py_ssize_t n);
bool tensor_number(PyObject *value, char what, long i, long long *out); // 's' size, 't' stride, 'o' offset; false: no such
bool describe_tensor(PyObject *value, char *text, size_t size);
void describe_state_difference(PyObject *state, char *text, size_t size);
bool tensor_init(PyObject *module);
#endif

} // namespace fj
