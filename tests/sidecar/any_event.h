// Any event at all: every variant, every enum value, numbers up to the edges of their types, text
// from empty to several bytes a character. It need not make sense to an engine.
#pragma once

#include "engine/event.h"
#include "tests/support/dice.h"

namespace tephra {

Event AnyEvent(Dice& dice);
// The variant with that index.
Event AnyEvent(Dice& dice, int variant);
inline constexpr int kEventVariants = static_cast<int>(std::variant_size_v<Event>);

// Equal in every field; doubles by their bits.
bool Same(const Event& a, const Event& b);

}  // namespace tephra
