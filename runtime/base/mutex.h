// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>
#include <mutex>

namespace executorch::backends::et_xnnpack {

// Locks, in the order in which a thread takes them, any of them left out and none of them twice.
enum class LockLevel : uint8_t {
  Delegate, // while it executes
  States,
  Workspace,
  Pool, // while ExecuTorch makes its pool; its own locks, while its threads work, have this place as well
  Data, // while ExecuTorch gives data or takes it back
  // All others. Under them nothing runs that takes a lock: no destructor of what is shared, no function of others, no
  // log.
  Table,
};

// With assertions a thread that leaves the order ends the process, with a message, before it can wait for ever.
#ifdef NDEBUG
inline constexpr bool kChecksLocks = false;
#else
inline constexpr bool kChecksLocks = true;
#endif

namespace lock_order {

void before(LockLevel level);
void taken(LockLevel level);
void released(LockLevel level);
void destroying();

} // namespace lock_order

template <LockLevel kLevel, bool kChecked = kChecksLocks>
class Mutex {
 public:
  void lock() {
    if constexpr (kChecked) {
      lock_order::before(kLevel);
    }
    mutex_.lock();
    if constexpr (kChecked) {
      lock_order::taken(kLevel);
    }
  }
  bool try_lock() {
    if constexpr (kChecked) {
      lock_order::before(kLevel);
    }
    const bool is_taken = mutex_.try_lock();
    if constexpr (kChecked) {
      if (is_taken) {
        lock_order::taken(kLevel);
      }
    }
    return is_taken;
  }
  void unlock() {
    if constexpr (kChecked) {
      lock_order::released(kLevel);
    }
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
};

using TableMutex = Mutex<LockLevel::Table>;

// A base of what is shared: with assertions it may not go while its thread holds a lock of LockLevel::Table.
template <bool kChecked = kChecksLocks>
struct GoesUnlocked {
  GoesUnlocked() = default;
  GoesUnlocked(const GoesUnlocked&) = default;
  GoesUnlocked& operator=(const GoesUnlocked&) = default;
  ~GoesUnlocked() {
    if constexpr (kChecked) {
      lock_order::destroying();
    }
  }
};

} // namespace executorch::backends::et_xnnpack
