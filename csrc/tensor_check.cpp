// What a program asks about tensors and torch's modes; the only file that includes torch.
#include "tensor_check.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/autocast_mode.h>
#include <c10/core/AutogradState.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/PyInterpreter.h>
#include <torch/csrc/autograd/anomaly_mode.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace fj {

// ---- One tensor -----------------------------------------------------------------------------------------------------

static const int64_t ANY = INT64_MIN;

struct TensorCheck {
    PyObject_VAR_HEAD       // as many numbers
    PyTypeObject *type;     // borrowed from `watch` or what it refers to; NULL once the class is gone
    PyObject *watch, *life; // the weak reference; a capsule that tells its callback of the check, or that it is gone
    uint64_t keys;
    caffe2::TypeMeta dtype;
    c10::Device device;
    bool requires_grad, exact, contiguous;
    size_t ndim;
    int64_t numbers[1]; // sizes, then strides; ANY is not compared
};

static PyTypeObject *tensor_check_type, *torch_state_type;

bool is_tensor_check(PyObject *value) { return Py_TYPE(value) == tensor_check_type; }

bool is_tensor(PyObject *value) {
    return THPVariableClass && PyType_IsSubtype(Py_TYPE(value), reinterpret_cast<PyTypeObject *>(THPVariableClass));
}

static inline bool shape_matches(const TensorCheck *c, const int64_t *sizes, const int64_t *strides) {
    const int64_t *expected = c->numbers;
    size_t n = c->ndim;
    if (c->exact) {
        int64_t difference = 0;
        for (size_t i = 0; i < n; i++) difference |= (expected[i] ^ sizes[i]) | (expected[n + i] ^ strides[i]);
        return difference == 0;
    }
    for (size_t i = 0; i < n; i++)
        if ((expected[i] != sizes[i] && expected[i] != ANY) || (expected[n + i] != strides[i] && expected[n + i] != ANY))
            return false;
    return true;
}

// What requires_grad() answers, without its two calls, but for views, which ask what they are views of. Graphs of some backends
// lose the tangents of forward-mode differentiation: a tensor with one never passes.
static inline bool autograd_matches(const TensorCheck *c, const at::TensorImpl *t) {
    auto *meta = static_cast<torch::autograd::AutogradMeta *>(t->autograd_meta());
    if (!meta) return !c->requires_grad;
    bool requires_grad = meta->is_view_ ? meta->requires_grad() : meta->requires_grad_ || meta->grad_fn_;
    if (requires_grad != c->requires_grad) return false;
    return !meta->fw_grad_ || meta->fw_grad_->empty();
}

static inline bool matches(const TensorCheck *c, const at::TensorImpl *t) {
    if (t->key_set().raw_repr() != c->keys || t->dtype() != c->dtype || !autograd_matches(c, t)) return false;
    if (t->has_symbolic_sizes_strides() || !(t->device() == c->device)) return false;
    auto sizes = t->sizes();
    if (sizes.size() != c->ndim || !shape_matches(c, sizes.data(), t->strides().data())) return false;
    return !c->contiguous || t->is_contiguous();
}

bool tensor_matches(PyObject *check, PyObject *value) {
    auto *c = reinterpret_cast<TensorCheck *>(check);
    if (!c || Py_TYPE(value) != c->type) return false;
    try {
        return matches(c, THPVariable_Unpack(value).unsafeGetTensorImpl());
    } catch (const std::exception &) { // a tensor without sizes or strides of its own
        return false;
    }
}

CheckedTensor checked_tensor(PyObject *value, PyObject *check) {
    const at::TensorImpl *t = THPVariable_Unpack(value).unsafeGetTensorImpl();
    return {value, check, {t, t->autograd_meta()}};
}

static inline void fetch(const void *at, int from, int to) {
    for (int line = from; line < to; line += 64) __builtin_prefetch(static_cast<const char *>(at) + line);
}

