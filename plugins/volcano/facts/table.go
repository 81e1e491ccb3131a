package facts

import (
	"cmp"
	"maps"
	"slices"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// table is what the engine knows of one kind of object, by name or uid, and which of them may
// have something new to say.
type table[T any] struct {
	reported map[string]T
	dirty    map[string]bool
	same     func(a, b T) bool
}

func newTable[T any](same func(a, b T) bool) table[T] {
	return table[T]{map[string]T{}, map[string]bool{}, same}
}

func (t *table[T]) touch(name string) { t.dirty[name] = true }

// forget: the engine knows nothing any more. all are the names of everything there is.
func (t *table[T]) forget(all []string) {
	clear(t.reported)
	clear(t.dirty)
	for _, name := range all {
		t.dirty[name] = true
	}
}

// news is one difference between what the engine knows and what is true.
type news[T any] struct {
	name     string
	was, is  T
	had, has bool
}

// news are the differences by name; they count as reported from now on.
func (t *table[T]) news(truth func(name string) (T, bool)) []news[T] {
	if len(t.dirty) == 0 {
		return nil
	}
	var out []news[T]
	for _, name := range sortedKeys(t.dirty) {
		entry := news[T]{name: name}
		entry.was, entry.had = t.reported[name]
		entry.is, entry.has = truth(name)
		switch {
		case entry.had == entry.has && (!entry.has || t.same(entry.was, entry.is)):
			continue
		case entry.has:
			t.reported[name] = entry.is
		default:
			delete(t.reported, name)
		}
		out = append(out, entry)
	}
	clear(t.dirty)
	return out
}
