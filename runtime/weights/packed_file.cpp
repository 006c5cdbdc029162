// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "packed_file.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <unordered_map>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cpuinfo.h>
#include <et_xnnpack/packing_hash.h>

#include "checksum.h"
#include "runtime/kernels/simd/isa.h"
#include "runtime/xnnpack/library.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr char kMagic[8] = {'E', 'T', 'X', 'P', 'A', 'C', 'K', '\n'};
// Counts up with every change of the file's layout.
constexpr uint32_t kVersion = 2;
constexpr uint64_t kByteOrder = 0x0102030405060708;
constexpr uint32_t kPackedFirst = 1;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t byte_order;
  uint64_t file_bytes;
  uint64_t index_offset;
  uint64_t index_bytes;
  uint64_t index_checksum;
  uint64_t header_checksum; // of what is before
};

struct IndexEntry {
  uint64_t offset;
  uint64_t bytes;
  uint64_t checksum;
  uint32_t flags;
  uint32_t key_bytes; // the key follows
};

uint64_t checksum_of(const Header& header) {
  return checksum(&header, offsetof(Header, header_checksum));
}

// A descriptor that is closed with it.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  int get() const {
    return descriptor_;
  }

 private:
  const int descriptor_;
};

Status system_error(const char* what) {
  return failure(Error::AccessFailed, "%s: %s", what, std::strerror(errno));
}

// Reads parts of an index that may be anything.
class Cursor {
 public:
  Cursor(const char* data, size_t size) : data_(data), left_(size) {}

  bool read(void* to, size_t size) {
    if (size > left_) {
      return false;
    }
    std::memcpy(to, data_, size);
    data_ += size;
    left_ -= size;
    return true;
  }
  bool read(std::string* to, size_t size) {
    if (size > left_) {
      return false;
    }
    to->assign(data_, size);
    data_ += size;
    left_ -= size;
    return true;
  }
  bool at_end() const {
    return left_ == 0;
  }

 private:
  const char* data_;
  size_t left_;
};

void append(std::string* to, const void* data, size_t size) {
  to->append(static_cast<const char*>(data), size);
}

// Writes to a file from its beginning; remembers the first failure.
class Writer {
 public:
  explicit Writer(int descriptor) : descriptor_(descriptor) {}

  void write(const void* data, size_t size) {
    const char* bytes = static_cast<const char*>(data);
    if (size > most_bytes_ - position_ && error_ == 0) {
      error_ = EFBIG; // a signal would come with what the system says, and end the process
    }
    while (size > 0 && error_ == 0) {
      const ssize_t written = ::write(descriptor_, bytes, std::min<size_t>(size, 1 << 30));
      if (written > 0) {
        bytes += written;
        size -= static_cast<size_t>(written);
        position_ += static_cast<uint64_t>(written);
      } else if (written == 0 || errno != EINTR) {
        error_ = written == 0 ? ENOSPC : errno;
      }
    }
  }
  void pad_to(uint64_t position) {
    static const char kZeros[kAlignment + kTailBytes] = {};
    write(kZeros, position - position_);
  }
  uint64_t position() const {
    return position_;
  }
  int error() const {
    return error_;
  }

 private:
  static uint64_t most_bytes() {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : UINT64_MAX;
  }

  const int descriptor_;
  const uint64_t most_bytes_ = most_bytes();
  uint64_t position_ = 0;
  int error_ = 0;
};

// A file that gets its name when it is whole, and is locked until then: what is not locked was
// left behind by a process that died.
class Temporary {
 public:
  static StatusOr<std::unique_ptr<Temporary>> create(const std::string& path) {
    std::unique_ptr<Temporary> result(new Temporary(path + kInfix + "XXXXXX"));
    if (result->get() < 0) {
      return system_error("cannot create a file beside it");
    }
    fcntl(result->get(), F_SETFD, FD_CLOEXEC);
    flock(result->get(), LOCK_EX | LOCK_NB);
    return result;
  }
  ~Temporary() {
    if (get() >= 0 && !name_.empty()) {
      unlink(name_.c_str());
    }
  }
  int get() const {
    return file_.get();
  }
  // Whoever may read the file there may read this one, if both have the same owner. Nobody else may write.
  void keep_readers_of(const std::string& path) const {
    struct stat old {};
    if (stat(path.c_str(), &old) == 0 && old.st_uid == geteuid() &&
        fchown(get(), static_cast<uid_t>(-1), old.st_gid) == 0) {
      fchmod(get(), S_IRUSR | S_IWUSR | (old.st_mode & (S_IRGRP | S_IROTH)));
    }
  }
  Status rename_to(const std::string& path) {
    if (rename(name_.c_str(), path.c_str()) != 0) {
      return system_error("cannot rename a file to it");
    }
    name_.clear();
    return {};
  }

