// Of the training step: estimation.
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/demo_text.h"
#include "tools/cli/demo_words.h"
#include "tools/cli/table.h"

namespace quarry::tools {
namespace {

std::string cell(Bytes bytes, stats::Units units) { return stats::format_bytes(bytes, units); }

std::string network_text(const MlpShape& shape) {
  std::string text;
  for (std::size_t i = 1; i < shape.widths.size(); ++i) {
    text += fmt::format("{}Linear {}-{}", i == 1 ? "" : ", ReLU, ", shape.widths[i - 1], shape.widths[i]);
  }
  return text;
}

std::string terms_table(const EstimationDemo& demo, stats::Units units) {
  Table table({{"term"},
               {"estimate", Align::right},
               {"requested", Align::right},
               {"storages", Align::right},
               {"difference", Align::right}});
  Bytes requested;
  Bytes storages;
  const auto difference = [&](Bytes estimate, Bytes measured) {
    return (measured < estimate ? "-" : "") +
           cell(measured < estimate ? estimate - measured : measured - estimate, units);
  };
  for (const EstimatedTerm& term : demo.terms) {
    requested += term.requested;
    storages += term.storages;
    table.row({term.name, cell(term.estimate, units), cell(term.requested, units), cell(term.storages, units),
               difference(term.estimate, term.requested)});
  }
  const Bytes total = demo.estimate.total();
  table.row({"total", cell(total, units), cell(requested, units), cell(storages, units), difference(total, requested)});
  return table.text();
}

// A row for each purpose, a column for each instant that is asked for.
std::string instants_table(const EstimationDemo& demo, stats::Units units) {
  constexpr std::size_t kFirst = 2;  // before the forward pass there is nothing to compare
  std::vector<Table::Column> columns = {{"requested for"}};
  for (std::size_t i = kFirst; i < demo.instants.size(); ++i) columns.push_back({demo.instants[i].name, Align::right});
  Table table(columns);
  const auto add = [&](std::string_view title, auto value_of) {
    std::vector<std::string> cells = {std::string(title)};
    for (std::size_t i = kFirst; i < demo.instants.size(); ++i) {
      cells.push_back(cell(value_of(demo.instants[i].rows), units));
    }
    table.row(std::move(cells));
  };
  for (std::size_t i = 0; i < kPurposes; ++i) {
    add(kPurposeNames[i], [i](const ByteRow& row) { return row.of[i]; });
  }
  add("total", [](const ByteRow& row) { return row.total(); });
  return table.text();
}

// From the estimate to what the driver gave: every line is the one before, and a difference with a name.
std::string ledger_table(const EstimationDemo& demo, stats::Units units) {
  const Ledger& ledger = demo.forward;
  Table table({{""}, {"end of forward"}, {"", Align::right}, {"what it is"}});
  const auto add = [&](const char* sign, const char* what, Bytes bytes, const char* why) {
    table.row({sign, what, cell(bytes, units), why});
  };
  add("", "estimate", demo.estimate.total(), "parameters, gradients, optimizer, activations");
  add("+", "target", demo.instants.at(2).rows[Purpose::target], "what the network should answer: no term has it");
  add("=", "requested", ledger.requested, "what the tensors asked for");
  add("+", "rounding", ledger.rounding(), "blocks are multiples of 512 B");
  add("=", "allocated", ledger.allocated, "live blocks");
  add("+", "pending", ledger.pending, "freed, still used on another stream");
  add("=", "active", ledger.active(), "");
  add("+", "releasable", ledger.releasable, "cached, empty_cache gives it back");
  add("+", "stranded", ledger.stranded, "cached, on pages that live blocks use");
  add("=", "reserved", ledger.reserved, "got from the driver");
  return table.text();
}

}  // namespace

std::string demo_text(const EstimationDemo& demo, stats::Units units) {
  const ByteRow& peak = demo.peak.rows;
  return fmt::format(
      "estimation: one training step of {}; batch {}, {}, Adam.\n\n"
      "The formula: {} parameters, as many gradients, twice as many numbers of Adam, and the activations: the\n"
      "input and what each linear layer gives. ReLU works in place. Beside it the step as it was run, at the end of "
      "the\n"
      "forward pass: requested is what the allocator was asked for, storages what the tensors hold.\n\n{}\n"
      "The peak is above all that, for what the formula leaves out:\n\n{}\n"
      "activation_gradients go backward through the network while activations go away one by one; the input stays,\n"
      "because the program holds it. temporaries are masks, sums and, in Adam, one tensor as large as the parameter "
      "at\n"
      "hand. At the {}, the largest moment, they are {} of\n{}.\n\n{}\n"
      "At the peak {} were requested and {} reserved: F = {:.4f}.\n"
      "The step is real: the loss of these samples was {:.4f} before it and is {:.4f} after it.\n",
      network_text(demo.shape), demo.shape.batch, name(demo.shape.dtype),
      stats::format_count(demo.estimate.parameter_count), terms_table(demo, units), instants_table(demo, units),
      demo.peak.name, exact_and_round(peak[Purpose::temporaries]), exact_and_round(peak.total()),
      ledger_table(demo, units), exact_and_round(demo.end.peak_requested), exact_and_round(demo.end.peak_reserved),
      demo.end.fragmentation(), demo.loss_before, demo.loss_after);
}

}  // namespace quarry::tools