// Many tensors are many places in memory: each is asked for while others are looked at.
bool tensors_match(const CheckedTensor *tensors, size_t n) {
    const size_t AHEAD = 6;
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n) {
            const CheckedTensor &next = tensors[i + AHEAD];
            fetch(next.value, 0, 64), fetch(next.check, 0, 192), fetch(next.near[0], 0, sizeof(at::TensorImpl));
            if (next.near[1]) fetch(next.near[1], 64, sizeof(torch::autograd::AutogradMeta));
        }
        if (!tensor_matches(tensors[i].check, tensors[i].value)) return false;
    }
    return true;
}

bool tensor_number(PyObject *value, char what, long i, long long *out) {
    if (!is_tensor(value)) return false;
    try {
        const at::TensorImpl *t = THPVariable_Unpack(value).unsafeGetTensorImpl();
        if (t->has_symbolic_sizes_strides()) return false;
        if (what == 'o') return *out = t->storage_offset(), true;
        auto list = what == 's' ? t->sizes() : t->strides();
        if (i < 0 || i >= static_cast<long>(list.size())) return false;
        return *out = list[i], true;
    } catch (const std::exception &) {
        return false;
    }
}

struct Extent {
    const void *storage;
    uintptr_t begin, end; // bytes; 0, 0 of an empty tensor
};

static bool extent_of(PyObject *value, Extent *out) {
    const at::TensorImpl *t = THPVariable_Unpack(value).unsafeGetTensorImpl();
    if (!t->has_storage() || t->has_symbolic_sizes_strides()) return false;
    int64_t last = 0;
    for (size_t i = 0; i < t->sizes().size(); i++) {
        if (t->sizes()[i] == 0) return *out = {t->storage().unsafeGetStorageImpl(), 0, 0}, true;
        last += (t->sizes()[i] - 1) * t->strides()[i];
    }
    auto base = reinterpret_cast<uintptr_t>(t->storage().data()) + t->storage_offset() * t->itemsize();
    return *out = {t->storage().unsafeGetStorageImpl(), base, base + (last + 1) * t->itemsize()}, true;
}

bool storages_overlap(PyObject *const *values, Py_ssize_t first, Py_ssize_t n) {
    std::vector<Extent> extents(n);
    try {
        for (Py_ssize_t i = 0; i < n; i++) {
            if (!values[i] || !is_tensor(values[i]) || !extent_of(values[i], &extents[i])) return true;
            for (Py_ssize_t j = 0; j < i && j < first; j++)
                if (extents[i].begin < extents[j].end && extents[j].begin < extents[i].end) return true;
        }
    } catch (const std::exception &) {
        return true;
    }
    return false;
}

static const char *short_dtype(at::ScalarType type) {
    switch (type) {
    case at::kFloat: return "f32";
    case at::kDouble: return "f64";
    case at::kHalf: return "f16";
    case at::kBFloat16: return "bf16";
    case at::kLong: return "i64";
    case at::kInt: return "i32";
    case at::kShort: return "i16";
    case at::kChar: return "i8";
    case at::kByte: return "u8";
    case at::kBool: return "b8";
    case at::kComplexFloat: return "c64";
    case at::kComplexDouble: return "c128";
    default: return c10::toString(type);
    }
}

static std::string list_text(const int64_t *items, size_t n) {
    std::string text = "[";
    for (size_t i = 0; i < n; i++) text += (i ? "," : "") + (items[i] == ANY ? std::string("*") : std::to_string(items[i]));
    return text + "]";
}

static std::string tensor_text(
    at::ScalarType dtype, const int64_t *sizes, const int64_t *strides, size_t n, const std::string &device, bool requires_grad) {
    return std::string(short_dtype(dtype)) + list_text(sizes, n) + " " + device + " strides " + list_text(strides, n) +
           (requires_grad ? " requires_grad" : "");
}