  static void remove_left_behind(const std::string& path) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    const std::string prefix = path.substr(slash == std::string::npos ? 0 : slash + 1) + kInfix;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
    if (entries == nullptr) {
      return;
    }
    while (const dirent* entry = readdir(entries.get())) {
      const std::string name = entry->d_name;
      if (name.size() != prefix.size() + 6 || name.compare(0, prefix.size(), prefix) != 0) {
        continue;
      }
      const std::string full = folder + "/" + name;
      const File file(open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
      if (file.get() >= 0 && flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
        unlink(full.c_str());
      }
    }
  }

 private:
  static constexpr char kInfix[] = ".part-";

  explicit Temporary(std::string name) : name_(std::move(name)), file_(mkstemp(name_.data())) {}

  std::string name_; // empty once renamed
  const File file_;
};

} // namespace

// What is in a file, mapped.
struct PackedFile::Contents {
  Contents() = default;
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents() {
    if (data != nullptr) {
      munmap(const_cast<char*>(data), size);
    }
  }

  static PackedBytes get(const std::shared_ptr<const Contents>& contents, const IndexEntry& entry) {
    return {
        contents->data + entry.offset,
        static_cast<size_t>(entry.bytes),
        (entry.flags & kPackedFirst) != 0,
        contents,
        std::make_shared<Seal>(entry.checksum)};
  }

  const char* data = nullptr;
  size_t size = 0;
  std::unordered_map<std::string, IndexEntry> entries;
};

PackedFile::PackedFile(std::string path, std::string identity)
    : path_(std::move(path)), identity_(std::move(identity)) {
  StatusOr<std::shared_ptr<const Contents>> contents = read();
  if (contents.ok()) {
    contents_ = std::move(*contents);
    return;
  }
  switch (contents.status().code()) {
    case Error::NotFound:
      return;
    case Error::InvalidExternalData: // one of ours, to be replaced
      is_damaged_ = true;
      break;
    default:
      is_foreign_ = true;
  }
  note(contents.status().message());
}

StatusOr<std::shared_ptr<const PackedFile::Contents>> PackedFile::read() const {
  const File file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int error = errno;
    Status status = system_error("cannot open it");
    return error == ENOENT ? Status(Error::NotFound, status.message()) : status;
  }
  struct stat info {};
  ETX_CHECK(fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode), AccessFailed, "it is not a file");
  Header header{};
  const ssize_t got = pread(file.get(), &header, sizeof(header), 0);
  ETX_CHECK(got != 0, InvalidExternalData, "it is empty");
  ETX_CHECK(
      got >= static_cast<ssize_t>(sizeof(kMagic)) && std::memcmp(header.magic, kMagic, sizeof(kMagic)) == 0,
      AccessFailed,
      "it is another kind of file and stays as it is");
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  ETX_CHECK(
      got == sizeof(header) && header.byte_order == kByteOrder && header.version == kVersion &&
          header.header_bytes == sizeof(header),
      InvalidExternalData,
      "it is damaged or of another version");
  ETX_CHECK(
      header.header_checksum == checksum_of(header) && header.file_bytes == size && size <= SIZE_MAX &&
          header.index_offset <= size && header.index_bytes == size - header.index_offset,
      InvalidExternalData,
      "it is damaged");

  const auto contents = std::make_shared<Contents>();
  contents->size = static_cast<size_t>(size);
  void* const mapped = mmap(nullptr, contents->size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) {
    return system_error("cannot map it");
  }
  contents->data = static_cast<const char*>(mapped);
  const char* const index = contents->data + header.index_offset;
  ETX_CHECK(checksum(index, header.index_bytes) == header.index_checksum, InvalidExternalData, "it is damaged");
  Cursor cursor(index, header.index_bytes);
  uint32_t identity_bytes = 0;
  std::string identity;
  uint64_t count = 0;
  ETX_CHECK(
      cursor.read(&identity_bytes, sizeof(identity_bytes)) && cursor.read(&identity, identity_bytes) &&
          cursor.read(&count, sizeof(count)),
      InvalidExternalData,
      "it is damaged");
  ETX_CHECK(identity == identity_, InvalidExternalData, "it is for another CPU or build (%s)", identity.c_str());
  for (uint64_t i = 0; i < count; ++i) {
    IndexEntry entry{};
    std::string key;
    const bool fits = cursor.read(&entry, sizeof(entry)) && cursor.read(&key, entry.key_bytes) &&
        entry.offset % kAlignment == 0 && entry.bytes <= header.index_offset &&
        entry.offset <= header.index_offset - entry.bytes &&
        header.index_offset - entry.bytes - entry.offset >= kTailBytes;
    ETX_CHECK(fits, InvalidExternalData, "it is damaged");
    contents->entries.emplace(std::move(key), entry);
  }
  ETX_CHECK(cursor.at_end(), InvalidExternalData, "it is damaged");
  return std::shared_ptr<const Contents>(contents);
}

