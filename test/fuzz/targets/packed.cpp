// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.

// Packed weight files that are damaged, cut off, or forged with right checksums: what is loaded is right, or, where somebody
// computed the checksum of other weights, at least computed from the file alone.

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>

#include <unistd.h>

#include <runtime/weights/checksum.h>

#include "choices.h"
#include "target.h"
#include "weights/packed_file_test.h"

namespace executorch::backends::et_xnnpack::testing {
namespace {

// serialization/packed_cache.md
constexpr size_t kHeaderBytes = 64;
constexpr size_t kFileBytesAt = 24, kIndexAt = 32, kIndexBytesAt = 40, kIndexChecksumAt = 48, kHeaderChecksumAt = 56;
constexpr size_t kEntryBytes = 32; // and the key
constexpr size_t kMaxChanges = 8;

constexpr uint64_t kNumbers[] = {
    0,
    1,
    2,
    63,
    64,
    65,
    128,
    255,
    256,
    4096,
    INT32_MAX,
    UINT32_MAX,
    uint64_t{1} << 32,
    uint64_t{1} << 40,
    INT64_MAX,
    uint64_t{1} << 63,
    UINT64_MAX - 63,
    UINT64_MAX - 127,
    UINT64_MAX};

template <typename T>
T read(const std::string& bytes, size_t at) {
  T number = 0;
  if (at <= bytes.size() && bytes.size() - at >= sizeof(T)) {
    std::memcpy(&number, bytes.data() + at, sizeof(T));
  }
  return number;
}

void write(std::string* bytes, size_t at, uint64_t number, size_t size = sizeof(uint64_t)) {
  if (at <= bytes->size() && bytes->size() - at >= size) {
    std::memcpy(bytes->data() + at, &number, size);
  }
}

// Where the entries of the index begin, as far as they are there.
std::vector<size_t> entries(const std::string& bytes) {
  std::vector<size_t> result;
  size_t at = read<uint64_t>(bytes, kIndexAt);
  if (at > bytes.size()) {
    return result;
  }
  at += sizeof(uint32_t) + read<uint32_t>(bytes, at) + sizeof(uint64_t);
  while (at < bytes.size() && bytes.size() - at >= kEntryBytes && result.size() < 2 * kCount) {
    result.push_back(at);
    at += kEntryBytes + read<uint32_t>(bytes, at + 28);
  }
  return result;
}

// Flags and content of those with a right checksum, by key.
std::map<std::string, std::string> intact_entries(const std::string& bytes) {
  std::map<std::string, std::string> result;
  for (const size_t entry : entries(bytes)) {
    const size_t at = read<uint64_t>(bytes, entry), size = read<uint64_t>(bytes, entry + 8);
    if (at <= bytes.size() && size <= bytes.size() - at &&
        checksum(bytes.data() + at, size) == read<uint64_t>(bytes, entry + 16)) {
      const std::string key = bytes.substr(entry + kEntryBytes, read<uint32_t>(bytes, entry + 28));
      result.emplace(key, bytes.substr(entry + 24, 4) + bytes.substr(at, size));
    }
  }
  return result;
}

void change(std::string* bytes, Choices& choices) {
  const std::vector<size_t> index = entries(*bytes);
  const auto place = [&] { return bytes->empty() ? 0 : choices.number<uint16_t>() % bytes->size(); };
  switch (choices.below(9)) {
    case 0:
      if (!bytes->empty()) {
        (*bytes)[place()] ^= static_cast<char>(1 << choices.below(8));
      }
      break;
    case 1:
      write(bytes, place(), choices.of(kNumbers), size_t{1} << choices.below(4));
      break;
    case 2:
      bytes->resize(place());
      break;
    case 3:
      bytes->append(choices.text());
      break;
    case 4: {
      const std::string piece = bytes->substr(place(), choices.byte());
      bytes->replace(std::min(place(), bytes->size()), piece.size(), piece);
      break;
    }
    case 5: {
      const size_t begin = place();
      std::fill(
          bytes->begin() + static_cast<ptrdiff_t>(begin),
          bytes->begin() + static_cast<ptrdiff_t>(std::min(bytes->size(), begin + choices.byte())),
          '\0');
      break;
    }
    case 6: // a number of the header
      write(bytes, 8 * (1 + choices.below(7)), choices.of(kNumbers));
      break;
    case 7: // a number of an entry
      if (!index.empty()) {
        write(bytes, choices.of(index) + 8 * choices.below(4), choices.of(kNumbers));
      }
      break;
    default: // a number of an entry becomes a little other, or that of another entry
      if (!index.empty()) {
        const size_t at = choices.of(index) + 8 * choices.below(4);
        const uint64_t near = read<uint64_t>(*bytes, at) + 64 * (choices.below(5) - 2);
        write(
            bytes, at, choices.below(2) == 0 ? near : read<uint64_t>(*bytes, choices.of(index) + 8 * choices.below(4)));
      }
  }
}

class Attempted {
 public:
  explicit Attempted(const std::string& folder) : path_(folder + "/weights") {
    xnn_initialize(nullptr);
    data_.add("a", some_numbers(kSize * kSize));
    data_.add("kernel 7", some_numbers(kSize * 49, 3));
    data_.add("kernel 3", some_numbers(kSize * 9, 4));
    const std::vector<uint8_t> bytes = network("a").build();
    blob_.emplace(*open_blob(span(bytes)));
    unlink(path_.c_str());
    compute("");
    expected_ = result_;
    compute(path_);
    whole_ = content();
  }

