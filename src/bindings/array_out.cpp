// From our arrays to other libraries: the buffer protocol and DLPack, both read-only and without a copy. An
// export shares the storage, which therefore is not unique and is written by nobody.
#include <cstring>

#include "bindings/autograd.h"
#include "bindings/common.h"
#include "bindings/dlpack.h"
#include "tensor/strided.h"

namespace ig::py {
namespace {

const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::Bool: return "?";
    case DType::I8: return "b";
    case DType::I16: return "h";
    case DType::I32: return "i";
    case DType::I64: return "q";
    case DType::U8: return "B";
    case DType::U16: return "H";
    case DType::U32: return "I";
    case DType::U64: return "Q";
    case DType::F16: return "e";
    case DType::BF16: return "H";
    case DType::F32: return "f";
    case DType::F64: return "d";
    case DType::C64: return "Zf";
    case DType::C128: return "Zd";
    case DType::Key: return "Q";
  }
  return "B";
}

// What an exported buffer holds: the value, and the shape and strides that the consumer points at.
struct Export {
  Tensor tensor;
  std::vector<int64_t> shape, strides;
};

Export* make_export(const Tensor& x, bool in_bytes) {
  auto* out = new Export{x, x.shape().vector(), StridedView::whole(x.shape()).strides};
  if (in_bytes)
    for (int64_t& stride : out->strides) stride *= static_cast<int64_t>(size_of(x.dtype()));
  return out;
}

dlpack::DataType dlpack_type(DType dtype) {
  uint8_t code = 0;
  switch (kind_of(dtype)) {
    case DKind::Bool: code = 6; break;
    case DKind::Signed: code = 0; break;
    case DKind::Unsigned: code = 1; break;
    case DKind::Float: code = dtype == DType::BF16 ? 4 : 2; break;
    case DKind::Complex: code = 5; break;
    case DKind::Key:
      throw Error(ErrorKind::Type, "random keys have no DLPack type")
          .why("DLPack knows numbers only, and a key's bits mean nothing to others")
          .hint("hand over what was drawn with the key, or pickle the key");
  }
  return {code, static_cast<uint8_t>(8 * size_of(dtype)), 1};
}

dlpack::TensorView dlpack_view(Export* holder) {
  const Tensor& x = holder->tensor;
  return {x.data(),
          {dlpack::kCpu, 0},
          x.rank(),
          dlpack_type(x.dtype()),
          holder->shape.data(),
          holder->strides.data(),
          0};
}

template <typename Managed>
PyObject* capsule_of(const Tensor& x, const char* name, Managed managed) {
  auto* holder = make_export(x, false);
  managed.tensor = dlpack_view(holder);
  managed.context = holder;
  managed.deleter = [](Managed* self) {
    delete static_cast<Export*>(self->context);
    delete self;
  };
  auto* heap = new Managed(managed);
  PyObject* capsule = PyCapsule_New(heap, name, [](PyObject* self) {
    const char* now = PyCapsule_GetName(self);
    if (!now || std::strncmp(now, "used_", 5) == 0) return;  // the consumer owns it
    auto* unused = static_cast<Managed*>(PyCapsule_GetPointer(self, now));
    if (unused) unused->deleter(unused);
  });
  if (!capsule) heap->deleter(heap);
  return capsule;
}

}  // namespace

int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  if (flags & PyBUF_WRITABLE) {
    PyErr_SetString(PyExc_BufferError,
                    "an intaglio array is a value: its buffer is read-only (take a copy to write)");
    return -1;
  }
  return guard(
      [&]() -> int {
        const Tensor& x = tensor_of(self);
        if (x.dtype() == DType::Key)
          throw Error(ErrorKind::Type, "random keys are not exported")
              .why("the buffer protocol knows numbers only, and a key's bits mean nothing to others")
              .hint("hand over what was drawn with the key, or pickle the key");
        if (x.dtype() == DType::BF16)
          throw Error(ErrorKind::Type, "the buffer protocol has no bfloat16")
              .why("its formats are those of Python's struct module, which has no such type")
              .hint("np.asarray(x) with ml_dtypes installed, or convert first: ig.astype(x, ig.float32)");
        refuse_export(x);
        Tensor values = concrete(asked(self), "the bytes");
        Export* holder = make_export(values, true);
        view->buf = holder->tensor.data();
        view->obj = Py_NewRef(self);
        view->len = static_cast<Py_ssize_t>(values.bytes());
        view->itemsize = static_cast<Py_ssize_t>(size_of(values.dtype()));
        view->readonly = 1;
        view->ndim = values.rank();
        view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format_of(values.dtype())) : nullptr;
        view->shape = reinterpret_cast<Py_ssize_t*>(holder->shape.data());
        view->strides = reinterpret_cast<Py_ssize_t*>(holder->strides.data());
        view->suboffsets = nullptr;
        view->internal = holder;
        return 0;
      },
      -1);
}

void tensor_releasebuffer(PyObject*, Py_buffer* view) { delete static_cast<Export*>(view->internal); }

PyObject* tensor_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO", const_cast<char**>(names), &stream, &version,
                                   &device, &copy))
    return nullptr;
  return guard([&]() -> PyObject* {
    if (stream != Py_None)
      throw Error(ErrorKind::Value, "__dlpack__: the CPU has no streams")
          .why("a stream orders work on another device, and this array lies in main memory")
          .hint("leave `stream` out, or give None");
    int kind = dlpack::kCpu, id = 0;
    if (device != Py_None && !PyArg_ParseTuple(device, "ii", &kind, &id)) throw PythonError{};
    if (kind != dlpack::kCpu) {
      PyErr_SetString(PyExc_BufferError, "the array is on the CPU and is not moved");
      throw PythonError{};
    }
    int major = 0, minor = 0;
    if (version != Py_None && !PyArg_ParseTuple(version, "ii", &major, &minor)) throw PythonError{};
    refuse_export(tensor_of(self));
    Tensor x = concrete(asked(self), "the bytes");
    if (copy == Py_True) x = copy_strided(x, StridedView::whole(x.shape()));
    if (major >= 1) {
      dlpack::ManagedVersioned managed{};
      managed.version = {1, 0};
      managed.flags = copy == Py_True ? dlpack::kCopied : dlpack::kReadOnly;
      return capsule_of(x, "dltensor_versioned", managed);
    }
    return capsule_of(x, "dltensor", dlpack::Managed{});
  });
}

PyObject* tensor_dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", dlpack::kCpu, 0); }

}  // namespace ig::py
