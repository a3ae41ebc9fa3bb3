// The cache of compiled kernels on disk: nothing is loaded that was not written whole, for that kernel, by
// this user; folders and files of others are refused; processes at once do not disturb each other; the limit
// holds.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "codegen/object_cache.h"
#include "intaglio/intaglio.h"
#include "loop/canonical.h"
#include "runtime/cache_folder.h"
#include "runtime/kernel_cache.h"
#include "support/shared_object.h"

namespace {

using namespace ig;
using codegen::ObjectCache;
using rt::CacheFolder;
namespace fs = std::filesystem;
namespace kc = ig::cache;  // as users of the public header have it

// No test depends on what the user's own cache holds.
class CacheOff : public testing::Environment {
  void SetUp() override { kc::configure({.enabled = false, .folder = "", .limit = 0}); }
};
[[maybe_unused]] const auto* const cache_off = testing::AddGlobalTestEnvironment(new CacheOff);

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void spill(const fs::path& path, std::string_view bytes, mode_t mode = 0600) {
  std::ofstream(path, std::ios::binary) << bytes;
  ASSERT_EQ(chmod(path.c_str(), mode), 0);
}
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder)) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}
void set_age(const fs::path& path, time_t seconds) {
  timespec times[2] = {{time(nullptr) - seconds, 0}, {time(nullptr) - seconds, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}
time_t age(const fs::path& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? time(nullptr) - status.st_mtim.tv_sec : -1;
}

class KernelCache : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/intaglio-cache-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    base_ = name;
    folder_ = base_ / "cache";
    use(kc::kDefaultLimit);
  }
  void TearDown() override {
    kc::configure({.enabled = false, .folder = "", .limit = 0});
    fs::remove_all(base_);
  }
  void use(uint64_t limit) { kc::configure({.enabled = true, .folder = folder_, .limit = limit}); }

  // As a process does that needs this kernel.
  std::optional<std::string> find(std::string_view text) {
    ObjectCache cache(target_);
    return cache.enabled() ? cache.find(cache.key(text)) : std::nullopt;
  }
  void store(std::string_view text, std::string_view object) {
    ObjectCache cache(target_);
    if (cache.enabled()) cache.store(cache.key(text), object);
  }
  fs::path file_of(std::string_view text) {
    ObjectCache cache(target_);
    return cache.enabled() ? folder_ / (codegen::hex(cache.key(text)) + ".kernel") : fs::path();
  }
  std::string why_refused(const fs::path& folder, bool create = false) {
    try {
      CacheFolder opened(folder, create);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::IO);
      return error.what();
    }
  }

  const codegen::Target target_ = codegen::Target::named("x86-64-v2");
  fs::path base_, folder_;
};

TEST_F(KernelCache, KeepsWhatWasStored) {
  EXPECT_EQ(find("a"), std::nullopt);
  store("a", "object of a");
  store("b", "");
  EXPECT_EQ(find("a"), "object of a");
  EXPECT_EQ(find("b"), "");
  EXPECT_EQ(find("c"), std::nullopt);
  store("a", "again");
  EXPECT_EQ(find("a"), "again");
  EXPECT_EQ(names_in(folder_).size(), 4u);  // and the secret, and the journal
}

TEST_F(KernelCache, AFolderThatIsRemovedIsMadeAgain) {
  store("a", "object");
  fs::remove_all(folder_);
  EXPECT_EQ(find("a"), std::nullopt);
  store("a", "object");
  EXPECT_EQ(find("a"), "object");
}

TEST_F(KernelCache, CountsWhatItDid) {
  kc::Counts before = kc::counts();
  find("a");
  store("a", "object");
  find("a");
  spill(file_of("a"), "damaged");
  find("a");
  kc::Counts now = kc::counts();
  EXPECT_EQ(now.hits - before.hits, 1u);
  EXPECT_EQ(now.misses - before.misses, 2u);
  EXPECT_EQ(now.rejected - before.rejected, 1u);
  EXPECT_EQ(now.stored - before.stored, 1u);
  EXPECT_EQ(kc::info().entries, 1u);
}

