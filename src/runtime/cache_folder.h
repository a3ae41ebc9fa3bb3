// A folder of files that only this user can have written: the safe half of the cache on disk. The folder and
// each file are opened without following symbolic links, and are taken only where this user owns them and
// nobody else may write them. Files appear whole or not at all, and processes need no lock between them. What
// the files hold is the caller's affair: a secret that lies beside them, readable by this user alone, lets
// the caller sign it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/error.h"

namespace ig::rt {

class CacheFolder {
 public:
  using Secret = std::array<uint8_t, 32>;

  // `create`: makes it (0700) where it is missing. Error(IO) with the reason where it cannot be trusted or
  // used.
  CacheFolder(const std::string& path, bool create);
  ~CacheFolder();
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  // Made by the first process that asks, kept in the file "secret". One that others could read, or that is
  // damaged, is replaced; what was signed with it is then worth nothing.
  Secret secret();

  // Names of entries end with kSuffix and hold no slash.
  enum class Found : uint8_t {
    Absent,
    Untrusted,  // a link, a folder, somebody else's, writable by others, or longer than kMostBytes
    Whole
  };
  struct Read {
    Found found = Found::Absent;
    std::string bytes;
  };
  Read read(const std::string& name) const;  // and marks the entry as used now
  // Puts an entry in place of the one by that name, if any. Nothing, or the reason why it could not be
  // written.
  std::optional<Error> write(const std::string& name, std::string_view bytes);

  struct Size {
    uint64_t entries = 0, bytes = 0, removed = 0;
  };
  Size size() const;
  // Where all are more than `limit` bytes, removes those used longest ago until the rest is at most `goal`.
  // Temporary files that a process left behind go in any case.
  Size trim(uint64_t limit, uint64_t goal);
  // To be told after so many bytes were written, by this process: trims to nine tenths of the limit where all
  // processes together reached it. They share a journal, so that the folder need not be listed each time.
  Size grew(uint64_t bytes, uint64_t limit);
  // Removes entries, the secret, the journal and temporary files; other files, and the folder, stay.
  Size clear();

  static constexpr std::string_view kSuffix = ".kernel";
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

 private:
  struct Entry;
  std::optional<Error> put(const std::string& name, std::string_view bytes, bool keep_existing, bool sync);
  std::optional<Secret> read_secret() const;
  std::optional<uint64_t> journal(uint64_t bytes) const;
  template <typename Visit>
  void each(Visit visit) const;

  std::string path_;
  int fd_ = -1;
};

}  // namespace ig::rt