bool describe_tensor(PyObject *value, char *text, size_t size) {
    if (!is_tensor(value)) return false;
    try {
        const at::TensorImpl *t = THPVariable_Unpack(value).unsafeGetTensorImpl();
        std::string what = t->has_symbolic_sizes_strides()
                               ? "symbolic tensor"
                               : tensor_text(
                                     t->dtype().toScalarType(), t->sizes().data(), t->strides().data(), t->sizes().size(),
                                     t->device().str(), t->requires_grad());
        snprintf(text, size, "%s %s", Py_TYPE(value)->tp_name, what.c_str());
    } catch (const std::exception &) {
        snprintf(text, size, "%s", Py_TYPE(value)->tp_name);
    }
    return true;
}

static PyObject *class_died(PyObject *check, PyObject *) {
    if (auto *c = static_cast<TensorCheck *>(PyCapsule_GetContext(check))) c->type = nullptr;
    Py_RETURN_NONE;
}
static PyMethodDef class_died_method = {"class_died", class_died, METH_O, nullptr};

// The class is not kept alive: it may own the code that this check guards.
static bool watch_class(TensorCheck *c, PyTypeObject *type) {
    c->type = type;
    if (!(c->life = PyCapsule_New(c, nullptr, nullptr))) return false;
    PyCapsule_SetContext(c->life, c);
    PyObject *callback = PyCFunction_New(&class_died_method, c->life);
    c->watch = callback ? PyWeakref_NewRef(reinterpret_cast<PyObject *>(type), callback) : nullptr;
    Py_XDECREF(callback);
    return c->watch != nullptr;
}

// `given` is None (all as they are) or a tuple of int or None (not compared).
static bool take_numbers(TensorCheck *c, int64_t *numbers, PyObject *given, c10::IntArrayRef actual, const char *what) {
    std::copy(actual.begin(), actual.end(), numbers);
    if (given == Py_None) return true;
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) != static_cast<Py_ssize_t>(actual.size())) {
        PyErr_Format(PyExc_ValueError, "%s: wants a tuple of %zd", what, actual.size());
        return false;
    }
    for (size_t i = 0; i < actual.size(); i++) {
        PyObject *item = PyTuple_GET_ITEM(given, i);
        c->exact = c->exact && item != Py_None;
        numbers[i] = item == Py_None ? ANY : PyLong_AsLongLong(item);
    }
    return !PyErr_Occurred();
}

static PyObject *tensor_check(PyObject *, PyObject *args, PyObject *kwargs) {
    static const char *names[] = {"tensor", "sizes", "strides", "contiguous", "requires_grad", "type", nullptr};
    PyObject *value, *sizes = Py_None, *strides = Py_None, *requires_grad = Py_None, *type = nullptr;
    int contiguous = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O|OO$pOO!:tensor_check", const_cast<char **>(names), &value, &sizes, &strides, &contiguous,
            &requires_grad, &PyType_Type, &type))
        return nullptr;
    if (!is_tensor(value)) return PyErr_Format(PyExc_TypeError, "not a tensor: '%s'", Py_TYPE(value)->tp_name);
    TensorCheck *c = nullptr;
    bool ok = false;
    try {
        const at::TensorImpl *t = THPVariable_Unpack(value).unsafeGetTensorImpl();
        size_t n = t->sizes().size();
        c = reinterpret_cast<TensorCheck *>(tensor_check_type->tp_alloc(tensor_check_type, 2 * n));
        if (!c) return nullptr;
        c->keys = t->key_set().raw_repr();
        new (&c->dtype) caffe2::TypeMeta(t->dtype());
        new (&c->device) c10::Device(t->device());
        c->requires_grad = requires_grad == Py_None ? t->requires_grad() : PyObject_IsTrue(requires_grad) == 1;
        c->exact = true;
        c->contiguous = contiguous;
        c->ndim = n;
        ok = watch_class(c, type ? reinterpret_cast<PyTypeObject *>(type) : Py_TYPE(value)) &&
             take_numbers(c, c->numbers, sizes, t->sizes(), "sizes") &&
             take_numbers(c, c->numbers + n, strides, t->strides(), "strides");
    } catch (const std::exception &error) {
        PyErr_Format(PyExc_ValueError, "this tensor cannot be checked: %.200s", error.what());
    }
    if (!ok) Py_CLEAR(c);
    return reinterpret_cast<PyObject *>(c);
}