TEST_F(KernelCache, IsPrivateFromTheStart) {
  mode_t old = umask(0);
  store("a", "object");
  umask(old);
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
  for (const std::string& name : names_in(folder_))
    EXPECT_EQ(fs::status(folder_ / name).permissions(), fs::perms::owner_read | fs::perms::owner_write)
        << name;
}

TEST_F(KernelCache, AKernelOfAnotherTargetIsAnotherKernel) {
  auto key = [](const codegen::Target& target) {
    ObjectCache cache(target);
    return cache.enabled() ? codegen::hex(cache.key("text")) : "";
  };
  std::vector<std::string> keys;
  codegen::Target target = target_;
  keys.push_back(key(target));
  target.name = "native";  // by what the processor can do: support_test.cpp
  keys.push_back(key(target));
  target.name = "x86-64-v3";
  keys.push_back(key(target));
  target = target_;
  target.fma = true;
  keys.push_back(key(target));
  target = target_;
  target.vector_bytes = 64;
  keys.push_back(key(target));
  target = target_;
  target.registers = 32;
  keys.push_back(key(target));
  EXPECT_EQ(keys[0], key(target_));
  EXPECT_EQ(keys[0].size(), 64u);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::unique(keys.begin(), keys.end()), keys.end());
}

TEST_F(KernelCache, TheBuildsHaveNames) {
  // Without them nothing may be kept.
  EXPECT_EQ(build_id().size(), 40u);
  EXPECT_EQ(loop::build_id().size(), 40u);
  EXPECT_NE(build_id(), loop::build_id());
  EXPECT_EQ(build_id_at(nullptr), "");
}

// --- damaged and foreign contents
// -----------------------------------------------------------------------------

struct Sealed {
  codegen::Digest key = codegen::digest("a kernel");
  CacheFolder::Secret secret{};
  std::string object = "some machine code, or so", file;
  Sealed() {
    secret.fill(7);
    file = codegen::seal(key, object, secret);
  }
};

TEST(KernelCacheFile, ATornFileIsRefusedWhereverItEnds) {
  Sealed one;
  ASSERT_EQ(codegen::unseal(one.key, one.file, one.secret), one.object);
  for (size_t end = 0; end < one.file.size(); ++end) {
    EXPECT_EQ(codegen::unseal(one.key, std::string_view(one.file).substr(0, end), one.secret), std::nullopt)
        << end;
    std::string zeros = one.file;  // what a file system may leave after power was lost
    std::fill(zeros.begin() + static_cast<std::ptrdiff_t>(end), zeros.end(), '\0');
    EXPECT_EQ(codegen::unseal(one.key, zeros, one.secret), std::nullopt) << end;
  }
  EXPECT_EQ(codegen::unseal(one.key, one.file + '\0', one.secret), std::nullopt);
  EXPECT_EQ(codegen::unseal(one.key, one.file + one.file, one.secret), std::nullopt);
}

TEST(KernelCacheFile, EachFlippedBitIsSeen) {
  Sealed one;
  for (size_t bit = 0; bit < one.file.size() * 8; ++bit) {
    std::string damaged = one.file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(codegen::unseal(one.key, damaged, one.secret), std::nullopt) << bit;
  }
}

TEST(KernelCacheFile, AnotherKernelsFileAndAForgedOneAreRefused) {
  Sealed one;
  EXPECT_EQ(codegen::unseal(codegen::digest("another kernel"), one.file, one.secret), std::nullopt);
  CacheFolder::Secret guessed{};
  EXPECT_EQ(codegen::unseal(one.key, codegen::seal(one.key, "evil", guessed), one.secret), std::nullopt);
  // A length that would wrap, and one beyond the file.
  for (uint64_t length : {uint64_t{0}, uint64_t{1} << 40, UINT64_MAX}) {
    std::string file = one.file;
    std::memcpy(file.data() + 48, &length, sizeof length);
    EXPECT_EQ(codegen::unseal(one.key, file, one.secret), std::nullopt) << length;
  }
}

