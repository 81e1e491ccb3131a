package facts

import (
	"cmp"
	"maps"
	"slices"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// table is what the engine was told of one kind of object, by name or uid, and which of them may
// have something new to say.
type table[T any] struct {
	told  map[string]T
	dirty map[string]bool
	same  func(a, b T) bool
}

func newTable[T any](same func(a, b T) bool) table[T] {
	return table[T]{map[string]T{}, map[string]bool{}, same}
}

func (t *table[T]) touch(name string) { t.dirty[name] = true }

// forget: the engine knows nothing any more. all are the names of everything there is.
func (t *table[T]) forget(all []string) {
	clear(t.told)
	clear(t.dirty)
	for _, name := range all {
		t.dirty[name] = true
	}
}

// news is one difference between what was told and what is true.
type news[T any] struct {
	name     string
	was, is  T
	had, has bool
}

// news are the differences by name; they count as told from now on.
func (t *table[T]) news(truth func(name string) (T, bool)) []news[T] {
	if len(t.dirty) == 0 {
		return nil
	}
	var out []news[T]
	for _, name := range sortedKeys(t.dirty) {
		entry := news[T]{name: name}
		entry.was, entry.had = t.told[name]
		entry.is, entry.has = truth(name)
		switch {
		case entry.had == entry.has && (!entry.has || t.same(entry.was, entry.is)):
			continue
		case entry.has:
			t.told[name] = entry.is
		default:
			delete(t.told, name)
		}
		out = append(out, entry)
	}
	clear(t.dirty)
	return out
}
