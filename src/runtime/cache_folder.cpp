// Files of the cache, by descriptors alone: whoever swaps a path while this runs gains nothing.
#include "runtime/cache_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace ig::rt {
namespace {

constexpr const char* kSecretName = "secret";
// Numbers of eight bytes: what all entries had when the folder was listed last, and what was written since,
// one for each time.
constexpr const char* kJournalName = "written";
constexpr uint64_t kJournalRecords = 4096;  // then it is listed again
constexpr std::string_view kTemporary = ".writing-";
constexpr time_t kAbandoned = 3600;  // seconds after which nobody still writes a temporary file
constexpr time_t kFreshEnough = 60;  // a file that was used within so many seconds is not marked again

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

std::string reason(int code) { return std::generic_category().message(code); }

// Regular, this user's, and written by nobody else.
bool own_file(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// All bytes up to the end; nothing where there are more than `most`, or reading fails.
std::optional<std::string> read_all(int fd, uint64_t size, uint64_t most) {
  if (size > most) return std::nullopt;
  std::string bytes(size, '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    ssize_t got = ::read(fd, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

// Whether a file may become so long. Writing beyond the process's limit would end it by a signal.
bool may_grow_to(uint64_t bytes) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
}

// Opens a file for reading without following a link, and without waiting where it is a pipe.
int open_file(int folder, const char* name) {
  int fd = -1;
  do fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  while (fd < 0 && errno == EINTR);
  return fd;
}

// Makes the folder and what lies above it; true where it is there now.
bool make_folders(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    if (mkdir(path.substr(0, at).c_str(), 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
      return false;
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

Error unusable(const std::string& path, std::string why, std::string hint) {
  return make_error(ErrorKind::IO, "the kernel cache cannot use the folder {}", path)
      .why(std::move(why))
      .hint(std::move(hint));
}

constexpr const char* kOtherFolder =
    "set INTAGLIO_CACHE_DIR to a folder of your own, or INTAGLIO_CACHE=0 to do without";

}  // namespace

struct CacheFolder::Entry {
  std::string name;
  uint64_t bytes;
  timespec used;
  bool temporary;
};

CacheFolder::CacheFolder(const std::string& path, bool create) : path_(path) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  // A slash at the end would have a link followed.
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
  fd_ = open(path_.c_str(), kFlags);
  if (fd_ < 0 && errno == ENOENT && create) {
    if (!make_folders(path_))
      throw unusable(path_, fmt::format("it cannot be made: {}", reason(errno)), kOtherFolder);
    fd_ = open(path_.c_str(), kFlags);
  }
  if (fd_ < 0) {
    int code = errno;
    struct stat link;
    bool linked = lstat(path_.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
    throw unusable(path_, linked ? "it is a symbolic link, which another user may have laid" : reason(code),
                   linked ? "set INTAGLIO_CACHE_DIR to the folder itself, or INTAGLIO_CACHE=0 to do without"
                          : kOtherFolder);
  }
  struct stat status;
  Descriptor opened(fd_);
  if (fstat(fd_, &status) != 0) throw unusable(path_, reason(errno), kOtherFolder);
  if (status.st_uid != geteuid())
    throw unusable(path_,
                   fmt::format("it belongs to user {}, and this process runs as user {}: code of others is "
                               "not run",
                               status.st_uid, geteuid()),
                   kOtherFolder);
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    throw unusable(path_, "other users may write to it, and its files are run as machine code",
                   fmt::format("run chmod 700 {}, or set INTAGLIO_CACHE_DIR to another folder, or "
                               "INTAGLIO_CACHE=0 to do without",
                               path_));
  opened.release();
}

CacheFolder::~CacheFolder() { close(fd_); }

std::optional<CacheFolder::Secret> CacheFolder::read_secret() const {
  Descriptor file(open_file(fd_, kSecretName));
  struct stat status;
  if (!file.valid() || fstat(file.get(), &status) != 0 || !own_file(status)) return std::nullopt;
  if (status.st_mode & (S_IRWXG | S_IRWXO)) return std::nullopt;
  Secret secret;
  auto bytes = read_all(file.get(), static_cast<uint64_t>(status.st_size), secret.size());
  if (!bytes || bytes->size() != secret.size()) return std::nullopt;
  std::memcpy(secret.data(), bytes->data(), secret.size());
  return secret;
}

CacheFolder::Secret CacheFolder::secret() {
  if (auto there = read_secret()) return *there;
  struct stat status;
  bool absent = fstatat(fd_, kSecretName, &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
  if (!absent)
    if (auto there = read_secret()) return *there;  // another process was quicker
  Secret made;
  for (size_t have = 0; have < made.size();) {
    ssize_t got = getrandom(made.data() + have, made.size() - have, 0);
    if (got < 0 && errno != EINTR)
      throw unusable(path_, fmt::format("the system gave no random numbers to sign with: {}", reason(errno)),
                     kOtherFolder);
    if (got > 0) have += static_cast<size_t>(got);
  }
  std::string_view bytes(reinterpret_cast<const char*>(made.data()), made.size());
  // Of several processes that find none, the first one's stays. One that is not to be trusted is replaced.
  std::optional<Error> problem = put(kSecretName, bytes, absent, true);
  if (auto there = read_secret()) return *there;
  if (problem) throw *problem;
  throw unusable(path_, "its secret cannot be read back", kOtherFolder);
}

CacheFolder::Read CacheFolder::read(const std::string& name) const {
  Descriptor file(open_file(fd_, name.c_str()));
  if (!file.valid()) return {errno == ENOENT ? Found::Absent : Found::Untrusted, ""};
  struct stat status;
  if (fstat(file.get(), &status) != 0 || !own_file(status)) return {Found::Untrusted, ""};
  auto bytes = read_all(file.get(), static_cast<uint64_t>(status.st_size), kMostBytes);
  if (!bytes) return {Found::Untrusted, ""};
  if (status.st_mtim.tv_sec + kFreshEnough < time(nullptr)) futimens(file.get(), nullptr);
  return {Found::Whole, std::move(*bytes)};
}

std::optional<Error> CacheFolder::write(const std::string& name, std::string_view bytes) {
  return put(name, bytes, false, false);
}

std::optional<Error> CacheFolder::put(const std::string& name, std::string_view bytes, bool keep_existing,
                                      bool sync) {
  static std::atomic<uint64_t> count{0};
  auto problem = [&](int code) {
    return unusable(
        path_, fmt::format("it cannot be written: {}", reason(code)),
        code == ENOSPC || code == EDQUOT ? std::string("make room, or ") + kOtherFolder : kOtherFolder);
  };
  if (!may_grow_to(bytes.size())) return problem(EFBIG);
  std::string temporary;
  int fd = -1;
  do {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0) random = 0;
    temporary = fmt::format("{}{}-{}-{:016x}", kTemporary, getpid(), count++, random);
    fd = openat(fd_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  } while (fd < 0 && (errno == EINTR || errno == EEXIST));
  if (fd < 0) return problem(errno);
  // Whatever the umask says.
  bool good = fchmod(fd, 0600) == 0 && write_all(fd, bytes) && (!sync || fsync(fd) == 0);
  int code = errno;
  // Some file systems tell only now that there is no room.
  if (close(fd) != 0 && good) good = false, code = errno;
  if (good && keep_existing) {
    good = renameat2(fd_, temporary.c_str(), fd_, name.c_str(), RENAME_NOREPLACE) == 0;
    code = errno;
    if (!good && (code == EINVAL || code == ENOSYS))  // a file system without it: the last one stays
      good = renameat(fd_, temporary.c_str(), fd_, name.c_str()) == 0, code = errno;
  } else if (good) {
    good = renameat(fd_, temporary.c_str(), fd_, name.c_str()) == 0;
    code = errno;
  }
  if (good) return std::nullopt;
  unlinkat(fd_, temporary.c_str(), 0);
  return problem(code);
}

template <typename Visit>
void CacheFolder::each(Visit visit) const {
  int fd = openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // with a position of its own
  if (fd < 0) return;
  std::unique_ptr<DIR, int (*)(DIR*)> listing(fdopendir(fd), closedir);
  if (!listing) {
    close(fd);
    return;
  }
  while (const dirent* item = readdir(listing.get())) {
    std::string_view name = item->d_name;
    bool temporary = name.starts_with(kTemporary);
    if (!temporary && !name.ends_with(kSuffix)) continue;
    struct stat status;
    if (fstatat(fd, item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(status.st_mode)) continue;
    visit(Entry{std::string(name), static_cast<uint64_t>(std::max<off_t>(status.st_size, 0)), status.st_mtim,
                temporary});
  }
}

CacheFolder::Size CacheFolder::size() const {
  Size out;
  each([&](const Entry& entry) {
    out.entries += !entry.temporary;
    out.bytes += entry.bytes;
  });
  return out;
}

CacheFolder::Size CacheFolder::trim(uint64_t limit, uint64_t goal) {
  std::vector<Entry> entries;
  Size out;
  time_t now = time(nullptr);
  each([&](Entry entry) {
    if (entry.temporary && entry.used.tv_sec + kAbandoned < now) {
      unlinkat(fd_, entry.name.c_str(), 0);
      return;
    }
    out.bytes += entry.bytes;
    if (!entry.temporary) entries.push_back(std::move(entry));
  });
  out.entries = entries.size();
  if (out.bytes <= limit) return out;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.name) < std::tie(b.used.tv_sec, b.used.tv_nsec, b.name);
  });
  for (const Entry& entry : entries) {
    if (out.bytes <= goal) break;
    // Where another process was quicker it is gone as well.
    if (unlinkat(fd_, entry.name.c_str(), 0) == 0)
      ++out.removed;
    else if (errno != ENOENT)
      continue;
    out.bytes -= entry.bytes;
    --out.entries;
  }
  return out;
}

// Appends a number; the sum of all, or nothing where the folder must be listed.
std::optional<uint64_t> CacheFolder::journal(uint64_t bytes) const {
  int fd = openat(fd_, kJournalName, O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  Descriptor file(fd);
  struct stat status;
  if (!file.valid() || fstat(fd, &status) != 0 || !own_file(status)) return std::nullopt;
  if (!may_grow_to(static_cast<uint64_t>(status.st_size) + sizeof bytes)) return std::nullopt;
  // So few bytes at the end of a file are written in one piece, whoever else writes there.
  if (!write_all(fd, {reinterpret_cast<const char*>(&bytes), sizeof bytes})) return std::nullopt;
  if (fstat(fd, &status) != 0 || lseek(fd, 0, SEEK_SET) != 0) return std::nullopt;
  auto all = read_all(fd, static_cast<uint64_t>(status.st_size), kJournalRecords * sizeof(uint64_t));
  if (!all || all->empty() || all->size() % sizeof(uint64_t) != 0) return std::nullopt;
  uint64_t sum = 0;
  for (size_t at = 0; at < all->size(); at += sizeof(uint64_t)) {
    uint64_t record;
    std::memcpy(&record, all->data() + at, sizeof record);
    if (__builtin_add_overflow(sum, record, &sum)) return std::nullopt;
  }
  return sum;
}

CacheFolder::Size CacheFolder::grew(uint64_t bytes, uint64_t limit) {
  if (auto sum = journal(bytes); sum && *sum <= limit) return {};
  // Lower than the limit, or the next kernel would have it listed again.
  Size size = trim(limit, limit / 10 * 9);
  put(kJournalName, {reinterpret_cast<const char*>(&size.bytes), sizeof size.bytes}, false, false);
  return size;
}

CacheFolder::Size CacheFolder::clear() {
  std::vector<Entry> entries;
  each([&](Entry entry) { entries.push_back(std::move(entry)); });
  Size out;
  for (const Entry& entry : entries)
    if (unlinkat(fd_, entry.name.c_str(), 0) == 0) {
      out.removed += !entry.temporary;
    } else if (errno != ENOENT) {
      out.entries += !entry.temporary;
      out.bytes += entry.bytes;
    }
  unlinkat(fd_, kSecretName, 0);
  unlinkat(fd_, kJournalName, 0);
  return out;
}

}  // namespace ig::rt
