// Values of a case as text for a person; equal values have equal text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/cases/case.h"

namespace quarry::tools {

std::string show(const std::optional<Place>& place);
std::string show(const std::optional<double>& value);
std::string show(const RecordedEvent& event);
std::string show(const StatValue& value);
// The requested size of a free block is left out: it is a leftover and not compared.
std::string show(const RecordedSegment& segment);

template <class Item>
std::vector<std::string> show_each(const std::vector<Item>& items) {
  std::vector<std::string> texts;
  for (const Item& item : items) texts.push_back(show(item));
  return texts;
}

}  // namespace quarry::tools
