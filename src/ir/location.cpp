// The tables of locations, scopes and op names: interned for the life of the process, behind locks.
#include "ir/location.h"

#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/graph.h"

namespace ig {
namespace {

struct Entry {
  std::vector<Location::RawFrame> raw;
  Location::Resolver resolver = nullptr;
  std::vector<SourceFrame> frames;
  bool resolved = false;
};

struct Locations {
  std::mutex mutex;
  std::deque<Entry> entries{1};  // 0 is "unknown"
  std::unordered_multimap<uint64_t, uint32_t> by_hash;
};
Locations& locations() {
  static Locations* instance = new Locations;
  return *instance;
}

// Names that are interned: op names and module paths.
struct Names {
  std::shared_mutex mutex;
  std::deque<std::string> names{""};
  std::unordered_map<std::string_view, uint32_t> index{{"", 0}};
  uint32_t intern(std::string_view name) {
    {
      std::shared_lock lock(mutex);
      if (auto it = index.find(name); it != index.end()) return it->second;
    }
    std::unique_lock lock(mutex);
    if (auto it = index.find(name); it != index.end()) return it->second;
    names.emplace_back(name);
    auto id = static_cast<uint32_t>(names.size() - 1);
    index.emplace(names.back(), id);
    return id;
  }
  const std::string& text(uint32_t id) {
    std::shared_lock lock(mutex);
    return names[id];
  }
};
Names& op_names() {
  static Names* instance = new Names;
  return *instance;
}
Names& scope_names() {
  static Names* instance = new Names;
  return *instance;
}

std::string source_line(const std::string& file, int line) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return "";  // graphs that were loaded may name anything
  std::ifstream in(file);
  std::string text;
  for (int i = 0; i < line; ++i)
    if (!std::getline(in, text)) return "";
  size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

}  // namespace

Location Location::of(const std::vector<SourceFrame>& frames) {
  if (frames.empty()) return {};
  uint64_t key = 1;
  for (const SourceFrame& f : frames)
    key = hash_combine(hash_combine(key, hash64(f.file)),
                       hash_combine(hash64(f.function), static_cast<uint64_t>(f.line)));
  Locations& all = locations();
  std::lock_guard lock(all.mutex);
  auto [low, high] = all.by_hash.equal_range(key);
  for (auto it = low; it != high; ++it) {
    const Entry& e = all.entries[it->second];
    if (e.raw.empty() && e.frames == frames) return Location(it->second);
  }
  auto id = static_cast<uint32_t>(all.entries.size());
  all.entries.push_back({{}, nullptr, frames, true});
  all.by_hash.emplace(key, id);
  return Location(id);
}

Location Location::of_raw(const RawFrame* frames, size_t count, Resolver resolver) {
  if (count == 0) return {};
  uint64_t key = 2;
  for (size_t i = 0; i < count; ++i)
    key = hash_combine(hash_combine(key, reinterpret_cast<uintptr_t>(frames[i].code)),
                       static_cast<uint64_t>(frames[i].offset));
  std::vector<RawFrame> raw(frames, frames + count);
  Locations& all = locations();
  std::lock_guard lock(all.mutex);
  auto [low, high] = all.by_hash.equal_range(key);
  for (auto it = low; it != high; ++it)
    if (all.entries[it->second].raw == raw) return Location(it->second);
  auto id = static_cast<uint32_t>(all.entries.size());
  all.entries.push_back({std::move(raw), resolver, {}, false});
  all.by_hash.emplace(key, id);
  return Location(id);
}

std::vector<SourceFrame> Location::frames() const {
  if (!known()) return {};
  Locations& all = locations();
  std::unique_lock lock(all.mutex);
  Entry& entry = all.entries[id_];
  if (!entry.resolved) {
    // The resolver may take other locks (the interpreter's), so it runs without ours.
    std::vector<RawFrame> raw = entry.raw;
    Resolver resolver = entry.resolver;
    lock.unlock();
    std::vector<SourceFrame> frames;
    for (const RawFrame& f : raw) frames.push_back(resolver(f));
    lock.lock();
    entry.frames = std::move(frames);
    entry.resolved = true;
  }
  return entry.frames;
}

std::string Location::str() const {
  std::vector<SourceFrame> all = frames();
  if (all.empty()) return "";
  const SourceFrame& f = all.front();
  std::string text = f.text.empty() ? source_line(f.file, f.line) : f.text;
  std::string out = fmt::format("{}:{} in {}", f.file, f.line, f.function);
  return text.empty() ? out : out + ":  " + text;
}

Scope Scope::of(std::string_view path) {
  Scope s;
  s.id_ = scope_names().intern(path);
  return s;
}
const std::string& Scope::path() const { return scope_names().text(id_); }

OpId OpId::of(std::string_view name) {
  OpId id;
  id.index_ = op_names().intern(name);
  return id;
}
const std::string& OpId::name() const { return op_names().text(index_); }

}  // namespace ig
