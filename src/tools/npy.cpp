// Reading and writing of .npy. The header is a Python dictionary with three keys; the parser knows that shape
// alone.
#include "tools/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "ir/limits.h"
#include "support/error.h"

namespace ig::tools {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";

struct Descr {
  DType dtype;
  std::string_view code;  // without the byte order
};
constexpr Descr kDescrs[] = {
    {DType::Bool, "b1"}, {DType::I8, "i1"},  {DType::I16, "i2"},   {DType::I32, "i4"},
    {DType::I64, "i8"},  {DType::U8, "u1"},  {DType::U16, "u2"},   {DType::U32, "u4"},
    {DType::U64, "u8"},  {DType::F16, "f2"}, {DType::BF16, "V2"},  {DType::F32, "f4"},
    {DType::F64, "f8"},  {DType::C64, "c8"}, {DType::C128, "c16"}, {DType::Key, "u8"},
};

class Header {
 public:
  Header(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  void parse() {
    expect('{');
    while (!accept('}')) {
      std::string_view key = quoted();
      expect(':');
      if (key == "descr")
        descr = quoted();
      else if (key == "fortran_order")
        fortran = boolean();
      else if (key == "shape")
        tuple();
      else
        fail(fmt::format("its header has the unknown key '{}'", key));
      if (!accept(',') && peek() != '}') fail("its header is not a dictionary");
    }
    if (descr.empty() || !has_shape) fail("its header lacks descr or shape");
  }

  std::string_view descr;
  bool fortran = false, has_shape = false;
  std::vector<int64_t> shape;

  [[noreturn]] void fail(const std::string& what) const {
    throw make_error(ErrorKind::IO, "{}: {}", file_, what)
        .why("the file does not follow NumPy's .npy format")
        .hint("write it with numpy.save");
  }

 private:
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("its header lacks a '{}'", c));
  }
  std::string_view quoted() {
    char quote = peek();
    if (quote != '\'' && quote != '"') fail("its header lacks a text");
    size_t begin = ++at_, end = text_.find(quote, begin);
    if (end == std::string_view::npos) fail("a text of its header does not end");
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }
  bool boolean() {
    peek();
    for (auto [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    fail("its fortran_order is neither True nor False");
  }
  void tuple() {
    expect('(');
    has_shape = true;
    shape.clear();
    while (!accept(')')) {
      peek();
      int64_t size = 0;
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) fail("its shape is not of whole numbers");
      at_ = static_cast<size_t>(end - text_.data());
      shape.push_back(size);
      if (shape.size() > kMostAxes) fail("it has too many axes");
      if (!accept(',') && peek() != ')') fail("its shape is not a tuple");
    }
  }

  std::string_view text_, file_;
  size_t at_ = 0;
};

void reverse_bytes(char* data, size_t bytes, size_t word) {
  for (size_t i = 0; i + word <= bytes; i += word) std::reverse(data + i, data + i + word);
}

// Column-major to row-major.
void transpose_in(const char* from, char* to, const std::vector<int64_t>& shape, size_t width, int64_t n) {
  std::vector<int64_t> index(shape.size(), 0), stride(shape.size(), 1);
  for (size_t i = 1; i < shape.size(); ++i) stride[i] = stride[i - 1] * shape[i - 1];
  for (int64_t flat = 0; flat < n; ++flat) {
    int64_t source = 0;
    for (size_t i = 0; i < shape.size(); ++i) source += index[i] * stride[i];
    std::memcpy(to + static_cast<size_t>(flat) * width, from + static_cast<size_t>(source) * width, width);
    for (size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i]) break;
      index[i] = 0;
    }
  }
}

}  // namespace

Literal parse_npy(std::string_view bytes, std::string_view file, DType wanted) {
  Header outside({}, file);
  if (!bytes.starts_with(kMagic) || bytes.size() < 10) outside.fail("it is not an .npy file");
  auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[i])); };
  size_t version = byte(6), begin = version == 1 ? 10 : 12;
  if (version < 1 || version > 3) outside.fail(fmt::format("its format version {} is unknown", version));
  if (bytes.size() < begin) outside.fail("it is cut off");
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - begin) outside.fail("its header is cut off");
  Header header(bytes.substr(begin, length), file);
  header.parse();
  std::string_view data = bytes.substr(begin + length);

  const Descr* found = nullptr;
  for (const Descr& d : kDescrs)
    if (header.descr.size() > 1 && header.descr.substr(1) == d.code && (!found || d.dtype == wanted))
      found = &d;
  char order = header.descr[0];
  if (!found || std::string_view("<>|=").find(order) == std::string_view::npos)
    throw make_error(ErrorKind::Type, "{}: it holds elements of type '{}'", file, header.descr)
        .why("there is no such element type here")
        .hint("convert it with astype before it is saved");
  size_t width = size_of(found->dtype);
  int64_t n = 1;
  uint64_t needed = width;
  for (int64_t d : header.shape) {
    if (__builtin_mul_overflow(needed, static_cast<uint64_t>(d ? d : 1), &needed) ||
        needed > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      header.fail("its sizes overflow");
    n *= d;
  }
  needed = static_cast<uint64_t>(n) * width;
  if (needed != data.size())
    header.fail(fmt::format("it has {} bytes of elements, its header says {}", data.size(), needed));
  Literal out = Literal::allocate(found->dtype, header.shape);
  auto* to = static_cast<char*>(out.mutable_data());
  if (header.fortran && header.shape.size() > 1)
    transpose_in(data.data(), to, header.shape, width, n);
  else if (needed)
    std::memcpy(to, data.data(), needed);
  if (order == '>') reverse_bytes(to, needed, is_complex(found->dtype) ? width / 2 : width);
  if (found->dtype == DType::Bool)
    for (size_t i = 0; i < needed; ++i) to[i] = to[i] != 0;
  return out;
}

std::string format_npy(const Literal& array) {
  std::string_view code;
  for (const Descr& d : kDescrs)
    if (d.dtype == array.dtype()) code = d.code;
  std::string shape;
  for (int64_t d : array.dims()) shape += fmt::format("{}, ", d);
  if (array.dims().size() > 1)
    shape.resize(shape.size() - 2);
  else if (!shape.empty())
    shape.pop_back();
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   size_of(array.dtype()) == 1 ? '|' : '<', code, shape);
  // The elements start at a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(header.size() & 255);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(static_cast<const char*>(array.data()), array.bytes());
  return out;
}

}  // namespace ig::tools
