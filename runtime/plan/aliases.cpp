// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "aliases.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

namespace executorch::backends::et_xnnpack {
namespace {

// Finding out whether a node may work in place takes time linear in the graph.
constexpr size_t kMaxInPlace = 1024;

} // namespace

Aliases::Aliases(
    const Blob& blob,
    const std::vector<std::vector<uint32_t>>& uncast,
    std::vector<Choice>& choices,
    const std::function<Choice(uint32_t node)>& without_view)
    : blob_(blob), root_(blob.num_values()), users_(blob.num_values()), readers_(blob.num_values()) {
  std::iota(root_.begin(), root_.end(), 0u);
  order_waves();
  share_views(uncast, choices, without_view);
  content_ = root_;
  std::vector<uint32_t> candidates;
  for (uint32_t i = 0; i < choices.size() && candidates.size() < kMaxInPlace; ++i) {
    if (choices[i].in_place) {
      candidates.push_back(i);
    }
  }
  if (candidates.empty()) {
    return;
  }
  find_kept();
  for (const uint32_t i : candidates) {
    work_in_place(i);
  }
}

// Sizes are found in the order of the graph, and before what depends on them.
void Aliases::order_waves() {
  const Waves& waves = blob_.waves();
  for (uint32_t i = 0; waves.num_found() > 0 && i < blob_.num_nodes(); ++i) {
    const uint32_t wave = waves.of_node(i);
    const bool finds = wave > 0 && waves.finder(wave) == i;
    if (wave > (finds ? 1 : 0)) {
      after_[waves.finder(finds ? wave - 1 : wave)].push_back(i);
    }
  }
}

void Aliases::share_views(
    const std::vector<std::vector<uint32_t>>& uncast,
    std::vector<Choice>& choices,
    const std::function<Choice(uint32_t node)>& without_view) {
  std::vector<bool> is_update(blob_.num_values()); // of a state
  for (size_t s = 0; s < blob_.num_states(); ++s) {
    is_update[blob_.state(s).update()] = true;
    is_state_.insert(blob_.state(s).value());
  }
  for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
    for_each_input(blob_, i, [&](uint32_t id) { users_[id].push_back(i); });
    if (choices[i].kind == Choice::Kind::View) {
      const uint32_t output = blob_.node(i).outputs()->Get(0);
      const uint32_t root = root_[blob_.node(i).inputs()->Get(0)];
      // An update that were another state's old content would change when that is set.
      if (!is_update[output] || is_state_.count(root) == 0) {
        root_[output] = root;
        continue;
      }
      choices[i] = without_view(i);
    }
    for_each_input(blob_, i, [&](uint32_t id) { readers_[root_[id]].push_back(i); });
    for (const uint32_t id : uncast[i]) {
      users_[id].push_back(i);
      readers_[root_[id]].push_back(i);
    }
  }
}

void Aliases::find_kept() {
  is_kept_.resize(blob_.num_values());
  for (uint32_t i = 0; i < blob_.num_outputs(); ++i) {
    is_kept_[root_[blob_.graph().outputs()->Get(i)->value()]] = true;
  }
  for (size_t s = 0; s < blob_.num_states(); ++s) {
    is_kept_[root_[blob_.state(s).update()]] = true;
  }
  for (uint32_t i = 0; i < blob_.num_inputs(); ++i) {
    const uint32_t id = blob_.graph().inputs()->Get(i)->value();
    if (id != kNone) {
      is_kept_[id] = true;
    }
  }
}

void Aliases::work_in_place(uint32_t node) {
  const auto& inputs = *blob_.node(node).inputs();
  const uint32_t root = root_[inputs.Get(0)];
  const uint32_t made = blob_.node(node).outputs()->Get(0);
  if (is_kept_[root] || blob_.is_constant(root)) {
    return;
  }
  for (uint32_t k = 1; k < inputs.size(); ++k) {
    if (inputs.Get(k) != kNone && root_[inputs.Get(k)] == root) {
      return;
    }
  }
  for (size_t s = 0; s < blob_.num_states(); ++s) {
    // The memory of one state must not hold what another one will.
    if (is_state_.count(root) > 0 && root_[blob_.state(s).update()] == made && blob_.state(s).value() != root) {
      return;
    }
  }
  const std::vector<bool> later = nodes_after(node);
  for (const uint32_t reader : readers_[root]) {
    if (reader != node && later[reader]) {
      return;
    }
  }
  for (const uint32_t reader : readers_[root]) {
    if (reader != node) {
      after_[reader].push_back(node);
    }
  }
  // `made` and the views of it.
  for (uint32_t& other : root_) {
    other = other == made ? root : other;
  }
  readers_[root] = readers_[made];
  readers_[root].push_back(node); // after all that have read until now
  is_kept_[root] = is_kept_[made];
}

// Calls function(node) for those that read the result of a node or overwrite what it reads.
template <typename Function>
void Aliases::for_each_follower(uint32_t node, const Function& function) const {
  for (const uint32_t id : *blob_.node(node).outputs()) {
    std::for_each(users_[id].begin(), users_[id].end(), function);
  }
  const auto edges = after_.find(node);
  if (edges != after_.end()) {
    std::for_each(edges->second.begin(), edges->second.end(), function);
  }
}

// Which nodes can only run when `node` has.
std::vector<bool> Aliases::nodes_after(uint32_t node) const {
  std::vector<bool> found(blob_.num_nodes());
  std::vector<uint32_t> work{node};
  while (!work.empty()) {
    const uint32_t at = work.back();
    work.pop_back();
    for_each_follower(at, [&](uint32_t next) {
      if (!found[next]) {
        found[next] = true;
        work.push_back(next);
      }
    });
  }
  return found;
}

std::vector<uint32_t> Aliases::order() const {
  std::vector<uint32_t> result;
  std::vector<uint32_t> waits_for(blob_.num_nodes());
  for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
    for_each_follower(i, [&](uint32_t next) { ++waits_for[next]; });
  }
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
    if (waits_for[i] == 0) {
      ready.push(i);
    }
  }
  while (!ready.empty()) {
    const uint32_t i = ready.top();
    ready.pop();
    result.push_back(i);
    for_each_follower(i, [&](uint32_t next) {
      if (--waits_for[next] == 0) {
        ready.push(next);
      }
    });
  }
  return result;
}

std::vector<std::vector<uint32_t>> Aliases::followers() const {
  std::vector<std::vector<uint32_t>> result(blob_.num_nodes());
  for (uint32_t i = 0; i < blob_.num_nodes(); ++i) {
    for_each_follower(i, [&](uint32_t next) { result[i].push_back(next); });
  }
  return result;
}

} // namespace executorch::backends::et_xnnpack
