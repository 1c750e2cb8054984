#include <quarry/allocator/heap/page_aliases.h>

#include <utility>

#include <quarry/allocator/check.h>

namespace quarry {

// FNV-1a over the page numbers.
std::size_t PageAliases::hash(const PageSequence& pages) {
  std::uint64_t mixed = 0xcbf29ce484222325ull;
  for (const PageNumber page : pages) mixed = (mixed ^ page) * 0x100000001b3ull;
  return static_cast<std::size_t>(mixed);
}

Alias& PageAliases::add(Address base, PageSequence pages) {
  pages_ += pages.size();
  const auto [at, fresh] = aliases_.try_emplace(base);
  QUARRY_CHECK(fresh, "the driver gave out an address twice");
  at->second.base = base;
  at->second.pages = std::move(pages);
  return at->second;
}

Alias* PageAliases::find_idle(const PageSequence& pages) const {
  const auto [first, last] = by_pages_.equal_range(hash(pages));
  for (auto at = first; at != last; ++at) {
    if (at->second->pages == pages) return at->second;
  }
  return nullptr;
}

Alias* PageAliases::wake(const PageSequence& pages) {
  Alias* alias = find_idle(pages);
  if (alias != nullptr) claim(*alias);
  return alias;
}

Alias* PageAliases::containing(Address address) {
  const auto after = aliases_.upper_bound(address);
  if (after == aliases_.begin()) return nullptr;
  Alias& alias = std::prev(after)->second;
  const bool starts_here = !alias.idle && alias.base + Bytes{alias.begin * kUnit} == address;
  return starts_here ? &alias : nullptr;
}

void PageAliases::put_to_sleep(Alias& alias) {
  QUARRY_ASSERT(!alias.idle, "an alias was freed twice");
  alias.idle = true;
  alias.place = idle_order_.insert(idle_order_.end(), &alias);
  by_pages_.emplace(hash(alias.pages), &alias);
}

void PageAliases::claim(Alias& alias) {
  QUARRY_ASSERT(alias.idle, "a live alias was taken");
  const auto [first, last] = by_pages_.equal_range(hash(alias.pages));
  for (auto at = first; at != last; ++at) {
    if (at->second != &alias) continue;
    by_pages_.erase(at);
    break;
  }
  idle_order_.erase(alias.place);
  alias.idle = false;
}

void PageAliases::erase(Alias& alias) {
  QUARRY_ASSERT(!alias.idle, "an idle alias is erased after it was claimed");
  pages_ -= alias.pages.size();
  aliases_.erase(alias.base);
}

}  // namespace quarry
