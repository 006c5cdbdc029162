// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "caches.h"

#include <algorithm>

#include <cpuinfo.h>

namespace executorch::backends::et_xnnpack {
namespace {

// 0 if unknown.
size_t smallest(const cpuinfo_cache* caches, uint32_t count, bool is_divided = true) {
  size_t size = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t share = caches[i].size / (is_divided ? std::max<uint32_t>(caches[i].processor_count, 1) : 1);
    size = size == 0 ? share : std::min(size, share);
  }
  return size;
}

} // namespace

const Caches& Caches::get() {
  static const Caches caches = [] {
    Caches result;
    if (cpuinfo_initialize()) {
      const auto set_if_known = [](size_t& size, size_t known) { size = known == 0 ? size : known; };
      set_if_known(result.l1, smallest(cpuinfo_get_l1d_caches(), cpuinfo_get_l1d_caches_count()));
      set_if_known(result.l2, smallest(cpuinfo_get_l2_caches(), cpuinfo_get_l2_caches_count()));
      result.l3 = smallest(cpuinfo_get_l3_caches(), cpuinfo_get_l3_caches_count(), /*is_divided=*/false);
      // Third-level caches of AMD serve 8 cores or 16, others all of a socket.
      if (cpuinfo_get_core(0)->vendor == cpuinfo_vendor_amd) {
        result.l3_share = 0.6;
      }
    }
    return result;
  }();
  return caches;
}

} // namespace executorch::backends::et_xnnpack