TEST(KernelCacheFile, SignaturesAreBlake3) {
  // The official vectors for the empty input: plain, and keyed by "whats the Elvish word for friend".
  EXPECT_EQ(codegen::hex(codegen::digest("")),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  CacheFolder::Secret secret;
  std::string_view words = "whats the Elvish word for friend";
  std::copy(words.begin(), words.end(), secret.begin());
  EXPECT_EQ(codegen::hex(codegen::signature(secret, "")),
            "92b2b75604ed3c761f9d6f62392c8a9227ad0ea3f09573e783f1498a4ed60d26");
  // And those of more: of a chunk and a bit, of trees that are full and that are not (bytes 0 to 250, again
  // and again).
  const std::pair<size_t, const char*> kMore[] = {
      {1,
       "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"
       "6d7878dfff2f485635d39013278ae14f1454b8c0a3a2d34bc1ab38228a80c95b"},
      {1023,
       "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"
       "c951ecdf03288d0fcc96ee3413563d8a6d3589547f2c2fb36d9786470f1b9d6e"},
      {1024,
       "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"
       "75c46f6f3d9eb4f55ecaaee480db732e6c2105546f1e675003687c31719c7ba4"},
      {1025,
       "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"
       "357dc55de0c7e382c900fd6e320acc04146be01db6a8ce7210b7189bd664ea69"},
      {2048,
       "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a"
       "879cf1fa2ea0e79126cb1063617a05b6ad9d0b696d0d757cf053439f60a99dd1"},
      {3072,
       "b98cb0ff3623be03326b373de6b9095218513e64f1ee2edd2525c7ad1e5cffd2"
       "044a0e7b172a312dc02a4c9a818c036ffa2776368d7f528268d2e6b5df191770"},
      {3073,
       "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3"
       "68dede9bef00ba89e43f31a6825f4cf433389fedae75c04ee9f0cf16a427c95a"},
      {4097,
       "9b4052b38f1c5fc8b1f9ff7ac7b27cd242487b3d890d15c96a1c25b8aa0fb995"
       "00df940cd36bb9fa7cbbc3556744e0dbc8191401afe70520ba292ee3ca80abbc"},
      {7168,
       "61da957ec2499a95d6b8023e2b0e604ec7f6b50e80a9678b89d2628e99ada77a"
       "b42835e40e9d4a7f42ad8cc04f85a963a76e18198377ed84adddeaecacc6f3fc"},
      {102400,
       "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"
       "1c35d1a5811083fd7119f5d5d1ba027b4d01c0c6c49fb6ff2cf75393ea5db4a7"},
  };
  for (auto [length, expected] : kMore) {
    std::string bytes;
    for (size_t i = 0; i < length; ++i) bytes.push_back(static_cast<char>(i % 251));
    EXPECT_EQ(codegen::hex(codegen::digest(bytes)) + codegen::hex(codegen::signature(secret, bytes)),
              expected)
        << length;
  }
}

TEST_F(KernelCache, ADamagedFileIsReplaced) {
  store("a", "object");
  std::string whole = slurp(file_of("a"));
  for (size_t end : {size_t{0}, size_t{8}, size_t{56}, whole.size() - 32, whole.size() - 1}) {
    spill(file_of("a"), whole.substr(0, end));
    EXPECT_EQ(find("a"), std::nullopt);
    store("a", "object");
    EXPECT_EQ(find("a"), "object");
  }
  fs::copy_file(file_of("a"), file_of("b"));
  EXPECT_EQ(find("b"), std::nullopt);
}

// --- files that are not what they seem
// --------------------------------------------------------------------------

TEST_F(KernelCache, OnlyPlainFilesOfThisUserAreRead) {
  store("a", "object");
  fs::path real = file_of("a"), moved = base_ / "elsewhere";
  CacheFolder folder(folder_, false);
  auto found = [&] { return folder.read(real.filename()).found; };
  EXPECT_EQ(found(), CacheFolder::Found::Whole);
  fs::rename(real, moved);
  EXPECT_EQ(found(), CacheFolder::Found::Absent);

  fs::create_symlink(moved, real);
  EXPECT_EQ(found(), CacheFolder::Found::Untrusted);
  store("a", "object");  // replaces the link, and leaves what it pointed to
  EXPECT_FALSE(fs::is_symlink(real));
  EXPECT_EQ(find("a"), "object");

  fs::remove(real);
  ASSERT_EQ(mkfifo(real.c_str(), 0600), 0);  // would wait for ever
  EXPECT_EQ(found(), CacheFolder::Found::Untrusted);
  fs::remove(real);
  fs::create_directory(real);
  EXPECT_EQ(found(), CacheFolder::Found::Untrusted);
  fs::remove(real);

  spill(real, slurp(moved), 0620);
  EXPECT_EQ(found(), CacheFolder::Found::Untrusted);
  spill(real, slurp(moved), 0602);
  EXPECT_EQ(found(), CacheFolder::Found::Untrusted);
  spill(real, slurp(moved), 0600);
  EXPECT_EQ(found(), CacheFolder::Found::Whole);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(real.c_str(), 12345, 0), 0);
    EXPECT_EQ(found(), CacheFolder::Found::Untrusted);
    ASSERT_EQ(chown(real.c_str(), 0, 0), 0);
  }
  ASSERT_EQ(truncate(real.c_str(), CacheFolder::kMostBytes + 1), 0);  // sparse
  EXPECT_EQ(found(), CacheFolder::Found::Untrusted);
}