  std::string run(Choices choices) {
    broken_.clear();
    std::string bytes = whole_;
    const uint8_t repairs = choices.byte();
    for (size_t i = 0; i < kMaxChanges && !choices.is_over(); ++i) {
      change(&bytes, choices);
    }
    repair(repairs, &bytes);
    const bool forged = is_forged(bytes);
    const bool is_ours = bytes.empty() || (bytes.size() >= 8 && bytes.compare(0, 8, whole_, 0, 8) == 0);
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    compute(path_);
    require(forged || result_ == expected_, "a damaged file gives a wrong result");
    const std::string after = content();
    require(is_ours || after == bytes, "a file of another kind has changed");
    compute(path_);
    require(forged || result_ == expected_, "the file that a load left behind gives a wrong result");
    require(content() == after, "a load changes a file that one has just written");
    if (after != bytes && !forged) {
      require(after.size() >= whole_.size() && problem_.empty(), "a damaged file is not replaced by a whole one");
    }
    return broken_;
  }

 private:
  // Computes checksums anew.
  static void repair(uint8_t what, std::string* bytes) {
    const size_t index = read<uint64_t>(*bytes, kIndexAt);
    if (what & 1) {
      write(bytes, kFileBytesAt, bytes->size());
      write(bytes, kIndexBytesAt, bytes->size() - index);
    }
    for (const size_t entry : entries(*bytes)) {
      const size_t at = read<uint64_t>(*bytes, entry), size = read<uint64_t>(*bytes, entry + 8);
      if (what & 2 && at <= bytes->size() && size <= bytes->size() - at) {
        write(bytes, entry + 16, checksum(bytes->data() + at, size));
      }
    }
    if (what & 4 && index <= bytes->size()) {
      write(bytes, kIndexChecksumAt, checksum(bytes->data() + index, bytes->size() - index));
    }
    if (what & 8 && bytes->size() >= kHeaderBytes) {
      write(bytes, kHeaderChecksumAt, checksum(bytes->data(), kHeaderChecksumAt));
    }
  }

  // Whether an entry with a right checksum has other bytes than those of its key, or other flags.
  bool is_forged(const std::string& bytes) const {
    const std::map<std::string, std::string> forged = intact_entries(bytes), right = intact_entries(whole_);
    return std::any_of(forged.begin(), forged.end(), [&](const auto& entry) {
      const auto known = right.find(entry.first);
      return known != right.end() && known->second != entry.second;
    });
  }

  void require(bool kept, const std::string& otherwise) {
    if (!kept && broken_.empty()) {
      broken_ = otherwise;
    }
  }

  std::unique_ptr<Executable> create(PackedFile* file) {
    Executable::Settings settings;
    settings.packed_file = file;
    StatusOr<std::unique_ptr<Executable>> executable = Executable::create(*blob_, &data_, settings);
    require(executable.ok(), "a load fails because of its file: " + executable.status().message());
    return executable.ok() ? std::move(*executable) : nullptr;
  }

  // As the backend does it.
  void compute(const std::string& path) {
    result_.assign(36 * kSize, 0);
    const std::vector<float> x = some_numbers(36 * kSize + 64, 9);
    const ArgumentSize size{Shape{36, kSize}, 0};
    std::optional<PackedFile> file;
    if (!path.empty()) {
      file.emplace(path);
    }
    std::unique_ptr<Executable> executable = create(file ? &*file : nullptr);
    Status status = executable == nullptr ? Status() : executable->reshape({&size, 1}, nullptr);
    if (status.code() == Error::InvalidExternalData) {
      file.emplace(PackedFile::damaged(path));
      executable = create(&*file);
      status = executable == nullptr ? Status() : executable->reshape({&size, 1}, nullptr);
    }
    if (executable == nullptr) {
      return;
    }
    const void* in = x.data();
    void* out = result_.data();
    if (status.ok()) {
      status = executable->run({&in, 1}, {&out, 1});
    }
    require(status.ok(), "a call fails because of the file: " + status.message());
    problem_ = file ? file->problem() : "";
  }

  std::string content() const {
    std::ifstream stream(path_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }

  const std::string path_;
  DataMap data_;
  std::optional<Blob> blob_;
  std::vector<float> expected_, result_;
  std::string whole_, broken_, problem_;
};

Attempted& attempted() {
  static auto* const one = [] {
    std::string name = ::testing::TempDir() + "packed-XXXXXX";
    static std::string folder = mkdtemp(name.data());
    std::atexit([] {
      unlink((folder + "/weights").c_str());
      rmdir(folder.c_str());
    });
    return new Attempted(folder);
  }();
  return *one;
}

} // namespace

std::string attempt_packed(const uint8_t* data, size_t size) {
  return attempted().run(Choices(data, size));
}

} // namespace executorch::backends::et_xnnpack::testing