static void tensor_check_dealloc(PyObject *self) {
    auto *c = reinterpret_cast<TensorCheck *>(self);
    PyTypeObject *type = Py_TYPE(self);
    if (c->life) PyCapsule_SetContext(c->life, nullptr);
    Py_CLEAR(c->watch);
    Py_CLEAR(c->life);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *tensor_check_repr(PyObject *self) {
    auto *c = reinterpret_cast<TensorCheck *>(self);
    std::string text =
        tensor_text(c->dtype.toScalarType(), c->numbers, c->numbers + c->ndim, c->ndim, c->device.str(), c->requires_grad);
    return PyUnicode_FromFormat(
        "%s %s%s", c->type ? c->type->tp_name : "(dead class)", text.c_str(), c->contiguous ? " contiguous" : "");
}

static PyObject *tensor_check_matches(PyObject *self, PyObject *value) { return PyBool_FromLong(tensor_matches(self, value)); }

// ---- The modes of torch ---------------------------------------------------------------------------------------------

// Every number that a state compares, as a row: name, expression. A precision is a look-up of 14 ns and means something
// on its own backend only.
#define PRECISION(backend, op) context.float32Precision(at::Float32Backend::backend, at::Float32Op::op)
#define STATE_FIELDS(X)                                                                                                          \
    X(grad_mode, autograd.get_grad_mode())                                                                                       \
    X(inference_mode, autograd.get_inference_mode())                                                                             \
    X(forward_grad_mode, autograd.get_fw_grad_mode())                                                                            \
    X(multithreaded_backward, autograd.get_multithreading_enabled())                                                             \
    X(view_replay, autograd.get_view_replay_enabled())                                                                           \
    X(autocast_cpu, at::autocast::is_autocast_enabled(at::kCPU))                                                                 \
    X(autocast_cpu_dtype, at::autocast::get_autocast_dtype(at::kCPU))                                                            \
    X(autocast_cuda, at::autocast::is_autocast_enabled(at::kCUDA))                                                               \
    X(autocast_cuda_dtype, at::autocast::get_autocast_dtype(at::kCUDA))                                                          \
    X(autocast_cache, at::autocast::is_autocast_cache_enabled())                                                                 \
    X(default_dtype, c10::get_default_dtype_as_scalartype())                                                                     \
    X(deterministic, context.deterministicAlgorithms())                                                                          \
    X(deterministic_warn_only, context.deterministicAlgorithmsWarnOnly())                                                        \
    X(deterministic_fill, context.deterministicFillUninitializedMemory())                                                        \
    X(cudnn_enabled, context.userEnabledCuDNN())                                                                                 \
    X(cudnn_deterministic, context.deterministicCuDNN())                                                                         \
    X(cudnn_benchmark, context.benchmarkCuDNN())                                                                                 \
    X(fp16_reduction, context.allowFP16ReductionCuBLAS())                                                                        \
    X(bf16_reduction, context.allowBF16ReductionCuBLAS())                                                                        \
    X(fp16_accumulation, context.allowFP16AccumulationCuBLAS())                                                                  \
    X(flash_sdp, context.userEnabledFlashSDP())                                                                                  \
    X(memory_efficient_sdp, context.userEnabledMemEfficientSDP())                                                                \
    X(math_sdp, context.userEnabledMathSDP())                                                                                    \
    X(cudnn_sdp, context.userEnabledCuDNNSDP())                                                                                  \
    X(fp32_precision_cuda_matmul, has_cuda ? PRECISION(CUDA, MATMUL) : at::Float32Precision::NONE)                               \
    X(fp32_precision_cuda_conv, has_cuda ? PRECISION(CUDA, CONV) : at::Float32Precision::NONE)                                   \
    X(fp32_precision_mkldnn_matmul, PRECISION(MKLDNN, MATMUL))                                                                   \
    X(fp32_precision_mkldnn_conv, PRECISION(MKLDNN, CONV))                                                                       \
    X(anomaly_mode, torch::autograd::AnomalyMode::is_enabled())                                                                  \
    X(anomaly_check_nan, torch::autograd::AnomalyMode::should_check_nan())                                                       \
    X(num_threads, at::get_num_threads())                                                                                        \
    X(torch_function, at::impl::PythonTorchFunctionTLS::get_disabled_state())                                                    \
    X(dispatch_included, c10::impl::tls_local_dispatch_key_set().included_.raw_repr())                                           \
    X(dispatch_excluded, c10::impl::tls_local_dispatch_key_set().excluded_.raw_repr())                                           \
    X(saved_tensor_hooks, hooks.stack.size())                                                                                    \
    X(saved_tensor_hooks_disabled, hooks.disabled_error_message.has_value())                                                     \
    X(saved_tensor_hooks_tracing, hooks.is_tracing)                                                                              \
    X(functorch_stack, functorch_stack())                                                                                        \
    X(torch_function_modes, function_modes(objects))                                                                             \
    X(dispatch_modes, dispatch_modes(objects))                                                                                   \
    X(saved_tensor_hook_functions, hook_functions(hooks, objects))

enum Field {
#define X(name, expression) FIELD_##name,
    STATE_FIELDS(X)
#undef X
        FIELD_COUNT
};
static const char *const field_names[] = {
#define X(name, expression) #name,
    STATE_FIELDS(X)
#undef X
};

struct TorchState {
    PyObject_HEAD
    int64_t fields[FIELD_COUNT];
    PyObject *watched; // weak references to what the fields know by address
};

static int64_t mix(int64_t a, int64_t b) {
    return static_cast<int64_t>((static_cast<uint64_t>(a) + 0x9e3779b97f4a7c15u) * 0x100000001b3u) ^ b;
}

// Asked in Python (its C++ header needs files that torch does not install), and only below vmap, grad and their like.
static int64_t functorch_stack() {
    if (!c10::impl::tls_local_dispatch_key_set().included_.has(c10::DispatchKey::FuncTorchDynamicLayerFrontMode)) return 0;
    PyObject *module = PyImport_ImportModule("torch._C._functorch");
    PyObject *stack = module ? PyObject_CallMethod(module, "get_interpreter_stack", nullptr) : nullptr;
    int64_t result = 1;
    for (Py_ssize_t i = 0; stack && PyList_Check(stack) && i < PyList_GET_SIZE(stack); i++) {
        for (const char *name : {"key", "level"}) {
            PyObject *part = PyObject_CallMethod(PyList_GET_ITEM(stack, i), name, nullptr),
                     *number = part ? PyNumber_Long(part) : nullptr;
            result = mix(result, number ? PyLong_AsLongLong(number) : 0);
            Py_XDECREF(part);
            Py_XDECREF(number);
        }
    }
    PyErr_Clear();
    Py_XDECREF(stack);
    Py_XDECREF(module);
    return result;
}

// `torch.device` as a context manager makes a new mode object each time: known by its device. Others: by identity.
static int64_t mode_number(PyObject *mode, std::vector<PyObject *> *objects) {
    if (strcmp(Py_TYPE(mode)->tp_name, "DeviceContext") == 0) {
        PyObject *device = PyObject_GetAttrString(mode, "device");
        int64_t result = 0;
        if (device && THPDevice_Check(device)) {
            at::Device d = reinterpret_cast<THPDevice *>(device)->device;
            result = mix(static_cast<int64_t>(d.type()) + 1, d.index());
        }
        PyErr_Clear();
        Py_XDECREF(device);
        if (result) return mix(result, reinterpret_cast<int64_t>(Py_TYPE(mode)));
    }
    if (objects) objects->push_back(mode);
    return reinterpret_cast<int64_t>(mode);
}

static int64_t function_modes(std::vector<PyObject *> *objects) {
    int64_t result = 0, n = at::impl::PythonTorchFunctionTLS::stack_len();
    for (int64_t i = 0; i < n; i++)
        result = mix(result, mode_number(at::impl::PythonTorchFunctionTLS::get_stack_at(i)->ptr(getPyInterpreter()), objects));
    return result;
}

static int64_t dispatch_modes(std::vector<PyObject *> *objects) {
    int64_t result = 0, n = c10::impl::TorchDispatchModeTLS::stack_len();
    for (int64_t i = 0; i < n; i++)
        result = mix(result, mode_number(c10::impl::TorchDispatchModeTLS::get_stack_at(i)->ptr(getPyInterpreter()), objects));
    return result;
}

// Only the innermost pair is in force, and a capture does not call it: which functions they are matters where AOTAutograd could
// put them into its graphs (fx graph modules), else only that there are any. Checkpoints make new ones for every call.
static int64_t hook_functions(const at::impl::SavedTensorDefaultHooksTLS &hooks, std::vector<PyObject *> *objects) {
    if (hooks.stack.empty()) return 0;
    PyObject *pack = hooks.stack.top().first.ptr(getPyInterpreter()), *unpack = hooks.stack.top().second.ptr(getPyInterpreter());
    if (PyFunction_Check(pack) || PyMethod_Check(pack)) return 1;
    if (objects) objects->insert(objects->end(), {pack, unpack});
    return mix(reinterpret_cast<int64_t>(pack), reinterpret_cast<int64_t>(unpack));
}

static void read_state(int64_t *out, std::vector<PyObject *> *objects) {
    static const bool has_cuda = at::hasCUDA();
    at::Context &context = at::globalContext();
    const c10::AutogradState &autograd = c10::AutogradState::get_tls_state();
    const auto &hooks = at::SavedTensorDefaultHooks::get_tls_state();
#define X(name, expression) out[FIELD_##name] = static_cast<int64_t>(expression);
    STATE_FIELDS(X)
#undef X
}

static bool all_alive(PyObject *watched) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(watched); i++) {
        PyObject *item = PyList_GET_ITEM(watched, i);
        if (PyWeakref_CheckRef(item) && PyWeakref_GET_OBJECT(item) == Py_None) return false;
    }
    return true;
}