TEST_F(KernelCache, FoldersThatOthersCanReachAreRefused) {
  const std::string cannot = "the kernel cache cannot use the folder ";
  const std::string other =
      "\n  hint: set INTAGLIO_CACHE_DIR to a folder of your own, or INTAGLIO_CACHE=0 to do without";
  fs::create_directory(folder_);
  ASSERT_EQ(why_refused(folder_), "");
  for (mode_t mode : {0720, 0702, 0777, 01777}) {
    ASSERT_EQ(chmod(folder_.c_str(), mode), 0);
    EXPECT_EQ(why_refused(folder_),
              cannot + folder_.string() +
                  "\n  why: other users may write to it, and its files are run as machine code\n  hint: run "
                  "chmod 700 " +
                  folder_.string() +
                  ", or set INTAGLIO_CACHE_DIR to another folder, or INTAGLIO_CACHE=0 to do without");
  }
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);  // others may look
  EXPECT_EQ(why_refused(folder_), "");

  fs::path link = base_ / "link", file = base_ / "file";
  fs::create_directory_symlink(folder_, link);
  for (const fs::path& path : {link, fs::path(link.string() + "/")})
    EXPECT_EQ(why_refused(path),
              cannot + link.string() +
                  "\n  why: it is a symbolic link, which another user may have laid\n  hint: "
                  "set INTAGLIO_CACHE_DIR to the folder itself, or INTAGLIO_CACHE=0 to do "
                  "without");
  EXPECT_EQ(why_refused(link / "sub", true), "");  // above the folder a link is the user's affair

  spill(file, "");
  EXPECT_EQ(why_refused(file, true), cannot + file.string() + "\n  why: Not a directory" + other);
  EXPECT_EQ(why_refused(file / "sub", true),
            cannot + (file / "sub").string() + "\n  why: Not a directory" + other);
  EXPECT_EQ(why_refused(base_ / "none"),
            cannot + (base_ / "none").string() + "\n  why: No such file or directory" + other);

  // A folder of somebody else: the root of the file system, or one that root gave away.
  fs::path foreign = "/";
  uid_t owner = 0;
  if (geteuid() == 0) {
    foreign = folder_;
    owner = 12345;
    ASSERT_EQ(chown(folder_.c_str(), owner, 0), 0);
  }
  EXPECT_EQ(why_refused(foreign), fmt::format("{}{}\n  why: it belongs to user {}, and this process runs as "
                                              "user {}: code of others is not run{}",
                                              cannot, foreign.string(), owner, geteuid(), other));
}

