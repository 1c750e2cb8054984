#include "tools/cli/demo_json.h"

namespace quarry::tools {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Dims& dims) {
  Json list = Json::array();
  for (const std::int64_t size : dims) list.push_back(size);
  return list;
}

Json to_json(const TensorBytes& bytes) {
  return {{"handle", bytes.handle.count},   {"logical", bytes.logical.count}, {"spanned", bytes.spanned.count},
          {"reached", bytes.reached.count}, {"storage", bytes.storage.count}, {"block", bytes.block.count}};
}

Json to_json(const PolicyCost& cost) { return {{"block", cost.block.count}, {"reserved", cost.reserved.count}}; }

Json to_json(const Ledger& ledger) {
  return {{"requested", ledger.requested.count},
          {"rounding", ledger.rounding().count},
          {"allocated", ledger.allocated.count},
          {"pending", ledger.pending.count},
          {"active", ledger.active().count},
          {"releasable", ledger.releasable.count},
          {"stranded", ledger.stranded.count},
          {"reserved", ledger.reserved.count},
          {"largest_free", ledger.largest_free.count},
          {"peak_requested", ledger.peak_requested.count},
          {"peak_allocated", ledger.peak_allocated.count},
          {"peak_reserved", ledger.peak_reserved.count},
          {"fragmentation", ledger.fragmentation()}};
}

Json to_json(const ByteRow& row) {
  Json object = Json::object();
  for (std::size_t i = 0; i < kPurposes; ++i) object[std::string(kPurposeNames[i])] = row.of[i].count;
  object["total"] = row.total().count;
  return object;
}

Json to_json(const TrainingInstant& instant) { return {{"name", instant.name}, {"requested", to_json(instant.rows)}}; }

std::string_view policy_name(Policy policy) { return policy == Policy::paged ? "paged" : "pytorch"; }

}  // namespace

Json demo_json(const BasicDemo& demo) {
  Json rows = Json::array();
  for (const BasicRow& row : demo.rows) {
    rows.push_back({{"sizes", to_json(row.sizes)},
                    {"bytes", to_json(row.bytes)},
                    {"paged", to_json(row.paged)},
                    {"pytorch", to_json(row.pytorch)}});
  }
  return {{"dtype", name(demo.dtype)}, {"tensors", std::move(rows)}};
}

Json demo_json(const SharingDemo& demo) {
  Json views = Json::array();
  for (const ViewRow& row : demo.views) {
    views.push_back({{"name", row.name},
                     {"sizes", to_json(row.sizes)},
                     {"strides", to_json(row.strides)},
                     {"offset", row.offset},
                     {"dense", row.dense},
                     {"same_pointer", row.same_pointer},
                     {"same_storage", row.same_storage},
                     {"bytes", to_json(row.bytes)},
                     {"sum_after_write", row.sum}});
  }
  Json kept = Json::array();
  for (const KeptStep& step : demo.kept) {
    kept.push_back({{"step", step.name},
                    {"logical", step.logical.count},
                    {"storage", step.storage.count},
                    {"allocated", step.allocated.count},
                    {"reserved", step.reserved.count},
                    {"resident", step.resident.count}});
  }
  return {{"views", std::move(views)}, {"storage_users", demo.users}, {"kept_alive", std::move(kept)}};
}

Json demo_json(const DTypeDemo& demo) {
  Json rows = Json::array();
  for (const DTypeRow& row : demo.rows) {
    rows.push_back(
        {{"dtype", name(row.dtype)}, {"element_size", element_size(row.dtype)}, {"bytes", to_json(row.bytes)}});
  }
  return {{"elements", demo.elements}, {"dtypes", std::move(rows)}};
}

Json demo_json(const ProcessDemo& demo) {
  Json runs = Json::array();
  for (const ProcessRun& run : demo.runs) {
    Json steps = Json::array();
    for (const ProcessStep& step : run.steps) {
      steps.push_back({{"step", step.name},
                       {"rss", step.process.resident.count},
                       {"pss", step.process.proportional.count},
                       {"uss", step.process.unique.count},
                       {"pinned", step.pinned.count},
                       {"allocated", step.allocated.count},
                       {"reserved", step.reserved.count}});
    }
    runs.push_back({{"memory", run.memory}, {"device", run.device}, {"steps", std::move(steps)}});
  }
  return {{"tensors", demo.tensors},
          {"sizes", to_json(demo.sizes)},
          {"storage", demo.storage.count},
          {"runs", std::move(runs)}};
}

Json demo_json(const GpuDemo& demo) {
  Json steps = Json::array();
  for (const GpuStep& step : demo.steps) steps.push_back({{"step", step.name}, {"ledger", to_json(step.ledger)}});
  Json holes = Json::array();
  for (const HolesRun& run : demo.holes) {
    holes.push_back({{"policy", policy_name(run.policy)},
                     {"tensors", run.tensors},
                     {"sizes", to_json(run.sizes)},
                     {"freed", run.freed.count},
                     {"full", to_json(run.full)},
                     {"holes", to_json(run.holes)},
                     {"larger", to_json(run.larger)},
                     {"grown", run.grown.count}});
  }
  return {{"tensors", demo.tensors},
          {"sizes", to_json(demo.sizes)},
          {"storage", demo.storage.count},
          {"steps", std::move(steps)},
          {"holes", std::move(holes)}};
}

Json demo_json(const EstimationDemo& demo) {
  Json terms = Json::array();
  for (const EstimatedTerm& term : demo.terms) {
    terms.push_back({{"term", term.name},
                     {"estimate", term.estimate.count},
                     {"requested", term.requested.count},
                     {"storages", term.storages.count}});
  }
  Json instants = Json::array();
  for (const TrainingInstant& instant : demo.instants) instants.push_back(to_json(instant));
  return {{"widths", demo.shape.widths},
          {"batch", demo.shape.batch},
          {"dtype", name(demo.shape.dtype)},
          {"parameter_count", demo.estimate.parameter_count},
          {"estimate", demo.estimate.total().count},
          {"terms", std::move(terms)},
          {"instants", std::move(instants)},
          {"peak", to_json(demo.peak)},
          {"ledger_forward", to_json(demo.forward)},
          {"ledger_end", to_json(demo.end)},
          {"loss_before", demo.loss_before},
          {"loss_after", demo.loss_after}};
}

}  // namespace quarry::tools