// The first field that differs now, FIELD_COUNT if a watched object died, -1 if all is as it was.
static int first_difference(const TorchState *state, int64_t *now) {
    read_state(now, nullptr);
    if (memcmp(now, state->fields, sizeof state->fields) == 0) return all_alive(state->watched) ? -1 : FIELD_COUNT;
    int i = 0;
    while (now[i] == state->fields[i]) i++;
    return i;
}

bool is_torch_state(PyObject *value) { return Py_TYPE(value) == torch_state_type; }

bool torch_state_matches(PyObject *state) {
    int64_t now[FIELD_COUNT];
    try {
        return state && first_difference(reinterpret_cast<TorchState *>(state), now) < 0;
    } catch (const std::exception &) { // two settings that contradict each other
        return false;
    }
}

void describe_state_difference(PyObject *value, char *text, size_t size) {
    int64_t now[FIELD_COUNT];
    *text = 0;
    if (!value) return;
    try {
        auto *state = reinterpret_cast<TorchState *>(value);
        int i = first_difference(state, now);
        if (i == FIELD_COUNT)
            snprintf(text, size, "a mode object has died");
        else if (i >= 0)
            snprintf(text, size, "%s: %lld was %lld", field_names[i], (long long)now[i], (long long)state->fields[i]);
    } catch (const std::exception &error) {
        snprintf(text, size, "%s", error.what());
    }
}

