// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "segment.h"

#include <algorithm>

#include "runtime/ops/infer.h"
#include "xnnpack_compat.h"

namespace executorch::backends::et_xnnpack {

StatusOr<Segment> Segment::create(
    const Blob& blob,
    const Step& step,
    const std::vector<Choice>& choices,
    Span<const TensorType> types,
    const Sizes& sizes,
    Weights& weights,
    xnn_workspace_t workspace,
    std::vector<PackingTask>& packing,
    Settings settings) {
  Segment segment;
  segment.values_ = step.inputs;
  segment.values_.insert(segment.values_.end(), step.outputs.begin(), step.outputs.end());
  segment.externals_.resize(segment.values_.size());
  segment.num_inputs_ = step.inputs.size();

  const size_t count = segment.values_.size();
  const auto is_input = std::make_unique<bool[]>(count);
  std::fill_n(is_input.get(), segment.num_inputs_, true);
  ETX_ASSIGN_OR_RETURN(
      const std::shared_ptr<SubgraphBuilder> builder,
      SubgraphBuilder::create({segment.values_.data(), count}, {is_input.get(), count}, types, weights));
  for (const uint32_t i : step.nodes) {
    const BoundNode bound(blob, i, types, sizes);
    const bool half = settings.half && choices[i].float16;
    ETX_RETURN_IF_ERROR(builder->add(choices[i].define, bound.context(), half).in(blob.describe(i)));
    segment.xnnpack_nodes_.push_back(et_xnnpack_num_nodes(builder->get()));
  }
  segment.scalars_ = builder->scalars();

  xnn_runtime_t runtime = nullptr;
  segment.packer_ = std::make_unique<Packer>();
  Packer* const packer = segment.packer_.get();
  const uint32_t flags = settings.profile ? XNN_FLAG_BASIC_PROFILING : 0;
  Status status = packer->create_runtime(builder->get(), builder->deferred(), weights, workspace, flags, &runtime);
  segment.runtime_.reset(runtime);
  const auto in_segment = [&blob, front = step.nodes.front()](Status failed) {
    return failed.ok() ? failed : std::move(failed).in(blob.describe(front) + " and following");
  };
  ETX_RETURN_IF_ERROR(in_segment(std::move(status)));
  for (size_t i = 0; i < packer->num_nodes(); ++i) {
    packing.push_back([builder, packer, i, in_segment, &weights] { // `builder` lives that long
      return in_segment(packer->pack(i, weights));
    });
  }
  return segment;
}

bool Segment::gains_by_half(const Blob& blob, const Step& step, const std::vector<Choice>& choices) {
  return std::any_of(step.nodes.begin(), step.nodes.end(), [&](uint32_t i) {
    const schema::Attributes type = blob.node(i).attributes_type();
    const bool is_product = type == schema::Attributes::Conv2d || type == schema::Attributes::ConvTranspose2d ||
        type == schema::Attributes::Linear || type == schema::Attributes::BatchMatMul;
    return is_product && choices[i].float16;
  });
}

void Segment::forget_plan() {
  et_xnnpack_forget_plan(runtime_.get());
}

Status Segment::reshape(Span<const TensorType> types, Span<char* const> data, pthreadpool_t pool) {
  et_xnnpack_set_threadpool(runtime_.get(), pool);
  for (uint32_t id = 0; id < num_inputs_; ++id) {
    const Shape& shape = types[values_[id]].shape;
    ETX_RETURN_IF_ERROR(check_xnn(
        xnn_reshape_external_value(runtime_.get(), id, shape.rank, shape.dims.data()), "xnn_reshape_external_value"));
  }
  // Not xnn_setup_runtime, which does the same but ignores that there may be no memory.
  ETX_RETURN_IF_ERROR(check_xnn(et_xnnpack_reshape_runtime(runtime_.get()), "xnn_reshape_runtime"));
  ETX_RETURN_IF_ERROR(set_data(data));
  for (size_t id = num_inputs_; id < values_.size(); ++id) {
    Shape shape;
    ETX_RETURN_IF_ERROR(check_xnn(
        xnn_get_external_value_shape(runtime_.get(), static_cast<uint32_t>(id), &shape.rank, shape.dims.data()),
        "xnn_get_external_value_shape"));
    const Shape& expected = types[values_[id]].shape;
    ETX_CHECK(
        shape == expected,
        Internal,
        "XNNPACK makes value %u of shape %s instead of %s",
        values_[id],
        shape.to_string().c_str(),
        expected.to_string().c_str());
  }
  return {};
}

Status Segment::set_data(Span<char* const> data) {
  for (uint32_t id = 0; id < values_.size(); ++id) {
    externals_[id] = {id, data[values_[id]]};
  }
  return check_xnn(xnn_setup_runtime_v2(runtime_.get(), externals_.size(), externals_.data()), "xnn_setup_runtime_v2");
}

Status Segment::run() {
  return check_xnn(xnn_invoke_runtime(runtime_.get()), "xnn_invoke_runtime");
}

std::vector<uint64_t> Segment::node_ends() const {
  std::vector<uint64_t> all(xnnpack_nodes_.back()), ends;
  et_xnnpack_node_ends(runtime_.get(), all.data(), all.size());
  for (const size_t count : xnnpack_nodes_) {
    ends.push_back(count == 0 ? 0 : all[count - 1]);
  }
  return ends;
}

} // namespace executorch::backends::et_xnnpack