TEST_F(KernelCache, ASecretThatOthersCouldReadIsReplaced) {
  store("a", "object");
  fs::path secret = folder_ / "secret";
  std::string first = slurp(secret);
  EXPECT_EQ(first.size(), 32u);
  auto replaced = [&] {
    EXPECT_EQ(find("a"), std::nullopt);  // signed with what is no secret any more
    bool other = slurp(secret) != first;
    store("a", "object");
    EXPECT_EQ(find("a"), "object");
    first = slurp(secret);
    return other && first.size() == 32;
  };
  for (mode_t mode : {0640, 0604, 0660}) {
    ASSERT_EQ(chmod(secret.c_str(), mode), 0);
    EXPECT_TRUE(replaced());
  }
  spill(secret, first.substr(0, 31));
  EXPECT_TRUE(replaced());
  spill(secret, first + "x");
  EXPECT_TRUE(replaced());
  spill(secret, "");
  EXPECT_TRUE(replaced());
  spill(base_ / "mine", first);
  fs::remove(secret);
  fs::create_symlink(base_ / "mine", secret);
  EXPECT_TRUE(replaced());
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(secret)));

  // A folder in its place cannot be replaced: no cache, and the reason.
  fs::remove(secret);
  fs::create_directory(secret);
  spill(secret / "inside", "");
  EXPECT_EQ(find("a"), std::nullopt);
  EXPECT_NE(kc::info().problem, "");
}

// --- room, and other processes
// -----------------------------------------------------------------------------------

TEST_F(KernelCache, WhereThereIsNoRoomNothingIsLeftBehind) {
  store("a", "object");
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);  // beyond which a signal would end this process
  rlimit tight = {100, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  store("b", std::string(5000, 'x'));
  bool loaded = find("a") == "object";
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_TRUE(loaded);
  EXPECT_EQ(find("b"), std::nullopt);
  EXPECT_EQ(names_in(folder_).size(), 3u);  // a, the secret, the journal
  EXPECT_NE(kc::info().problem.find("it cannot be written: File too large"), std::string::npos)
      << kc::info().problem;
}

TEST_F(KernelCache, ThoseUsedLongestAgoGoFirst) {
  for (const char* text : {"a", "b", "c", "d"}) store(text, std::string(1000, 'x'));
  set_age(file_of("a"), 400);
  set_age(file_of("b"), 300);
  set_age(file_of("c"), 200);
  set_age(file_of("d"), 100);
  EXPECT_TRUE(find("a"));  // marks it as used
  EXPECT_LT(age(file_of("a")), 50);
  spill(folder_ / ".writing-1-2-abandoned", "half");
  spill(folder_ / ".writing-1-2-busy", "half");
  spill(folder_ / "mine.txt", "not the cache's");
  set_age(folder_ / ".writing-1-2-abandoned", 5000);
  CacheFolder folder(folder_, false);
  EXPECT_EQ(folder.size().entries, 4u);
  CacheFolder::Size size = folder.trim(3000, 2500);
  EXPECT_EQ(size.removed, 2u);
  EXPECT_EQ(size.entries, 2u);
  EXPECT_LE(size.bytes, 2500u);
  EXPECT_TRUE(fs::exists(file_of("a")));
  EXPECT_FALSE(fs::exists(file_of("b")));
  EXPECT_FALSE(fs::exists(file_of("c")));
  EXPECT_TRUE(fs::exists(file_of("d")));
  EXPECT_FALSE(fs::exists(folder_ / ".writing-1-2-abandoned"));
  EXPECT_TRUE(fs::exists(folder_ / ".writing-1-2-busy"));
  EXPECT_EQ(folder.trim(3000, 0).removed, 0u);  // within the limit nothing goes

  EXPECT_EQ(kc::clear(), 2u);
  EXPECT_EQ(names_in(folder_), std::vector<std::string>{"mine.txt"});
  EXPECT_EQ(kc::clear(), 0u);
}