static PyObject *torch_state(PyObject *, PyObject *) {
    auto *state = reinterpret_cast<TorchState *>(torch_state_type->tp_alloc(torch_state_type, 0));
    if (!state || !(state->watched = PyList_New(0))) return Py_XDECREF(state), nullptr;
    std::vector<PyObject *> objects;
    try {
        read_state(state->fields, &objects);
    } catch (const std::exception &error) {
        PyErr_Format(PyExc_RuntimeError, "%.300s", error.what());
    }
    for (PyObject *object : objects) {
        if (PyErr_Occurred()) break;
        PyObject *item = PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) ? PyWeakref_NewRef(object, nullptr) : Py_NewRef(object);
        if (item) PyList_Append(state->watched, item);
        Py_XDECREF(item);
    }
    if (PyErr_Occurred()) Py_CLEAR(state);
    return reinterpret_cast<PyObject *>(state);
}

static void torch_state_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_CLEAR(reinterpret_cast<TorchState *>(self)->watched);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *torch_state_matches_now(PyObject *self, PyObject *) { return PyBool_FromLong(torch_state_matches(self)); }

static PyObject *torch_state_difference(PyObject *self, PyObject *) {
    char text[160];
    describe_state_difference(self, text, sizeof text);
    if (!*text) Py_RETURN_NONE;
    return PyUnicode_FromString(text);
}

