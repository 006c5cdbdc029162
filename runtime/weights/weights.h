// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "constant_reader.h"
#include "packed_file.h"
#include "packed_weights.h"
#include "runtime/base/constant_source.h"
#include "runtime/base/huge_page_arena.h"

namespace executorch::backends::et_xnnpack {

// Packs weights, or finds them packed.
using PackingTask = std::function<Status()>;

// The constants of a graph while it is loaded. Small ones that are kept are copied once per
// process. Large ones stay where ExecuTorch has them, if XNNPACK may read past their ends there;
// the methods of a program share them. Those to be packed are borrowed for that long. What packing
// needs, from load() on, may be called by several threads.
class Weights {
 public:
  // `named_data` may be null if no constant has a key. Both must outlive loading. Nothing is
  // shared with others if `shared` is null, or with later processes if `file` is.
  Weights(const Blob& blob, const NamedDataMap* named_data, PackedWeights* shared = nullptr, PackedFile* file = nullptr)
      : blob_(blob), constants_(blob, named_data), shared_(shared), file_(file) {}

  // The data of a constant that is read as it is, kTailBytes readable behind it.
  StatusOr<const void*> constant(uint32_t value);

  // The same if it is kept already; null if not.
  const void* kept(uint32_t value) const;

  // Whether the data of a constant that is kept may be asked for as late as by the first call. So it is with a
  // file of packed weights, which makes a load so short that a large constant would take most of it.
  bool can_wait(uint32_t value) const;

  // Runs all tasks, on the threads of `pool` (null: the calling one), until one fails.
  Status run(const std::vector<PackingTask>& tasks, pthreadpool_t pool);

  // The constants as they are in the program.
  const ConstantReader& constants() const {
    return constants_;
  }

  // Memory for something packed.
  StatusOr<Buffer> allocate(size_t bytes);

  // The right to pack what others wait for until it is published, or this goes.
  class Reservation {
   public:
    Reservation() = default;
    Reservation(Weights* weights, const std::string& key) : weights_(weights), key_(&key) {}
    Reservation(Reservation&& other) noexcept : weights_(std::exchange(other.weights_, nullptr)), key_(other.key_) {}
    Reservation& operator=(Reservation&& other) noexcept {
      std::swap(weights_, other.weights_);
      std::swap(key_, other.key_);
      return *this;
    }
    ~Reservation();

    explicit operator bool() const {
      return weights_ != nullptr;
    }
    // REQUIRES: it is one
    PackedPtr publish(PackedBytes bytes);

   private:
    Weights* weights_ = nullptr; // null: of nothing
    const std::string* key_ = nullptr;
  };

  // What others have packed under this key, in this process or for the file. If that is null the caller has to pack, and
  // gets a reservation, which must not outlive `key`. What the file has counts for nothing if it is not as `measure`
  // says.
  StatusOr<PackedPtr> find_packed(
      const std::string& key, const ConstantSource::Measure& measure, Reservation* reservation);
  // Notes that they are used, for the file.
  void use(const std::string& key, const PackedPtr& packed);

  // All that are used.
  const PackedByKey& packed() const {
    return packed_;
  }
  // Those of all packed weights whose seal nobody has verified.
  PackedByKey unverified() const;

  // What this has found and made: for another one of the same blob, which then needs no data for it.
  struct Known {
    PackedByKey packed;
    std::unordered_map<uint32_t, const void*> kept; // by value
  };
  Known known() const {
    return {packed_, kept_by_value_};
  }
  // REQUIRES: kept constants live as long as those that this gives
  void add_known(const Known& known) {
    packed_.insert(known.packed.begin(), known.packed.end());
    kept_by_value_.insert(known.kept.begin(), known.kept.end());
  }

  // What kept constants point to; must live as long as their users.
  std::vector<PackedPtr> take_kept() && {
    return std::move(kept_);
  }

 private:
  bool is_copied(const schema::Constant& constant, const TensorType& type) const;
  StatusOr<PackedPtr> keep(uint32_t value);
  PackedPtr share(const std::string& key, PackedBytes bytes);

  const Blob& blob_;
  ConstantReader constants_;
  PackedWeights* const shared_;
  PackedFile* const file_;
  HugePageArena arena_; // of what is packed
  TableMutex packed_mutex_; // guards packed_
  PackedByKey packed_;
  std::vector<PackedPtr> kept_;
  std::unordered_map<uint32_t, const void*> kept_by_value_;
};

} // namespace executorch::backends::et_xnnpack