PackedFile::PackedFile(std::string path, std::string identity, Damaged)
    : path_(std::move(path)), identity_(std::move(identity)), is_damaged_(true) {
  note("it is damaged");
}

PackedFile PackedFile::damaged(std::string path, std::string identity) {
  return PackedFile(std::move(path), std::move(identity), Damaged());
}

std::optional<PackedBytes> PackedFile::find(const std::string& key) const {
  if (contents_ == nullptr) {
    return std::nullopt;
  }
  const auto found = contents_->entries.find(key);
  return found == contents_->entries.end() ? std::nullopt : std::make_optional(Contents::get(contents_, found->second));
}

void PackedFile::finish(const PackedByKey& used) {
  const bool lacks_some = std::any_of(used.begin(), used.end(), [this](const auto& entry) {
    if (contents_ == nullptr) {
      return true;
    }
    const auto known = contents_->entries.find(entry.first);
    return known == contents_->entries.end() || known->second.bytes != entry.second->size;
  });
  if ((lacks_some || is_damaged_) && !is_foreign_) {
    const Status status = write(used);
    if (!status.ok()) {
      note(status.message());
    }
  }
}

Status PackedFile::write(const PackedByKey& used) const {
  PackedByKey all = used;
  // Others may have written since.
  StatusOr<std::shared_ptr<const Contents>> newest = read();
  if (newest.ok()) {
    for (const auto& [key, entry] : (*newest)->entries) {
      if (all.count(key) == 0) {
        all.emplace(key, std::make_shared<const PackedBytes>(Contents::get(*newest, entry)));
      }
    }
  } else if (newest.status().code() != Error::NotFound && newest.status().code() != Error::InvalidExternalData) {
    return newest.status();
  }
  for (const std::string& key : find_damaged(all, /*pool=*/nullptr)) {
    all.erase(key);
  }
  Temporary::remove_left_behind(path_);
  ETX_ASSIGN_OR_RETURN(const std::unique_ptr<Temporary> file, Temporary::create(path_));
  Writer writer(file->get());
  Header header{};
  writer.write(&header, sizeof(header));
  std::string index;
  const uint32_t identity_bytes = static_cast<uint32_t>(identity_.size());
  append(&index, &identity_bytes, sizeof(identity_bytes));
  index += identity_;
  const uint64_t count = all.size();
  append(&index, &count, sizeof(count));
  for (const auto& [key, bytes] : all) {
    writer.pad_to(round_up_to_alignment(writer.position()));
    const IndexEntry entry{
        writer.position(),
        bytes->size,
        bytes->seal == nullptr ? checksum(bytes->data, bytes->size) : bytes->seal->checksum,
        bytes->is_packed_first ? kPackedFirst : 0,
        static_cast<uint32_t>(key.size())};
    append(&index, &entry, sizeof(entry));
    index += key;
    writer.write(bytes->data, bytes->size);
  }
  writer.pad_to(round_up_to_alignment(writer.position()) + kTailBytes);
  std::copy(std::begin(kMagic), std::end(kMagic), header.magic);
  header.version = kVersion;
  header.header_bytes = sizeof(header);
  header.byte_order = kByteOrder;
  header.index_offset = writer.position();
  header.index_bytes = index.size();
  header.index_checksum = checksum(index.data(), index.size());
  header.file_bytes = header.index_offset + header.index_bytes;
  header.header_checksum = checksum_of(header);
  writer.write(index.data(), index.size());
  errno = writer.error();
  if (errno != 0 || pwrite(file->get(), &header, sizeof(header), 0) != sizeof(header)) {
    return system_error("cannot write it");
  }
  file->keep_readers_of(path_);
  return file->rename_to(path_);
}

void PackedFile::note(const std::string& problem) {
  if (problem_.find(problem) == std::string::npos) {
    problem_ += (problem_.empty() ? "" : "; ") + problem;
  }
}

const std::string& PackedFile::packing_identity() {
  static const std::string* const identity = [] {
    auto* text = new std::string(describe_xnnpack_build());
    *text += ", packing " ET_XNNPACK_PACKING_HASH ", our kernels for " + std::string(isa_name()) + ", cores";
    if (cpuinfo_initialize()) {
      for (uint32_t i = 0; i < cpuinfo_get_uarchs_count(); ++i) {
        *text += " " + std::to_string(static_cast<unsigned>(cpuinfo_get_uarch(i)->uarch));
      }
    }
    return text;
  }();
  return *identity;
}

} // namespace executorch::backends::et_xnnpack
