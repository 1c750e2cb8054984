// Of single tensors: basic, sharing, dtype.
#include <vector>

#include <fmt/format.h>

#include "tools/cli/demo_text.h"
#include "tools/cli/demo_words.h"
#include "tools/cli/table.h"

namespace quarry::tools {
namespace {

std::string cell(Bytes bytes, stats::Units units) { return stats::format_bytes(bytes, units); }

}  // namespace

std::string demo_text(const BasicDemo& demo, stats::Units units) {
  Table table({{"tensor"},
               {"handle", Align::right},
               {"logical", Align::right},
               {"storage", Align::right},
               {"block, paged", Align::right},
               {"reserved, paged", Align::right},
               {"block, pytorch", Align::right},
               {"reserved, pytorch", Align::right}});
  for (const BasicRow& row : demo.rows) {
    table.row({product_text(row.sizes), cell(row.bytes.handle, units), cell(row.bytes.logical, units),
               cell(row.bytes.storage, units), cell(row.paged.block, units), cell(row.paged.reserved, units),
               cell(row.pytorch.block, units), cell(row.pytorch.reserved, units)});
  }
  const BasicRow& small = demo.rows.front();
  const BasicRow& large = demo.rows.back();
  return fmt::format(
      "basic: how large is a tensor of {}? Each row is alone in its space.\n\n{}\n"
      "handle    the value that a program holds: sizes, strides, a pointer. The same for every tensor; Python's\n"
      "          sys.getsizeof shows no more than such a handle.\n"
      "logical   element size x number of elements: {} here for {}.\n"
      "storage   what the tensor keeps alive. Larger than logical for a slice, smaller for an expanded tensor: see\n"
      "          `quarry demo sharing`.\n"
      "block     what the allocator cuts: {} for {}, because blocks begin at multiples of 512 B.\n"
      "reserved  what the driver gave: for {} of data {} under the pytorch policy,\n"
      "          {} under paged. Drivers map whole pages; the rest is cached for the next tensors.\n",
      name(demo.dtype), table.text(), exact_and_round(large.bytes.logical), product_text(large.sizes),
      exact_and_round(small.paged.block), exact_and_round(small.bytes.storage), exact_and_round(small.bytes.logical),
      exact_and_round(small.pytorch.reserved), exact_and_round(small.paged.reserved));
}

namespace {

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

std::string views_table(const SharingDemo& demo, stats::Units units) {
  Table table({{"tensor"},
               {"strides"},
               {"offset", Align::right},
               {"same pointer"},
               {"same storage"},
               {"logical", Align::right},
               {"reached", Align::right},
               {"storage", Align::right},
               {"sum", Align::right}});
  for (const ViewRow& row : demo.views) {
    table.row({row.name, text(row.strides), stats::format_count(row.offset), yes_or_no(row.same_pointer),
               yes_or_no(row.same_storage), cell(row.bytes.logical, units), cell(row.bytes.reached, units),
               cell(row.bytes.storage, units), fmt::format("{:.0f}", row.sum)});
  }
  return table.text();
}

std::string kept_table(const SharingDemo& demo, stats::Units units) {
  Table table({{"step"},
               {"logical", Align::right},
               {"storage", Align::right},
               {"allocated", Align::right},
               {"reserved", Align::right},
               {"resident (RSS)", Align::right}});
  for (const KeptStep& step : demo.kept) {
    table.row({step.name, cell(step.logical, units), cell(step.storage, units), cell(step.allocated, units),
               cell(step.reserved, units), cell(step.resident, units)});
  }
  return table.text();
}

}  // namespace

std::string demo_text(const SharingDemo& demo, stats::Units units) {
  const ViewRow& base = demo.views.front();
  const KeptStep& sliced = demo.kept.at(3);
  const KeptStep& cloned = demo.kept.at(4);
  const KeptStep& emptied = demo.kept.at(5);
  return fmt::format(
      "sharing: views of a {} tensor of zeros; then 1 is written through [500:, 500:].\n\n{}\n"
      "Views are new handles over the same bytes: {} tensors keep this one storage of {} alive.\n"
      "Whether two tensors share is a question of the storage, not of the pointer: [500:, 500:] begins elsewhere (at\n"
      "its offset, in elements) and shares all the same, as the sums show: what is written through it is in every "
      "view\n"
      "that reaches there.\n"
      "transpose only exchanges strides; expand repeats by a stride of 0, so its logical size is above what it\n"
      "reaches. clone copies: it has a storage of its own, and the 1s are not in it.\n\n"
      "A small slice of a large tensor, in this process's memory:\n\n{}\n"
      "The slice of {} keeps {} allocated: a storage lives as long as any view of it.\n"
      "`clone` gives the slice {} of its own; that leaves {} allocated, and empty_cache gave\n"
      "{} back. Resident memory hardly moves in all this: the large tensor was reserved, but never\n"
      "written, so the system had no page of it but those of the slice.\n",
      product_text(base.sizes), views_table(demo, units), demo.users, exact_and_round(base.bytes.storage),
      kept_table(demo, units), exact_and_round(sliced.logical), exact_and_round(sliced.allocated),
      exact_and_round(cloned.storage), exact_and_round(cloned.allocated),
      exact_and_round(cloned.reserved - emptied.reserved));
}

std::string demo_text(const DTypeDemo& demo, stats::Units units) {
  const std::string elements = stats::format_count(demo.elements);
  Table table({{"dtype"}, {"element", Align::right}, {elements + " elements", Align::right}, {"block", Align::right}});
  for (const DTypeRow& row : demo.rows) {
    table.row({std::string(name(row.dtype)), cell({element_size(row.dtype)}, stats::Units::bytes),
               cell(row.bytes.logical, units), cell(row.bytes.block, units)});
  }
  return fmt::format(
      "dtype: what the type of the elements costs.\n\n{}\n"
      "Half precision halves every tensor, and the gradients and activations made of it. complex64 is two f32, not 64\n"
      "bits of precision; bool takes a whole byte. The block is the next multiple of 512 B.\n",
      table.text());
}

}  // namespace quarry::tools
