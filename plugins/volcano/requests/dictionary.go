package requests

import (
	"fmt"
	"path"
	"strings"
)

// dictionary gives names their meanings. A name with a "*" means all that it matches and that is not
// named itself; of several such the first counts.
type dictionary[M any] struct {
	names map[string]*M
	globs []glob[M]
}

type glob[M any] struct {
	pattern string
	part    string // of whatever it matches, to pass over most names quickly
	meaning *M
}

func isGlob(name string) bool { return strings.ContainsAny(name, `*?[\`) }

// longestPart is the longest text of the pattern without special characters.
func longestPart(pattern string) string {
	longest := ""
	for _, part := range strings.FieldsFunc(pattern, func(r rune) bool { return r == '*' }) {
		if len(part) > len(longest) && !isGlob(part) {
			longest = part
		}
	}
	return longest
}

func (d *dictionary[M]) add(name string, meaning *M) error {
	if isGlob(name) {
		if _, err := path.Match(name, ""); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		d.globs = append(d.globs, glob[M]{name, longestPart(name), meaning})
		return nil
	}
	if name == "" || d.names[name] != nil {
		return fmt.Errorf("%q, expected each name once", name)
	}
	if d.names == nil {
		d.names = map[string]*M{}
	}
	d.names[name] = meaning
	return nil
}

// of is the name's meaning; nil: none.
func (d *dictionary[M]) of(name string) *M {
	if known := d.names[name]; known != nil {
		return known
	}
	for _, glob := range d.globs {
		if !strings.Contains(name, glob.part) {
			continue
		}
		if matched, _ := path.Match(glob.pattern, name); matched {
			return glob.meaning
		}
	}
	return nil
}
