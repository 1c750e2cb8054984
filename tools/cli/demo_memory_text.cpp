// Of memory as a whole: process, gpu.
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/demo_text.h"
#include "tools/cli/demo_words.h"
#include "tools/cli/table.h"

namespace quarry::tools {
namespace {

std::string cell(Bytes bytes, stats::Units units) { return stats::format_bytes(bytes, units); }

std::string process_table(const ProcessRun& run, stats::Units units) {
  Table table({{run.memory + " memory"},
               {"RSS", Align::right},
               {"PSS", Align::right},
               {"USS", Align::right},
               {"pinned", Align::right},
               {"allocated", Align::right},
               {"reserved", Align::right}});
  for (const ProcessStep& step : run.steps) {
    table.row({step.name, cell(step.process.resident, units), cell(step.process.proportional, units),
               cell(step.process.unique, units), cell(step.pinned, units), cell(step.allocated, units),
               cell(step.reserved, units)});
  }
  return table.text() + '\n';
}

// What happened from one step to the next: "grows by 1 B", "falls by 1 B".
std::string change(Bytes before, Bytes after) {
  if (after == before) return "does not change";
  return after < before ? "falls by " + exact_and_round(before - after) : "grows by " + exact_and_round(after - before);
}

std::string pageable_story(const ProcessRun& run) {
  const auto resident = [&](std::size_t step) { return run.steps.at(step).process.resident; };
  return fmt::format(
      "allocated  Addresses and pages are reserved, but the system finds memory for a page at its first use: RSS {}.\n"
      "touched    Every element is written: RSS {}.\n"
      "freed      Allocated falls to {}, reserved does not: the cache keeps the pages for the next tensors. RSS {}.\n"
      "emptied    empty_cache gives them back to the system: RSS {}.\n",
      change(resident(0), resident(1)), change(resident(1), resident(2)), exact_and_round(run.steps.at(3).allocated),
      change(resident(2), resident(3)), change(resident(3), resident(4)));
}

std::string pinned_story(const ProcessRun& run) {
  const auto resident = [&](std::size_t step) { return run.steps.at(step).process.resident; };
  return fmt::format(
      "In pinned memory ({}):\n"
      "allocated  Locked pages are there from the start, so that a device may read them at any time: RSS {}.\n"
      "touched    Nothing is left to be found: RSS {}.\n"
      "emptied    Memory that nothing else can use is worth giving back: RSS {}.\n",
      run.device, change(resident(0), resident(1)), change(resident(1), resident(2)), change(resident(3), resident(4)));
}

}  // namespace

std::string demo_text(const ProcessDemo& demo, stats::Units units) {
  std::string tables;
  for (const ProcessRun& run : demo.runs) tables += process_table(run, units);
  return fmt::format(
      "process: {} tensors of {} f32, {} together, as the operating system sees them.\n\n{}"
      "RSS counts every page of this process that is in memory, program and libraries too; PSS counts a page that n\n"
      "processes map as 1/n; USS only pages that nobody else maps. pinned is what the pinned space has reserved: "
      "pages\n"
      "the system may not move.\n\nIn pageable memory:\n{}\n{}",
      demo.tensors, product_text(demo.sizes), exact_and_round(demo.storage), tables, pageable_story(demo.runs.at(0)),
      pinned_story(demo.runs.at(1)));
}

namespace {

std::string gpu_table(const GpuDemo& demo, stats::Units units) {
  Table table({{"step"},
               {"allocated", Align::right},
               {"peak", Align::right},
               {"reserved", Align::right},
               {"releasable", Align::right},
               {"stranded", Align::right}});
  for (const GpuStep& step : demo.steps) {
    const Ledger& ledger = step.ledger;
    table.row({step.name, cell(ledger.allocated, units), cell(ledger.peak_allocated, units),
               cell(ledger.reserved, units), cell(ledger.releasable, units), cell(ledger.stranded, units)});
  }
  return table.text();
}

std::string holes_table(const GpuDemo& demo, stats::Units units) {
  Table table({{"tensors"},
               {"policy"},
               {"freed", Align::right},
               {"releasable", Align::right},
               {"stranded", Align::right},
               {"largest hole", Align::right},
               {"reserved grows by", Align::right}});
  for (const HolesRun& run : demo.holes) {
    table.row({fmt::format("{} of {}", run.tensors, product_text(run.sizes)),
               run.policy == Policy::paged ? "paged" : "pytorch", cell(run.freed, units),
               cell(run.holes.releasable, units), cell(run.holes.stranded, units), cell(run.holes.largest_free, units),
               cell(run.grown, units)});
  }
  return table.text();
}

// Who keeps stranded bytes from going back, where it is one block alone.
std::string who_strands(const Ledger& ledger) {
  if (ledger.stranding.empty()) return "";
  const Stranding& most = ledger.stranding.front();
  return fmt::format("The most is stranded by the block at {:#x}: {}, the only one on its pages.\n", most.block.value,
                     exact_and_round(most.strands));
}

// How paged serves a request from several holes, where it can.
std::string paged_story(const Ledger& ledger) {
  if (ledger.contiguous) return "paged cannot map pages in this memory, so its blocks lie in one piece too.\n";
  return "paged maps the pages of several holes one after the other; only holes that lie inside a page cannot be "
         "joined.\n";
}

// What stays on the device when the space holds nothing.
std::string remains(const Ledger& last) {
  if (last.device_total == Bytes{}) return "";
  if (last.outside() == Bytes{}) return "No other memory of the device is in use.\n";
  return fmt::format("What the device counts as used all the same, {}, is not ours: contexts, other programs.\n",
                     exact_and_round(last.outside()));
}

}  // namespace

std::string demo_text(const GpuDemo& demo, stats::Units units) {
  const Ledger& emptied = demo.steps.at(4).ledger;
  const Ledger& last = demo.steps.back().ledger;
  return fmt::format(
      "gpu: {} tensors of {} f32, {} each, come and go.\n\n{}\n"
      "Freeing lowers allocated at once and reserved not at all: the block goes to the cache. reserved = allocated +\n"
      "releasable + stranded in every row. releasable is what empty_cache gives back; stranded is free too, but on "
      "pages\n"
      "that live tensors use, so it stays: {} after empty_cache beside {} allocated.\n{}"
      "reset_peak sets the peak to what is allocated then. With every tensor gone empty_cache leaves {}.\n{}\n"
      "Fragmentation: every second tensor is freed, then one request asks for all of what was freed.\n\n{}\n"
      "pytorch cannot serve it from several holes and gets new memory for it, while the holes stay cached.\n{}",
      demo.tensors, product_text(demo.sizes), exact_and_round(demo.storage), gpu_table(demo, units),
      exact_and_round(emptied.stranded), exact_and_round(emptied.allocated), who_strands(emptied),
      exact_and_round(last.reserved), remains(last), holes_table(demo, units), paged_story(demo.holes.front().full));
}

}  // namespace quarry::tools