static PyObject *torch_state_fields(PyObject *self, void *) {
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < FIELD_COUNT; i++) {
        PyObject *number = PyLong_FromLongLong(reinterpret_cast<TorchState *>(self)->fields[i]);
        if (!number || PyDict_SetItemString(dict, field_names[i], number) < 0) Py_CLEAR(dict);
        Py_XDECREF(number);
    }
    return dict;
}

static PyMethodDef check_methods[] = {
    {"check", tensor_check_matches, METH_O, "whether a value passes"}, {nullptr, nullptr, 0, nullptr}};
static PyMethodDef state_methods[] = {
    {"check", torch_state_matches_now, METH_NOARGS, "whether the modes are as they were"},
    {"difference", torch_state_difference, METH_NOARGS, "the first field that differs now, or None"},
    {nullptr, nullptr, 0, nullptr}};
static PyGetSetDef state_getset[] = {
    {"fields", torch_state_fields, nullptr, "the numbers by name", nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
static PyType_Slot check_slots[] = {
    {Py_tp_doc, const_cast<char *>("What CHECK_TENSOR compares.")},
    {Py_tp_dealloc, reinterpret_cast<void *>(tensor_check_dealloc)},
    {Py_tp_repr, reinterpret_cast<void *>(tensor_check_repr)},
    {Py_tp_methods, check_methods},
    {0, nullptr}};
static PyType_Slot state_slots[] = {
    {Py_tp_doc, const_cast<char *>("What CHECK_TORCH_STATE compares.")},
    {Py_tp_dealloc, reinterpret_cast<void *>(torch_state_dealloc)},
    {Py_tp_methods, state_methods},
    {Py_tp_getset, state_getset},
    {0, nullptr}};
static const unsigned type_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
static PyType_Spec check_spec = {"framejit._C.TensorCheck", sizeof(TensorCheck), sizeof(int64_t), type_flags, check_slots};
static PyType_Spec state_spec = {"framejit._C.TorchState", sizeof(TorchState), 0, type_flags, state_slots};

static PyMethodDef functions[] = {
    {"tensor_check", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(tensor_check)), METH_VARARGS | METH_KEYWORDS,
     "tensor_check(tensor, sizes=None, strides=None, *, contiguous=False, requires_grad=None, type=type(tensor)): None in a "
     "tuple is any."},
    {"torch_state", torch_state, METH_NOARGS, "The modes and flags of torch as they are now."},
    {nullptr, nullptr, 0, nullptr}};

bool tensor_init(PyObject *module) {
    tensor_check_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&check_spec));
    torch_state_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&state_spec));
    return tensor_check_type && torch_state_type &&
           PyModule_AddObjectRef(module, "TensorCheck", reinterpret_cast<PyObject *>(tensor_check_type)) == 0 &&
           PyModule_AddObjectRef(module, "TorchState", reinterpret_cast<PyObject *>(torch_state_type)) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}

} // namespace fj
