#include <quarry/stats/formats/list_store.h>

#include <utility>

namespace quarry::stats::formats {
namespace {

// The list as a list of `kind` with T items; null once it has items of several kinds.
template <class T>
T* typed(ListState& list, ListKind kind) {
  if (list.kind == ListKind::empty) {
    list.kind = kind;
    list.items.template emplace<T>();
  }
  return list.kind == kind ? &std::get<T>(list.items) : nullptr;
}

void make_mixed(ListState& list) {
  list.kind = ListKind::mixed;
  list.items.emplace<std::monostate>();
}

template <class T>
void add(ListState& list, ListKind kind, T item) {
  if (auto* items = typed<std::vector<T>>(list, kind)) return items->push_back(std::move(item));
  make_mixed(list);
}

void add_number(ListState& list, Value number) {
  auto* numbers = typed<std::array<Value, 2>>(list, ListKind::numbers);
  if (numbers == nullptr) return make_mixed(list);
  if (list.count < 2) (*numbers)[list.count] = number;
}

void add_frame(ListState& list, const Frame& frame) {
  auto* frames = typed<std::vector<Frame>>(list, ListKind::frames);
  if (frames == nullptr) return make_mixed(list);
  if (frames->empty()) frames->reserve(16);
  frames->push_back(frame);
}

void add_history(ListState& list, const History& history) {
  const bool first = list.kind == ListKind::empty;
  History* kept = typed<History>(list, ListKind::histories);
  if (kept == nullptr) return make_mixed(list);
  if (first) *kept = history;
}

void add_list(ListPool& lists, ListState& list, Value item) {
  const bool entries = item.tag() == Tag::empty_list || lists[item.index()].kind == ListKind::entries;
  if (!entries) return make_mixed(list);
  add<std::uint32_t>(list, ListKind::lists, item.tag() == Tag::empty_list ? kNoStorage : item.index());
}

}  // namespace

void append_item(ListPool& lists, ListState& list, Value item, Scratch& scratch, const std::vector<Frame>& frames) {
  if (list.kind != ListKind::mixed && list.kind != ListKind::faulty) {
    switch (item.tag()) {
      case Tag::frame:
        add_frame(list, frames[item.index()]);
        break;
      case Tag::entry:
        add(list, ListKind::entries, scratch.entry);
        break;
      case Tag::skipped_entry:
        if (typed<std::vector<TraceEntry>>(list, ListKind::entries) == nullptr) make_mixed(list);
        break;
      case Tag::segment:
        add(list, ListKind::segments, std::move(scratch.segment));
        break;
      case Tag::block:
        add(list, ListKind::blocks, scratch.block);
        break;
      case Tag::history:
        add_history(list, scratch.history);
        break;
      case Tag::items:
      case Tag::empty_list:
        add_list(lists, list, item);
        break;
      case Tag::integer:
      case Tag::wide:
        add_number(list, item);
        break;
      case Tag::fault:
        list.kind = ListKind::faulty;
        list.items = item;
        break;
      default:
        make_mixed(list);
    }
  }
  ++list.count;
}

}  // namespace quarry::stats::formats