TEST_F(KernelCache, NeverOutgrowsItsLimitByMoreThanOneBatch) {
  constexpr uint64_t kLimit = 20'000;
  use(kLimit);
  uint64_t largest = 0;
  for (int i = 0; i < 60; ++i) {
    store(fmt::format("kernel {}", i), std::string(1000, 'x'));
    largest = std::max(largest, kc::info().bytes);
    EXPECT_EQ(find(fmt::format("kernel {}", i)), std::string(1000, 'x'));
  }
  EXPECT_LE(largest, kLimit);
  EXPECT_GE(kc::info().entries, 10u);
  EXPECT_GT(kc::info().counts.removed, 30u);
  store("huge", std::string(kLimit, 'x'));  // would push out all others
  EXPECT_EQ(find("huge"), std::nullopt);
}

TEST_F(KernelCache, AJournalSavesListingTheFolder) {
  uint64_t whole = 0;
  for (uint64_t i = 1; i <= 5; ++i) {
    store(fmt::format("kernel {}", i), std::string(1000, 'x'));
    std::string journal = slurp(folder_ / "written");
    EXPECT_EQ(journal.size(), 8 * i);
    whole = 0;
    for (size_t at = 0; at < journal.size(); at += 8) {
      uint64_t record;
      std::memcpy(&record, journal.data() + at, sizeof record);
      whole += record;
    }
    EXPECT_EQ(whole, kc::info().bytes);
  }
}

TEST_F(KernelCache, AJournalOfAnyContentKeepsTheLimit) {
  use(5'000);
  fs::path journal = folder_ / "written";
  auto fill = [&] {
    for (int i = 0; i < 12; ++i) store(fmt::format("kernel {}", i), std::string(1000, 'x'));
  };
  fill();
  EXPECT_LE(kc::info().bytes, 5'000u);
  uint64_t listed = kc::info().bytes;
  // Torn, empty, full of nonsense, too long, a link, gone.
  for (std::string bytes : {std::string("abc"), std::string(), std::string(80, '\xff'),
                            std::string(8 * 5000, '\0'), std::string(16, '\0')}) {
    spill(journal, bytes);
    fill();
    EXPECT_LE(kc::info().bytes, 6'200u);  // of the last one two kernels are not known of
    fs::remove(journal);
    fill();
    EXPECT_LE(kc::info().bytes, 5'000u);
  }
  spill(base_ / "mine", "untouched");
  fs::remove(journal);
  fs::create_symlink(base_ / "mine", journal);
  fill();
  EXPECT_LE(kc::info().bytes, 5'000u);
  EXPECT_EQ(slurp(base_ / "mine"), "untouched");
  EXPECT_FALSE(fs::is_symlink(journal));
  EXPECT_GT(listed, 3'000u);
}

TEST_F(KernelCache, SixteenProcessesAtOnce) {
  use(30'000);  // so that they remove while others read and write
  constexpr int kProcesses = 16, kKernels = 40;
  const kc::Counts before = kc::counts();
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      int wrong = 0;
      for (int round = 0; round < 3; ++round)
        for (int k = 0; k < kKernels; ++k) {
          std::string text = fmt::format("kernel {}", (k + p) % kKernels);
          std::string object = text + std::string(1000, 'x');
          std::optional<std::string> found = find(text);
          if (found && *found != object) ++wrong;
          if (!found) store(text, object);
        }
      kc::Counts now = kc::counts();
      uint64_t asked = now.hits + now.misses - before.hits - before.misses;
      _exit(wrong == 0 && now.rejected == before.rejected && asked == 3 * kKernels ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  for (const std::string& name : names_in(folder_)) EXPECT_FALSE(name.starts_with(".writing")) << name;
  fs::remove(folder_ / "written");
  store("last", "object");  // lists
  EXPECT_LE(kc::info().bytes, 30'000u);
  EXPECT_GT(kc::info().entries, 5u);
}

TEST_F(KernelCache, ThreadsThatMakeTheSecretAgreeOnOne) {
  for (int round = 0; round < 20; ++round) {
    fs::remove_all(folder_);
    std::vector<CacheFolder::Secret> secrets(8);
    {
      std::vector<std::jthread> threads;
      for (auto& secret : secrets)
        threads.emplace_back([&] { secret = CacheFolder(folder_, true).secret(); });
    }
    for (const auto& secret : secrets) EXPECT_EQ(secret, secrets[0]);
  }
}

}  // namespace
